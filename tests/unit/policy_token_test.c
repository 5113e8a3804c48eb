/*
 * policy_token_test.c - a token counts only as the configured key says, to the letter
 */
#include <openssl/evp.h>
#include <stdio.h>

#include "tokens.h"

#define CLAIMS \
	"{\"iss\":\"app\",\"aud\":\"weir\",\"exp\":" HOUR_LATER \
	",\"sid\":\"s1\",\"tenant\":\"acme\"}"

/* ---- every algorithm, and every other key's word against it */

static const char *const offered[] = { "HS256", "HS384", "HS512", "RS256", "RS384",
	"RS512", "ES256", "ES384", "ES512", "PS256", "PS384", "PS512", "EdDSA" };

static struct settings *
settings_for(const char *alg)
{
	char text[300];

	snprintf(text, sizeof(text),
	    "sessions: { keys: [ { issuer: app, alg: %s, %s: env:WEIR_TEST_KEY } ] }",
	    alg, alg[0] == 'H' ? "secret" : "pem");
	return settings_of(text);
}

static bool
is_offered(const char *alg)
{
	return alg_find(str_of(alg))->libjwt >= 0;
}

static void
test_each_algorithm_is_verified_by_its_own_key_alone(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(offered); i++) {
		const char *why;

		if (!is_offered(offered[i]))
			continue;
		char *right = make_key(offered[i], "WEIR_TEST_KEY");
		char *wrong = make_key(offered[i], "WEIR_TEST_OTHER");
		struct settings *s = settings_for(offered[i]);
		struct keys *k = keys_of(s);
		char *good = token_of(offered[i], "", right, CLAIMS);
		char *bad = token_of(offered[i], "", wrong, CLAIMS);

		assert_row(offered[i], strcmp(verdict_of(k, good, NOW, &why), "ok") == 0);
		assert_row(offered[i],
		    strcmp(verdict_of(k, bad, NOW, &why), "session_invalid") == 0);
		assert_string_equal(why, "its signature is not good");
		free(good);
		free(bad);
		keys_free(k);
		settings_free(s);
		free(right);
		free(wrong);
	}
}

/* libjwt 1.10 takes the text of a public key for an HMAC secret. */
static void
test_a_public_key_is_no_hmac_secret(void **state)
{
	static const char *const algs[] = { "RS256", "ES256", "ES384" };
	static const char *const macs[] = { "HS256", "HS384", "HS512" };
	const char *why;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(algs); i++) {
		char *private = make_key(algs[i], "WEIR_TEST_KEY");
		struct settings *s = settings_for(algs[i]);
		struct keys *k = keys_of(s);

		for (size_t m = 0; m < COUNT_OF(macs); m++) {
			char *forged =
			    token_of(macs[m], "", getenv("WEIR_TEST_KEY"), CLAIMS);
			char *known = token_of(macs[m], "", k->key[0].key.bytes, CLAIMS);
			assert_row(macs[m], strcmp(verdict_of(k, forged, NOW, &why),
						"session_invalid") == 0);
			assert_string_equal(why, "its alg is not its key's");
			assert_row(macs[m], strcmp(verdict_of(k, known, NOW, &why),
						"session_invalid") == 0);
			free(forged);
			free(known);
		}
		keys_free(k);
		settings_free(s);
		free(private);
	}
}

/* ---- forms */

struct scene {
	struct settings *s;
	struct keys *k;
	char *secret;
};

static void
set_up(struct scene *x)
{
	x->secret = make_key("HS256", "WEIR_TEST_KEY");
	x->s = settings_of("sessions: { keys: [ { issuer: app, alg: HS256, kid: k1, "
			   "secret: env:WEIR_TEST_KEY } ] }");
	x->k = keys_of(x->s);
}

static void
tear_down(struct scene *x)
{
	keys_free(x->k);
	settings_free(x->s);
	free(x->secret);
}

/* A token with that header and those claims, signed by HS256 over what they are. */
static char *
raw_token(const struct scene *x, const char *header, const char *claims)
{
	struct buf b;
	unsigned char mac[64];
	size_t n = 0;

	buf_init(&b, 100000);
	base64url_put(&b, str_of(header));
	buf_char(&b, '.');
	base64url_put(&b, str_of(claims));
	assert_non_null(EVP_Q_mac(NULL, "HMAC", NULL, "SHA256", NULL, x->secret,
	    strlen(x->secret), (const unsigned char *)b.p, b.n, mac, sizeof(mac), &n));
	buf_char(&b, '.');
	base64url_put(&b, (struct str){ (const char *)mac, n });
	char *out = str_dup(buf_view(&b));
	buf_fini(&b);
	return out;
}

static const struct {
	const char *header, *why; /* NULL: it is good */
} headers[] = {
	{ "{\"alg\":\"HS256\",\"typ\":\"JWT\",\"kid\":\"k1\"}", NULL },
	{ "{\"alg\":\"HS256\"}", NULL },
	{ "{\"alg\":\"HS256\",\"typ\":\"jwt\"}", NULL },
	{ "{\"alg\":\"HS256\",\"jku\":\"https://evil.example/keys\",\"jwk\":{}}", NULL },
	{ "{\"alg\":\"none\"}", "its alg is not its key's" },
	{ "{\"alg\":\"None\"}", "its alg is not its key's" },
	{ "{\"alg\":\"\"}", "its alg is not its key's" },
	{ "{\"alg\":\"hs256\"}", "its alg is not its key's" },
	{ "{\"alg\":\"HS256 \"}", "its alg is not its key's" },
	{ "{\"alg\":\"HS384\"}", "its alg is not its key's" },
	{ "{\"alg\":\"HS256\\u0000\"}", "its alg is not its key's" },
	{ "{\"alg\":256}", "its header has no alg" },
	{ "{\"alg\":[\"HS256\"]}", "its header has no alg" },
	{ "{\"typ\":\"JWT\"}", "its header has no alg" },
	{ "{\"alg\":\"HS256\",\"kid\":\"k2\"}", "its kid is none of its issuer's" },
	{ "{\"alg\":\"HS256\",\"kid\":\"../../etc/passwd\"}",
	    "its kid is none of its issuer's" },
	{ "{\"alg\":\"HS256\",\"kid\":7}", "its kid is no text of 1 to 128 bytes" },
	{ "{\"alg\":\"HS256\",\"typ\":\"at+jwt\"}", "its typ is not JWT" },
	{ "{\"alg\":\"HS256\",\"typ\":1}", "its typ is not JWT" },
	{ "{\"alg\":\"HS256\",\"crit\":[\"exp\"]}",
	    "its header has crit, and weir knows no extension" },
	{ "{\"alg\":\"HS256\",\"crit\":[]}",
	    "its header has crit, and weir knows no extension" },
	{ "{\"alg\":\"HS256\",\"b64\":false,\"crit\":[\"b64\"]}",
	    "its header has crit, and weir knows no extension" },
	{ "{\"alg\":\"none\",\"alg\":\"HS256\"}",
	    "its header is no JSON object, or has a key twice" },
	{ "{\"alg\":\"HS256\",\"x\":{\"a\":1,\"a\":2}}",
	    "its header is no JSON object, or has a key twice" },
	{ "[\"HS256\"]", "its header is no JSON object, or has a key twice" },
	{ "{\"alg\":\"HS256\"", "its header is no JSON object, or has a key twice" },
	{ "{\"alg\":\"HS256\"} x", "its header is no JSON object, or has a key twice" },
};

static void
test_a_header_decides_nothing(void **state)
{
	struct scene x;
	const char *why;

	(void)state;
	set_up(&x);
	for (size_t i = 0; i < COUNT_OF(headers); i++) {
		char *token = raw_token(&x, headers[i].header, CLAIMS);
		bool is_ok = strcmp(verdict_of(x.k, token, NOW, &why), "ok") == 0;

		assert_row(headers[i].header, is_ok == (headers[i].why == NULL));
		if (headers[i].why != NULL)
			assert_string_equal(why, headers[i].why);
		free(token);
	}
	tear_down(&x);
}

static char *
edited(const char *token, size_t at, size_t cut, const char *put)
{
	struct buf b;

	buf_init(&b, 100000);
	buf_str(&b, (struct str){ token, at });
	buf_text(&b, put);
	buf_text(&b, token + at + cut);
	char *out = str_dup(buf_view(&b));
	buf_fini(&b);
	return out;
}

static void
assert_refused(const struct scene *x, char *token)
{
	const char *why;

	assert_row(
	    token, strcmp(verdict_of(x->k, token, NOW, &why), "session_invalid") == 0);
	free(token);
}

static void
test_only_the_one_plain_form_is_a_token(void **state)
{
	struct scene x;
	const char *why;

	(void)state;
	set_up(&x);
	char *good = token_of("HS256", "k1", x.secret, CLAIMS);
	size_t n = strlen(good), first = (size_t)(strchr(good, '.') - good),
	       second = (size_t)(strrchr(good, '.') - good);

	assert_string_equal(verdict_of(x.k, good, NOW, &why), "ok");
	assert_refused(&x, edited(good, n, 0, "="));
	assert_refused(&x, edited(good, n, 0, "\n"));
	assert_refused(&x, edited(good, 0, 0, " "));
	assert_refused(&x, edited(good, n, 0, "."));
	assert_refused(&x, edited(good, n, 0, ".e30"));
	assert_refused(&x, edited(good, second, n - second, ""));
	assert_refused(&x, edited(good, second + 1, n - second - 1, ""));
	assert_refused(&x, edited(good, 0, first, ""));
	assert_refused(&x, edited(good, first + 1, second - first - 1, ""));
	assert_refused(&x, edited(good, first, 0, "="));
	assert_refused(&x, edited(good, first, 0, "%3d"));
	assert_refused(&x, edited(good, 3, 1, "+"));
	assert_refused(&x, edited(good, 3, 1, "/"));
	assert_refused(&x, edited(good, n - 1, 1, ""));
	assert_refused(&x, edited(good, n - 2, 2, ""));
	assert_refused(&x, edited(good, n, 0, "A"));
	assert_refused(&x, mem_strdup(""));
	assert_refused(&x, mem_strdup("."));
	assert_refused(&x, mem_strdup(".."));
	assert_refused(&x, mem_strdup("..."));
	free(good);
	tear_down(&x);
}

/* 32 bytes leave four bits over in the 43rd character: 15 other last characters decode
 * to the same signature where nobody looks. */
static void
test_a_signature_has_one_spelling(void **state)
{
	static const char digits[] =
	    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
	struct scene x;
	const char *why;
	size_t good_ones = 0;

	(void)state;
	set_up(&x);
	char *good = token_of("HS256", "k1", x.secret, CLAIMS);
	for (size_t i = 0; i < 64; i++) {
		char *other = edited(good, strlen(good) - 1, 1, (char[]){ digits[i], 0 });
		good_ones += strcmp(verdict_of(x.k, other, NOW, &why), "ok") == 0;
		free(other);
	}
	assert_int_equal(good_ones, 1);
	free(good);
	tear_down(&x);
}

static void
test_every_byte_of_a_token_is_signed(void **state)
{
	struct scene x;
	const char *why;

	(void)state;
	set_up(&x);
	char *good = token_of("HS256", "k1", x.secret, CLAIMS);
	for (size_t i = 0; i < strlen(good); i++) {
		char *other = edited(good, i, 1, good[i] == 'A' ? "B" : "A");
		assert_row(other, strcmp(verdict_of(x.k, other, NOW, &why), "ok") != 0);
		free(other);
	}
	free(good);
	tear_down(&x);
}

static void
test_a_token_has_8_kilobytes_at_most(void **state)
{
	char claims[12000] = "{\"iss\":\"app\",\"aud\":\"weir\",\"exp\":" HOUR_LATER
			     ",\"sid\":\"s1\",\"x\":\"";
	size_t n = strlen(claims);
	struct scene x;
	const char *why;

	(void)state;
	set_up(&x);
	memset(claims + n, 'a', 5900);
	memcpy(claims + n + 5900, "\"}", sizeof("\"}"));
	char *fits = token_of("HS256", "k1", x.secret, claims);
	assert_true(strlen(fits) <= TOKEN_MAX);
	/* without tenant: not in production, which this is */
	assert_string_equal(verdict_of(x.k, fits, NOW, &why), "session_invalid");
	assert_string_equal(why, "tenant is missing");
	memset(claims + n, 'a', 6300);
	memcpy(claims + n + 6300, "\"}", sizeof("\"}"));
	char *larger = token_of("HS256", "k1", x.secret, claims);
	assert_true(strlen(larger) > TOKEN_MAX);
	assert_string_equal(verdict_of(x.k, larger, NOW, &why), "session_invalid");
	assert_string_equal(why, "it is longer than 8 KB");
	free(fits);
	free(larger);
	tear_down(&x);
}

/* ---- for whom, by whom, until when */

#define WHO ",\"sid\":\"s1\",\"tenant\":\"acme\"}"

static const struct {
	const char *claims, *verdict, *why;
} claims[] = {
	{ "{\"iss\":\"app\",\"aud\":\"weir\",\"exp\":1800003600" WHO, "ok", NULL },
	{ "{\"iss\":\"app\",\"aud\":[\"other\",\"weir\"],\"exp\":1800003600" WHO, "ok",
	    NULL },
	{ "{\"iss\":\"app\",\"aud\":\"Weir\",\"exp\":1800003600" WHO, "session_invalid",
	    "its aud is not this weir" },
	{ "{\"iss\":\"app\",\"aud\":[\"other\"],\"exp\":1800003600" WHO,
	    "session_invalid", "its aud is not this weir" },
	{ "{\"iss\":\"app\",\"aud\":[],\"exp\":1800003600" WHO, "session_invalid",
	    "its aud is not this weir" },
	{ "{\"iss\":\"app\",\"aud\":[\"weir\",7],\"exp\":1800003600" WHO,
	    "session_invalid", "its aud is not this weir" },
	{ "{\"iss\":\"app\",\"aud\":{\"weir\":1},\"exp\":1800003600" WHO,
	    "session_invalid", "its aud is not this weir" },
	{ "{\"iss\":\"app\",\"exp\":1800003600" WHO, "session_invalid",
	    "its aud is not this weir" },
	{ "{\"iss\":\"App\",\"aud\":\"weir\",\"exp\":1800003600" WHO, "session_invalid",
	    "its iss is no configured issuer" },
	{ "{\"iss\":\"app\\u0000\",\"aud\":\"weir\",\"exp\":1800003600" WHO,
	    "session_invalid", "its iss is no configured issuer" },
	{ "{\"iss\":[\"app\"],\"aud\":\"weir\",\"exp\":1800003600" WHO, "session_invalid",
	    "its iss is no configured issuer" },
	{ "{\"aud\":\"weir\",\"exp\":1800003600" WHO, "session_invalid",
	    "its iss is no configured issuer" },
	{ "{\"iss\":\"evil\",\"iss\":\"app\",\"aud\":\"weir\",\"exp\":1800003600" WHO,
	    "session_invalid", "its claims are no JSON object, or have a key twice" },
	{ "{\"iss\":\"app\",\"\\u0069ss\":\"app\",\"aud\":\"weir\",\"exp\":"
	  "1800003600" WHO,
	    "session_invalid", "its claims are no JSON object, or have a key twice" },
	{ "[]", "session_invalid", "its claims are no JSON object, or have a key twice" },
	{ "{\"iss\":\"app\",\"aud\":\"weir\"" WHO, "session_invalid", "exp is missing" },
	{ "{\"iss\":\"app\",\"aud\":\"weir\",\"exp\":null" WHO, "session_invalid",
	    "exp is no whole number of seconds since 1970" },
	{ "{\"iss\":\"app\",\"aud\":\"weir\",\"exp\":\"1800003600\"" WHO,
	    "session_invalid", "exp is no whole number of seconds since 1970" },
	{ "{\"iss\":\"app\",\"aud\":\"weir\",\"exp\":1800003600.5" WHO, "session_invalid",
	    "exp is no whole number of seconds since 1970" },
	{ "{\"iss\":\"app\",\"aud\":\"weir\",\"exp\":18e8" WHO, "session_invalid",
	    "exp is no whole number of seconds since 1970" },
	{ "{\"iss\":\"app\",\"aud\":\"weir\",\"exp\":-1" WHO, "session_invalid",
	    "exp is no whole number of seconds since 1970" },
	{ "{\"iss\":\"app\",\"aud\":\"weir\",\"exp\":99999999999999999999" WHO,
	    "session_invalid", "its signature is not good" /* libjwt cannot read it */ },
	{ "{\"iss\":\"app\",\"aud\":\"weir\",\"exp\":1799999971" WHO, "ok", NULL },
	{ "{\"iss\":\"app\",\"aud\":\"weir\",\"exp\":1799999970" WHO, "session_expired",
	    "exp is over" },
	{ "{\"iss\":\"app\",\"aud\":\"weir\",\"exp\":0" WHO, "session_expired",
	    "exp is over" },
	{ "{\"iss\":\"app\",\"aud\":\"weir\",\"exp\":1800086400" WHO, "ok", NULL },
	{ "{\"iss\":\"app\",\"aud\":\"weir\",\"exp\":1800086401" WHO, "session_invalid",
	    "exp is further away than sessions.max_ttl" },
	{ "{\"iss\":\"app\",\"aud\":\"weir\",\"exp\":1800003600,\"nbf\":1800000030" WHO,
	    "ok", NULL },
	{ "{\"iss\":\"app\",\"aud\":\"weir\",\"exp\":1800003600,\"nbf\":1800000031" WHO,
	    "session_invalid", "nbf is in the future" },
	{ "{\"iss\":\"app\",\"aud\":\"weir\",\"exp\":1800003600,\"nbf\":1.0" WHO,
	    "session_invalid", "nbf is no whole number of seconds since 1970" },
	{ "{\"iss\":\"app\",\"aud\":\"weir\",\"exp\":1800003600,\"iat\":1800000030" WHO,
	    "ok", NULL },
	{ "{\"iss\":\"app\",\"aud\":\"weir\",\"exp\":1800003600,\"iat\":1800000031" WHO,
	    "session_invalid", "iat is in the future" },
	{ "{\"iss\":\"app\",\"aud\":\"weir\",\"exp\":1800003600,\"iat\":true" WHO,
	    "session_invalid", "iat is no whole number of seconds since 1970" },
};

static void
test_issuer_audience_and_times_are_checked_by_weir(void **state)
{
	struct scene x;
	const char *why;

	(void)state;
	set_up(&x);
	for (size_t i = 0; i < COUNT_OF(claims); i++) {
		char *token = token_of("HS256", "k1", x.secret, claims[i].claims);
		const char *got = verdict_of(x.k, token, NOW, &why);

		assert_row(claims[i].claims, strcmp(got, claims[i].verdict) == 0);
		if (claims[i].why != NULL)
			assert_string_equal(why, claims[i].why);
		free(token);
	}
	tear_down(&x);
}

/* ---- two issuers under one roof */

static void
test_an_issuer_speaks_only_for_itself_and_its_tenants(void **state)
{
	char *a = make_key("ES256", "WEIR_TEST_KEY"),
	     *b = make_key("ES256", "WEIR_TEST_B");
	struct settings *s = settings_of(
	    "sessions: { keys: [\n"
	    "  { issuer: a, alg: ES256, pem: env:WEIR_TEST_KEY, tenants: [acme], "
	    "profiles: "
	    "[default, ci] },\n"
	    "  { issuer: b, alg: ES256, pem: env:WEIR_TEST_B, profiles: [ci] } ] }\n"
	    "profiles: { ci: { policies: [a.yaml] }, rich: { policies: [a.yaml] } }");
	struct keys *k = keys_of(s);
	const struct {
		const char *iss, *key, *tenant, *profile, *verdict;
	} rows[] = {
		{ "a", a, "acme", NULL, "ok" },
		{ "a", a, "acme", "ci", "ok" },
		{ "a", a, "acme", "default", "ok" },
		{ "a", a, "beta", NULL, "session_invalid" },
		{ "a", a, "acme", "rich", "profile_unknown" },
		{ "a", a, "acme", "poor", "profile_unknown" },
		{ "b", a, "acme", "ci", "session_invalid" },
		{ "a", b, "acme", "ci", "session_invalid" },
		{ "b", b, "acme", "ci", "ok" },
		{ "b", b, "acme", NULL, "profile_unknown" },
		{ "b", b, "acme", "rich", "profile_unknown" },
	};
	const char *why;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		char text[400], profile[64] = "";

		if (rows[i].profile != NULL)
			snprintf(profile, sizeof(profile), ",\"profile\":\"%s\"",
			    rows[i].profile);
		snprintf(text, sizeof(text),
		    "{\"iss\":\"%s\",\"aud\":\"weir\",\"exp\":" HOUR_LATER
		    ",\"sid\":\"s\",\"tenant\":\"%s\"%s}",
		    rows[i].iss, rows[i].tenant, profile);
		char *token = token_of("ES256", "", rows[i].key, text);
		assert_row(
		    text, strcmp(verdict_of(k, token, NOW, &why), rows[i].verdict) == 0);
		free(token);
	}
	keys_free(k);
	settings_free(s);
	free(a);
	free(b);
}

static void
test_a_key_may_follow_another_without_kid(void **state)
{
	char *old = make_key("HS256", "WEIR_TEST_KEY"),
	     *new = make_key("HS256", "WEIR_TEST_B");
	struct settings *s =
	    settings_of("sessions: { keys: [ { issuer: app, alg: HS256, secret: "
			"env:WEIR_TEST_KEY },\n"
			"  { issuer: app, alg: HS256, secret: env:WEIR_TEST_B } ] }");
	struct keys *k = keys_of(s);
	const char *why;

	(void)state;
	char *one = token_of("HS256", "", old, CLAIMS),
	     *two = token_of("HS256", "", new, CLAIMS);
	assert_string_equal(verdict_of(k, one, NOW, &why), "ok");
	assert_string_equal(verdict_of(k, two, NOW, &why), "ok");
	free(one);
	free(two);
	keys_free(k);
	settings_free(s);
	free(old);
	free(new);
}

static void
test_no_key_verifies_nothing(void **state)
{
	struct settings *s = settings_of("{}");
	struct keys *k = keys_of(s);
	const char *why;
	char *secret = make_key("HS256", "WEIR_TEST_KEY");
	char *token = token_of("HS256", "", secret, CLAIMS);

	(void)state;
	assert_string_equal(verdict_of(k, token, NOW, &why), "session_invalid");
	free(token);
	free(secret);
	keys_free(k);
	settings_free(s);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_algorithm_is_verified_by_its_own_key_alone),
		cmocka_unit_test(test_a_public_key_is_no_hmac_secret),
		cmocka_unit_test(test_a_header_decides_nothing),
		cmocka_unit_test(test_only_the_one_plain_form_is_a_token),
		cmocka_unit_test(test_a_signature_has_one_spelling),
		cmocka_unit_test(test_every_byte_of_a_token_is_signed),
		cmocka_unit_test(test_a_token_has_8_kilobytes_at_most),
		cmocka_unit_test(test_issuer_audience_and_times_are_checked_by_weir),
		cmocka_unit_test(test_an_issuer_speaks_only_for_itself_and_its_tenants),
		cmocka_unit_test(test_a_key_may_follow_another_without_kid),
		cmocka_unit_test(test_no_key_verifies_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
