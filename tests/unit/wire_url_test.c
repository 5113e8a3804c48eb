#include "wire/url.h"

#include <string.h>

#include "unit.h"

#define L63 "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

struct host_case {
	struct str text;
	enum host_error error;
	const char *name; /* canonical */
	bool is_literal;
};

#define BAD(text, error) \
	{ \
		{ text, sizeof(text) - 1 }, error, NULL, false \
	}
#define NAME(text, name) \
	{ \
		{ text, sizeof(text) - 1 }, HOST_OK, name, false \
	}
#define LITERAL(text, name) \
	{ \
		{ text, sizeof(text) - 1 }, HOST_OK, name, true \
	}

typedef enum host_error parse_fn(struct host *out, struct str text);

static void
assert_hosts(parse_fn *parse, const struct host_case *cases, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const char *row = cases[i].text.p;
		struct host h;
		enum host_error e = parse(&h, cases[i].text);

		if (e != cases[i].error)
			fail_msg("%s: error %d, not %d", row, e, cases[i].error);
		if (cases[i].name == NULL)
			continue;
		assert_row(row, strcmp(h.name, cases[i].name) == 0);
		assert_row(row, h.len == strlen(h.name));
		assert_row(row, h.is_literal == cases[i].is_literal);
	}
}

static void
test_a_host_has_one_spelling_or_is_refused(void **state)
{
	static const struct host_case cases[] = {
		NAME("a.test", "a.test"),
		NAME("A.Test", "a.test"),
		NAME("a.test.", "a.test"),
		NAME("_dmarc.under_score.test_", "_dmarc.under_score.test_"),
		NAME("XN--BCHER-KVA.test", "xn--bcher-kva.test"),
		NAME(L63 ".test", L63 ".test"),
		NAME(L63 "." L63 "." L63 "."
			 "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa.",
		    L63 "." L63 "." L63 "."
			"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"),
		NAME("1.1.1.1x", "1.1.1.1x"),
		NAME("localhost", "localhost"),
		LITERAL("1.2.3.4", "1.2.3.4"),
		LITERAL("[::1]", "::1"),
		LITERAL("[2001:DB8:0:0::1]", "2001:db8::1"),
		LITERAL("[::ffff:1.2.3.4]", "1.2.3.4"),

		BAD("", HOST_EMPTY),
		BAD(".", HOST_LABEL),
		BAD("..", HOST_LABEL),
		BAD("a..test", HOST_LABEL),
		BAD(".a.test", HOST_LABEL),
		BAD("a.test..", HOST_LABEL),
		BAD("-a.test", HOST_LABEL),
		BAD("a-.test", HOST_LABEL),
		BAD("a" L63 ".test", HOST_LABEL),
		BAD(L63 "." L63 "." L63 "."
			"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
		    HOST_TOO_LONG),
		BAD("a.test\0.b.test", HOST_BYTE),
		BAD("a.test\n", HOST_BYTE),
		BAD(" a.test", HOST_BYTE),
		BAD("a%2etest", HOST_BYTE),
		BAD("a\\b.test", HOST_BYTE),
		BAD("a@b.test", HOST_BYTE),
		BAD("*.a.test", HOST_BYTE),
		BAD("a,b.test", HOST_BYTE),
		BAD("b\xc3\xbc"
		    "cher.test",
		    HOST_BYTE),
		BAD("a\xe3\x80\x82test",
		    HOST_BYTE), /* a full stop that folds to '.' elsewhere */
		BAD("::1", HOST_BYTE),
		BAD("a.test]", HOST_BYTE),

		BAD("127.1", HOST_NUMBER),
		BAD("2130706433", HOST_NUMBER),
		BAD("0177.0.0.1", HOST_NUMBER),
		BAD("127.0.0.01", HOST_NUMBER),
		BAD("0x7f.1", HOST_NUMBER),
		BAD("0x7f000001", HOST_NUMBER),
		BAD("a.0X1", HOST_NUMBER),
		BAD("1.2.3.4.", HOST_NUMBER),
		BAD("1.2.3.256", HOST_NUMBER),
		BAD("1.2.3.4.5", HOST_NUMBER),
		BAD("a.test.1", HOST_NUMBER),

		BAD("[", HOST_BRACKETS),
		BAD("[]", HOST_BRACKETS),
		BAD("[::1", HOST_BRACKETS),
		BAD("[1.2.3.4]", HOST_BRACKETS),
		BAD("[a.test]", HOST_BRACKETS),
		BAD("[fe80::1%eth0]", HOST_BRACKETS),
		BAD("[v1.fe80::a]", HOST_BRACKETS),
		BAD("[::1]x", HOST_BRACKETS),
		BAD("[ ::1]", HOST_BRACKETS),
	};

	(void)state;
	assert_hosts(host_parse, cases, COUNT_OF(cases));
}

static void
test_a_bare_literal_needs_no_brackets_and_takes_none(void **state)
{
	static const struct host_case cases[] = {
		NAME("A.test.", "a.test"),
		LITERAL("1.2.3.4", "1.2.3.4"),
		LITERAL("::1", "::1"),
		LITERAL("::ffff:7f00:1", "127.0.0.1"),
		BAD("[::1]", HOST_BRACKETS),
		BAD("::1%lo", HOST_BYTE),
		BAD("a.test:443", HOST_BYTE),
		BAD("127.1", HOST_NUMBER),
		BAD("", HOST_EMPTY),
	};

	(void)state;
	assert_hosts(host_parse_bare, cases, COUNT_OF(cases));
}

static void
test_an_sni_name_is_a_name_without_a_final_dot(void **state)
{
	static const struct host_case cases[] = {
		NAME("A.test", "a.test"),
		BAD("a.test.", HOST_LABEL),
		BAD("1.2.3.4", HOST_NUMBER),
		BAD("::1", HOST_BYTE),
		BAD("[::1]", HOST_BYTE),
		BAD("", HOST_EMPTY),
		BAD("a.test:443", HOST_BYTE),
	};

	(void)state;
	assert_hosts(host_parse_sni, cases, COUNT_OF(cases));
}

static void
test_an_authority_is_a_host_and_a_plain_port(void **state)
{
	static const struct {
		const char *text;
		uint16_t default_port;
		enum host_error error;
		const char *name;
		uint16_t port;
	} cases[] = {
		{ "a.test:443", 0, HOST_OK, "a.test", 443 },
		{ "a.test", 80, HOST_OK, "a.test", 80 },
		{ "a.test:1", 80, HOST_OK, "a.test", 1 },
		{ "[::1]:65535", 0, HOST_OK, "::1", 65535 },
		{ "[::1]", 80, HOST_OK, "::1", 80 },
		{ "a.test", 0, HOST_PORT, NULL, 0 },
		{ "a.test:", 80, HOST_PORT, NULL, 0 },
		{ "a.test:0", 0, HOST_PORT, NULL, 0 },
		{ "a.test:0443", 0, HOST_PORT, NULL, 0 },
		{ "a.test:+443", 0, HOST_PORT, NULL, 0 },
		{ "a.test:65536", 0, HOST_PORT, NULL, 0 },
		{ "a.test:4294967739", 0, HOST_PORT, NULL, 0 },
		{ "a.test:443 ", 0, HOST_PORT, NULL, 0 },
		{ "a.test:https", 0, HOST_PORT, NULL, 0 },
		{ "a.test:80:80", 0, HOST_PORT, NULL, 0 },
		{ "::1:443", 0, HOST_PORT, NULL, 0 },
		{ ":443", 0, HOST_EMPTY, NULL, 0 },
		{ "", 80, HOST_EMPTY, NULL, 0 },
		{ "[::1]443", 0, HOST_BRACKETS, NULL, 0 },
		{ "[::1", 80, HOST_BRACKETS, NULL, 0 },
		{ "u@a.test:443", 0, HOST_USERINFO, NULL, 0 },
		{ "a.test:443#@b.test:443", 0, HOST_USERINFO, NULL, 0 },
		{ "a.test/:443", 0, HOST_BYTE, NULL, 0 },
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		uint16_t port = 0;
		struct host h;
		enum host_error e = authority_parse(
		    &h, &port, str_of(cases[i].text), cases[i].default_port);

		if (e != cases[i].error)
			fail_msg(
			    "%s: error %d, not %d", cases[i].text, e, cases[i].error);
		assert_row(cases[i].text, port == cases[i].port);
		if (e == HOST_OK)
			assert_row(cases[i].text, strcmp(h.name, cases[i].name) == 0);
	}
}

static void
test_an_authority_is_written_so_that_it_reads_back(void **state)
{
	static const struct {
		const char *text;
		uint16_t port, default_port;
		const char *out;
	} cases[] = {
		{ "a.test", 443, 0, "a.test:443" },
		{ "a.test", 80, 80, "a.test" },
		{ "a.test", 0, 80, "a.test" },
		{ "[::1]", 65535, 80, "[::1]:65535" },
		{ "[::ffff:1.2.3.4]", 8, 80, "1.2.3.4:8" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		char out[AUTHORITY_TEXT];
		struct host h;

		assert_int_equal(host_parse(&h, str_of(cases[i].text)), HOST_OK);
		authority_text(out, &h, cases[i].port, cases[i].default_port);
		assert_string_equal(out, cases[i].out);
	}
}

static void
test_hosts_are_equal_when_they_are_the_same_place(void **state)
{
	struct host a, b, c;

	(void)state;
	assert_int_equal(host_parse(&a, STR("[::ffff:1.2.3.4]")), HOST_OK);
	assert_int_equal(host_parse(&b, STR("1.2.3.4")), HOST_OK);
	assert_int_equal(host_parse(&c, STR("1.2.3.4x")), HOST_OK);
	assert_true(host_eq(&a, &b));
	assert_false(host_eq(&b, &c));
}

static void
test_special_names_are_known_by_their_end(void **state)
{
	static const struct {
		const char *name, *suffix; /* NULL: ordinary */
	} cases[] = {
		{ "localhost", "localhost" },
		{ "a.localhost", "localhost" },
		{ "metadata.google.internal", "internal" },
		{ "a.svc.cluster.local", "local" },
		{ "kubernetes.default.svc", "svc" },
		{ "x.home.arpa", "home.arpa" },
		{ "1.in-addr.arpa", "arpa" },
		{ "a.home", "home" },
		{ "intranet", "" },
		{ "ip6-localhost", "" },
		{ "test", "" },
		{ "a.test", NULL },
		{ "notlocal.test", NULL },
		{ "a.mylocal", NULL },
		{ "local.test", NULL },
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		const char *suffix = host_special_suffix(str_of(cases[i].name));
		struct host h;

		assert_int_equal(host_parse(&h, str_of(cases[i].name)), HOST_OK);
		assert_row(
		    cases[i].name, host_is_special(&h) == (cases[i].suffix != NULL));
		assert_row(cases[i].name, (suffix == NULL) == (cases[i].suffix == NULL));
		if (suffix != NULL)
			assert_string_equal(suffix, cases[i].suffix);
	}
}

static void
test_a_literal_is_never_special(void **state)
{
	struct host h;

	(void)state;
	assert_int_equal(host_parse(&h, STR("[::1]")), HOST_OK);
	assert_false(host_is_special(&h));
}

static void
test_an_absolute_target_is_cut_at_one_place_only(void **state)
{
	static const struct {
		const char *text;
		enum host_error error;
		const char *host;
		uint16_t port;
		const char *path, *query; /* query NULL: none */
	} cases[] = {
		{ "http://a.test/", HOST_OK, "a.test", 80, "/", NULL },
		{ "HTTP://A.test:8080/x;y?z?&%20", HOST_OK, "a.test", 8080, "/x;y",
		    "z?&%20" },
		{ "http://a.test", HOST_OK, "a.test", 80, "", NULL },
		{ "http://a.test?x=1/2", HOST_OK, "a.test", 80, "", "x=1/2" },
		{ "http://a.test/?", HOST_OK, "a.test", 80, "/", "" },
		{ "https://[::1]/", HOST_OK, "::1", 443, "/", NULL },
		{ "http://a.test?@b.test/", HOST_OK, "a.test", 80, "", "@b.test/" },
		{ "http://a.test/q?a=|b|&c={d}&e=[f]", HOST_OK, "a.test", 80, "/q",
		    "a=|b|&c={d}&e=[f]" },
		{ "http://u:p@a.test/", HOST_USERINFO, NULL, 0, NULL, NULL },
		{ "http://a.test@b.test/", HOST_USERINFO, NULL, 0, NULL, NULL },
		{ "http://a.test/#f", HOST_TARGET, NULL, 0, NULL, NULL },
		{ "http://a.test#@b.test/", HOST_TARGET, NULL, 0, NULL, NULL },
		{ "http://a.test\\@b.test/", HOST_TARGET, NULL, 0, NULL, NULL },
		{ "http://a.test/\x01", HOST_TARGET, NULL, 0, NULL, NULL },
		{ "http://a.test/\xc3\xa9", HOST_TARGET, NULL, 0, NULL, NULL },
		{ "http://a%2etest/", HOST_BYTE, NULL, 0, NULL, NULL },
		{ "http://", HOST_EMPTY, NULL, 0, NULL, NULL },
		{ "http://:80/", HOST_EMPTY, NULL, 0, NULL, NULL },
		{ "http://a.test:/", HOST_PORT, NULL, 0, NULL, NULL },
		{ "http://a.test:080/", HOST_PORT, NULL, 0, NULL, NULL },
		{ "http:///a.test/", HOST_EMPTY, NULL, 0, NULL, NULL },
		{ "http:/a.test/", HOST_TARGET, NULL, 0, NULL, NULL },
		{ "http:a.test/", HOST_TARGET, NULL, 0, NULL, NULL },
		{ "a.test/", HOST_TARGET, NULL, 0, NULL, NULL },
		{ "/http://a.test/", HOST_TARGET, NULL, 0, NULL, NULL },
		{ "/x", HOST_TARGET, NULL, 0, NULL, NULL },
		{ "*", HOST_TARGET, NULL, 0, NULL, NULL },
		{ "", HOST_TARGET, NULL, 0, NULL, NULL },
		{ "://a.test/", HOST_TARGET, NULL, 0, NULL, NULL },
		{ "ftp://a.test/", HOST_SCHEME, NULL, 0, NULL, NULL },
		{ "ws://a.test/", HOST_SCHEME, NULL, 0, NULL, NULL },
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct url u;
		enum host_error e = url_parse(&u, str_of(cases[i].text));

		if (e != cases[i].error)
			fail_msg(
			    "%s: error %d, not %d", cases[i].text, e, cases[i].error);
		if (e != HOST_OK)
			continue;
		assert_row(cases[i].text, strcmp(u.host.name, cases[i].host) == 0);
		assert_row(cases[i].text, u.port == cases[i].port);
		assert_row(cases[i].text, u.is_https == (u.port == 443));
		assert_row(cases[i].text, str_eq(u.path, str_of(cases[i].path)));
		assert_row(
		    cases[i].text, (u.query.p == NULL) == (cases[i].query == NULL));
		assert_row(cases[i].text, str_eq(u.query, str_of(cases[i].query)));
	}
}

static void
test_only_a_path_with_one_reading_is_canonical(void **state)
{
	static const struct {
		const char *path;
		bool is_canonical;
	} cases[] = {
		{ "", true },
		{ "/", true },
		{ "/a/b", true },
		{ "/a/", true },
		{ "/a.b-c_d~e", true },
		{ "/...", true },
		{ "/.a", true },
		{ "/%20", true },
		{ "/%C3%A9", true },
		{ "/a:b@c", true },
		{ "a", false },
		{ "*", false },
		{ "//", false },
		{ "/a//b", false },
		{ "/a/./b", false },
		{ "/a/../b", false },
		{ "/..", false },
		{ "/.", false },
		{ "/a;b", false },
		{ "/..;/b", false },
		{ "/a\\b", false },
		{ "/%2e%2e/b", false },
		{ "/%2E", false },
		{ "/a%2fb", false },
		{ "/a%5Cb", false },
		{ "/a%252e", false },
		{ "/a%00", false },
		{ "/%70ublic", false },
		{ "/%7e", false },
		{ "/%", false },
		{ "/%2", false },
		{ "/%g0", false },
		{ "/a b", false },
		{ "/\xc3\xa9", false },
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++)
		assert_row(cases[i].path,
		    path_is_canonical(str_of(cases[i].path)) == cases[i].is_canonical);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_host_has_one_spelling_or_is_refused),
		cmocka_unit_test(test_a_bare_literal_needs_no_brackets_and_takes_none),
		cmocka_unit_test(test_an_sni_name_is_a_name_without_a_final_dot),
		cmocka_unit_test(test_an_authority_is_a_host_and_a_plain_port),
		cmocka_unit_test(test_an_authority_is_written_so_that_it_reads_back),
		cmocka_unit_test(test_hosts_are_equal_when_they_are_the_same_place),
		cmocka_unit_test(test_special_names_are_known_by_their_end),
		cmocka_unit_test(test_a_literal_is_never_special),
		cmocka_unit_test(test_an_absolute_target_is_cut_at_one_place_only),
		cmocka_unit_test(test_only_a_path_with_one_reading_is_canonical),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
