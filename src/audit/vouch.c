/*
 * vouch.c - a checkpoint's signature
 */
#include "audit/vouch.h"

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <stdlib.h>
#include <string.h>

#include "audit/chain.h"
#include "audit/entry.h"
#include "base/pem.h"

#define SIG_BYTES 64
#define SIG_TEXT 88
#define MESSAGE_MAX 4096

struct vouch_key {
	EVP_PKEY *key;
	char id[VOUCH_KEY_ID];
};

static EVP_PKEY *
read_pem(struct str pem)
{
	BIO *in = BIO_new_mem_buf(pem.p, (int)pem.n);
	EVP_PKEY *key =
	    in == NULL ? NULL : PEM_read_bio_PUBKEY(in, NULL, pem_no_passphrase, NULL);

	if (in != NULL && key == NULL && BIO_reset(in) == 1)
		key = PEM_read_bio_PrivateKey(in, NULL, pem_no_passphrase, NULL);
	BIO_free(in);
	return key;
}

bool
vouch_key_id(EVP_PKEY *key, char out[static VOUCH_KEY_ID])
{
	unsigned char *der = NULL;
	char digest[CHAIN_HEX];
	int n = i2d_PUBKEY(key, &der);

	if (n <= 0)
		return false;
	chain_digest((struct str){ (const char *)der, (size_t)n }, digest);
	OPENSSL_free(der);
	memcpy(out, digest, VOUCH_KEY_ID - 1);
	out[VOUCH_KEY_ID - 1] = '\0';
	return true;
}

struct vouch_key *
vouch_key_new(struct str pem)
{
	struct vouch_key *k = mem_zalloc(sizeof(*k));

	if (pem.n <= INT32_MAX && (k->key = read_pem(pem)) != NULL &&
	    EVP_PKEY_is_a(k->key, "ED25519") == 1 && vouch_key_id(k->key, k->id))
		return k;
	vouch_key_free(k);
	return NULL;
}

void
vouch_key_free(struct vouch_key *k)
{
	if (k == NULL)
		return;
	EVP_PKEY_free(k->key);
	free(k);
}

struct vouch
vouch_read(const struct json_value *object)
{
	return (struct vouch){
		.name = entry_text(object, "name"),
		.ts = entry_text(object, "ts"),
		.lines = entry_text(object, "lines"),
		.head = entry_text(object, "head"),
		.key = entry_text(object, "key"),
		.sig = entry_text(object, "sig"),
	};
}

void
vouch_message(const struct vouch *v, struct buf *to)
{
	const struct str parts[] = { STR("weir-checkpoint-v1"), v->name, v->ts, v->lines,
		v->head };

	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
		buf_str(to, parts[i]);
		buf_char(to, '\n');
	}
}

static bool
read_base64(struct str text, unsigned char out[static SIG_BYTES + 2])
{
	if (text.n != SIG_TEXT || !str_ends(text, STR("==")))
		return false;
	for (size_t i = 0; i < text.n - 2; i++) /* EVP_DecodeBlock() trims blanks */
		if (!ascii_is_alnum(text.p[i]) && text.p[i] != '+' && text.p[i] != '/')
			return false;
	return EVP_DecodeBlock(out, (const unsigned char *)text.p, SIG_TEXT) ==
	       SIG_BYTES + 2;
}

static bool
is_signed(const struct vouch *v, const struct vouch_key *k)
{
	unsigned char sig[SIG_BYTES + 2];
	EVP_MD_CTX *ctx;
	struct buf message;
	bool is_good;

	if (!read_base64(v->sig, sig))
		return false;
	buf_init(&message, MESSAGE_MAX);
	vouch_message(v, &message);
	ctx = EVP_MD_CTX_new();
	is_good = !message.is_over && ctx != NULL &&
		  EVP_DigestVerifyInit(ctx, NULL, NULL, NULL, k->key) == 1 &&
		  EVP_DigestVerify(ctx, sig, SIG_BYTES, (const unsigned char *)message.p,
		      message.n) == 1;
	EVP_MD_CTX_free(ctx);
	buf_fini(&message);
	return is_good;
}

const char *
vouch_fault(const struct vouch *v, const struct vouch_key *k)
{
	if (v->sig.n == 0)
		return "it is not signed";
	if (!str_eq(v->key, str_of(k->id)))
		return "it is signed with another key";
	return is_signed(v, k) ? NULL : "its signature is not of what it says";
}
