/*
 * hmac.c - HMAC-SHA-256 under one key, of many texts
 */
/*
 * SHA256_Init() and its kin, though OpenSSL 3 would rather have EVP: a mark's two digests
 * are of one block each, and EVP's contexts cost four times what they cost.
 */
#define OPENSSL_SUPPRESS_DEPRECATED
#include "audit/hmac.h"

#include <openssl/crypto.h>
#include <openssl/sha.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(HMAC_BYTES == SHA256_DIGEST_LENGTH, "all of the digest");

/* A digest that has read the key's block, each byte of it changed by `pad`. */
static SHA256_CTX *
half(const unsigned char key[static SHA256_CBLOCK], unsigned char pad)
{
	SHA256_CTX *ctx = mem_alloc(sizeof(*ctx));
	unsigned char block[SHA256_CBLOCK];

	for (size_t i = 0; i < SHA256_CBLOCK; i++)
		block[i] = key[i] ^ pad;
	if (SHA256_Init(ctx) != 1 || SHA256_Update(ctx, block, SHA256_CBLOCK) != 1)
		abort();
	OPENSSL_cleanse(block, sizeof(block));
	return ctx;
}

void
hmac_init(struct hmac *h, struct str key)
{
	unsigned char block[SHA256_CBLOCK] = { 0 };

	if (key.n <= SHA256_CBLOCK)
		memcpy(block, key.p, key.n);
	else
		SHA256((const unsigned char *)key.p, key.n, block);
	h->inner = half(block, 0x36);
	h->outer = half(block, 0x5c);
	OPENSSL_cleanse(block, sizeof(block));
}

static void
forget(SHA256_CTX *ctx)
{
	if (ctx != NULL)
		OPENSSL_cleanse(ctx, sizeof(*ctx));
	free(ctx);
}

void
hmac_fini(struct hmac *h)
{
	forget(h->inner);
	forget(h->outer);
	*h = (struct hmac){ NULL, NULL };
}

static void
finish(const SHA256_CTX *begun, const void *text, size_t n, unsigned char *out)
{
	SHA256_CTX ctx = *begun;

	if (SHA256_Update(&ctx, text, n) != 1 || SHA256_Final(out, &ctx) != 1)
		abort();
	OPENSSL_cleanse(&ctx, sizeof(ctx));
}

void
hmac_digest(const struct hmac *h, struct str text, unsigned char out[static HMAC_BYTES])
{
	finish(h->inner, text.p, text.n, out);
	finish(h->outer, out, HMAC_BYTES, out);
}
