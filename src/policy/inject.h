/*
 * inject.h - what a rule puts into requests: which credential, and where
 *
 *	inject: { header: authorization, scheme: Bearer, credential: forge }
 *	inject: { header: authorization, scheme: Basic, user: bot, credential: forge }
 *	inject: { credential: forge }		its placeholder, wherever a field has it
 *
 * The rule knows the credential's name alone; what that stands for is never part of a
 * policy.  Pure; any thread.
 *
 * Codes of findings: missing_key bad_value bad_inject unknown_credential
 * credential_hosts
 */
#ifndef WEIR_POLICY_INJECT_H
#define WEIR_POLICY_INJECT_H

#include "conf/settings.h"
#include "policy/pattern.h"

struct inject {
	const char *credential;  /* its name in `credentials` */
	struct str header;       /* that carries it; empty: wherever its placeholder is */
	struct str scheme;       /* "Bearer"; empty: the secret alone */
	struct str user;         /* with scheme Basic */
	const struct node *node; /* while loading */
};

struct inject_source {
	const struct tree *tree;
	struct arena *arena;             /* outlives what is read */
	const struct settings *settings; /* whose credentials; NULL: nobody's are known */
	struct report *rep;
};

/* NULL after reporting. */
const struct inject *inject_read(const struct inject_source *in, const struct node *n);
/* Reports when its credential may not go to every host of the pattern. */
void inject_check_host(
    const struct inject_source *in, const struct inject *i, const struct pattern *to);

/* By its name; NULL: there is none. */
const struct credential *credential_find(const struct settings *s, const char *name);
/* May it go there, whoever asks?  `hosts` of the row. */
bool credential_covers(const struct credential *c, const struct pattern *to);

#endif
