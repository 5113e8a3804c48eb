/*
 * hmac.h - HMAC-SHA-256 over a key, ready for its first byte
 *
 * Under the records' mac and the marks of secrets.  Any thread.
 */
#ifndef WEIR_AUDIT_HMAC_H
#define WEIR_AUDIT_HMAC_H

#include <openssl/evp.h>

#include "base/str.h"

/* EVP_MAC_CTX_free() frees it.  Never NULL: the process ends instead. */
EVP_MAC_CTX *hmac_new(struct str key);

/*
 * The same as two digests that have read the key's block (RFC 2104): HMAC is a copy of
 * `outer` over what a copy of `inner` makes of the text.  For many short texts, where
 * a copy of an EVP_MAC_CTX costs more than all else.  EVP_MD_CTX_free() frees them.
 */
void hmac_halves(struct str key, EVP_MD_CTX **inner, EVP_MD_CTX **outer);

#endif
