/*
 * jwk.h - a JSON Web Key Set -> public keys as PEM, and secrets
 *
 * RFC 7517, read strictly; what is not for verifying signatures is passed over.  Pure.
 */
#ifndef WEIR_POLICY_JWK_H
#define WEIR_POLICY_JWK_H

#include "base/arena.h"

enum jwk_fit {
	JWK_OK,
	JWK_UNUSED,  /* for something else, or of a kind weir has not: *why */
	JWK_PRIVATE, /* the private half is in it */
	JWK_BAD      /* *why */
};

struct jwk {
	enum jwk_fit fit;
	const char *why;      /* static */
	struct str kid, alg;  /* empty: not said; the arena's */
	bool is_secret;       /* bytes are a secret, else PEM */
	unsigned char *bytes; /* owned by whoever takes it: OPENSSL_clear_free */
	size_t n;
};

#define JWK_MAX 64 /* keys of a set */

/* Fills up to JWK_MAX and returns how many; *why is static when the text is no set. */
size_t jwk_set(struct jwk out[static JWK_MAX], struct str json, struct arena *a,
    const char **why) MUST_CHECK;

/* Strict base64url into the arena; p is NULL when it is none. */
struct str base64url_read(struct str text, struct arena *a);

#endif
