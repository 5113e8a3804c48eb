/*
 * claims.h - what a session token says its holder may do
 *
 * A grant is the typed, checked form of a token's claims.  Claims only narrow what
 * the configuration gives, and in doubt there is no grant: a wrong type, an unknown
 * key inside budget, limits or network, money with ten decimals refuse the token.
 *
 * Immutable once made and counted, so any thread may hold one.  Pure.
 */
#ifndef WEIR_POLICY_CLAIMS_H
#define WEIR_POLICY_CLAIMS_H

#include <stdatomic.h>

#include "base/money.h"
#include "conf/settings.h"
#include "policy/ruleset.h"
#include "policy/verdict.h"

#define CLAIM_WORD_MAX 128  /* sid, tenant, sub, turn, jti, par, profile, issuer */
#define CLAIM_NAMES_MAX 256 /* models, hosted tools */
#define CLAIM_LEEWAY_S 30   /* of iat, nbf, exp: clocks differ */
#define GRANT_UNSAID INT64_C(-1)
#define GRANT_FOREVER INT64_MAX

/* What holds is the smaller of the two; GRANT_UNSAID: no ceiling of that kind. */
struct ceiling {
	int64_t
	    cap; /* configured: budget.max, or budget.default where nothing is claimed */
	int64_t claim; /* the token's own */
};

int64_t ceiling_least(const struct ceiling *c);

enum hosted_claim {
	HOSTED_NONE, /* also when nothing is said */
	HOSTED_NAMED,
	HOSTED_ALL
};

struct names {
	struct str *p;
	size_t n;
};

struct grant {
	atomic_uint refs;
	struct arena arena; /* holds all that follows */

	/* Empty: not said.  Issuer, tenant and sid name the session; sub owns it. */
	struct str issuer, tenant, sid, sub, turn, jti, par;
	/* A turn of its own for each jti, since a turn budget applies: begins with '='.
	 */
	bool is_turn_implied;
	int64_t gen; /* iat when not said */
	int64_t issued,
	    expires;        /* seconds since 1970; no leeway in it; or GRANT_FOREVER */
	struct str profile; /* its name; empty: the top level */

	struct ceiling turn_usd, session_usd; /* n$ */
	struct ceiling vm_seconds;            /* from first use */
	/* GRANT_UNSAID: no limit */
	int64_t requests_per_minute, concurrency, turn_tokens, session_tokens, turn_calls;
	int64_t upload_bytes; /* to one host; GRANT_UNSAID: no limit */
	bool is_public;

	struct layer *network; /* NULL: the configured policy alone */
	bool has_models;       /* false: every model; an empty list: none */
	struct names models;   /* patterns: `*` is any run */
	enum hosted_claim hosted;
	struct names tools; /* of HOSTED_NAMED */

	struct str text; /* the claims as JSON, for the store: see claims_recall() */
};

/* Who says so, and what is already known to be true of the token. */
struct claims_source {
	const struct settings *settings; /* outlives the grant */
	struct str issuer;
	const struct texts *tenants,
	    *profiles; /* it may speak for; NULL or n == 0: any */
	bool is_token; /* false: written by the operator: needs no exp, no tenant */
};

/*
 * REASON_NONE and *out, or why not (static in *why).  `now`: seconds since 1970.
 * exp, nbf, iat and max_ttl are judged, iss and aud are token.h's.
 */
enum reason claims_read(struct grant **out, const struct claims_source *source,
    struct str json, int64_t now, const char **why) MUST_CHECK;
/*
 * The same from grant->text as the store kept it, for sub-agents of a session whose
 * token this process has not seen: time is not judged.
 */
enum reason claims_recall(struct grant **out, const struct claims_source *source,
    struct str json, const char **why) MUST_CHECK;

/* What somebody may have meant by a claim that counts for nothing. */
struct claim_hint {
	const char *name;   /* NULL: nothing is near it */
	const char *inside; /* the claim that this is a member of; NULL: it is a claim */
};
/*
 * Does weir read the claim `key` of this issuer's tokens?  It takes every other one and
 * ignores it (RFC 7519, section 4), which a person who wrote it may not know: false, and
 * *hint, which lives as long as source->settings.
 */
bool claim_is_read(
    const struct claims_source *source, struct str key, struct claim_hint *hint);

/* NULL: there is none of that name. */
const struct session_profile *profile_find(const struct settings *s, struct str name);

struct grant *grant_ref(struct grant *g);
void grant_unref(struct grant *g); /* NULL is fine */

bool grant_has_tool(const struct grant *g, struct str tool); /* a provider-hosted one */

/*
 * `outer` and inside it the networks of the grants: the session's own and its
 * ancestors', in any order.  Borrows from all of them; lives in the arena.  NULL: no
 * room there.
 */
const struct ruleset *grants_narrow(const struct ruleset *outer,
    struct grant *const *grant, size_t n, struct arena *a) MUST_CHECK;

#endif
