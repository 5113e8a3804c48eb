/*
 * hmac.c - HMAC-SHA-256 over a key
 */
#include "audit/hmac.h"

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/params.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK 64 /* of SHA-256 */

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

/* A digest that has read the key's block, each byte of it changed by `pad`. */
static EVP_MD_CTX *
half(const unsigned char key[static BLOCK], unsigned char pad)
{
	EVP_MD *md = EVP_MD_fetch(NULL, "SHA256", NULL);
	EVP_MD_CTX *ctx = EVP_MD_CTX_new();
	unsigned char block[BLOCK];

	for (size_t i = 0; i < BLOCK; i++)
		block[i] = key[i] ^ pad;
	if (md == NULL || ctx == NULL || EVP_DigestInit_ex2(ctx, md, NULL) != 1 ||
	    EVP_DigestUpdate(ctx, block, BLOCK) != 1)
		abort();
	EVP_MD_free(md);
	OPENSSL_cleanse(block, sizeof(block));
	return ctx;
}

void
hmac_halves(struct str key, EVP_MD_CTX **inner, EVP_MD_CTX **outer)
{
	unsigned char block[BLOCK] = { 0 };

	if (key.n <= BLOCK)
		memcpy(block, key.p, key.n);
	else if (EVP_Digest(key.p, key.n, block, NULL, EVP_sha256(), NULL) != 1)
		abort();
	*inner = half(block, 0x36);
	*outer = half(block, 0x5c);
	OPENSSL_cleanse(block, sizeof(block));
}
