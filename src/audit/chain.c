/*
 * chain.c - each line names the one before it
 */
#include "audit/chain.h"

#include <stdlib.h>
#include <string.h>

#define DIGEST 32
#define HEX_DIGITS (2 * DIGEST)

_Static_assert(sizeof(CHAIN_START) == CHAIN_HEX, "as long as a digest");

static const char prev_key[] = ",\"prev\":\"";
static const char mac_key[] = ",\"mac\":\"";

void
chain_init(struct chain *c, struct str key)
{
	memcpy(c->head, CHAIN_START, sizeof(c->head));
	c->md = EVP_MD_fetch(NULL, "SHA256", NULL);
	c->ctx = EVP_MD_CTX_new();
	c->mac = (struct hmac){ NULL, NULL };
	if (key.n > 0)
		hmac_init(&c->mac, key);
	if (c->md == NULL || c->ctx == NULL)
		abort();
}

void
chain_fini(struct chain *c)
{
	EVP_MD_free(c->md);
	EVP_MD_CTX_free(c->ctx);
	hmac_fini(&c->mac);
}

static void
hex(char out[static CHAIN_HEX], const unsigned char digest[static DIGEST])
{
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0; i < DIGEST; i++) {
		out[2 * i] = digits[digest[i] >> 4];
		out[2 * i + 1] = digits[digest[i] & 15];
	}
	out[HEX_DIGITS] = '\0';
}

/* A log that cannot be chained must not be written: these never fail but by our own bug.
 */
static void
digest(struct chain *c, struct str line, char out[static CHAIN_HEX])
{
	unsigned char bytes[DIGEST];

	if (EVP_DigestInit_ex2(c->ctx, c->md, NULL) != 1 ||
	    EVP_DigestUpdate(c->ctx, line.p, line.n) != 1 ||
	    EVP_DigestFinal_ex(c->ctx, bytes, NULL) != 1)
		abort();
	hex(out, bytes);
}

static void
authenticate(struct chain *c, struct str line, char out[static CHAIN_HEX])
{
	unsigned char bytes[DIGEST];

	hmac_digest(&c->mac, line, bytes);
	hex(out, bytes);
}

void
chain_continue(struct chain *c, struct str line)
{
	digest(c, line, c->head);
}

static void
put_member(struct buf *out, const char *key, const char *hex_digits)
{
	buf_text(out, key);
	buf_text(out, hex_digits);
	buf_char(out, '"');
}

void
chain_seal(struct chain *c, struct str line, struct buf *out)
{
	size_t begin = out->n;
	char mac[CHAIN_HEX];

	buf_str(out, line);
	put_member(out, prev_key, c->head);
	if (c->mac.inner != NULL) {
		authenticate(c, str_sub(buf_view(out), begin, out->n), mac);
		put_member(out, mac_key, mac);
	}
	buf_char(out, '}');
	chain_continue(c, str_sub(buf_view(out), begin, out->n));
	buf_char(out, '\n');
}

void
chain_digest(struct str line, char out[static CHAIN_HEX])
{
	struct chain c;

	chain_init(&c, STR_NONE);
	chain_continue(&c, line);
	memcpy(out, c.head, sizeof(c.head));
	chain_fini(&c);
}
