/*
 * vouch.h - a checkpoint's signature: whose word is it that a log was so long?
 *
 * Ed25519 over the bytes that doc/AUDIT-FORMAT.md names.  Pure; any thread.
 */
#ifndef WEIR_AUDIT_VOUCH_H
#define WEIR_AUDIT_VOUCH_H

#include <openssl/types.h>

#include "wire/json.h"

struct vouch {
	struct str name, ts, lines, head;
	struct str key, sig; /* empty: not signed */
};

/* The bytes that are signed. */
void vouch_message(const struct vouch *v, struct buf *to);
/* A key's name: the first digits of SHA-256 over its SubjectPublicKeyInfo. */
#define VOUCH_KEY_ID 17
bool vouch_key_id(EVP_PKEY *key, char out[static VOUCH_KEY_ID]) MUST_CHECK;

struct vouch_key;

/* A PEM with an Ed25519 key, its public half or both; NULL: it is something else. */
struct vouch_key *vouch_key_new(struct str pem) MUST_CHECK;
void vouch_key_free(struct vouch_key *k);

/* Of a checkpoint record, or a line of an anchor file; what is missing is empty. */
struct vouch vouch_read(const struct json_value *object);
/* NULL: this key signed it; else why not (static). */
const char *vouch_fault(const struct vouch *v, const struct vouch_key *k) MUST_CHECK;

#endif
