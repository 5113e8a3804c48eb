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

#endif
