/*
 * hmac.c - HMAC-SHA-256 over a key
 */
#include "audit/hmac.h"

#include <openssl/core_names.h>
#include <openssl/params.h>
#include <stdlib.h>

EVP_MAC_CTX *
hmac_new(struct str key)
{
	EVP_MAC *mac = EVP_MAC_fetch(NULL, "HMAC", NULL);
	EVP_MAC_CTX *ctx = EVP_MAC_CTX_new(mac);
	OSSL_PARAM params[] = {
		OSSL_PARAM_construct_utf8_string(
		    OSSL_MAC_PARAM_DIGEST, (char[]){ "SHA256" }, 0),
		OSSL_PARAM_construct_end(),
	};

	EVP_MAC_free(mac);
	if (ctx == NULL ||
	    EVP_MAC_init(ctx, (const unsigned char *)key.p, key.n, params) != 1)
		abort();
	return ctx;
}
