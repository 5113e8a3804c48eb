/*
 * token.h - a session token's text -> what it grants, or why it counts for nothing
 *
 * The compact form is parsed here, strictly: three parts of canonical base64url, 8 KB
 * at most, no key twice, no `crit`.  Issuer, audience and algorithm are the configured
 * key's, and the token must say the same, to the letter.  Only then is libjwt asked,
 * and only whether the signature is good: it would take a public key for an HMAC
 * secret, anything at all with no key, and every expired token.
 *
 * Pure: no clock, no state.  Any thread.
 */
#ifndef WEIR_POLICY_TOKEN_H
#define WEIR_POLICY_TOKEN_H

#include "policy/keys.h"

#define TOKEN_MAX 8192
#define TOKEN_DIGEST 32

/*
 * REASON_NONE: *out is the caller's.  Else REASON_SESSION_INVALID, _SESSION_EXPIRED or
 * _PROFILE_UNKNOWN, and *why is a sentence for the audit record (static).
 */
enum reason token_verify(struct grant **out, const struct keys *keys, struct str token,
    int64_t now, const char **why) MUST_CHECK;

/* SHA-256: by what a verified token is found again (state/tokens). */
void token_digest(uint8_t out[static TOKEN_DIGEST], struct str token);

/* A token taken apart, nothing of it verified: for people to look at. */
struct token_parts {
	struct str header, claims; /* JSON; the arena's */
	struct str alg, kid;       /* kid is empty when there is none */
	struct str signed_text;    /* "header.claims" as they came */
	struct str signature;      /* bytes */
};
/* NULL, or why it is no token (static). */
const char *token_split(struct token_parts *out, struct str token, struct arena *a);

#endif
