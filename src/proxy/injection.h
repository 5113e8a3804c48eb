/*
 * injection.h - a credential goes into a request that policy lets through
 *
 * After the decision and after stripping, towards the rule's host only, over TLS only.
 * The client's own credentials do not pass beside it: data must not leave into somebody
 * else's account.  A placeholder is swapped where a field's value has it; anywhere else,
 * or towards a host that it is not for, the request is refused.
 *
 * Pure; any thread.  What is put into a buffer and does not fit leaves that over.
 */
#ifndef WEIR_PROXY_INJECTION_H
#define WEIR_PROXY_INJECTION_H

#include "policy/inject.h"
#include "policy/verdict.h"
#include "proxy/vault.h"
#include "wire/http.h"

/* Zeroed: nothing is put in. */
struct injection {
	const struct inject *how; /* the rule's; it lives as long as its snapshot */
	const struct vault_item *what;
};

/* What is asked, and by whom. */
struct injection_ask {
	const struct vault *vault;
	const struct inject *how; /* of the rule that decides; NULL: nothing is put in */
	const struct host *host;
	struct str path, query;
	const struct http_head *head;
	bool has_session;
	struct str tenant;
	bool is_tls; /* the origin is proved */
	struct arena *arena;
};

/* REASON_NONE and *out, or why not (*why is a sentence for the operator). */
enum reason injection_judge(
    struct injection *out, const struct injection_ask *ask, const char **why) MUST_CHECK;
/* Is that sentence for the client, too: about what it sent, and can mend? */
bool injection_tells(const char *why);

/* Does the client's own field stay away? */
bool injection_drops(const struct injection *i, struct str name);
/* Has the value a placeholder that is swapped? */
bool injection_swaps(const struct injection *i, struct str value, struct arena *a);
/* What stands beside the placeholders of such a value, its base64 off. */
void injection_beside(
    const struct injection *i, struct str value, struct arena *a, struct buf *to);
/* A field's value, with what its placeholder stands for. */
void injection_value(
    const struct injection *i, struct str value, struct arena *a, struct buf *to);
/* The fields that weir adds. */
void injection_fields(const struct injection *i, struct buf *to);

#endif
