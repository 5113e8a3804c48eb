/*
 * policy_match_test.c - facts -> verdict, by the steps of the live path
 */
#include <string.h>

#include "policy/ask.h"
#include "policy/compile.h"
#include "policy/explain.h"
#include "unit.h"

#define LAYERS 3

static struct ruleset_terms terms = { .is_report_ok = true };

static struct ruleset *
load(const char *const *text)
{
	static const char *const name[LAYERS] = { "one", "two", "three" };
	struct ruleset_source source[LAYERS];
	struct ruleset *rs;
	struct report rep;
	struct buf b;
	size_t n = 0;

	for (; n < LAYERS && text[n] != NULL; n++)
		source[n] = (struct ruleset_source){ name[n], str_of(text[n]), false };
	report_init(&rep);
	rs = ruleset_build(source, n, &terms, &rep);
	if (rs == NULL) {
		buf_init(&b, 10000);
		report_print_text(&rep, &b);
		fail_msg("%s", buf_cstr(&b));
	}
	report_fini(&rep);
	return rs;
}

static size_t
addresses(struct addr out[static 8], const char *list)
{
	struct str rest = str_of(list), piece;
	size_t n = 0;

	while (rest.n > 0 && str_split(&rest, ' ', &piece))
		assert_true(addr_parse(&out[n++], piece));
	return n;
}

struct case_of {
	const char *ask;     /* "METHOD TARGET" or "HOST:PORT" */
	const char *answers; /* NULL: not looked up */
	const char *reason;  /* "ok" when allowed */
	const char *rule;    /* its name, or NULL */
};

static void
put_ask(struct explain_ask *ask, const struct case_of *c, struct addr answer[static 8])
{
	struct str text = str_of(c->ask), method = STR_NONE;
	size_t at;

	if (str_find(text, ' ', &at)) {
		method = str_sub(text, 0, at);
		text = str_sub(text, at + 1, text.n);
	}
	explain_ask_init(ask, method, text);
	ask->has_answers = c->answers != NULL;
	if (ask->has_answers)
		ask->nanswer = addresses(answer, c->answers);
	ask->answer = answer;
}

static void
check_on(const struct ruleset *rs, const struct case_of *cases, size_t n)
{
	struct place place = { .is_loopback_own_ok = true };
	struct arena a;

	arena_init(&a, 1 << 20);
	for (size_t i = 0; i < n; i++) {
		struct addr answer[8];
		struct explain_ask ask;
		struct explained e;
		const char *rule, *reason;

		put_ask(&ask, &cases[i], answer);
		explain(&e, rs, &place, &ask, &a);
		rule = e.verdict.rule == NULL ? NULL : rule_name(e.verdict.rule);
		reason = reason_row(e.verdict.reason)->name;
		if (strcmp(reason, cases[i].reason) != 0 ||
		    (rule == NULL) != (cases[i].rule == NULL) ||
		    (rule != NULL && strcmp(rule, cases[i].rule) != 0))
			fail_msg("%s [%s]: %s by %s (%s)", cases[i].ask,
			    cases[i].answers == NULL ? "" : cases[i].answers, reason,
			    rule == NULL ? "none" : rule, e.verdict.why);
		assert_row(cases[i].ask, e.verdict.allow == (strcmp(reason, "ok") == 0));
		arena_reset(&a);
	}
	arena_fini(&a);
}

static void
check(const char *const *policy, const struct case_of *cases, size_t n)
{
	struct ruleset *rs = load(policy);

	check_on(rs, cases, n);
	ruleset_free(rs);
}

static void
test_deny_wins_then_allow_else_deny(void **state)
{
	static const char *const policy[] = {
		"allow: [{ name: all, host: '**.a.test' }, { name: ok, host: "
		"ok.corp.a.test }]\n"
		"deny: [{ name: corp, host: '**.corp.a.test', why: not ours },\n"
		"  { name: one, host: one.a.test, ports: [443] }]",
		NULL,
	};
	static const struct case_of cases[] = {
		{ "www.a.test:443", NULL, "ok", "all" },
		{ "A.TEST.:443", NULL, "ok", "all" },
		{ "ok.corp.a.test:443", NULL, "host_denied", "corp" },
		{ "corp.a.test:443", NULL, "host_denied", "corp" },
		{ "corp.a.test:80", NULL, "host_denied", "corp" },
		{ "one.a.test:443", NULL, "host_denied", "one" },
		{ "one.a.test:80", NULL, "port_not_allowed", NULL },
		{ "nota.test:443", NULL, "host_not_allowed", NULL },
		{ "xa.test:443", NULL, "host_not_allowed", NULL },
		{ "b.test:443", NULL, "host_not_allowed", NULL },
	};

	(void)state;
	check(policy, cases, COUNT_OF(cases));
}

static void
test_exact_then_longest_base_then_one_star_then_file_order(void **state)
{
	static const char *const policy[] = {
		"allow:\n"
		"  - { name: any, host: '*', broad: true }\n"
		"  - { name: deep, host: '**.b.a.test' }\n"
		"  - { name: below, host: '*.b.a.test' }\n"
		"  - { name: short, host: '**.a.test' }\n"
		"  - { name: exact, host: x.b.a.test }\n"
		"  - { name: other-port, host: x.b.a.test, ports: [8443] }\n"
		"  - { name: wide-port, host: '*.a.test', ports: [9443] }\n",
		NULL,
	};
	static const struct case_of cases[] = {
		{ "https://x.b.a.test/", NULL, "ok", "exact" },
		{ "https://x.b.a.test:8443/", NULL, "ok", "other-port" },
		{ "https://x.b.a.test:9443/", NULL, "ok", "wide-port" },
		{ "https://y.b.a.test/", NULL, "ok", "below" },
		{ "https://z.y.b.a.test/", NULL, "ok", "below" },
		{ "https://b.a.test/", NULL, "ok", "deep" },
		{ "https://c.a.test/", NULL, "ok", "short" },
		{ "https://a.test/", NULL, "ok", "short" },
		{ "https://test.example/", NULL, "ok", "any" },
	};

	(void)state;
	check(policy, cases, COUNT_OF(cases));
}

/* Both keys on one line, as in JSON. */
static void
test_file_order_holds_within_a_line(void **state)
{
	static const char *const policy[] = {
		"{ allow: [{ name: long, host: a.test, private: [10.0.0.0/8] }], "
		"network: { mode: allowlist, hosts: [a.test] } }",
		NULL,
	};
	static const char *const turned[] = {
		"{ network: { mode: allowlist, hosts: [a.test] }, "
		"allow: [{ name: long, host: a.test, private: [10.0.0.0/8] }] }",
		NULL,
	};
	static const struct case_of cases[] = {
		{ "https://a.test/", "10.1.2.3", "ok", "long" },
	};
	static const struct case_of turned_cases[] = {
		{ "https://a.test/", "10.1.2.3", "address_denied", "network:https" },
	};

	(void)state;
	check(policy, cases, COUNT_OF(cases));
	check(turned, turned_cases, COUNT_OF(turned_cases));
}

static void
test_special_names_need_a_pattern_that_means_them(void **state)
{
	static const char *const policy[] = {
		"allow:\n"
		"  - { name: any, host: '*', broad: true }\n"
		"  - { name: cluster, host: '*.ns.svc.cluster.local' }\n"
		"  - { name: one, host: printer }\n"
		"  - { name: com, host: '**.com', broad: true }\n",
		NULL,
	};
	static const struct case_of cases[] = {
		{ "localhost:443", NULL, "host_not_allowed", NULL },
		{ "x.localhost.:443", NULL, "host_not_allowed", NULL },
		{ "metadata.google.internal:443", NULL, "host_not_allowed", NULL },
		{ "a.svc:443", NULL, "host_not_allowed", NULL },
		{ "db.ns.svc.cluster.local:443", NULL, "ok", "cluster" },
		{ "ns.svc.cluster.local:443", NULL, "host_not_allowed", NULL },
		{ "printer:443", NULL, "ok", "one" },
		{ "scanner:443", NULL, "host_not_allowed", NULL },
		{ "localhost.com:443", NULL, "ok", "com" },
		{ "a.test:443", NULL, "ok", "any" },
		{ "8.8.8.8:443", NULL, "ip_literal_not_allowed", NULL },
		{ "[2606:4700::1]:443", NULL, "ip_literal_not_allowed", NULL },
	};

	(void)state;
	check(policy, cases, COUNT_OF(cases));
}

static void
test_the_reason_names_the_furthest_step_any_rule_reached(void **state)
{
	static const char *const policy[] = {
		"allow:\n"
		"  - { name: read, host: a.test, protocol: http, methods: [GET], paths: "
		"[/r/**] }\n"
		"  - { name: write, host: a.test, protocol: http, methods: [POST, PUT], "
		"paths: [/w] }\n"
		"  - { name: tls, host: b.test, ports: [8080] }\n"
		"  - { name: db, host: db.test, protocol: tcp, ports: [5432] }\n",
		NULL,
	};
	static const struct case_of cases[] = {
		{ "GET http://a.test/r/x", NULL, "ok", "read" },
		{ "HEAD http://a.test/r/", NULL, "ok", "read" },
		{ "POST http://a.test/w", NULL, "ok", "write" },
		{ "GET http://a.test/w", NULL, "path_not_allowed", NULL },
		{ "POST http://a.test/r/x", NULL, "path_not_allowed", NULL },
		{ "DELETE http://a.test/r/x", NULL, "method_not_allowed", NULL },
		{ "GET http://a.test:81/r/x", NULL, "port_not_allowed", NULL },
		{ "a.test:443", NULL, "port_not_allowed", NULL },
		{ "a.test:80", NULL, "ok", "read" },
		{ "https://a.test:80/", NULL, "protocol_not_allowed", NULL },
		{ "GET http://b.test:8080/", NULL, "protocol_not_allowed", NULL },
		{ "GET http://b.test/", NULL, "port_not_allowed", NULL },
		{ "db.test:5432", NULL, "ok", "db" },
		{ "GET http://db.test:5432/", NULL, "protocol_not_allowed", NULL },
		{ "GET http://c.test/", NULL, "host_not_allowed", NULL },
		{ "TRACE http://a.test/r/x", NULL, "method_not_allowed", NULL },
		{ "CONNECT a.test", NULL, "request_malformed", NULL },
		{ "GET http://0x7f.1/", NULL, "host_invalid", NULL },
	};

	(void)state;
	check(policy, cases, COUNT_OF(cases));
}

static void
test_405_names_the_methods_of_every_rule_that_got_there(void **state)
{
	static const char *const policy[] = {
		"allow:\n"
		"  - { host: a.test, protocol: http, methods: [GET, POST] }\n"
		"  - { host: '**.a.test', protocol: http, methods: [PUT, POST] }\n"
		"  - { host: a.test, protocol: http, methods: [DELETE], ports: [81] }\n",
		NULL,
	};
	struct ruleset *rs = load(policy);
	struct place place = { 0 };
	struct explain_ask ask;
	struct explained e;
	struct arena a;

	(void)state;
	arena_init(&a, 1 << 20);
	explain_ask_init(&ask, STR("PATCH"), STR("http://a.test/"));
	explain(&e, rs, &place, &ask, &a);
	assert_int_equal(e.verdict.reason, REASON_METHOD_NOT_ALLOWED);
	assert_true(str_eq(e.verdict.allow_methods, STR("GET, POST, HEAD, PUT")));
	arena_fini(&a);
	ruleset_free(rs);
}

static void
test_under_paths_a_path_must_be_canonical_already(void **state)
{
	static const char *const policy[] = {
		"allow:\n"
		"  - { name: public, host: a.test, protocol: http, paths: [/public/**] "
		"}\n"
		"  - { name: plain, host: b.test, protocol: http }\n",
		NULL,
	};
	static const struct case_of cases[] = {
		{ "GET http://a.test/public/a.b-c_d~e?x=/../y", NULL, "ok", "public" },
		{ "GET http://a.test/public/../secret", NULL, "path_not_allowed", NULL },
		{ "GET http://a.test/public/./a", NULL, "path_not_allowed", NULL },
		{ "GET http://a.test/public//a", NULL, "path_not_allowed", NULL },
		{ "GET http://a.test/public/%2e%2e/secret", NULL, "path_not_allowed",
		    NULL },
		{ "GET http://a.test/public/x%2fy", NULL, "path_not_allowed", NULL },
		{ "GET http://a.test/public/%61", NULL, "path_not_allowed", NULL },
		{ "GET http://a.test/public/a;b", NULL, "path_not_allowed", NULL },
		{ "GET http://a.test/%70ublic/a", NULL, "path_not_allowed", NULL },
		{ "OPTIONS http://a.test", NULL, "path_not_allowed", NULL },
		{ "GET http://b.test/public/../secret", NULL, "ok", "plain" },
		{ "OPTIONS http://b.test", NULL, "ok", "plain" },
	};

	(void)state;
	check(policy, cases, COUNT_OF(cases));
}

static void
test_what_rewrites_a_request_is_refused_where_requests_are_read(void **state)
{
	static const char *const policy[] = {
		"allow:\n"
		"  - { name: get, host: a.test, protocol: http, methods: [GET] }\n"
		"  - { name: path, host: b.test, protocol: http, paths: [/x] }\n"
		"  - { name: free, host: c.test, protocol: http }\n"
		"  - { name: watched, host: d.test, protocol: http }\n"
		"deny: [{ name: no-post, host: d.test, methods: [POST] }]\n",
		NULL,
	};
	static const struct {
		const char *host, *field, *query;
		const char *reason;
	} cases[] = {
		{ "a.test", "x-http-METHOD-override", NULL, "method_not_allowed" },
		{ "a.test", "X_HTTP_Method", NULL, "method_not_allowed" },
		{ "a.test", "X-Original-URL", NULL, "path_not_allowed" },
		{ "a.test", "Forwarded", NULL, "path_not_allowed" },
		{ "a.test", "X-Forwarded-For", NULL, "ok" },
		{ "a.test", NULL, "_method=DELETE", "method_not_allowed" },
		{ "b.test", NULL, "a&%5fmethod=DELETE", "method_not_allowed" },
		{ "b.test", "X-Forwarded-Prefix", NULL, "path_not_allowed" },
		{ "c.test", "X-Forwarded-Prefix", "_method=x", "ok" },
		{ "d.test", NULL, NULL, "ok" },
		{ "d.test", "X-Method-Override", NULL, "host_denied" },
	};
	struct ruleset *rs = load(policy);
	struct arena a;

	(void)state;
	arena_init(&a, 1 << 20);
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct http_field field = { str_of(cases[i].field), STR("x") };
		struct http_head head = { .field = &field,
			.nfield = cases[i].field != NULL };
		struct place place = { 0 };
		struct host host;
		struct facts f = { .via = VIA_HTTP,
			.host = &host,
			.port = 80,
			.protocols = PROTOCOL_HTTP,
			.has_request = true,
			.method = STR("GET"),
			.path = STR("/x"),
			.query = str_of(cases[i].query),
			.head = &head };
		struct verdict v;

		assert_int_equal(host_parse(&host, str_of(cases[i].host)), HOST_OK);
		match_judge(rs, &f, &a, NULL, &place, &v, NULL);
		if (strcmp(reason_row(v.reason)->name, cases[i].reason) != 0)
			fail_msg("%s %s %s: %s", cases[i].host, cases[i].field,
			    cases[i].query, reason_row(v.reason)->name);
		assert_int_equal(v.strip_rewriters, v.allow);
	}
	arena_fini(&a);
	ruleset_free(rs);
}

static void
test_layers_only_narrow(void **state)
{
	static const char *const policy[] = {
		"allow: [{ name: outer, host: '*.a.test' }, { name: open, host: "
		"p.a.test, private: [10.0.0.0/8] },\n"
		"  { name: ports, host: '*.b.test', protocol: http, ports: ['8000-9000'] "
		"}]",
		"allow: [{ name: wide, host: '*', broad: true }, { name: any, host: '*', "
		"broad: true, protocol: http,\n"
		"   ports: ['1-65535'] }, { name: less, host: p.a.test, private: "
		"[10.1.0.0/16] }]",
		"allow: [{ name: inner, host: x.a.test }, { name: last, host: p.a.test, "
		"private: [10.0.0.0/9, 10.1.2.0/24] },\n"
		"  { name: b, host: x.b.test, protocol: http, ports: [8080, 80] }]",
		NULL,
	};
	static const struct case_of cases[] = {
		{ "https://x.a.test/", NULL, "ok", "inner" },
		{ "https://y.a.test/", NULL, "host_not_allowed", NULL },
		{ "https://other.test/", NULL, "host_not_allowed", NULL },
		{ "https://p.a.test/", "10.1.2.3", "ok", "last" },
		{ "https://p.a.test/", "10.1.3.3", "ok", "last" },
		{ "https://p.a.test/", "10.2.0.1", "address_denied", "last" },
		{ "https://p.a.test/", "192.168.0.1", "address_denied", "last" },
		{ "GET http://x.b.test:8080/", NULL, "ok", "b" },
		{ "GET http://x.b.test/", NULL, "port_not_allowed", NULL },
	};

	(void)state;
	check(policy, cases, COUNT_OF(cases));
}

static void
test_the_short_form_neither_opens_nor_closes_addresses(void **state)
{
	static const char *const policy[] = {
		"allow: [{ name: open, host: a.test, private: [10.0.0.0/8] }]",
		"network: { mode: allowlist, hosts: [a.test] }",
		NULL,
	};
	static const char *const alone[] = {
		"network: { mode: allowlist, hosts: [a.test] }", NULL
	};
	static const struct case_of cases[] = {
		{ "a.test:443", "10.1.2.3", "ok", "network:https" },
		{ "a.test:443", "192.168.1.1", "address_denied", "network:https" },
		{ "a.test:443", "93.184.215.14", "ok", "network:https" },
	};
	static const struct case_of alone_cases[] = {
		{ "a.test:443", "10.1.2.3", "address_denied", "network:https" },
		{ "a.test:80", NULL, "port_not_allowed", NULL },
	};

	(void)state;
	check(policy, cases, COUNT_OF(cases));
	check(alone, alone_cases, COUNT_OF(alone_cases));
}

static void
test_addresses_are_open_only_where_a_rule_says_so(void **state)
{
	static const char *const policy[] = {
		"allow:\n"
		"  - { name: plain, host: '*.a.test' }\n"
		"  - { name: open, host: open.a.test, private: [10.1.0.0/16] }\n"
		"  - { name: one, host: 10.20.30.40, protocol: http, ports: [8000] }\n"
		"  - { name: range, host: 10.30.0.0/16, protocol: http }\n"
		"  - { name: public, host: [0.0.0.0/0, '::/0'] }\n"
		"  - { name: meta, host: md.a.test, metadata: true }\n"
		"  - { name: meta-literal, host: 169.254.169.254, protocol: http, "
		"metadata: true }\n"
		"deny: [{ name: not-there, host: [93.184.216.0/24] }]\n",
		NULL,
	};
	static const struct case_of cases[] = {
		{ "x.a.test:443", "93.184.215.14", "ok", "plain" },
		{ "x.a.test:443", "93.184.215.14 10.0.0.5", "address_denied", "plain" },
		{ "x.a.test:443", "::ffff:127.0.0.1", "address_denied", "plain" },
		{ "x.a.test:443", "64:ff9b::a9fe:a9fe", "address_denied", "plain" },
		{ "x.a.test:443", "", "dns_failed", NULL },
		{ "x.a.test:443", "93.184.216.34", "host_denied", "not-there" },
		{ "x.a.test:443", "64:ff9b::5db8:d822", "host_denied", "not-there" },
		{ "93.184.216.34:443", NULL, "host_denied", "not-there" },
		{ "open.a.test:443", "10.1.2.3", "ok", "open" },
		{ "open.a.test:443", "10.2.2.3", "address_denied", "open" },
		{ "md.a.test:443", "169.254.169.254", "ok", "meta" },
		{ "x.a.test:443", "169.254.169.254", "address_denied", "plain" },
		{ "GET http://169.254.169.254/", NULL, "ok", "meta-literal" },
		{ "GET http://10.20.30.40:8000/", NULL, "ok", "one" },
		{ "GET http://10.20.30.41:8000/", NULL, "port_not_allowed", NULL },
		{ "GET http://10.20.30.40:9000/", NULL, "port_not_allowed", NULL },
		{ "GET http://10.30.1.1/", NULL, "address_denied", "range" },
		{ "9.9.9.9:443", NULL, "ok", "public" },
		{ "[2606:4700::1]:443", NULL, "ok", "public" },
		{ "[::ffff:10.1.1.1]:443", NULL, "address_denied", "public" },
	};

	(void)state;
	check(policy, cases, COUNT_OF(cases));
}

static void
test_a_deny_rule_that_cannot_see_denies_the_whole_host(void **state)
{
	static const char *const policy[] = {
		"allow:\n"
		"  - { name: tls, host: a.test }\n"
		"  - { name: plain, host: a.test, protocol: http }\n"
		"  - { name: plain-on-443, host: b.test, protocol: http, ports: [443] }\n"
		"  - { name: tls-b, host: b.test }\n"
		"deny: [{ name: no-post, host: '*.test', methods: [POST], paths: "
		"[/admin/**] }]\n",
		NULL,
	};
	static const struct case_of cases[] = {
		{ "https://a.test/", NULL, "host_denied", "no-post" },
		{ "a.test:443", NULL, "host_denied", "no-post" },
		{ "a.test:80", NULL, "ok", "plain" },
		{ "b.test:443", NULL, "ok", "plain-on-443" },
		{ "https://b.test/", NULL, "host_denied", "no-post" },
		{ "GET http://a.test/admin/x", NULL, "ok", "plain" },
		{ "POST http://a.test/x", NULL, "ok", "plain" },
		{ "POST http://a.test/admin/x", NULL, "host_denied", "no-post" },
		{ "POST http://a.test/%61dmin/x", NULL, "host_denied", "no-post" },
		{ "POST http://a.test/x/../admin/x", NULL, "host_denied", "no-post" },
		{ "GET http://a.test/?_method=POST", NULL, "host_denied", "no-post" },
	};

	(void)state;
	check(policy, cases, COUNT_OF(cases));
}

static void
test_report_lets_through_what_lists_refuse_and_nothing_else(void **state)
{
	static const char *const policy[] = {
		"mode: report\nallow: [{ name: a, host: a.test }]\ndeny: [{ name: no, "
		"host: b.test }]",
		NULL
	};
	static const struct {
		struct case_of c;
		const char *would;
	} cases[] = {
		{ { "https://a.test/", "93.184.215.14", "ok", "a" }, NULL },
		{ { "https://b.test/", "93.184.215.14", "ok", NULL }, "host_denied" },
		{ { "https://c.test/", "93.184.215.14", "ok", NULL },
		    "host_not_allowed" },
		{ { "GET http://a.test/", "93.184.215.14", "ok", NULL },
		    "port_not_allowed" },
		{ { "https://c.test/", "10.0.0.1", "address_denied", NULL }, NULL },
		{ { "TRACE http://a.test/", NULL, "method_not_allowed", NULL }, NULL },
		{ { "c..test:443", NULL, "host_invalid", NULL }, NULL },
	};
	struct ruleset *rs = load(policy);
	struct place place = { 0 };
	struct arena a;

	(void)state;
	arena_init(&a, 1 << 20);
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct addr answer[8];
		struct explain_ask ask;
		struct explained e;

		check_on(rs, &cases[i].c, 1);
		put_ask(&ask, &cases[i].c, answer);
		explain(&e, rs, &place, &ask, &a);
		if (!e.verdict.allow)
			continue;
		assert_row(
		    cases[i].c.ask, e.verdict.would.is_set == (cases[i].would != NULL));
		if (cases[i].would != NULL)
			assert_string_equal(
			    reason_row(e.verdict.would.reason)->name, cases[i].would);
	}
	arena_fini(&a);
	ruleset_free(rs);
}

static void
test_the_first_bytes_must_be_what_the_rule_is_about(void **state)
{
	static const char *const policy[] = {
		"allow:\n"
		"  - { name: tls, host: [a.test] }\n"
		"  - { name: literal, host: 9.9.9.9 }\n"
		"  - { name: browser, host: ech.test, ech: allow }\n"
		"  - { name: strict, host: strict.test, ech: allow, assurance: sni }\n"
		"  - { name: proof, host: proof.test, assurance: origin }\n"
		"  - { name: plain, host: a.test, protocol: http, max_body: 10B }\n"
		"  - { name: db, host: a.test, protocol: tcp, ports: [22] }\n",
		NULL,
	};
	static const struct {
		const char *host;
		uint16_t port;
		enum protocol protocol;
		bool has_hello, has_sni, is_sni_equal, has_ech, wants_websocket;
		int64_t length;
		const char *reason, *assurance;
	} cases[] = {
		{ "a.test", 443, PROTOCOL_HTTPS, true, true, true, false, false, -1, "ok",
		    "sni" },
		{ "a.test", 443, PROTOCOL_HTTPS, true, false, false, false, false, -1,
		    "sni_missing", 0 },
		{ "a.test", 443, PROTOCOL_HTTPS, true, true, false, false, false, -1,
		    "sni_mismatch", 0 },
		{ "a.test", 443, PROTOCOL_HTTPS, true, true, true, true, false, -1,
		    "ech_refused", 0 },
		{ "a.test", 443, PROTOCOL_HTTPS, false, false, false, false, false, -1,
		    "tls_required", 0 },
		{ "a.test", 443, PROTOCOL_TCP, false, false, false, false, false, -1,
		    "tls_required", 0 },
		{ "a.test", 443, PROTOCOL_HTTP, false, false, false, false, false, -1,
		    "tls_required", 0 },
		{ "a.test", 80, PROTOCOL_HTTPS, true, true, true, false, false, -1,
		    "protocol_not_allowed", 0 },
		{ "a.test", 80, PROTOCOL_HTTP, false, false, false, false, false, 10,
		    "ok", "host" },
		{ "a.test", 80, PROTOCOL_HTTP, false, false, false, false, false, 11,
		    "body_too_large", 0 },
		{ "a.test", 80, PROTOCOL_HTTP, false, false, false, false, true, 0,
		    "protocol_not_allowed", 0 },
		{ "a.test", 22, PROTOCOL_TCP, false, false, false, false, false, -1, "ok",
		    "address" },
		{ "9.9.9.9", 443, PROTOCOL_HTTPS, true, false, false, false, false, -1,
		    "ok", "address" },
		{ "9.9.9.9", 443, PROTOCOL_HTTPS, true, true, false, false, false, -1,
		    "sni_mismatch", 0 },
		{ "ech.test", 443, PROTOCOL_HTTPS, true, true, true, true, false, -1,
		    "ok", "name" },
		{ "ech.test", 443, PROTOCOL_HTTPS, true, true, true, false, false, -1,
		    "ok", "sni" },
		{ "strict.test", 443, PROTOCOL_HTTPS, true, true, true, true, false, -1,
		    "assurance_too_low", 0 },
		{ "strict.test", 443, PROTOCOL_HTTPS, true, true, true, false, false, -1,
		    "ok", "sni" },
		{ "proof.test", 443, PROTOCOL_HTTPS, true, true, true, false, false, -1,
		    "assurance_too_low", 0 },
	};
	struct ruleset *rs = load(policy);
	struct arena a;

	(void)state;
	arena_init(&a, 1 << 20);
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct place place = { 0 };
		struct host host;
		struct facts f = { .via = VIA_CONNECT,
			.host = &host,
			.port = cases[i].port,
			.protocols = cases[i].protocol,
			.has_hello = cases[i].has_hello,
			.has_sni = cases[i].has_sni,
			.has_ech = cases[i].has_ech,
			.is_sni_equal = cases[i].is_sni_equal,
			.has_request = cases[i].protocol == PROTOCOL_HTTP,
			.method = STR("GET"),
			.path = STR("/"),
			.wants_websocket = cases[i].wants_websocket,
			.length = cases[i].length };
		struct verdict v;

		assert_int_equal(host_parse(&host, str_of(cases[i].host)), HOST_OK);
		match_judge(rs, &f, &a, NULL, &place, &v, NULL);
		if (strcmp(reason_row(v.reason)->name, cases[i].reason) != 0)
			fail_msg("row %zu: %s", i, reason_row(v.reason)->name);
		if (v.allow)
			assert_string_equal(
			    assurance_name(v.assurance), cases[i].assurance);
	}
	arena_fini(&a);
	ruleset_free(rs);
}

static struct verdict
verdict_of(const char *const *policy, const char *target, struct admitted *in)
{
	struct ruleset *rs = load(policy);
	struct place place = { .is_loopback_own_ok = true };
	struct ask asked;
	struct verdict v;
	struct facts f;
	struct arena a;
	const char *why;

	arena_init(&a, 1 << 20);
	assert_int_equal(
	    ask_absolute(&asked, STR("GET"), str_of(target), &why), REASON_NONE);
	ask_facts(&f, &asked);
	assert_true(match_admit(rs, &f, &a, in, &v, NULL));
	match_judge(rs, &f, &a, NULL, &place, &v, NULL);
	assert_true(v.allow);
	v.rule = NULL;
	arena_fini(&a);
	ruleset_free(rs);
	return v;
}

static void
test_caps_are_the_tightest_of_the_rules_that_decide(void **state)
{
	static const char *const policy[] = {
		"allow:\n"
		"  - { host: a.test, protocol: http, upload: 2KiB, dlp: mark }\n"
		"  - { host: '*.a.test', protocol: http, upload: 1KiB, dlp: block }\n"
		"  - { host: b.test, protocol: http }\n"
		"  - { host: c.test, protocol: http, upload: 9KiB }\n",
		"allow:\n"
		"  - { host: [a.test, x.a.test], protocol: http, upload: 3KiB, dlp: "
		"block }\n"
		"  - { host: b.test, protocol: http }\n"
		"  - { host: c.test, protocol: http, upload: 1KiB }\n",
		NULL,
	};
	static const struct {
		const char *target;
		uint64_t upload;
		enum dlp dlp;
	} rows[] = {
		{ "http://a.test/", 2048, DLP_BLOCK },
		{ "http://x.a.test/", 1024, DLP_BLOCK },
		{ "http://b.test/", 0, DLP_NONE },
		{ "http://c.test/", 1024, DLP_NONE },
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct admitted in;
		struct verdict v = verdict_of(policy, rows[i].target, &in);

		assert_row(rows[i].target, v.upload == rows[i].upload);
		assert_row(rows[i].target, v.dlp == rows[i].dlp);
	}
}

static void
test_a_ruleset_knows_whether_any_rule_caps_what_is_sent(void **state)
{
	static const struct {
		const char *policy[3];
		bool has_upload;
	} rows[] = {
		{ { "allow: [{ host: a.test }]", "allow: [{ host: b.test }]" }, false },
		{ { "allow: [{ host: a.test, upload: 1KiB }, { host: b.test }]",
		      "allow: [{ host: b.test }]" },
		    true },
		{ { "allow: [{ host: a.test }]",
		      "allow: [{ host: a.test, upload: 1KiB }]" },
		    true },
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct ruleset *rs = load(rows[i].policy);
		struct arena a;

		arena_init(&a, 4096);
		assert_row(rows[i].policy[0], rs->has_upload == rows[i].has_upload);
		assert_row(rows[i].policy[1],
		    ruleset_narrow(rs, NULL, 0, &a)->has_upload == rows[i].has_upload);
		arena_fini(&a);
		ruleset_free(rs);
	}
}

static void
test_a_name_is_coined_where_only_wildcards_admit_it(void **state)
{
	static const char *const policy[] = {
		"allow:\n"
		"  - { host: '*.a.test', protocol: http }\n"
		"  - { host: named.a.test, protocol: http }\n"
		"  - { host: only.test, protocol: http }\n"
		"  - { host: 9.0.0.0/8, protocol: http }\n",
		"allow:\n"
		"  - { host: '*', protocol: http, broad: true }\n"
		"  - { host: 9.9.9.9, protocol: http }\n"
		"  - { host: inner.a.test, protocol: http }\n",
		NULL,
	};
	static const struct {
		const char *target;
		bool is_coined;
	} rows[] = {
		{ "http://x.a.test/", true },
		/* a wildcard may still win, but the name is no choice of the client's */
		{ "http://named.a.test/", false },
		{ "http://inner.a.test/", false },
		{ "http://only.test/", false },
		{ "http://9.9.9.9/", false },
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct admitted in;

		(void)verdict_of(policy, rows[i].target, &in);
		assert_row(rows[i].target, in.is_coined == rows[i].is_coined);
	}
}

/* CONNECT leaves two rules; only one of them opens the network the name points into. */
static void
test_the_address_in_use_must_be_open_under_the_rule_that_decides(void **state)
{
	static const char *const policy[] = {
		"allow:\n"
		"  - { name: tls, host: a.test, ports: [8080] }\n"
		"  - { name: plain, host: a.test, protocol: http, ports: [8080], "
		"private: [10.0.0.0/8] }\n",
		NULL
	};
	struct ruleset *rs = load(policy);
	struct place place = { 0 };
	struct admitted admitted;
	struct vetted vetted;
	struct verdict v;
	struct facts f;
	struct addr inside;
	const char *why;
	struct arena a;
	struct ask ask;

	(void)state;
	arena_init(&a, 1 << 20);
	assert_int_equal(ask_connect(&ask, STR("a.test:8080"), &why), REASON_NONE);
	ask_facts(&f, &ask);
	assert_true(match_admit(rs, &f, &a, &admitted, &v, NULL));
	assert_int_equal(admitted.protocols, PROTOCOL_HTTP | PROTOCOL_HTTPS);
	assert_false(admitted.is_tcp);
	assert_true(addr_parse(&inside, STR("10.1.2.3")));
	assert_true(
	    match_address(rs, &f, &admitted, &inside, 1, &place, &vetted, &v, NULL));

	f.protocols = PROTOCOL_HTTPS;
	f.has_hello = f.has_sni = f.is_sni_equal = true;
	match_judge(rs, &f, &a, &inside, &place, &v, NULL);
	assert_false(v.allow);
	assert_int_equal(v.reason, REASON_ADDRESS_DENIED);

	f.protocols = PROTOCOL_HTTP;
	f.has_request = true;
	f.method = STR("GET");
	f.path = STR("/");
	match_judge(rs, &f, &a, &inside, &place, &v, NULL);
	assert_true(v.allow);
	assert_string_equal(rule_name(v.rule), "plain");
	arena_fini(&a);
	ruleset_free(rs);
}

static void
test_no_policy_allows_nothing(void **state)
{
	static const char *const policy[] = { NULL };
	static const char *const empty[] = { "{}", NULL };
	static const struct case_of cases[] = {
		{ "a.test:443", NULL, "host_not_allowed", NULL },
		{ "9.9.9.9:443", NULL, "ip_literal_not_allowed", NULL },
	};

	(void)state;
	check(policy, cases, COUNT_OF(cases));
	check(empty, cases, COUNT_OF(cases));
}

static void
test_a_reason_that_is_none_is_told_as_our_own_fault(void **state)
{
	(void)state;
	assert_string_equal(reason_row(REASON_N)->name, "internal");
	assert_int_equal(reason_row(REASON_N)->status, 500);
}

/* With a CA, the request inside is judged; without, the tests above. */
static void
test_over_https_a_rule_sees_what_it_wants_to_see(void **state)
{
	static const char *const policy[] = {
		"allow: [{ name: read, host: a.test, methods: [GET], paths: [/ok/**] },\n"
		"  { name: rest, host: '**.test', broad: true },\n"
		"  { name: upload, host: up.test, max_body: 1KiB },\n"
		"  { name: bound, host: tight.test, assurance: host },\n"
		"  { name: raw, host: raw.test, protocol: tcp, ports: [99] }]\n"
		"deny: [{ name: not, host: '*.deep.test', methods: [DELETE] }]",
		NULL,
	};
	static const struct case_of cases[] = {
		{ "a.test:443", NULL, "ok", "read" },
		{ "GET https://a.test/ok/1", NULL, "ok", "read" },
		{ "PUT https://a.test/ok/1", NULL, "ok", "rest" },
		{ "GET https://b.test/", NULL, "ok", "rest" },
		{ "PUT https://tight.test/", NULL, "ok", "bound" },
		{ "GET https://x.deep.test/", NULL, "ok", "rest" },
		{ "DELETE https://x.deep.test/", NULL, "host_denied", "not" },
		{ "TRACE https://a.test/ok/1", NULL, "method_not_allowed", NULL },
	};

	(void)state;
	terms.opens_tls = true;
	check(policy, cases, sizeof(cases) / sizeof(cases[0]));
	terms.opens_tls = false;
}

static void
test_sight_is_wanted_where_the_deciding_rule_wants_it(void **state)
{
	static const char *const policy[] = {
		"allow: [{ host: seen.test, methods: [GET] }, { host: shut.test },\n"
		"  { host: looked.test }]\n"
		"deny: [{ host: looked.test, paths: [/no] }]",
		NULL,
	};
	static const struct {
		const char *host;
		bool needs_sight;
	} cases[] = { { "seen.test", true }, { "shut.test", false },
		{ "looked.test", true } };
	struct place place = { 0 };
	struct ruleset *rs;
	struct arena a;

	(void)state;
	terms.opens_tls = true;
	rs = load(policy);
	arena_init(&a, 1 << 16);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct host h;
		struct verdict v;
		assert_int_equal(host_parse(&h, str_of(cases[i].host)), HOST_OK);
		struct facts f = { .host = &h,
			.port = 443,
			.protocols = PROTOCOL_HTTPS,
			.has_hello = true,
			.has_sni = true,
			.is_sni_equal = true };
		match_judge(rs, &f, &a, NULL, &place, &v, NULL);
		assert_row(
		    cases[i].host, v.allow && v.needs_sight == cases[i].needs_sight);
		f.has_ech = true; /* hides nothing from who answers it */
		match_judge(rs, &f, &a, NULL, &place, &v, NULL);
		assert_row(cases[i].host, v.allow == cases[i].needs_sight);
	}
	arena_fini(&a);
	ruleset_free(rs);
	terms.opens_tls = false;
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_deny_wins_then_allow_else_deny),
		cmocka_unit_test(
		    test_exact_then_longest_base_then_one_star_then_file_order),
		cmocka_unit_test(test_file_order_holds_within_a_line),
		cmocka_unit_test(test_special_names_need_a_pattern_that_means_them),
		cmocka_unit_test(
		    test_the_reason_names_the_furthest_step_any_rule_reached),
		cmocka_unit_test(test_405_names_the_methods_of_every_rule_that_got_there),
		cmocka_unit_test(test_under_paths_a_path_must_be_canonical_already),
		cmocka_unit_test(
		    test_what_rewrites_a_request_is_refused_where_requests_are_read),
		cmocka_unit_test(test_layers_only_narrow),
		cmocka_unit_test(test_the_short_form_neither_opens_nor_closes_addresses),
		cmocka_unit_test(test_addresses_are_open_only_where_a_rule_says_so),
		cmocka_unit_test(test_a_deny_rule_that_cannot_see_denies_the_whole_host),
		cmocka_unit_test(
		    test_report_lets_through_what_lists_refuse_and_nothing_else),
		cmocka_unit_test(test_the_first_bytes_must_be_what_the_rule_is_about),
		cmocka_unit_test(
		    test_the_address_in_use_must_be_open_under_the_rule_that_decides),
		cmocka_unit_test(test_caps_are_the_tightest_of_the_rules_that_decide),
		cmocka_unit_test(test_a_ruleset_knows_whether_any_rule_caps_what_is_sent),
		cmocka_unit_test(test_a_name_is_coined_where_only_wildcards_admit_it),
		cmocka_unit_test(test_no_policy_allows_nothing),
		cmocka_unit_test(test_a_reason_that_is_none_is_told_as_our_own_fault),
		cmocka_unit_test(test_over_https_a_rule_sees_what_it_wants_to_see),
		cmocka_unit_test(test_sight_is_wanted_where_the_deciding_rule_wants_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
