/*
 * jwk.c - a JSON Web Key Set -> public keys as PEM, and secrets
 */
#include "policy/jwk.h"

#include <assert.h>
#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/param_build.h>
#include <openssl/pem.h>
#include <string.h>

#include "wire/json.h"

/* ---- base64url */

static int
digit_of(char c)
{
	static const char digits[] =
	    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
	const char *at = c == '\0' ? NULL : strchr(digits, c);

	return at == NULL ? -1 : (int)(at - digits);
}

/* RFC 7515 2: no padding, nothing else between; and the bits behind the last byte are
 * zero, so that bytes have one spelling only. */
struct str
base64url_read(struct str text, struct arena *a)
{
	uint32_t bits = 0;
	unsigned have = 0;
	size_t n = 0;
	char *p = text.n % 4 == 1 ? NULL : arena_alloc(a, text.n + 1);

	for (size_t i = 0; p != NULL && i < text.n; i++) {
		int digit = digit_of(text.p[i]);
		if (digit < 0)
			return STR_NONE;
		bits = bits << 6 | (uint32_t)digit;
		have += 6;
		if (have >= 8) {
			have -= 8;
			p[n++] = (char)(bits >> have & 0xff);
			bits &= ((uint32_t)1 << have) - 1;
		}
	}
	return bits != 0 || p == NULL ? STR_NONE : (struct str){ p, n };
}

/* ---- one key */

static struct str
text_of(const struct json_value *key, const char *name)
{
	const struct json_value *v = json_get(key, name);

	return v == NULL || v->type != JSON_STRING ? STR_NONE : v->text;
}

static struct str
bytes_of(const struct json_value *key, const char *name, struct arena *a)
{
	struct str text = text_of(key, name);

	return text.n == 0 ? STR_NONE : base64url_read(text, a);
}

static bool
take_pem(struct jwk *out, EVP_PKEY *key)
{
	BIO *bio = BIO_new(BIO_s_mem());
	char *p = NULL;
	long n;

	assert(bio != NULL);
	if (PEM_write_bio_PUBKEY(bio, key) == 1 && (n = BIO_get_mem_data(bio, &p)) > 0) {
		out->n = (size_t)n;
		out->bytes = OPENSSL_memdup(p, out->n);
	}
	BIO_free(bio);
	return out->bytes != NULL;
}

/* Takes the builder. */
static bool
make(struct jwk *out, const char *type, OSSL_PARAM_BLD *builder)
{
	EVP_PKEY_CTX *ctx = EVP_PKEY_CTX_new_from_name(NULL, type, NULL);
	OSSL_PARAM *params = OSSL_PARAM_BLD_to_param(builder);
	EVP_PKEY *key = NULL;
	bool is_made = ctx != NULL && params != NULL &&
		       EVP_PKEY_fromdata_init(ctx) == 1 &&
		       EVP_PKEY_fromdata(ctx, &key, EVP_PKEY_PUBLIC_KEY, params) == 1 &&
		       take_pem(out, key);

	EVP_PKEY_free(key);
	EVP_PKEY_CTX_free(ctx);
	OSSL_PARAM_free(params);
	OSSL_PARAM_BLD_free(builder);
	return is_made;
}

static BIGNUM *
number(struct str bytes)
{
	return bytes.n == 0 || bytes.n > 2048
		   ? NULL
		   : BN_bin2bn((const unsigned char *)bytes.p, (int)bytes.n, NULL);
}

static bool
read_rsa(struct jwk *out, const struct json_value *key, struct arena *a)
{
	BIGNUM *n = number(bytes_of(key, "n", a)), *e = number(bytes_of(key, "e", a));
	OSSL_PARAM_BLD *builder = OSSL_PARAM_BLD_new();
	bool is_made = false;

	if (builder != NULL && n != NULL && e != NULL &&
	    OSSL_PARAM_BLD_push_BN(builder, OSSL_PKEY_PARAM_RSA_N, n) == 1 &&
	    OSSL_PARAM_BLD_push_BN(builder, OSSL_PKEY_PARAM_RSA_E, e) == 1)
		is_made = make(out, "RSA", builder);
	else
		OSSL_PARAM_BLD_free(builder);
	BN_free(n);
	BN_free(e);
	return is_made;
}

static const struct {
	const char *crv, *group;
	size_t n; /* of a coordinate */
} curves[] = {
	{ "P-256", "prime256v1", 32 },
	{ "P-384", "secp384r1", 48 },
	{ "P-521", "secp521r1", 66 },
};

static bool
read_ec(struct jwk *out, const struct json_value *key, struct arena *a)
{
	struct str crv = text_of(key, "crv"), x = bytes_of(key, "x", a),
		   y = bytes_of(key, "y", a);
	unsigned char point[1 + 2 * 66] = { 4 };
	size_t i = 0;

	while (i < 3 && !str_eq(crv, str_of(curves[i].crv)))
		i++;
	if (i == 3 || x.p == NULL || x.n != curves[i].n || y.p == NULL ||
	    y.n != curves[i].n)
		return false;
	memcpy(point + 1, x.p, x.n);
	memcpy(point + 1 + x.n, y.p, y.n);
	OSSL_PARAM_BLD *builder = OSSL_PARAM_BLD_new();
	assert(builder != NULL);
	if (OSSL_PARAM_BLD_push_utf8_string(
		builder, OSSL_PKEY_PARAM_GROUP_NAME, curves[i].group, 0) == 1 &&
	    OSSL_PARAM_BLD_push_octet_string(
		builder, OSSL_PKEY_PARAM_PUB_KEY, point, 1 + 2 * x.n) == 1)
		return make(out, "EC", builder);
	OSSL_PARAM_BLD_free(builder);
	return false;
}

static bool
read_okp(struct jwk *out, const struct json_value *key, struct arena *a)
{
	struct str x = bytes_of(key, "x", a);
	EVP_PKEY *public;

	if (!str_eq(text_of(key, "crv"), STR("Ed25519")) || x.n != 32)
		return false;
	public = EVP_PKEY_new_raw_public_key(
	    EVP_PKEY_ED25519, NULL, (const unsigned char *)x.p, x.n);
	bool is_made = public != NULL && take_pem(out, public);
	EVP_PKEY_free(public);
	return is_made;
}

static bool
read_oct(struct jwk *out, const struct json_value *key, struct arena *a)
{
	struct str k = bytes_of(key, "k", a);

	if (k.n == 0)
		return false;
	out->is_secret = true;
	out->n = k.n;
	out->bytes = OPENSSL_memdup(k.p, k.n);
	return out->bytes != NULL;
}

static const struct {
	const char *kty;
	bool (*read)(struct jwk *out, const struct json_value *key, struct arena *a);
} kinds[] = {
	{ "RSA", read_rsa },
	{ "EC", read_ec },
	{ "OKP", read_okp },
	{ "oct", read_oct },
};

/* RFC 7517 4.2, 4.3 */
static bool
is_for_verifying(const struct json_value *key)
{
	const struct json_value *use = json_get(key, "use"),
				*ops = json_get(key, "key_ops");
	bool is_there = ops == NULL;

	for (const struct json_value *at = ops == NULL ? NULL : ops->child; at != NULL;
	     at = at->next)
		is_there |= at->type == JSON_STRING && str_eq(at->text, STR("verify"));
	return is_there && (use == NULL || (use->type == JSON_STRING &&
					       str_eq(use->text, STR("sig"))));
}

static void
no(struct jwk *out, enum jwk_fit fit, const char *why)
{
	out->fit = fit;
	out->why = why;
}

static void
read_key(struct jwk *out, const struct json_value *key, struct arena *a)
{
	struct str kty = text_of(key, "kty");

	*out = (struct jwk){ .kid = text_of(key, "kid"), .alg = text_of(key, "alg") };
	if (!is_for_verifying(key)) {
		no(out, JWK_UNUSED, "it is not for verifying signatures");
		return;
	}
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (!str_eq(kty, str_of(kinds[i].kty)))
			continue;
		if (json_get(key, "d") != NULL)
			no(out, JWK_PRIVATE, "the private half is in it");
		else if (!kinds[i].read(out, key, a))
			no(out, JWK_BAD, "its numbers make no key");
		return;
	}
	no(out, JWK_UNUSED, "weir knows no key of its kty");
}

size_t
jwk_set(
    struct jwk out[static JWK_MAX], struct str json, struct arena *a, const char **why)
{
	const struct json_value *root = json_parse(json, a, why),
				*keys = json_get(root, "keys");
	size_t n = 0;

	if (root == NULL)
		return 0;
	*why = "a JWKS is {\"keys\": [...]} with 1 to 64 keys";
	if (keys == NULL || keys->type != JSON_ARRAY || keys->n == 0 || keys->n > JWK_MAX)
		return 0;
	for (const struct json_value *at = keys->child; at != NULL; at = at->next) {
		if (at->type != JSON_OBJECT)
			return 0;
	}
	*why = NULL;
	for (const struct json_value *at = keys->child; at != NULL; at = at->next)
		read_key(&out[n++], at, a);
	return n;
}
