/*
 * ca.c - the CA that answers in place of origins, and the certificates it makes
 */
#include "net/ca.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/pem.h"

#define HOUR_S 3600
#define WEEK_S (7 * 24 * HOUR_S)
#define DAY_S (24 * HOUR_S)
#define SERIAL 16    /* bytes: RFC 5280 4.1.2.2 lets 20, CA/B wants 8 of chance */
#define NAME_MOST 64 /* RFC 5280 A.1: ub-common-name */

struct ca {
	atomic_uint refs;
	X509 *cert;
	EVP_PKEY *key, *leaf_key;
	STACK_OF(X509) * chain; /* shown with a leaf; of a root: none */
	unsigned char is_of[EVP_MAX_MD_SIZE];
	int64_t expires_s;
};

struct leaf {
	atomic_uint refs;
	X509 *cert;
	EVP_PKEY *key;
	STACK_OF(X509) * chain; /* the CA's; its own when there is none */
	struct ca *ca;
};

/* ---- reading one ---- */

static BIO *
bio_of(struct str s)
{
	BIO *b = BIO_new_mem_buf(s.p, (int)s.n);

	if (b == NULL)
		abort(); /* out of memory */
	return b;
}

static int64_t
seconds_of(const ASN1_TIME *t)
{
	struct tm tm;

	return ASN1_TIME_to_tm(t, &tm) == 1 ? (int64_t)timegm(&tm) : 0;
}

static void
digest_both(struct str cert, struct str key, unsigned char out[EVP_MAX_MD_SIZE])
{
	EVP_MD_CTX *ctx = EVP_MD_CTX_new();
	uint64_t n = cert.n;

	if (ctx == NULL || EVP_DigestInit_ex(ctx, EVP_sha256(), NULL) != 1 ||
	    EVP_DigestUpdate(ctx, &n, sizeof(n)) != 1 ||
	    EVP_DigestUpdate(ctx, cert.p, cert.n) != 1 ||
	    EVP_DigestUpdate(ctx, key.p, key.n) != 1 ||
	    EVP_DigestFinal_ex(ctx, out, NULL) != 1)
		abort(); /* out of memory */
	EVP_MD_CTX_free(ctx);
}

static void
read_chain(struct ca *ca, BIO *from)
{
	bool is_root = X509_check_issued(ca->cert, ca->cert) == X509_V_OK;
	X509 *more;

	if ((ca->chain = sk_X509_new_null()) == NULL)
		abort(); /* out of memory */
	if (!is_root && X509_up_ref(ca->cert) == 1)
		sk_X509_push(ca->chain, ca->cert);
	while ((more = PEM_read_bio_X509(from, NULL, pem_no_passphrase, NULL)) != NULL)
		if (is_root)
			X509_free(more); /* an older one, for clients' stores */
		else
			sk_X509_push(ca->chain, more);
}

/* What stands behind the certificate is left in `c`. */
static const char *
read_both(X509 **cert, EVP_PKEY **own, BIO *c, struct str key)
{
	BIO *k = bio_of(key);

	*cert = PEM_read_bio_X509(c, NULL, pem_no_passphrase, NULL);
	*own = PEM_read_bio_PrivateKey(k, NULL, pem_no_passphrase, NULL);
	BIO_free(k);
	if (*cert == NULL)
		return "the certificate is none in PEM";
	if (*own == NULL)
		return "the key is no private key in PEM without a passphrase";
	return NULL;
}

static const char not_its_key[] = "the key is not the certificate's";

static const char *
out_of_time(const X509 *cert)
{
	if (X509_cmp_current_time(X509_get0_notBefore(cert)) > 0)
		return "the certificate is not valid yet";
	if (X509_cmp_current_time(X509_get0_notAfter(cert)) < 0)
		return "the certificate has expired";
	return NULL;
}

static const char *
unfit(const struct ca *ca)
{
	uint32_t usage = X509_get_key_usage(ca->cert);

	if (X509_check_private_key(ca->cert, ca->key) != 1)
		return not_its_key;
	if (X509_check_ca(ca->cert) != 1)
		return "the certificate is no CA's (basicConstraints)";
	if (usage != UINT32_MAX && (usage & KU_KEY_CERT_SIGN) == 0)
		return "the certificate may not sign others (keyUsage)";
	return out_of_time(ca->cert);
}

struct ca *
ca_load(struct str cert, struct str key, const char **why)
{
	struct ca *ca = mem_zalloc(sizeof(*ca));
	BIO *c = bio_of(cert);

	atomic_init(&ca->refs, 1);
	*why = read_both(&ca->cert, &ca->key, c, key);
	if (ca->cert != NULL)
		read_chain(ca, c);
	BIO_free(c);
	if (*why == NULL)
		*why = unfit(ca);
	if (*why == NULL && (ca->leaf_key = EVP_EC_gen("P-256")) == NULL)
		*why = "OpenSSL makes no key";
	ERR_clear_error();
	if (*why != NULL) {
		ca_unref(ca);
		return NULL;
	}
	digest_both(cert, key, ca->is_of);
	ca->expires_s = seconds_of(X509_get0_notAfter(ca->cert));
	(void)X509_check_purpose(ca->cert, -1, 0); /* read once, not by many threads */
	return ca;
}

struct ca *
ca_ref(struct ca *ca)
{
	atomic_fetch_add_explicit(&ca->refs, 1, memory_order_relaxed);
	return ca;
}

void
ca_unref(struct ca *ca)
{
	if (ca == NULL || atomic_fetch_sub(&ca->refs, 1) > 1)
		return;
	X509_free(ca->cert);
	EVP_PKEY_free(ca->key);
	EVP_PKEY_free(ca->leaf_key);
	sk_X509_pop_free(ca->chain, X509_free);
	free(ca);
}

bool
ca_is_of(const struct ca *ca, struct str cert, struct str key)
{
	unsigned char other[EVP_MAX_MD_SIZE];

	digest_both(cert, key, other);
	return memcmp(ca->is_of, other, 32) == 0;
}

int64_t
ca_expires_s(const struct ca *ca)
{
	return ca->expires_s;
}

void
ca_fingerprint(const struct ca *ca, char out[static 65])
{
	unsigned char sum[EVP_MAX_MD_SIZE];
	unsigned n = 0;

	if (X509_digest(ca->cert, EVP_sha256(), sum, &n) != 1)
		abort(); /* out of memory */
	for (unsigned i = 0; i < n; i++)
		snprintf(out + 2 * i, 3, "%02x", sum[i]);
}

/* ---- what all certificates have ---- */

static bool
set_serial(X509 *x)
{
	unsigned char bytes[SERIAL];
	ASN1_INTEGER *serial = NULL;
	BIGNUM *n = NULL;
	bool is_fine;

	if (RAND_bytes(bytes, sizeof(bytes)) != 1)
		return false;
	bytes[0] =
	    (unsigned char)((bytes[0] & 0x7f) | 0x40); /* positive, of one length */
	n = BN_bin2bn(bytes, sizeof(bytes), NULL);
	serial = n == NULL ? NULL : BN_to_ASN1_INTEGER(n, NULL);
	is_fine = serial != NULL && X509_set_serialNumber(x, serial) == 1;
	ASN1_INTEGER_free(serial);
	BN_free(n);
	return is_fine;
}

static bool
set_times(X509 *x, int64_t from_s, int64_t until_s)
{
	return ASN1_TIME_set(X509_getm_notBefore(x), (time_t)from_s) != NULL &&
	       ASN1_TIME_set(X509_getm_notAfter(x), (time_t)until_s) != NULL;
}

static bool
set_name(X509_NAME *to, const char *field, struct str value)
{
	return X509_NAME_add_entry_by_txt(to, field, MBSTRING_UTF8,
		   (const unsigned char *)value.p, (int)value.n, -1, 0) == 1;
}

/* `issuer` may be the certificate itself. */
static bool
add_extension(X509 *x, X509 *issuer, int id, const char *value)
{
	X509V3_CTX ctx;
	X509_EXTENSION *e;
	bool is_fine;

	X509V3_set_ctx(&ctx, issuer, x, NULL, NULL, 0);
	e = X509V3_EXT_conf_nid(NULL, &ctx, id, value);
	is_fine = e != NULL && X509_add_ext(x, e, -1) == 1;
	X509_EXTENSION_free(e);
	return is_fine;
}

/* ---- a leaf ---- */

static bool
add_host(X509 *x, X509 *issuer, const struct host *name)
{
	char value[HOST_MAX + 8], text[ADDR_TEXT];

	snprintf(value, sizeof(value), "%s:%s", name->is_literal ? "IP" : "DNS",
	    name->is_literal ? addr_text(text, &name->addr) : name->name);
	return add_extension(x, issuer, NID_subject_alt_name, value);
}

static bool
fill_leaf(X509 *x, const struct ca *ca, const struct host *name, int64_t now_s)
{
	int64_t from_s = now_s - HOUR_S, until_s = now_s + WEEK_S;
	int64_t ca_from_s = seconds_of(X509_get0_notBefore(ca->cert));
	struct str cn = host_str(name);

	if (from_s < ca_from_s)
		from_s = ca_from_s;
	if (until_s > ca->expires_s)
		until_s = ca->expires_s;
	if (cn.n > NAME_MOST)
		cn = STR("intercepted");
	return until_s > now_s && X509_set_version(x, X509_VERSION_3) == 1 &&
	       set_serial(x) && set_times(x, from_s, until_s) &&
	       X509_set_issuer_name(x, X509_get_subject_name(ca->cert)) == 1 &&
	       set_name(X509_get_subject_name(x), "CN", cn) &&
	       X509_set_pubkey(x, ca->leaf_key) == 1 && add_host(x, ca->cert, name) &&
	       add_extension(x, ca->cert, NID_basic_constraints, "critical,CA:FALSE") &&
	       add_extension(x, ca->cert, NID_key_usage, "critical,digitalSignature") &&
	       add_extension(x, ca->cert, NID_ext_key_usage, "serverAuth") &&
	       add_extension(x, ca->cert, NID_subject_key_identifier, "hash") &&
	       add_extension(x, ca->cert, NID_authority_key_identifier, "keyid");
}

/* Ed25519 has its digest within. */
static const EVP_MD *
digest_for(const EVP_PKEY *key)
{
	int id = EVP_PKEY_get_base_id(key);

	return id == EVP_PKEY_ED25519 || id == EVP_PKEY_ED448 ? NULL : EVP_sha256();
}

struct leaf *
leaf_make(struct ca *ca, const struct host *name, int64_t now_s)
{
	X509 *x = X509_new();
	struct leaf *leaf;

	if (x == NULL || !fill_leaf(x, ca, name, now_s) ||
	    X509_sign(x, ca->key, digest_for(ca->key)) <= 0) {
		ERR_clear_error();
		X509_free(x);
		return NULL;
	}
	(void)X509_check_purpose(x, -1, 0);
	leaf = mem_zalloc(sizeof(*leaf));
	atomic_init(&leaf->refs, 1);
	leaf->cert = x;
	leaf->key = ca->leaf_key;
	leaf->chain = ca->chain;
	leaf->ca = ca_ref(ca);
	return leaf;
}

/* RFC 5280 4.2.1.12: one that says what it is for must say that. */
static const char *
unfit_leaf(const struct leaf *leaf)
{
	if (X509_check_private_key(leaf->cert, leaf->key) != 1)
		return not_its_key;
	if (X509_check_purpose(leaf->cert, X509_PURPOSE_SSL_SERVER, 0) != 1)
		return "the certificate is not for a server (keyUsage, "
		       "extendedKeyUsage)";
	return out_of_time(leaf->cert);
}

struct leaf *
leaf_load(struct str cert, struct str key, const char **why)
{
	struct leaf *leaf = mem_zalloc(sizeof(*leaf));
	BIO *c = bio_of(cert);
	X509 *more;

	atomic_init(&leaf->refs, 1);
	if ((leaf->chain = sk_X509_new_null()) == NULL)
		abort(); /* out of memory */
	*why = read_both(&leaf->cert, &leaf->key, c, key);
	while (leaf->cert != NULL &&
	       (more = PEM_read_bio_X509(c, NULL, pem_no_passphrase, NULL)) != NULL)
		sk_X509_push(leaf->chain, more);
	BIO_free(c);
	if (*why == NULL)
		*why = unfit_leaf(leaf);
	ERR_clear_error();
	if (*why == NULL)
		return leaf;
	leaf_unref(leaf);
	return NULL;
}

int64_t
leaf_expires_s(const struct leaf *leaf)
{
	return seconds_of(X509_get0_notAfter(leaf->cert));
}

struct leaf *
leaf_ref(struct leaf *leaf)
{
	atomic_fetch_add_explicit(&leaf->refs, 1, memory_order_relaxed);
	return leaf;
}

void
leaf_unref(struct leaf *leaf)
{
	if (leaf == NULL || atomic_fetch_sub(&leaf->refs, 1) > 1)
		return;
	if (leaf->ca == NULL) {
		EVP_PKEY_free(leaf->key);
		sk_X509_pop_free(leaf->chain, X509_free);
	}
	X509_free(leaf->cert);
	ca_unref(leaf->ca);
	free(leaf);
}

const struct ca *
leaf_ca(const struct leaf *leaf)
{
	return leaf->ca;
}

bool
leaf_use(struct leaf *leaf, SSL *ssl)
{
	return SSL_use_certificate(ssl, leaf->cert) == 1 &&
	       SSL_use_PrivateKey(ssl, leaf->key) == 1 &&
	       (sk_X509_num(leaf->chain) == 0 || SSL_set1_chain(ssl, leaf->chain) == 1);
}

/* ---- a CA is made ---- */

/* RFC 5280 4.2.1.10: a name, and all below it; no address at all. */
static bool
add_permitted(X509 *x, const struct ca_order *o)
{
	struct buf value;
	bool is_fine;

	if (o->npermit == 0)
		return true;
	buf_init(&value, (size_t)64 * 1024);
	buf_text(&value, "critical");
	for (size_t i = 0; i < o->npermit; i++)
		buf_fmt(&value, ",permitted;DNS:%s", o->permit[i]);
	buf_text(&value, ",excluded;IP:0.0.0.0/0.0.0.0,excluded;IP:0:0:0:0:0:0:0:0/"
			 "0:0:0:0:0:0:0:0");
	is_fine = add_extension(x, x, NID_name_constraints, buf_cstr(&value));
	buf_fini(&value);
	return is_fine;
}

static bool
fill_ca(X509 *x, EVP_PKEY *key, const struct ca_order *o)
{
	X509_NAME *name = X509_get_subject_name(x);

	return X509_set_version(x, X509_VERSION_3) == 1 && set_serial(x) &&
	       set_times(x, o->from_s - HOUR_S, o->from_s + o->days * DAY_S) &&
	       set_name(name, "CN", str_of(o->name)) &&
	       X509_set_issuer_name(x, name) == 1 && X509_set_pubkey(x, key) == 1 &&
	       add_extension(x, x, NID_basic_constraints, "critical,CA:TRUE,pathlen:0") &&
	       add_extension(x, x, NID_key_usage, "critical,keyCertSign,cRLSign") &&
	       add_extension(x, x, NID_subject_key_identifier, "hash") &&
	       add_permitted(x, o) && X509_sign(x, key, EVP_sha256()) > 0;
}

static bool
print_pem(X509 *x, EVP_PKEY *key, struct buf *cert, struct buf *secret)
{
	BIO *c = BIO_new(BIO_s_mem()), *k = BIO_new(BIO_s_secmem());
	bool is_fine =
	    c != NULL && k != NULL && PEM_write_bio_X509(c, x) == 1 &&
	    PEM_write_bio_PKCS8PrivateKey(k, key, NULL, NULL, 0, NULL, NULL) == 1;
	char *p;
	long n;

	if (is_fine && (n = BIO_get_mem_data(c, &p)) > 0)
		buf_add(cert, p, (size_t)n);
	if (is_fine && (n = BIO_get_mem_data(k, &p)) > 0)
		buf_add(secret, p, (size_t)n);
	BIO_free(c);
	BIO_free(k);
	return is_fine && cert->n > 0 && secret->n > 0;
}

bool
ca_make(const struct ca_order *o, struct buf *cert, struct buf *key)
{
	EVP_PKEY *pair = EVP_EC_gen("P-256");
	X509 *x = X509_new();
	bool is_fine = pair != NULL && x != NULL && fill_ca(x, pair, o) &&
		       print_pem(x, pair, cert, key);

	ERR_clear_error();
	X509_free(x);
	EVP_PKEY_free(pair);
	return is_fine;
}
