/*
 * keys.h - whose word counts, and for what
 *
 * Rows of sessions.keys: a secret, a PEM file or a JWKS file, bound to one issuer, one
 * audience, and one algorithm each.  A weak key is a finding, so it is never loaded:
 * an HMAC secret under its hash's length or one that can be guessed, RSA under 2048
 * bits.  Also the sessions that need no token: sessions.static, sessions.default.
 *
 * Immutable once loaded; any thread.
 *
 * Codes of findings: weak_key bad_key private_key key_unused duplicate_key
 * bad_claims weak_password public_without_pool
 */
#ifndef WEIR_POLICY_KEYS_H
#define WEIR_POLICY_KEYS_H

#include "policy/claims.h"

enum alg_family { ALG_HMAC, ALG_RSA, ALG_PSS, ALG_EC, ALG_EDDSA };

/* One row for each algorithm that tokens may be signed with. */
struct alg {
	const char *name; /* "ES256", to the letter */
	enum alg_family family;
	unsigned bits;     /* of the hash, or of the curve's field */
	const char *curve; /* OpenSSL's name of it; EC and EdDSA */
	int libjwt;        /* its enum jwt_alg; -1: this library has it not */
};

const struct alg *alg_find(struct str name); /* NULL: none of ours */

/* Why this key, public or private, is none for the algorithm (static), or NULL. */
struct evp_pkey_st;
const char *alg_misfit(const struct alg *alg, struct evp_pkey_st *key);

struct key {
	const struct session_key *row; /* the settings' */
	const struct alg *alg;
	char *kid;         /* owned; NULL: none */
	struct secret key; /* the secret, or a public key as PEM */
	size_t signature;  /* how long its signatures are */
};

struct keys {
	const struct settings *settings; /* borrowed; outlives the keys */
	struct key *key;
	size_t n;
	struct grant **fixed; /* of sessions.static, in their order */
	struct grant *laptop; /* of sessions.default; NULL: none */
};

/* NULL after reporting.  No row at all makes keys that verify nothing. */
struct keys *keys_load(const struct settings *s, struct report *rep) MUST_CHECK;
void keys_free(struct keys *k);

/* sessions.static: NULL when the two do not fit; borrowed. */
struct grant *keys_fixed(const struct keys *k, struct str user, struct str password);

/* Why this secret must not sign tokens (static), or NULL. */
const char *secret_weakness(const struct alg *alg, struct str secret);

#endif
