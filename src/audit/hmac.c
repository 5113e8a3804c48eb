/*
 * hmac.c - HMAC-SHA-256 under one key, of many texts
 */
#include "audit/hmac.h"

#include <openssl/crypto.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK 64 /* of SHA-256 */

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
hmac_init(struct hmac *h, struct str key)
{
	unsigned char block[BLOCK] = { 0 };

	if (key.n <= BLOCK)
		memcpy(block, key.p, key.n);
	else if (EVP_Digest(key.p, key.n, block, NULL, EVP_sha256(), NULL) != 1)
		abort();
	h->inner = half(block, 0x36);
	h->outer = half(block, 0x5c);
	OPENSSL_cleanse(block, sizeof(block));
}

void
hmac_fini(struct hmac *h)
{
	EVP_MD_CTX_free(h->inner);
	EVP_MD_CTX_free(h->outer);
	*h = (struct hmac){ NULL, NULL };
}

void
hmac_digest(const struct hmac *h, struct str text, unsigned char out[static HMAC_BYTES])
{
	EVP_MD_CTX *ctx = EVP_MD_CTX_new();

	if (ctx == NULL || EVP_MD_CTX_copy_ex(ctx, h->inner) != 1 ||
	    EVP_DigestUpdate(ctx, text.p, text.n) != 1 ||
	    EVP_DigestFinal_ex(ctx, out, NULL) != 1 ||
	    EVP_MD_CTX_copy_ex(ctx, h->outer) != 1 ||
	    EVP_DigestUpdate(ctx, out, HMAC_BYTES) != 1 ||
	    EVP_DigestFinal_ex(ctx, out, NULL) != 1)
		abort();
	EVP_MD_CTX_free(ctx);
}
