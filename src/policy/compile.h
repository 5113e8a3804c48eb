/*
 * compile.h - rules -> an immutable, indexed ruleset
 *
 * Layers are outermost first; each can only narrow the one before.  Built once
 * by a loader, then shared and never changed: any thread may match against it.
 */
#ifndef WEIR_POLICY_COMPILE_H
#define WEIR_POLICY_COMPILE_H

#include "policy/model.h"

struct ruleset;

/* What a policy may say depends on where it runs. */
struct ruleset_terms {
	bool is_production; /* private over loopback or link-local is an error */
	bool is_report_ok; /* mode: report is allowed (production: false, or allow_report) */
	bool can_see_tls; /* tls.intercept is there: https rules may need sight */
};

/*
 * Load every file (outermost first), check, compile, and run their `expect`
 * tests.  All findings of all files go to rep.  NULL when anything is an error.
 */
struct ruleset *ruleset_load(const char *const *path, size_t n,
    const struct ruleset_terms *terms, struct report *rep) MUST_CHECK;
/* The same from texts already in memory; `name` stands in for the path. */
struct ruleset_source {
	const char *name;
	struct str text;
};
struct ruleset *ruleset_build(const struct ruleset_source *source, size_t n,
    const struct ruleset_terms *terms, struct report *rep) MUST_CHECK;
void ruleset_free(struct ruleset *rs);

const char *ruleset_digest(const struct ruleset *rs); /* 64 hex digits: SHA-256 over the layers' bytes */
size_t ruleset_layers(const struct ruleset *rs);
const char *ruleset_layer_name(const struct ruleset *rs, size_t layer);
bool ruleset_is_report(const struct ruleset *rs); /* some layer reports only */

const char *rule_name(const struct rule *r); /* its name, or "allow[3]" */
const char *rule_place(const struct rule *r); /* "FILE:LINE name" */

#endif
