/*
 * keys.c - whose word counts, and for what
 */
#include "policy/keys.h"

#include <assert.h>
#include <jwt.h>
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <stdlib.h>
#include <string.h>

#include "base/pem.h"
#include "policy/jwk.h"

/* ---- algorithms */

#if HAVE_DECL_JWT_ALG_PS256
#define PSS(n) JWT_ALG_PS##n
#else
#define PSS(n) (-1)
#endif
#if HAVE_DECL_JWT_ALG_EDDSA
#define EDDSA JWT_ALG_EDDSA
#else
#define EDDSA (-1)
#endif

static const struct alg algs[] = {
	{ "HS256", ALG_HMAC, 256, NULL, JWT_ALG_HS256 },
	{ "HS384", ALG_HMAC, 384, NULL, JWT_ALG_HS384 },
	{ "HS512", ALG_HMAC, 512, NULL, JWT_ALG_HS512 },
	{ "RS256", ALG_RSA, 256, NULL, JWT_ALG_RS256 },
	{ "RS384", ALG_RSA, 384, NULL, JWT_ALG_RS384 },
	{ "RS512", ALG_RSA, 512, NULL, JWT_ALG_RS512 },
	{ "PS256", ALG_PSS, 256, NULL, PSS(256) },
	{ "PS384", ALG_PSS, 384, NULL, PSS(384) },
	{ "PS512", ALG_PSS, 512, NULL, PSS(512) },
	{ "ES256", ALG_EC, 256, "prime256v1", JWT_ALG_ES256 },
	{ "ES384", ALG_EC, 384, "secp384r1", JWT_ALG_ES384 },
	{ "ES512", ALG_EC, 521, "secp521r1", JWT_ALG_ES512 },
	{ "EdDSA", ALG_EDDSA, 256, "ED25519", EDDSA },
};

#define ALGS (sizeof(algs) / sizeof(algs[0]))

const struct alg *
alg_find(struct str name)
{
	for (size_t i = 0; i < ALGS; i++)
		if (str_eq(name, str_of(algs[i].name)))
			return &algs[i];
	return NULL;
}

/* ---- weak secrets */

static bool
is_printable(struct str s)
{
	for (size_t i = 0; i < s.n; i++)
		if (s.p[i] < ' ' || s.p[i] > '~')
			return false;
	return true;
}

static bool
is_hex(struct str s)
{
	for (size_t i = 0; i < s.n; i++)
		if (!ascii_is_hex(s.p[i]))
			return false;
	return true;
}

/* How many different bytes it has. */
static size_t
variety(struct str s)
{
	bool seen[256] = { false };
	size_t n = 0;

	for (size_t i = 0; i < s.n; i++) {
		n += !seen[(unsigned char)s.p[i]];
		seen[(unsigned char)s.p[i]] = true;
	}
	return n;
}

/* The same few characters again and again. */
static bool
repeats(struct str s)
{
	for (size_t period = 1; period <= s.n / 2; period++)
		if (memcmp(s.p, s.p + period, s.n - period) == 0)
			return true;
	return false;
}

/* "0123456", "abcdefg": eight neighbours in a row, up or down. */
static bool
counts_up(struct str s)
{
	size_t up = 0, down = 0;

	for (size_t i = 1; i < s.n; i++) {
		up = s.p[i] == s.p[i - 1] + 1 ? up + 1 : 0;
		down = s.p[i] == s.p[i - 1] - 1 ? down + 1 : 0;
		if (up >= 7 || down >= 7)
			return true;
	}
	return false;
}

static bool
has_a_word(struct str s)
{
	static const char *const words[] = { "secret", "password", "passwd", "changeme",
		"change-me", "change_me", "example", "default", "qwerty", "letmein",
		"session", "production", "development" };

	for (size_t i = 0; i + 6 <= s.n; i++)
		for (size_t w = 0; w < sizeof(words) / sizeof(words[0]); w++) {
			struct str word = str_of(words[w]);
			if (str_eq_nocase(str_sub(s, i, word.n), word))
				return true;
		}
	return false;
}

const char *
secret_weakness(const struct alg *alg, struct str secret)
{
	size_t bits = secret.n * 8;

	if (bits < alg->bits)
		return "it is shorter than the hash";
	if (str_starts(secret, STR("-----BEGIN")))
		return "it is a PEM file, and what is in one may be public";
	if (repeats(secret) || variety(secret) < 10)
		return "it repeats itself";
	if (!is_printable(secret))
		return NULL;
	/* text holds less than eight bits a character: 4 in hex, about 6 in base64 */
	bits = secret.n * (is_hex(secret) ? 4 : 6);
	if (bits + 4 < alg->bits)
		return "as text it holds fewer bits than the hash";
	if (counts_up(secret) || has_a_word(secret))
		return "it can be guessed";
	return NULL;
}

/* ---- one key */

struct loader {
	struct keys *k;
	const struct settings *s;
	struct report *rep;
	const struct session_key *row;
	size_t cap;
};

static void PRINTF_LIKE(4, 5) say(const struct loader *l, enum severity severity,
    const char *code, const char *fmt, ...)
{
	struct mark mark = l->row->mark;
	struct str source = l->s->tree == NULL ? STR_NONE : l->s->tree->source;
	va_list ap;

	va_start(ap, fmt);
	report_vadd(l->rep, severity, mark, source, code, NULL, fmt, ap);
	va_end(ap);
}

const char *
alg_misfit(const struct alg *alg, EVP_PKEY *key)
{
	char group[64] = "";
	BIGNUM *e = NULL;
	bool is_odd_e = false;

	switch (alg->family) {
	case ALG_HMAC:
		return "a public key signs nothing by HMAC";
	case ALG_RSA:
	case ALG_PSS:
		if (EVP_PKEY_get_base_id(key) != EVP_PKEY_RSA)
			return "it is no RSA key";
		if (EVP_PKEY_get_bits(key) < 2048)
			return "RSA under 2048 bits can be broken";
		if (EVP_PKEY_get_bits(key) > 16384)
			return "RSA over 16384 bits costs too much";
		if (EVP_PKEY_get_bn_param(key, OSSL_PKEY_PARAM_RSA_E, &e) == 1)
			is_odd_e = BN_is_odd(e) && BN_num_bits(e) > 1;
		BN_free(e);
		return is_odd_e ? NULL : "its exponent is no odd number above 1";
	case ALG_EC:
		if (EVP_PKEY_get_base_id(key) != EVP_PKEY_EC ||
		    EVP_PKEY_get_group_name(key, group, sizeof(group), NULL) != 1 ||
		    strcmp(group, alg->curve) != 0)
			return "it is not of the algorithm's curve";
		return NULL;
	case ALG_EDDSA:
		return EVP_PKEY_get_base_id(key) == EVP_PKEY_ED25519
			   ? NULL
			   : "it is no Ed25519 key";
	}
	return "it is of no kind weir knows";
}

static size_t
signature_length(const struct alg *alg, EVP_PKEY *key)
{
	switch (alg->family) {
	case ALG_HMAC:
		return alg->bits / 8;
	case ALG_RSA:
	case ALG_PSS:
		return (size_t)EVP_PKEY_get_size(key);
	case ALG_EC:
		return 2 * ((alg->bits + 7) / 8);
	case ALG_EDDSA:
		return 64;
	}
	return 0;
}

static EVP_PKEY *
public_key(const unsigned char *pem, size_t n)
{
	BIO *bio = BIO_new_mem_buf(pem, (int)n);
	EVP_PKEY *key = NULL;

	assert(bio != NULL);
	key = PEM_read_bio_PUBKEY(bio, NULL, pem_no_passphrase, NULL);
	BIO_free(bio);
	return key;
}

static bool
is_twice(const struct loader *l, const struct alg *alg, const char *kid)
{
	for (size_t i = 0; i < l->k->n; i++) {
		const struct key *k = &l->k->key[i];
		if (strcmp(k->row->issuer, l->row->issuer) == 0 && k->alg == alg &&
		    kid != NULL && k->kid != NULL && strcmp(k->kid, kid) == 0)
			return true;
	}
	return false;
}

/* A copy, in pages that no core has; PEM readers like the NUL behind it. */
static void
keep(struct loader *l, const struct alg *alg, const char *kid, struct str bytes,
    size_t signature)
{
	if (is_twice(l, alg, kid))
		say(l, SEVERITY_ERROR, "duplicate_key", "%s has two keys %s for %s",
		    l->row->issuer, kid, alg->name);
	if (l->k->n == l->cap) {
		l->cap = l->cap == 0 ? 8 : 2 * l->cap;
		l->k->key = mem_resize(l->k->key, l->cap * sizeof(*l->k->key));
	}
	struct key *key = &l->k->key[l->k->n++];

	*key = (struct key){ .row = l->row,
		.alg = alg,
		.kid = kid == NULL ? NULL : mem_strdup(kid),
		.signature = signature };
	secret_set(&key->key, bytes);
}

static void
add_secret(struct loader *l, const struct alg *alg, const char *kid, struct str secret)
{
	const char *why;

	if (alg->family != ALG_HMAC)
		say(l, SEVERITY_ERROR, "bad_key", "%s needs a public key, not a secret",
		    alg->name);
	else if ((why = secret_weakness(alg, secret)) != NULL)
		say(l, SEVERITY_ERROR, "weak_key",
		    "the secret is too weak for %s: %s; `weir token keygen` makes one",
		    alg->name, why);
	else
		keep(l, alg, kid, secret, alg->bits / 8);
}

static void
add_public(struct loader *l, const struct alg *alg, const char *kid,
    const unsigned char *pem, size_t n)
{
	EVP_PKEY *key = public_key(pem, n);
	const char *why =
	    key == NULL ? "it is no public key in PEM" : alg_misfit(alg, key);

	if (alg->libjwt < 0)
		say(l, SEVERITY_ERROR, "bad_key",
		    "%s is not in the libjwt this weir was built with", alg->name);
	else if (key == NULL && memmem(pem, n, "PRIVATE KEY", 11) != NULL)
		say(l, SEVERITY_ERROR, "private_key",
		    "weir only verifies: give it the public half (openssl pkey -in ... "
		    "-pubout)");
	else if (why != NULL)
		say(l, SEVERITY_ERROR,
		    strstr(why, "2048") != NULL ? "weak_key" : "bad_key",
		    "the key does not fit %s: %s", alg->name, why);
	else
		keep(l, alg, kid, (struct str){ (const char *)pem, n },
		    signature_length(alg, key));
	EVP_PKEY_free(key);
}

/* ---- a set of keys */

/* What a key is for when nobody says: its kind's usual algorithm. */
static const struct alg *
alg_of(const struct jwk *j)
{
	EVP_PKEY *key = j->is_secret ? NULL : public_key(j->bytes, j->n);

	for (size_t i = 0; i < ALGS && key != NULL; i++)
		if (alg_misfit(&algs[i], key) == NULL) {
			EVP_PKEY_free(key);
			return &algs[i];
		}
	EVP_PKEY_free(key);
	return alg_find(j->is_secret ? STR("HS256") : STR("RS256"));
}

static void
add_jwk(struct loader *l, const struct jwk *j)
{
	char *kid = j->kid.n == 0 ? NULL : str_dup(j->kid);
	const struct alg *alg = NULL, *row = NULL;

	if (l->row->alg != NULL)
		row = alg_find(str_of(l->row->alg));
	if (j->fit == JWK_OK)
		alg = j->alg.n > 0 ? alg_find(j->alg) : row != NULL ? row : alg_of(j);
	if (j->fit == JWK_PRIVATE)
		say(l, SEVERITY_ERROR, "private_key", "key %s of the set: %s",
		    kid == NULL ? "without kid" : kid, j->why);
	else if (j->fit == JWK_BAD)
		say(l, SEVERITY_ERROR, "bad_key", "key %s of the set: %s",
		    kid == NULL ? "without kid" : kid, j->why);
	else if (j->fit == JWK_UNUSED || alg == NULL || alg->libjwt < 0 ||
		 (row != NULL && row != alg))
		say(l, SEVERITY_WARNING, "key_unused",
		    "key %s of the set is not used: %s",
		    kid == NULL ? "without kid" : kid,
		    j->why != NULL ? j->why : "its alg is another");
	else if (j->is_secret)
		add_secret(l, alg, kid, (struct str){ (const char *)j->bytes, j->n });
	else
		add_public(l, alg, kid, j->bytes, j->n);
	free(kid);
}

static void
add_set(struct loader *l)
{
	struct jwk set[JWK_MAX];
	struct arena a;
	const char *why;
	size_t before = l->k->n, errors = l->rep->errors;

	arena_init(&a, (size_t)8 << 20);
	size_t n =
	    jwk_set(set, (struct str){ l->row->jwks.bytes, l->row->jwks.n }, &a, &why);
	if (n == 0)
		say(l, SEVERITY_ERROR, "bad_key", "the JWKS cannot be read: %s", why);
	for (size_t i = 0; i < n; i++) {
		add_jwk(l, &set[i]);
		OPENSSL_clear_free(set[i].bytes, set[i].n);
	}
	arena_fini(&a);
	if (l->k->n == before && l->rep->errors == errors)
		say(l, SEVERITY_ERROR, "bad_key", "the JWKS has no key that can be used");
}

static void
add_row(struct loader *l)
{
	const struct session_key *row = l->row;
	const struct alg *alg = row->alg == NULL ? NULL : alg_find(str_of(row->alg));
	int given = (row->secret.bytes != NULL) + (row->pem.bytes != NULL) +
		    (row->jwks.bytes != NULL);

	if (given != 1)
		say(l, SEVERITY_ERROR, "bad_key",
		    "a key is one of secret, pem and jwks, not %d of them", given);
	else if (row->alg != NULL && alg == NULL)
		say(l, SEVERITY_ERROR, "bad_key",
		    "alg is HS256, HS384, HS512, RS*, PS*, ES* or EdDSA, to the letter, "
		    "not %s",
		    row->alg);
	else if (str_starts(str_of(row->issuer), STR("weir:")))
		say(l, SEVERITY_ERROR, "bad_key",
		    "weir: begins the issuers of weir's own sessions");
	else if (row->jwks.bytes != NULL && row->kid != NULL)
		say(l, SEVERITY_ERROR, "bad_key",
		    "the keys of a JWKS have their own kid");
	else if (row->jwks.bytes != NULL)
		add_set(l);
	else if (alg == NULL)
		say(l, SEVERITY_ERROR, "bad_key", "a secret or a PEM file needs its alg");
	else if (row->secret.bytes != NULL)
		add_secret(
		    l, alg, row->kid, (struct str){ row->secret.bytes, row->secret.n });
	else
		add_public(
		    l, alg, row->kid, (const unsigned char *)row->pem.bytes, row->pem.n);
}

/* ---- sessions without a token */

static struct grant *
own_grant(const struct settings *s, const char *issuer, const char *json,
    struct mark mark, struct report *rep)
{
	const struct claims_source source = { .settings = s, .issuer = str_of(issuer) };
	struct grant *g = NULL;
	const char *why;

	if (claims_read(&g, &source, str_of(json), 0, &why) != REASON_NONE)
		report_add(rep, SEVERITY_ERROR, mark,
		    s->tree == NULL ? STR_NONE : s->tree->source, "bad_claims", NULL,
		    "these claims grant nothing: %s", why);
	return g;
}

static void
load_static(struct keys *k, const struct settings *s, struct report *rep)
{
	k->fixed = mem_zalloc((s->sessions_static.n + 1) * sizeof(struct grant *));
	for (size_t i = 0; i < s->sessions_static.n; i++) {
		const struct session_static *row = &s->sessions_static.p[i];

		if (row->password.n < 22)
			report_add(rep, SEVERITY_ERROR, row->mark,
			    s->tree == NULL ? STR_NONE : s->tree->source, "weak_password",
			    NULL, "a password has at least 22 characters, this one %zu",
			    row->password.n);
		k->fixed[i] = own_grant(s, "weir:static", row->claims, row->mark, rep);
	}
}

static void
check_public(const struct settings *s, struct report *rep)
{
	struct mark mark = { .file = s->tree == NULL ? NULL : s->tree->file };

	if (s->sessions_public == PUBLIC_ALLOW && s->budget_public.usd < 0)
		report_add(rep, SEVERITY_ERROR, mark, STR_NONE, "public_without_pool",
		    "write budget: { public: { usd: \"20\", per: day } }",
		    "sessions.public: allow needs budget.public, what all of them may "
		    "spend together");
}

/* ---- all */

struct keys *
keys_load(const struct settings *s, struct report *rep)
{
	struct keys *k = mem_zalloc(sizeof(*k));
	struct loader l = { .k = k, .s = s, .rep = rep };
	struct mark mark = { .file = s->tree == NULL ? NULL : s->tree->file };
	size_t errors = rep->errors;

	k->settings = s;
	for (size_t i = 0; i < s->sessions_keys.n; i++) {
		l.row = &s->sessions_keys.p[i];
		add_row(&l);
	}
	load_static(k, s, rep);
	if (s->sessions_default != NULL)
		k->laptop = own_grant(s, "weir:default", s->sessions_default, mark, rep);
	check_public(s, rep);
	if (rep->errors == errors)
		return k;
	keys_free(k);
	return NULL;
}

void
keys_free(struct keys *k)
{
	if (k == NULL)
		return;
	for (size_t i = 0; i < k->n; i++) {
		secret_wipe(&k->key[i].key);
		free(k->key[i].kid);
	}
	free(k->key);
	for (size_t i = 0; k->fixed != NULL && i < k->settings->sessions_static.n; i++)
		grant_unref(k->fixed[i]);
	free(k->fixed);
	grant_unref(k->laptop);
	free(k);
}

struct grant *
keys_fixed(const struct keys *k, struct str user, struct str password)
{
	for (size_t i = 0; i < k->settings->sessions_static.n; i++) {
		const struct session_static *row = &k->settings->sessions_static.p[i];

		if (str_eq(user, str_of(row->user)) && password.n == row->password.n &&
		    CRYPTO_memcmp(password.p, row->password.bytes, password.n) == 0)
			return k->fixed[i];
	}
	return NULL;
}
