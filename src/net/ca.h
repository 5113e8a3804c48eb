/*
 * ca.h - the CA that answers in place of origins, and the certificates it makes
 *
 * A CA is a certificate and its private key in PEM; what follows the certificate in its
 * file is the chain that clients are shown beside a leaf.  Leaves have P-256 keys, one
 * key for all of a CA, made when the CA is loaded.  Both are immutable and counted; any
 * thread.  RFC 5280; CA/Browser names: subject alternative name alone.
 */
#ifndef WEIR_NET_CA_H
#define WEIR_NET_CA_H

#include <openssl/types.h>

#include "wire/url.h"

struct ca;
struct leaf;

/* NULL: *why is a sentence (static) about what is wrong with them. */
struct ca *ca_load(struct str cert, struct str key, const char **why);
struct ca *ca_ref(struct ca *ca);
void ca_unref(struct ca *ca); /* NULL is fine */
bool ca_is_of(const struct ca *ca, struct str cert, struct str key);
int64_t ca_expires_s(const struct ca *ca); /* since 1970 */
/* Hex of SHA-256 over the certificate, as openssl prints it without colons. */
void ca_fingerprint(const struct ca *ca, char out[static 65]);

/*
 * A certificate of weir's own, for its listeners: in PEM, with the chain that clients are
 * shown behind it, and its key.  NULL: *why is a sentence (static).
 */
struct leaf *leaf_load(struct str cert, struct str key, const char **why);
int64_t leaf_expires_s(const struct leaf *leaf);

/* A new certificate; it is good from an hour before `now_s` (clocks differ) for a week,
 * and never longer than its CA.  NULL: the CA is over, or OpenSSL made none. */
struct leaf *leaf_make(struct ca *ca, const struct host *name, int64_t now_s);
struct leaf *leaf_ref(struct leaf *leaf);
void leaf_unref(struct leaf *leaf);                    /* NULL is fine */
const struct ca *leaf_ca(const struct leaf *leaf);     /* NULL: it was loaded */
bool leaf_use(struct leaf *leaf, SSL *ssl) MUST_CHECK; /* false: out of memory */

/* ---- a CA is made ---- */

struct ca_order {
	const char *name;          /* the common name */
	const char *const *permit; /* names it may sign for, and all below; none: any */
	size_t npermit;
	int64_t from_s, days;
};

/* PEM of both into the buffers, which may be freed with buf_fini() after wiping `key`.
 * False: OpenSSL cannot. */
bool ca_make(const struct ca_order *o, struct buf *cert, struct buf *key) MUST_CHECK;

#endif
