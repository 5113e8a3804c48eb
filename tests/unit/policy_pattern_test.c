/*
 * policy_pattern_test.c - what a rule may say of hosts, ports and paths
 */
#include "policy/pattern.h"
#include "policy/punycode.h"
#include "policy/rewrite.h"
#include "unit.h"

static void
test_a_star_is_a_whole_first_label_or_an_error(void **state)
{
	static const struct {
		const char *text;
		enum pattern_error error;
		enum pattern_kind kind;
	} cases[] = {
		{ "example.com", PATTERN_OK, PATTERN_NAME },
		{ "EXAMPLE.com.", PATTERN_OK, PATTERN_NAME },
		{ "*.example.com", PATTERN_OK, PATTERN_BELOW },
		{ "**.example.com", PATTERN_OK, PATTERN_DEEP },
		{ "*", PATTERN_OK, PATTERN_ANY },
		{ "10.1.2.3", PATTERN_OK, PATTERN_RANGE },
		{ "10.1.2.0/24", PATTERN_OK, PATTERN_RANGE },
		{ "2001:db8::/32", PATTERN_OK, PATTERN_RANGE },
		{ "::1", PATTERN_OK, PATTERN_RANGE },
		{ "*example.com", PATTERN_STAR, 0 },
		{ "a.*.example.com", PATTERN_STAR, 0 },
		{ "*.*.example.com", PATTERN_STAR, 0 },
		{ "***.example.com", PATTERN_STAR, 0 },
		{ "**", PATTERN_STAR, 0 },
		{ "ex*mple.com", PATTERN_STAR, 0 },
		{ ".example.com", PATTERN_DOT, 0 },
		{ "*..example.com", PATTERN_DOT, 0 },
		{ "b\xc3\xbc"
		  "cher.example",
		    PATTERN_UNICODE, 0 },
		{ "10.1.2.3/24", PATTERN_CIDR, 0 },
		{ "10.1.2.0/33", PATTERN_CIDR, 0 },
		{ "https://example.com", PATTERN_URL, 0 },
		{ "example.com:443", PATTERN_URL, 0 },
		{ "*.10.1.2.3", PATTERN_LITERAL, 0 },
		{ "0x7f.1", PATTERN_HOST, 0 },
		{ "a b", PATTERN_HOST, 0 },
		{ "", PATTERN_HOST, 0 },
	};
	struct arena a;

	(void)state;
	arena_init(&a, 1 << 16);
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct pattern p;
		enum host_error host_error;
		enum pattern_error e =
		    pattern_parse(&p, str_of(cases[i].text), &a, &host_error);

		if (e != cases[i].error || (e == PATTERN_OK && p.kind != cases[i].kind))
			fail_msg("%s: error %d kind %d", cases[i].text, e, p.kind);
	}
	arena_fini(&a);
}

static struct pattern
pattern(struct arena *a, const char *text)
{
	struct pattern p;
	enum host_error ignored;

	assert_int_equal(pattern_parse(&p, str_of(text), a, &ignored), PATTERN_OK);
	return p;
}

static void
test_a_pattern_anyone_can_register_under_is_broad(void **state)
{
	static const struct {
		const char *text;
		bool is_broad;
	} cases[] = {
		{ "*", true },
		{ "*.com", true },
		{ "**.com", true },
		{ "*.co.uk", true },
		{ "*.github.io", true },
		{ "**.s3.amazonaws.com", true },
		{ "*.local", true },
		{ "*.example.com", false },
		{ "*.ns.svc.cluster.local", false },
		{ "github.io", false },
		{ "0.0.0.0/0", false },
	};
	struct arena a;

	(void)state;
	arena_init(&a, 1 << 16);
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct pattern p = pattern(&a, cases[i].text);
		if ((pattern_broad_why(&p) != NULL) != cases[i].is_broad)
			fail_msg("%s", cases[i].text);
	}
	arena_fini(&a);
}

static void
test_covers_never_says_yes_wrongly(void **state)
{
	static const struct {
		const char *outer, *inner;
		bool covers;
	} cases[] = {
		{ "a.test", "a.test", true },
		{ "a.test", "*.a.test", false },
		{ "*.a.test", "a.test", false },
		{ "*.a.test", "b.a.test", true },
		{ "*.a.test", "*.a.test", true },
		{ "*.a.test", "**.a.test", false },
		{ "*.a.test", "**.b.a.test", true },
		{ "**.a.test", "a.test", true },
		{ "**.a.test", "*.a.test", true },
		{ "**.a.test", "**.a.test", true },
		{ "**.a.test", "xa.test", false },
		{ "**.a.test", "*", false },
		{ "*", "a.test", true },
		{ "*", "localhost", false },
		{ "*", "x.local", false },
		{ "10.0.0.0/8", "10.1.0.0/16", true },
		{ "10.1.0.0/16", "10.0.0.0/8", false },
		{ "*", "10.0.0.0/8", false },
	};
	struct arena a;

	(void)state;
	arena_init(&a, 1 << 16);
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct pattern outer = pattern(&a, cases[i].outer);
		struct pattern inner = pattern(&a, cases[i].inner);
		if (pattern_covers(&outer, &inner) != cases[i].covers)
			fail_msg("%s over %s", cases[i].outer, cases[i].inner);
	}
	arena_fini(&a);
}

static void
test_a_unicode_name_is_shown_in_its_ascii_form(void **state)
{
	static const struct {
		const char *name, *ascii;
	} cases[] = {
		/* RFC 3492 7.1 and everyday ones */
		{ "b\xc3\xbc"
		  "cher.example",
		    "xn--bcher-kva.example" },
		{ "B\xc3\x9c"
		  "CHER.example",
		    "xn--bcher-kva.example" },
		{ "\xe4\xbb\x96\xe4\xbb\xac\xe4\xb8\xba\xe4\xbb\x80\xe4\xb9\x88\xe4\xb8"
		  "\x8d\xe8\xaf\xb4"
		  "\xe4\xb8\xad\xe6\x96\x87",
		    "xn--ihqwcrb4cv8a8dqg056pqjye" },
		{ "ma\xc3\xb1"
		  "ana.com",
		    "xn--maana-pta.com" },
		{ "\xe2\x98\x83.net", "xn--n3h.net" },
		{ "example.com", "example.com" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct buf b;

		buf_init(&b, 300);
		assert_true(punycode_name(&b, str_of(cases[i].name)));
		assert_string_equal(buf_cstr(&b), cases[i].ascii);
		buf_fini(&b);
	}
}

static void
test_a_path_star_stays_in_its_segment(void **state)
{
	static const struct {
		const char *pattern, *path;
		bool fits;
	} cases[] = {
		{ "/", "/", true },
		{ "/a", "/a", true },
		{ "/a", "/a/", false },
		{ "/a", "/ab", false },
		{ "/a/*", "/a/b", true },
		{ "/a/*", "/a/", true },
		{ "/a/*", "/a/b/c", false },
		{ "/a/*", "/a", false },
		{ "/a/*/c", "/a/b/c", true },
		{ "/a/*/c", "/a/b/b/c", false },
		{ "/a*", "/abc", true },
		{ "/a*c*e", "/abcde", true },
		{ "/a*c", "/abcdc", true },
		{ "/a*c", "/ab/c", false },
		{ "/**", "/", true },
		{ "/**", "/a/b/c", true },
		{ "/a/**", "/a/", true },
		{ "/a/**", "/a/b/c", true },
		{ "/a/**", "/a", false },
		{ "/a/**", "/ab/c", false },
		{ "/a/**/z", "/a/z", true },
		{ "/a/**/z", "/a/b/z", true },
		{ "/a/**/z", "/a/b/c/z", true },
		{ "/a/**/z", "/a/bz", false },
		{ "/a/**/z", "/a/b/z/c", false },
		{ "/a/**/y/**/z", "/a/1/y/2/y/3/z", true },
		{ "/a/**/y/*/z", "/a/y/1/2/y/3/z", true },
		{ "/**.git", "/x/y.git", true },
		{ "/**.git", "/x/y.git/z", false },
		{ "/*.git", "/x/y.git", false },
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++)
		if (path_pattern_fits(str_of(cases[i].pattern), str_of(cases[i].path)) !=
		    cases[i].fits)
			fail_msg("%s ~ %s", cases[i].pattern, cases[i].path);
}

static void
test_a_path_pattern_is_one_a_request_may_have(void **state)
{
	static const char *const bad[] = { "", "a", "a/b", "/a//b", "/a/../b", "/a/.",
		"/a;b", "/%2e%2e/a", "/a\\b", "/***", "/%41" };
	static const char *const good[] = { "/", "/a", "/a/**", "/**/b", "/a%20b",
		"/*.git" };

	(void)state;
	for (size_t i = 0; i < COUNT_OF(bad); i++)
		if (path_pattern_is_valid(str_of(bad[i])))
			fail_msg("%s", bad[i]);
	for (size_t i = 0; i < COUNT_OF(good); i++)
		if (!path_pattern_is_valid(str_of(good[i])))
			fail_msg("%s", good[i]);
}

static void
test_ports_are_numbers_or_ranges(void **state)
{
	static const char *const bad[] = { "", "0", "65536", "-1", "1-", "-", "20-10",
		"1-70000", "080", "80,81", "https", "1-2-3", " 80" };
	struct ports p;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(bad); i++)
		if (ports_parse(&p, str_of(bad[i])))
			fail_msg("%s", bad[i]);
	assert_true(ports_parse(&p, STR("443")));
	assert_true(
	    ports_have(&p, 1, 443) && !ports_have(&p, 1, 442) && !ports_have(&p, 1, 444));
	assert_true(ports_parse(&p, STR("9000-9020")));
	assert_true(ports_have(&p, 1, 9000) && ports_have(&p, 1, 9020) &&
		    !ports_have(&p, 1, 9021));
	assert_true(ports_parse(&p, STR("1-65535")));
	assert_true(ports_have(&p, 1, 1) && ports_have(&p, 1, 65535));
}

#define LONG \
	"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

static void
test_rewriting_keys_are_known_in_every_spelling(void **state)
{
	static const struct {
		const char *query, *stripped;
		bool rewrites;
	} cases[] = {
		{ "_method=DELETE", "", true },
		{ "a=1&_METHOD=DELETE&b=2", "a=1&b=2", true },
		{ "%5fmethod=x&a=1", "a=1", true },
		{ "%5Fm%65thod", "", true },
		{ "a=1;_method=x", "a=1", true },
		{ "X_HTTP_Method-Override=PUT", "", true },
		{ ".method=DELETE", "", true },
		{ "a=1&[method=DELETE", "a=1", true },
		{ "+method=DELETE", "+method=DELETE", false }, /* PHP: "method" */
		{ "+%20_method=DELETE&b", "b", true },
		{ "_method%00x=DELETE", "", true },
		{ "_method%00" LONG "=DELETE", "", true },
		{ LONG "=x", LONG "=x", false },
		{ "method=x&a=_method", "method=x&a=_method", false },
		{ "&a=1&&b", "&a=1&&b", false },
		{ "a=%2", "a=%2", false },
		{ "", "", false },
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct str query = str_of(cases[i].query);
		struct buf b;

		buf_init(&b, 200);
		if ((rewrite_find(NULL, query) != REWRITES_NOTHING) != cases[i].rewrites)
			fail_msg("%s", cases[i].query);
		rewrite_strip_query(&b, query);
		assert_string_equal(buf_cstr(&b), cases[i].stripped);
		buf_fini(&b);
	}
	assert_int_equal(rewrite_field(STR("X-HTTP-Method-Override")), REWRITES_METHOD);
	assert_int_equal(rewrite_field(STR("x_original_url")), REWRITES_PATH);
	assert_int_equal(rewrite_field(STR("X.HTTP~Method!Override")), REWRITES_METHOD);
	assert_int_equal(rewrite_field(STR("Forwarded")), REWRITES_PATH);
	assert_int_equal(rewrite_field(STR("X-Forwarded-For")), REWRITES_NOTHING);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_star_is_a_whole_first_label_or_an_error),
		cmocka_unit_test(test_a_pattern_anyone_can_register_under_is_broad),
		cmocka_unit_test(test_covers_never_says_yes_wrongly),
		cmocka_unit_test(test_a_unicode_name_is_shown_in_its_ascii_form),
		cmocka_unit_test(test_a_path_star_stays_in_its_segment),
		cmocka_unit_test(test_a_path_pattern_is_one_a_request_may_have),
		cmocka_unit_test(test_ports_are_numbers_or_ranges),
		cmocka_unit_test(test_rewriting_keys_are_known_in_every_spelling),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
