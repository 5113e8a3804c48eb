/*
 * sign.c - claims and a private key -> a token
 */
#include "policy/sign.h"

#include <assert.h>
#include <openssl/crypto.h>
#include <openssl/ecdsa.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/rsa.h>
#include <string.h>

#include "base/pem.h"
#include "wire/json.h"

#define SIGNATURE_MAX 2048

void
base64url_put(struct buf *to, struct str bytes)
{
	static const char digits[] =
	    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
	uint32_t bits = 0;
	unsigned have = 0;

	for (size_t i = 0; i < bytes.n; i++) {
		bits = bits << 8 | (unsigned char)bytes.p[i];
		for (have += 8; have >= 6; have -= 6)
			buf_char(to, digits[bits >> (have - 6) & 63]);
	}
	if (have > 0)
		buf_char(to, digits[bits << (6 - have) & 63]);
}

static const EVP_MD *
hash_of(const struct alg *alg)
{
	if (alg->family == ALG_EDDSA)
		return NULL; /* it has its own */
	return alg->bits == 256   ? EVP_sha256()
	       : alg->bits == 384 ? EVP_sha384()
				  : EVP_sha512();
}

static EVP_PKEY *
private_of(struct str pem)
{
	BIO *bio = BIO_new_mem_buf(pem.p, (int)pem.n);

	assert(bio != NULL);
	EVP_PKEY *key = PEM_read_bio_PrivateKey(bio, NULL, pem_no_passphrase, NULL);
	BIO_free(bio);
	return key;
}

/* RFC 7518 3.4: r and s, each as long as the field, instead of DER. */
static bool
plain_of_der(unsigned char *sig, size_t *n, const struct alg *alg)
{
	const unsigned char *at = sig;
	size_t half = (alg->bits + 7) / 8;
	ECDSA_SIG *pair = d2i_ECDSA_SIG(NULL, &at, (long)*n);
	bool is_done = pair != NULL &&
		       BN_bn2binpad(ECDSA_SIG_get0_r(pair), sig, (int)half) >= 0 &&
		       BN_bn2binpad(ECDSA_SIG_get0_s(pair), sig + half, (int)half) >= 0;

	ECDSA_SIG_free(pair);
	*n = 2 * half;
	return is_done;
}

static bool
sign_with(
    EVP_PKEY *key, const struct alg *alg, struct str text, unsigned char *sig, size_t *n)
{
	EVP_MD_CTX *ctx = EVP_MD_CTX_new();
	EVP_PKEY_CTX *how = NULL;
	bool is_done =
	    ctx != NULL && EVP_DigestSignInit(ctx, &how, hash_of(alg), NULL, key) == 1;

	if (is_done && alg->family == ALG_PSS)
		is_done =
		    EVP_PKEY_CTX_set_rsa_padding(how, RSA_PKCS1_PSS_PADDING) == 1 &&
		    EVP_PKEY_CTX_set_rsa_pss_saltlen(how, RSA_PSS_SALTLEN_DIGEST) == 1;
	is_done = is_done &&
		  EVP_DigestSign(ctx, sig, n, (const unsigned char *)text.p, text.n) == 1;
	EVP_MD_CTX_free(ctx);
	return is_done && (alg->family != ALG_EC || plain_of_der(sig, n, alg));
}

static const char *
sign(
    const struct alg *alg, struct str key, struct str text, unsigned char *sig, size_t *n)
{
	unsigned mac = 0;

	if (alg->family == ALG_HMAC) {
		bool is_done =
		    HMAC(hash_of(alg), key.p, (int)key.n, (const unsigned char *)text.p,
			text.n, sig, &mac) != NULL;
		*n = mac;
		return is_done ? NULL : "OpenSSL makes no HMAC with it";
	}
	EVP_PKEY *private = private_of(key);
	if (private == NULL)
		return "it is no private key in PEM";
	/* another kind of key signs, too, but what it signs never counts */
	const char *why = alg_misfit(alg, private);
	if (why == NULL && !sign_with(private, alg, text, sig, n))
		why = "OpenSSL does not sign with it";
	EVP_PKEY_free(private);
	return why;
}

static void
put_header(struct buf *to, const struct alg *alg, struct str kid)
{
	struct json_out j;
	struct buf header;

	buf_init(&header, 1024);
	json_out_init(&j, &header);
	json_open(&j, '{');
	json_key(&j, "alg");
	json_text(&j, alg->name);
	json_key(&j, "typ");
	json_text(&j, "JWT");
	if (kid.n > 0) {
		json_key(&j, "kid");
		json_str(&j, kid);
	}
	json_close(&j, '}');
	base64url_put(to, buf_view(&header));
	buf_fini(&header);
}

const char *
token_sign(struct buf *to, const struct alg *alg, struct str kid, struct str private_key,
    struct str claims)
{
	unsigned char sig[SIGNATURE_MAX];
	size_t n = sizeof(sig), begin = to->n;

	put_header(to, alg, kid);
	buf_char(to, '.');
	base64url_put(to, claims);
	const char *why =
	    sign(alg, private_key, str_sub(buf_view(to), begin, to->n), sig, &n);
	if (why != NULL)
		return why;
	buf_char(to, '.');
	base64url_put(to, (struct str){ (const char *)sig, n });
	return NULL;
}

/* ---- keys */

static EVP_PKEY *
new_key(const struct alg *alg)
{
	switch (alg->family) {
	case ALG_HMAC:
		return NULL;
	case ALG_RSA:
	case ALG_PSS:
		return EVP_PKEY_Q_keygen(NULL, NULL, "RSA", (size_t)3072);
	case ALG_EC:
		return EVP_PKEY_Q_keygen(NULL, NULL, "EC", alg->curve);
	case ALG_EDDSA:
		return EVP_PKEY_Q_keygen(NULL, NULL, "ED25519");
	}
	return NULL;
}

/* The random bytes as text: that text is the secret. */
static bool
make_secret(struct buf *to, const struct alg *alg)
{
	unsigned char bytes[64];
	size_t n = alg->bits / 8;
	bool is_made = RAND_priv_bytes(bytes, (int)n) == 1;

	if (is_made)
		base64url_put(to, (struct str){ (const char *)bytes, n });
	OPENSSL_cleanse(bytes, sizeof(bytes));
	return is_made;
}

static bool
take(struct buf *to, BIO *bio, bool is_written)
{
	char *p = NULL;
	long n = BIO_get_mem_data(bio, &p);

	if (is_written && n > 0)
		buf_add(to, p, (size_t)n);
	BIO_free(bio); /* a memory BIO is wiped */
	return is_written && n > 0;
}

bool
key_make(struct buf *private_key, const struct alg *alg)
{
	if (alg->family == ALG_HMAC)
		return make_secret(private_key, alg);
	EVP_PKEY *key = new_key(alg);
	BIO *bio = BIO_new(BIO_s_secmem());
	bool is_written =
	    key != NULL && bio != NULL &&
	    PEM_write_bio_PKCS8PrivateKey(bio, key, NULL, NULL, 0, NULL, NULL) == 1;
	EVP_PKEY_free(key);
	return take(private_key, bio, is_written);
}

bool
key_public(struct buf *to, struct str private_key)
{
	EVP_PKEY *key = private_of(private_key);
	BIO *bio = BIO_new(BIO_s_mem());
	bool is_written =
	    key != NULL && bio != NULL && PEM_write_bio_PUBKEY(bio, key) == 1;

	EVP_PKEY_free(key);
	return take(to, bio, is_written);
}
