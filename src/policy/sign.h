/*
 * sign.h - claims and a private key -> a token
 *
 * What `weir token` does.  By OpenSSL alone, so that what libjwt checks was not made by
 * it.  Pure, but for random bits.
 */
#ifndef WEIR_POLICY_SIGN_H
#define WEIR_POLICY_SIGN_H

#include "policy/keys.h"

/*
 * Appends the token.  `claims` is JSON; kid may be empty; the key is a secret's bytes
 * for HS*, else a private key as PEM.  NULL, or what is wrong with the key (static).
 */
const char *token_sign(struct buf *to, const struct alg *alg, struct str kid,
    struct str private_key, struct str claims) MUST_CHECK;

/* A new key of that kind: the text of a secret, or a private key as PEM; wipe it. */
bool key_make(struct buf *private_key, const struct alg *alg) MUST_CHECK;
/* What the verifying side needs of a private key: PEM.  False: it is none. */
bool key_public(struct buf *to, struct str private_key) MUST_CHECK;

/* RFC 4648 5, without padding. */
void base64url_put(struct buf *to, struct str bytes);

#endif
