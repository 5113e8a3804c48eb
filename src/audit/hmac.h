/*
 * hmac.h - HMAC-SHA-256 under one key, of many texts
 *
 * Under the records' mac and the marks of secrets.  Kept is not the key but what it
 * made of two digests (RFC 2104), so that no copy of it lies in memory that a core has.
 * Any thread.
 */
#ifndef WEIR_AUDIT_HMAC_H
#define WEIR_AUDIT_HMAC_H

#include "base/str.h"

#define HMAC_BYTES 32

struct SHA256state_st; /* OpenSSL's */

struct hmac {
	/* the key's block read; NULL: there is no key */
	struct SHA256state_st *inner, *outer;
};

void hmac_init(struct hmac *h, struct str key);
void hmac_fini(struct hmac *h); /* cleanses what it knows of the key */
/* Never fails: the process ends instead. */
void hmac_digest(
    const struct hmac *h, struct str text, unsigned char out[static HMAC_BYTES]);

#endif
