/*
 * checkpoint.c - what the head of a chain was, and whose word that is
 */
#include "audit/checkpoint.h"

#include <assert.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <stdlib.h>
#include <string.h>

#include "audit/record.h"
#include "audit/vouch.h"
#include "base/log.h"
#include "base/pem.h"
#include "wire/json.h"

#define ED25519_SIG 64
#define SIG_TEXT (4 * ((ED25519_SIG + 2) / 3) + 1)

struct signer {
	EVP_PKEY *key;
	char id[VOUCH_KEY_ID];
};

static EVP_PKEY *
read_key(struct str pem)
{
	BIO *bio = BIO_new_mem_buf(pem.p, (int)pem.n);
	EVP_PKEY *key = bio == NULL
			    ? NULL
			    : PEM_read_bio_PrivateKey(bio, NULL, pem_no_passphrase, NULL);

	BIO_free(bio);
	if (key == NULL || EVP_PKEY_is_a(key, "ED25519"))
		return key;
	EVP_PKEY_free(key);
	return NULL;
}

struct signer *
signer_new(struct str pem)
{
	EVP_PKEY *key = read_key(pem);
	struct signer *s;

	if (key == NULL)
		return NULL;
	s = mem_zalloc(sizeof(*s));
	s->key = key;
	if (!vouch_key_id(key, s->id))
		abort();
	return s;
}

bool
signer_takes(struct str pem)
{
	EVP_PKEY *key = read_key(pem);

	EVP_PKEY_free(key);
	return key != NULL;
}

void
signer_free(struct signer *s)
{
	if (s == NULL)
		return;
	EVP_PKEY_free(s->key);
	free(s);
}

/* A chain that cannot be signed as was asked must not look as if it were. */
static void
sign(const struct signer *s, struct str text, char out[static SIG_TEXT])
{
	EVP_MD_CTX *ctx = EVP_MD_CTX_new();
	unsigned char sig[ED25519_SIG];
	size_t n = sizeof(sig);

	if (ctx == NULL || EVP_DigestSignInit(ctx, NULL, NULL, NULL, s->key) != 1 ||
	    EVP_DigestSign(ctx, sig, &n, (const unsigned char *)text.p, text.n) != 1)
		abort();
	EVP_MD_CTX_free(ctx);
	EVP_EncodeBlock((unsigned char *)out, sig, (int)n);
}

static void
print_anchored(const struct checkpoint *c, const char *ts, const char *lines,
    const char *key, const char *sig, struct buf *to)
{
	const struct {
		const char *key, *text;
	} members[] = { { "name", c->name }, { "ts", ts }, { "lines", lines },
		{ "head", c->head }, { "key", key }, { "sig", sig } };
	struct json_out j;

	json_out_init(&j, to);
	json_open(&j, '{');
	json_key(&j, "v");
	json_int(&j, 1);
	for (size_t i = 0; i < sizeof(members) / sizeof(*members); i++) {
		if (members[i].text == NULL)
			continue;
		json_key(&j, members[i].key);
		json_text(&j, members[i].text);
	}
	json_close(&j, '}');
	buf_char(to, '\n');
}

void
checkpoint_print(const struct checkpoint *c, const struct signer *signer, uint64_t seq,
    struct buf *record, struct buf *anchored)
{
	const char *lines = NUM((int64_t)c->lines);
	char ts[RECORD_TIME], sig_text[SIG_TEXT];
	const char *key = NULL, *sig = NULL;
	struct buf text;

	record_time(ts, c->ts);
	if (signer != NULL) {
		buf_init(&text, 4096);
		vouch_message(&(struct vouch){ .name = str_of(c->name),
				  .ts = str_of(ts),
				  .lines = str_of(lines),
				  .head = str_of(c->head) },
		    &text);
		assert(!text.is_over);
		sign(signer, buf_view(&text), sig_text);
		buf_fini(&text);
		key = signer->id;
		sig = sig_text;
	}
	record_print_system(c->ts, seq, "checkpoint", NULL, record, "name", c->name,
	    "lines", lines, "head", c->head, "key", key, "sig", sig, NULL);
	print_anchored(c, ts, lines, key, sig, anchored);
}
