/*
 * policy_keys_test.c - a key that can be guessed, broken or mistaken is never loaded
 */
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <stdio.h>

#include "policy/jwk.h"
#include "tokens.h"

/* ---- secrets */

static const struct {
	const char *alg, *secret;
	bool is_weak;
} secrets[] = {
	{ "HS256", "", true },
	{ "HS256", "hunter2", true },
	{ "HS256", "0123456789abcdef0123456789abcdef", true },
	{ "HS256", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
	    true },
	{ "HS256", "abcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabc",
	    true },
	{ "HS256", "9f86d081884c7d659a2feaa0c55ad015", true }, /* 128 bits as hex */
	{ "HS256", "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
	    false },
	{ "HS384", "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
	    true },
	{ "HS256", "kR7wq-XbT0yLm3Vn_Zc8PdFsJhG5uEaQ",
	    true }, /* 32 characters: 192 bits */
	{ "HS256", "kR7wq-XbT0yLm3Vn_Zc8PdFsJhG5uEaQ2iNoYtWxCvB", false },
	{ "HS512", "kR7wq-XbT0yLm3Vn_Zc8PdFsJhG5uEaQ2iNoYtWxCvB", true },
	{ "HS256", "my-super-secret-key-that-nobody-will-ever-guess", true },
	{ "HS256", "ChangeMe-kR7wq-XbT0yLm3Vn_Zc8PdFsJhG5uEaQ2iNoYt", true },
	{ "HS256", "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUV", true },
	{ "HS256", "-----BEGIN PUBLIC KEY-----\nkR7wq+XbT0yLm3Vn/Zc8PdFsJhG5uEaQ", true },
};

static void
test_a_secret_that_can_be_guessed_is_weak(void **state)
{
	static const char zeros[64];

	(void)state;
	for (size_t i = 0; i < COUNT_OF(secrets); i++)
		assert_row(secrets[i].secret,
		    (secret_weakness(alg_find(str_of(secrets[i].alg)),
			 str_of(secrets[i].secret)) != NULL) == secrets[i].is_weak);
	assert_non_null(secret_weakness(
	    alg_find(STR("HS256")), (struct str){ zeros, sizeof(zeros) }));
}

static void
test_what_keygen_makes_is_not_weak(void **state)
{
	static const char *const algs[] = { "HS256", "HS384", "HS512" };

	(void)state;
	for (size_t i = 0; i < 300; i++) {
		struct buf b;

		buf_init(&b, 1000);
		assert_true(key_make(&b, alg_find(str_of(algs[i % 3]))));
		assert_null(secret_weakness(alg_find(str_of(algs[i % 3])), buf_view(&b)));
		buf_fini(&b);
	}
}

/* ---- rows */

static void
rsa_of(unsigned bits, const char *name)
{
	EVP_PKEY *key = EVP_PKEY_Q_keygen(NULL, NULL, "RSA", (size_t)bits);
	BIO *bio = BIO_new(BIO_s_mem());
	char *p;

	assert_int_equal(PEM_write_bio_PUBKEY(bio, key), 1);
	BIO_write(bio, "", 1);
	BIO_get_mem_data(bio, &p);
	setenv(name, p, 1);
	BIO_free(bio);
	EVP_PKEY_free(key);
}

/* The first finding's code of these rows, or "ok". */
static const char *
code_of(const char *rows, char out[static 40])
{
	char text[2000];
	struct report rep;

	snprintf(text, sizeof(text), "sessions: { keys: [ %s ] }", rows);
	struct settings *s = settings_of(text);
	report_init(&rep);
	struct keys *k = keys_load(s, &rep);
	assert_true((k == NULL) == (rep.errors > 0));
	snprintf(out, 40, "%s", rep.n > 0 ? rep.finding[0].code : "ok");
	report_fini(&rep);
	keys_free(k);
	settings_free(s);
	return out;
}

static const struct {
	const char *row, *code;
} rows[] = {
	{ "{ issuer: a, alg: HS256, secret: env:T_SECRET }", "ok" },
	{ "{ issuer: a, alg: RS256, pem: env:T_RSA }", "ok" },
	{ "{ issuer: a, alg: RS512, pem: env:T_RSA }", "ok" },
	{ "{ issuer: a, alg: ES256, pem: env:T_EC }", "ok" },
	{ "{ issuer: a, alg: RS256, pem: env:T_RSA1024 }", "weak_key" },
	{ "{ issuer: a, alg: HS256, secret: env:T_WEAK }", "weak_key" },
	{ "{ issuer: a, alg: HS512, secret: env:T_SECRET }", "weak_key" },
	{ "{ issuer: a, alg: HS256, secret: env:T_RSA }", "weak_key" },
	{ "{ issuer: a, alg: HS256, pem: env:T_RSA }", "bad_key" },
	{ "{ issuer: a, alg: RS256, secret: env:T_SECRET }", "bad_key" },
	{ "{ issuer: a, alg: RS256, pem: env:T_SECRET }", "bad_key" },
	{ "{ issuer: a, alg: ES384, pem: env:T_EC }", "bad_key" },
	{ "{ issuer: a, alg: RS256, pem: env:T_EC }", "bad_key" },
	{ "{ issuer: a, alg: ES256, pem: env:T_RSA }", "bad_key" },
	{ "{ issuer: a, alg: ES256, pem: env:T_PRIVATE }", "private_key" },
	{ "{ issuer: a, alg: hs256, secret: env:T_SECRET }", "bad_key" },
	{ "{ issuer: a, alg: none, secret: env:T_SECRET }", "bad_key" },
	{ "{ issuer: a, secret: env:T_SECRET }", "bad_key" },
	{ "{ issuer: a, alg: HS256 }", "bad_key" },
	{ "{ issuer: a, alg: HS256, secret: env:T_SECRET, pem: env:T_RSA }", "bad_key" },
	{ "{ issuer: \"weir:static\", alg: HS256, secret: env:T_SECRET }", "bad_key" },
	{ "{ issuer: a, alg: HS256, kid: k, secret: env:T_SECRET }, { issuer: a, alg: "
	  "HS256, kid: k, secret: env:T_SECRET }",
	    "duplicate_key" },
	{ "{ issuer: a, alg: HS256, kid: k, secret: env:T_SECRET }, { issuer: b, alg: "
	  "HS256, kid: k, secret: env:T_SECRET }",
	    "ok" },
	{ "{ issuer: a, jwks: env:T_SECRET }", "bad_key" },
};

static void
test_a_key_must_fit_its_algorithm(void **state)
{
	char got[40];

	(void)state;
	free(make_key("HS256", "T_SECRET"));
	char *private = make_key("ES256", "T_EC");
	setenv("T_PRIVATE", private, 1);
	setenv("T_WEAK", "hunter2", 1);
	rsa_of(2048, "T_RSA");
	rsa_of(1024, "T_RSA1024");
	for (size_t i = 0; i < COUNT_OF(rows); i++)
		if (strcmp(code_of(rows[i].row, got), rows[i].code) != 0)
			fail_msg("%s: %s", rows[i].row, got);
	free(private);
}

static void
test_no_finding_shows_a_weak_secret(void **state)
{
	struct report rep;
	struct buf b;

	(void)state;
	setenv("T_WEAK", "hunter2hunter2", 1);
	struct settings *s = settings_of(
	    "sessions: { keys: [ { issuer: a, alg: HS256, secret: env:T_WEAK } ],\n"
	    " static: [ { user: u, password: env:T_WEAK, claims: { sid: s } } ] }");
	report_init(&rep);
	buf_init(&b, 10000);
	assert_null(keys_load(s, &rep));
	assert_int_equal(rep.errors, 2);
	report_print_text(&rep, &b);
	assert_null(strstr(buf_cstr(&b), "hunter2"));
	buf_fini(&b);
	report_fini(&rep);
	settings_free(s);
}

/* ---- sets */

static const struct {
	const char *set; /* a key of it */
	enum jwk_fit fit;
	const char *alg;
} jwks[] = {
	/* RFC 7515 A.2, A.3, RFC 8037 A.2: public examples */
	{ "{\"kty\":\"EC\",\"crv\":\"P-256\",\"x\":"
	  "\"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU\","
	  "\"y\":\"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0\",\"kid\":\"e\"}",
	    JWK_OK, "ES256" },
	{ "{\"kty\":\"EC\",\"crv\":\"P-256\",\"x\":"
	  "\"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU\","
	  "\"y\":\"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a1\"}",
	    JWK_BAD, NULL },
	{ "{\"kty\":\"EC\",\"crv\":\"P-256\",\"x\":"
	  "\"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU\"}",
	    JWK_BAD, NULL },
	{ "{\"kty\":\"EC\",\"crv\":\"secp256k1\",\"x\":\"AA\",\"y\":\"AA\"}", JWK_BAD,
	    NULL },
	{ "{\"kty\":\"EC\",\"d\":\"AA\"}", JWK_PRIVATE, NULL },
	{ "{\"kty\":\"OKP\",\"crv\":\"Ed25519\",\"x\":\"11qYAYKxCrfVS_"
	  "7TyWQHOg7hcvPapiMlrwIaaPcHURo\"}",
	    JWK_OK, NULL },
	{ "{\"kty\":\"OKP\",\"crv\":\"X25519\",\"x\":\"11qYAYKxCrfVS_"
	  "7TyWQHOg7hcvPapiMlrwIaaPcHURo\"}",
	    JWK_BAD, NULL },
	{ "{\"kty\":\"RSA\",\"n\":\"!\",\"e\":\"AQAB\"}", JWK_BAD, NULL },
	{ "{\"kty\":\"RSA\",\"use\":\"enc\",\"n\":\"AA\",\"e\":\"AQAB\"}", JWK_UNUSED,
	    NULL },
	{ "{\"kty\":\"RSA\",\"key_ops\":[\"encrypt\"],\"n\":\"AA\",\"e\":\"AQAB\"}",
	    JWK_UNUSED, NULL },
	{ "{\"kty\":\"oct\",\"k\":\"AAAA\"}", JWK_OK, NULL },
	{ "{\"kty\":\"oct\",\"k\":\"AA==\"}", JWK_BAD, NULL },
	{ "{\"kty\":\"new\"}", JWK_UNUSED, NULL },
	{ "{}", JWK_UNUSED, NULL },
};

static void
test_a_key_of_a_set_is_read_strictly(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(jwks); i++) {
		struct jwk out[JWK_MAX];
		struct arena a;
		const char *why;
		char text[1000];

		arena_init(&a, 1 << 20);
		snprintf(text, sizeof(text), "{\"keys\":[%s]}", jwks[i].set);
		assert_row(jwks[i].set, jwk_set(out, str_of(text), &a, &why) == 1);
		assert_row(jwks[i].set, out[0].fit == jwks[i].fit);
		assert_row(jwks[i].set, (out[0].bytes != NULL) == (out[0].fit == JWK_OK));
		OPENSSL_clear_free(out[0].bytes, out[0].n);
		arena_fini(&a);
	}
}

static void
test_what_is_no_set_is_refused_whole(void **state)
{
	static const char *const texts[] = { "", "[]", "{}", "{\"keys\":[]}",
		"{\"keys\":{}}", "{\"keys\":[1]}", "{\"keys\":[{}],\"keys\":[{}]}",
		"{\"keys\":[{}]" };

	(void)state;
	for (size_t i = 0; i < COUNT_OF(texts); i++) {
		struct jwk out[JWK_MAX];
		struct arena a;
		const char *why;

		arena_init(&a, 1 << 20);
		assert_row(texts[i], jwk_set(out, str_of(texts[i]), &a, &why) == 0);
		assert_row(texts[i], why != NULL);
		arena_fini(&a);
	}
}

/* RFC 7515 A.3: a token that others made, verified by the set they published. */
static void
test_a_published_token_is_verified_by_its_published_key(void **state)
{
	static const char key[] =
	    "{\"keys\":[{\"kty\":\"EC\",\"crv\":\"P-256\","
	    "\"x\":\"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU\","
	    "\"y\":\"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0\"},"
	    "{\"kty\":\"RSA\",\"use\":\"enc\",\"n\":\"AA\",\"e\":\"AQAB\"}]}";
	const char *token = "eyJhbGciOiJFUzI1NiJ9."
			    "eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6"
			    "Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ."
			    "DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-"
			    "F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-"
			    "Kg6NU1Q";
	const char *why;

	(void)state;
	setenv("T_SET", key, 1);
	struct settings *s =
	    settings_of("sessions: { keys: [ { issuer: joe, jwks: env:T_SET } ] }");
	struct report rep;
	report_init(&rep);
	struct keys *k = keys_load(s, &rep);
	assert_non_null(k);
	assert_int_equal(k->n, 1);
	assert_string_equal(k->key[0].alg->name, "ES256");
	assert_int_equal(rep.warnings, 1); /* the other one is for encrypting */
	/* it has no aud, and that is found before its signature is looked at */
	assert_string_equal(verdict_of(k, token, 1300819370, &why), "session_invalid");
	assert_string_equal(why, "its aud is not this weir");
	report_fini(&rep);
	keys_free(k);
	settings_free(s);
}

static void
test_a_set_may_hold_several_keys_of_an_issuer(void **state)
{
	char *first = make_key("HS256", "T_A"), *second = make_key("HS256", "T_B");
	const char *why;
	struct buf b;

	(void)state;
	buf_init(&b, 10000);
	buf_text(
	    &b, "{\"keys\":[{\"kty\":\"oct\",\"kid\":\"a\",\"alg\":\"HS256\",\"k\":\"");
	base64url_put(&b, str_of(first));
	buf_text(&b, "\"},{\"kty\":\"oct\",\"kid\":\"b\",\"k\":\"");
	base64url_put(&b, str_of(second));
	buf_text(&b, "\"}]}");
	setenv("T_SET", buf_cstr(&b), 1);
	buf_fini(&b);
	struct settings *s =
	    settings_of("sessions: { keys: [ { issuer: app, jwks: env:T_SET } ] }");
	struct keys *k = keys_of(s);
	static const char claims[] =
	    "{\"iss\":\"app\",\"aud\":\"weir\",\"exp\":" HOUR_LATER
	    ",\"sid\":\"s\",\"tenant\":\"t\"}";
	char *good = token_of("HS256", "b", second, claims),
	     *crossed = token_of("HS256", "a", second, claims);
	assert_int_equal(k->n, 2);
	assert_string_equal(verdict_of(k, good, NOW, &why), "ok");
	assert_string_equal(verdict_of(k, crossed, NOW, &why), "session_invalid");
	free(good);
	free(crossed);
	keys_free(k);
	settings_free(s);
	free(first);
	free(second);
}

/* ---- sessions without a token */

static void
test_a_user_has_a_password_and_claims(void **state)
{
	setenv("T_PASSWORD", "kR7wq-XbT0yLm3Vn_Zc8Pd", 1);
	struct settings *s = settings_of(
	    "production: false\n"
	    "sessions: { static: [ { user: u, password: env:T_PASSWORD, claims: { sid: "
	    "s1, "
	    "budget: { sessionUsd: \"1\" } } } ],\n"
	    "  default: { sid: local, tenant: local, budget: { sessionUsd: \"2\" } } }");
	struct keys *k = keys_of(s);

	(void)state;
	struct grant *g = keys_fixed(k, STR("u"), STR("kR7wq-XbT0yLm3Vn_Zc8Pd"));
	assert_non_null(g);
	assert_true(str_eq(g->sid, STR("s1")) && str_eq(g->issuer, STR("weir:static")));
	assert_int_equal(g->session_usd.claim, 1000000000);
	assert_null(keys_fixed(k, STR("u"), STR("kR7wq-XbT0yLm3Vn_Zc8Pe")));
	assert_null(keys_fixed(k, STR("u"), STR("")));
	assert_null(keys_fixed(k, STR("v"), STR("kR7wq-XbT0yLm3Vn_Zc8Pd")));
	assert_true(str_eq(k->laptop->sid, STR("local")));
	assert_int_equal(k->laptop->session_usd.claim, 2000000000);
	keys_free(k);
	settings_free(s);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_secret_that_can_be_guessed_is_weak),
		cmocka_unit_test(test_what_keygen_makes_is_not_weak),
		cmocka_unit_test(test_a_key_must_fit_its_algorithm),
		cmocka_unit_test(test_no_finding_shows_a_weak_secret),
		cmocka_unit_test(test_a_key_of_a_set_is_read_strictly),
		cmocka_unit_test(test_what_is_no_set_is_refused_whole),
		cmocka_unit_test(test_a_published_token_is_verified_by_its_published_key),
		cmocka_unit_test(test_a_set_may_hold_several_keys_of_an_issuer),
		cmocka_unit_test(test_a_user_has_a_password_and_claims),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
