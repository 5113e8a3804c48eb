/*
 * policy_ask_test.c - every door reads a target alike
 */
#include "policy/ask.h"
#include "unit.h"

struct head_case {
	const char *name;
	const char *method, *target, *host; /* host NULL: no Host field */
	enum reason reason;
	const char *authority; /* when there is no reason */
	const char *path;
};

static struct http_head
head_of(const struct head_case *c)
{
	return (struct http_head){
		.kind = HTTP_REQUEST,
		.minor = 1,
		.method = str_of(c->method),
		.target = str_of(c->target),
		.host = c->host == NULL ? STR_NONE : str_of(c->host),
	};
}

static void
check(const struct head_case *c, enum reason reason, const struct ask *a, const char *why)
{
	char text[AUTHORITY_TEXT];

	if (reason != c->reason)
		fail_msg("%s: %s (%s)", c->name, reason_row(reason)->name, why);
	if (reason != REASON_NONE) {
		assert_non_null(why);
		return;
	}
	assert_string_equal(authority_text(text, &a->host, a->port, 0), c->authority);
	if (c->path != NULL && !str_eq(a->path, str_of(c->path)))
		fail_msg("%s: path %.*s", c->name, STR_ARG(a->path));
	assert_int_equal(a->has_request, c->path != NULL);
}

static void
test_proxy_door_takes_authority_and_absolute_form_only(void **state)
{
	static const struct head_case cases[] = {
		{ "connect", "CONNECT", "A.Example.COM.:443", "a.example.com:443",
		    REASON_NONE, "a.example.com:443", NULL },
		{ "connect, own name in Host", "CONNECT", "a.test:443", "proxy:3128",
		    REASON_NONE, "a.test:443", NULL },
		{ "connect, no Host (1.0)", "CONNECT", "a.test:443", NULL, REASON_NONE,
		    "a.test:443", NULL },
		{ "connect, Host is nonsense", "CONNECT", "a.test:443", "a b",
		    REASON_HOST_INVALID, NULL, NULL },
		{ "connect without port", "CONNECT", "a.test", "a.test",
		    REASON_REQUEST_MALFORMED, NULL, NULL },
		{ "connect to a URL", "CONNECT", "https://a.test:443/", "a.test",
		    REASON_REQUEST_MALFORMED, NULL, NULL },
		{ "connect, NUL-like host", "CONNECT", "a%00.test:443", "a.test",
		    REASON_HOST_INVALID, NULL, NULL },
		{ "connect in small letters is no CONNECT", "connect", "a.test:443",
		    "a.test:443", REASON_REQUEST_MALFORMED, NULL, NULL },
		{ "absolute", "GET", "http://a.test/x?y", "a.test", REASON_NONE,
		    "a.test:80", "/x" },
		{ "absolute without path", "GET", "http://a.test", "a.test", REASON_NONE,
		    "a.test:80", "/" },
		{ "absolute, query only", "GET", "http://a.test?x=1", "a.test",
		    REASON_NONE, "a.test:80", "/" },
		{ "OPTIONS of a server", "OPTIONS", "http://a.test", "a.test",
		    REASON_NONE, "a.test:80", "*" },
		{ "Host says the port that is meant", "GET", "http://a.test/",
		    "a.test:80", REASON_NONE, "a.test:80", "/" },
		{ "Host leaves the port out", "GET", "http://a.test:8080/", "a.test",
		    REASON_NONE, "a.test:8080", "/" },
		{ "Host says another port", "GET", "http://a.test/", "a.test:8080",
		    REASON_HOST_MISMATCH, NULL, NULL },
		{ "Host says another host", "GET", "http://a.test/", "b.test",
		    REASON_HOST_MISMATCH, NULL, NULL },
		{ "Host is nonsense", "GET", "http://a.test/", "a.test, b.test",
		    REASON_HOST_INVALID, NULL, NULL },
		{ "origin-form", "GET", "/x", "a.test", REASON_REQUEST_MALFORMED, NULL,
		    NULL },
		{ "asterisk", "OPTIONS", "*", "a.test", REASON_REQUEST_MALFORMED, NULL,
		    NULL },
		{ "https wants CONNECT", "GET", "https://a.test/", "a.test",
		    REASON_REQUEST_MALFORMED, NULL, NULL },
		{ "userinfo", "GET", "http://u@a.test/", "a.test",
		    REASON_REQUEST_MALFORMED, NULL, NULL },
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct http_head head = head_of(&cases[i]);
		const char *why = NULL;
		struct ask a;
		enum reason reason = ask_proxy(&a, &head, &why);

		check(&cases[i], reason, &a, why);
	}
}

static void
test_a_request_inside_a_tunnel_is_for_the_tunnels_host(void **state)
{
	static const struct head_case cases[] = {
		{ "origin-form", "GET", "/x?y=1", "a.test", REASON_NONE, "a.test:80",
		    "/x" },
		{ "Host with port", "GET", "/", "a.test:80", REASON_NONE, "a.test:80",
		    "/" },
		{ "no Host (1.0)", "GET", "/", NULL, REASON_NONE, "a.test:80", "/" },
		{ "absolute-form, same host", "GET", "http://A.test/x", "a.test",
		    REASON_NONE, "a.test:80", "/x" },
		{ "asterisk", "OPTIONS", "*", "a.test", REASON_NONE, "a.test:80", "*" },
		{ "another Host", "GET", "/", "b.test", REASON_HOST_MISDIRECTED, NULL,
		    NULL },
		{ "another port", "GET", "/", "a.test:81", REASON_HOST_MISDIRECTED, NULL,
		    NULL },
		{ "another absolute-form", "GET", "http://b.test/", "a.test",
		    REASON_HOST_MISDIRECTED, NULL, NULL },
		{ "a tunnel in a tunnel", "CONNECT", "a.test:443", "a.test:443",
		    REASON_METHOD_NOT_ALLOWED, NULL, NULL },
		{ "fragment", "GET", "/#x", "a.test", REASON_REQUEST_MALFORMED, NULL,
		    NULL },
		{ "backslash", "GET", "/a\\b", "a.test", REASON_REQUEST_MALFORMED, NULL,
		    NULL },
		{ "asterisk with GET", "GET", "*", "a.test", REASON_REQUEST_MALFORMED,
		    NULL, NULL },
	};
	struct host host;

	(void)state;
	assert_int_equal(host_parse(&host, STR("a.test")), HOST_OK);
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct http_head head = head_of(&cases[i]);
		const char *why = NULL;
		struct ask a;
		enum reason reason = ask_inside(&a, &host, 80, false, &head, &why);

		check(&cases[i], reason, &a, why);
	}
}

static void
test_facts_of_a_connect_leave_every_protocol_open(void **state)
{
	const char *why;
	struct facts f;
	struct ask a;

	(void)state;
	assert_int_equal(ask_connect(&a, STR("a.test:443"), &why), REASON_NONE);
	ask_facts(&f, &a);
	assert_int_equal(f.protocols, PROTOCOL_ANY);
	assert_false(f.has_request);

	assert_int_equal(
	    ask_absolute(&a, STR("GET"), STR("http://a.test/?q"), &why), REASON_NONE);
	ask_facts(&f, &a);
	assert_int_equal(f.protocols, PROTOCOL_HTTP);
	assert_true(f.has_request);
	assert_true(str_eq(f.query, STR("q")));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_proxy_door_takes_authority_and_absolute_form_only),
		cmocka_unit_test(test_a_request_inside_a_tunnel_is_for_the_tunnels_host),
		cmocka_unit_test(test_facts_of_a_connect_leave_every_protocol_open),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
