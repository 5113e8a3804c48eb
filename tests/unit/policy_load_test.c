/*
 * policy_load_test.c - what a policy may say, and everything that is wrong with it at
 * once
 */
#include <string.h>

#include "policy/compile.h"
#include "unit.h"

#define HTTP_FORGE "allow: [{ host: forge.test, protocol: http"

struct load_case {
	const char *name, *text;
	const char
	    *codes; /* of all findings, in order: "code@line:column", warnings in () */
};

static void
put_codes(struct buf *b, const struct report *rep)
{
	for (size_t i = 0; i < rep->n; i++) {
		const struct finding *f = &rep->finding[i];
		bool is_warning = f->severity == SEVERITY_WARNING;

		buf_fmt(b, "%s%s%s@%zu:%zu%s", i > 0 ? " " : "", is_warning ? "(" : "",
		    f->code, f->mark.line, f->mark.column, is_warning ? ")" : "");
	}
}

static void
check_loads(const struct load_case *cases, size_t n, const struct ruleset_terms *terms)
{
	for (size_t i = 0; i < n; i++) {
		struct ruleset_source source = { "agent.yaml", str_of(cases[i].text),
			false };
		struct ruleset *rs;
		struct report rep;
		struct buf b;

		report_init(&rep);
		buf_init(&b, 4096);
		rs = ruleset_build(&source, 1, terms, &rep);
		put_codes(&b, &rep);
		if (strcmp(buf_cstr(&b), cases[i].codes) != 0)
			fail_msg("%s: %s", cases[i].name, buf_cstr(&b));
		assert_row(cases[i].name, (rs != NULL) == (rep.errors == 0));
		ruleset_free(rs);
		report_fini(&rep);
		buf_fini(&b);
	}
}

static const struct ruleset_terms seeing = { .is_report_ok = true, .opens_tls = true };
static const struct ruleset_terms laptop = { .is_report_ok = true };
static const struct ruleset_terms production = { .is_production = true };

static void
test_every_fault_has_its_code_and_place(void **state)
{
	static const struct load_case cases[] = {
		{ "a whole policy",
		    "policy: agent\n"
		    "allow:\n"
		    "  - { name: a, host: [a.test, '*.b.test'], ports: [443, "
		    "'8000-8010'], ech: allow,\n"
		    "      assurance: name, private: [10.2.0.0/16], broad: true, "
		    "metadata: false }\n"
		    "  - { name: b, host: a.test, protocol: http, methods: [GET], paths: "
		    "[/x/**],\n"
		    "      max_body: 8MiB, dlp: block, upload: 10MiB }\n"
		    "  - { host: [10.1.2.3, '2001:db8::/32'], protocol: tcp, ports: [22] "
		    "}\n"
		    "deny:\n"
		    "  - { host: gist.test, why: not part of the task }\n"
		    "  - { host: [10.9.0.0/16], ports: [80], methods: [POST], paths: "
		    "[/y] }\n",
		    "(broad@3:31)" },
		{ "unknown keys",
		    "polcy: x\nallow: [{ host: a.test, port: [1], inject: x }]\n",
		    "unknown_key@1:1 wrong_type@2:44 unknown_key@2:25 needs_sight@2:36" },
		{ "an upload of nothing", "allow: [{ host: a.test, upload: 0 }]",
		    "bad_value@1:33" },
		{ "an upload without a unit", "allow: [{ host: a.test, upload: 10 }]",
		    "bad_size@1:33" },
		{ "dlp without sight", "allow: [{ host: a.test, dlp: mark }]",
		    "needs_sight@1:25" },
		{ "dlp beside a websocket, of which the messages are looked at",
		    "allow: [{ host: a.test, protocol: http, upgrade: [websocket], dlp: "
		    "mark }]",
		    "" },
		{ "dlp of what is opaque",
		    "allow: [{ host: a.test, protocol: tcp, ports: [7], dlp: mark }]",
		    "tcp_is_opaque@1:52" },
		{ "dlp of another word",
		    "allow: [{ host: a.test, protocol: http, dlp: warn }]",
		    "bad_value@1:46" },
		{ "unknown keys of deny", "deny: [{ host: a.test, protocol: http }]",
		    "(empty_policy@1:1) unknown_key@1:24" },
		{ "no host", "allow: [{ name: a }]", "missing_key@1:9" },
		{ "star inside", "allow: [{ host: 'a*.test' }]", "bad_star@1:17" },
		{ "leading dot", "allow: [{ host: .example.com }]", "leading_dot@1:17" },
		{ "unicode",
		    "allow: [{ host: b\xc3\xbc"
		    "cher.test }]",
		    "unicode_host@1:17" },
		{ "url", "allow: [{ host: 'https://a.test' }]", "host_invalid@1:17" },
		{ "range", "allow: [{ host: 10.1.2.3/24 }]", "bad_range@1:17" },
		{ "names and addresses", "allow: [{ host: [a.test, 10.1.2.3] }]",
		    "mixed_hosts@1:26" },
		{ "broad", "allow: [{ host: ['*', '*.com', '*.github.io'] }]",
		    "broad@1:18 broad@1:23 broad@1:32" },
		{ "broad and meant", "allow: [{ host: '*', broad: true }]",
		    "(broad@1:17)" },
		{ "deny may be broad",
		    "allow: [{ host: a.test }]\ndeny: [{ host: '*.com' }]", "" },
		{ "open wildcard", "allow: [{ host: '*.a.test', private: [10.0.0.0/8] }]",
		    "broad@1:17" },
		{ "metadata wildcard", "allow: [{ host: '*.a.test', metadata: true }]",
		    "broad@1:17" },
		{ "sight",
		    "allow: [{ host: a.test, methods: [GET], paths: [/], max_body: "
		    "1KiB,\n"
		    "  assurance: host }]",
		    "needs_sight@1:25 needs_sight@1:41 needs_sight@1:53 "
		    "needs_sight@2:3" },
		{ "deny without sight, as wide",
		    "allow: [{ host: a.test }]\ndeny: [{ host: a.test, methods: [POST] "
		    "}]",
		    "(denies_unseen@2:8)" },
		{ "deny without sight, wider",
		    "allow: [{ host: x.a.test }]\ndeny: [{ host: '*.a.test', paths: [/x] "
		    "}]",
		    "(denies_unseen@2:8)" },
		{ "deny without sight, narrower",
		    "allow: [{ host: '*.a.test' }]\ndeny: [{ host: x.a.test, paths: [/x] "
		    "}]",
		    "(denies_unseen@2:8)" },
		{ "deny without sight of tcp",
		    "allow: [{ host: a.test, protocol: tcp, ports: [22] }]\n"
		    "deny: [{ host: a.test, paths: [/x] }]",
		    "(denies_unseen@2:8)" },
		{ "deny with sight",
		    "allow: [{ host: a.test, protocol: http }, { host: b.test }]\n"
		    "deny: [{ host: a.test, methods: [POST] },\n"
		    "  { host: b.test, ports: [80], methods: [POST] }, { host: c.test, "
		    "paths: [/] }]",
		    "" },
		{ "no sight needed",
		    "allow: [{ host: a.test, assurance: origin, upgrade: [websocket] }]",
		    "" },
		{ "sight of one half",
		    "allow: [{ host: a.test, protocol: [http, https], methods: [GET] }]",
		    "needs_sight@1:50" },
		{ "tcp without ports", "allow: [{ host: a.test, protocol: tcp }]",
		    "tcp_needs_ports@1:9" },
		{ "tcp with requests",
		    "allow: [{ host: a.test, protocol: tcp, ports: [22], methods: [GET], "
		    "ech: allow }]",
		    "tcp_is_opaque@1:53 tcp_is_opaque@1:69" },
		{ "tcp beyond its assurance",
		    "allow: [{ host: a.test, protocol: tcp, ports: [22], assurance: sni "
		    "}]",
		    "(never_wins@1:9)" },
		{ "ports of two",
		    "allow: [{ host: a.test, protocol: [http, https], ports: [80] }]",
		    "ports_of_one_protocol@1:50" },
		{ "ports", "allow: [{ host: a.test, ports: [0, 70000, x, 080, '9-8'] }]",
		    "bad_port@1:33 bad_port@1:36 bad_port@1:43 bad_port@1:46 "
		    "bad_port@1:51" },
		{ "ports are a list", "allow: [{ host: a.test, ports: 443 }]",
		    "wrong_type@1:32" },
		{ "protocol", "allow: [{ host: a.test, protocol: htps }]",
		    "bad_value@1:35" },
		{ "methods", HTTP_FORGE ", methods: [get, 'G T', '*', TRACE, CONNECT] }]",
		    "bad_method@1:55 bad_method@1:60 bad_method@1:67 bad_method@1:72 "
		    "bad_method@1:79" },
		{ "paths", HTTP_FORGE ", paths: [x, /a/../b, '/%2e', '/a;b'] }]",
		    "bad_path@1:53 bad_path@1:56 bad_path@1:65 bad_path@1:73" },
		{ "private",
		    "allow: [{ host: a.test, private: [0.0.0.0/0, '::/0', "
		    "169.254.0.0/16,\n"
		    "  100.64.0.0/10, x, 127.0.0.0/8, 10.0.0.0/8] }]",
		    "private_everything@1:35 private_everything@1:46 "
		    "private_metadata@1:54 "
		    "private_metadata@2:3 bad_range@2:18" },
		{ "report", "mode: report\nallow: [{ host: a.test }]",
		    "(only_reports@1:7)" },
		{ "mode", "mode: off\nallow: [{ host: a.test }]", "bad_value@1:7" },
		{ "same name",
		    "allow: [{ name: a, host: a.test }]\ndeny: [{ name: a, host: b.test "
		    "}]",
		    "duplicate_name@2:16" },
		{ "upgrade", "allow: [{ host: a.test, upgrade: [h2c] }]",
		    "bad_value@1:35" },
		{ "broken yaml keeps quiet about the rest", "allow: [", "syntax@2:1" },
	};

	(void)state;
	check_loads(cases, COUNT_OF(cases), &laptop);
}

static void
test_production_keeps_more_closed(void **state)
{
	static const struct load_case cases[] = {
		{ "loopback",
		    "allow: [{ host: a.test, private: [127.0.0.0/8, 10.0.0.0/8] }]",
		    "private_loopback@1:35" },
		{ "link-local", "allow: [{ host: a.test, private: ['fe80::/10'] }]",
		    "private_loopback@1:35" },
		{ "report", "mode: report\nallow: [{ host: a.test }]",
		    "report_mode@1:7" },
	};

	(void)state;
	check_loads(cases, COUNT_OF(cases), &production);
}

static void
test_missing_empty_and_null_lists_deny(void **state)
{
	static const struct load_case cases[] = {
		{ "nothing", "{}", "(empty_policy@1:1)" },
		{ "null", "allow: null", "(empty_policy@1:1)" },
		{ "empty", "allow: []\ndeny: []", "(empty_policy@1:1)" },
		{ "deny-all", "network: { mode: deny-all }", "" },
		{ "deny-all, empty hosts", "network: { mode: deny-all, hosts: [] }", "" },
		{ "no hosts", "network: { mode: allowlist }", "" },
		{ "no protocols",
		    "network: { mode: allowlist, hosts: [a.test], protocols: [] }",
		    "(empty_policy@1:1)" },
		{ "null hosts", "allow: [{ host: null }]", "(empty_list@1:17)" },
		{ "no ports", "allow: [{ host: a.test, ports: [] }]",
		    "(empty_list@1:32)" },
		{ "no methods", HTTP_FORGE ", methods: [] }]", "(empty_list@1:54)" },
		{ "null paths", HTTP_FORGE ", paths: null }]", "(empty_list@1:52)" },
		{ "deny nothing",
		    "allow: [{ host: a.test }]\ndeny: [{ host: b.test, methods: [] }]",
		    "empty_list@2:24" },
	};

	(void)state;
	check_loads(cases, COUNT_OF(cases), &laptop);
}

static void
test_the_short_form_is_a_pasted_capability_policy(void **state)
{
	static const struct load_case cases[] = {
		{ "all of it",
		    "network:\n  mode: allowlist\n  protocols: ['https:', http]\n"
		    "  hosts: [a.test, '*.b.test']\n  resolveDns: true\n",
		    "" },
		{ "no mode", "network: { hosts: [a.test] }", "missing_key@1:10" },
		{ "bad mode", "network: { mode: allow-all }", "bad_value@1:18" },
		{ "hosts that are denied", "network: { mode: deny-all, hosts: [a.test] }",
		    "deny_all_with_hosts@1:28" },
		{ "rules that are denied",
		    "network: { mode: deny-all }\nallow: [{ host: a.test }]",
		    "deny_all_with_rules@2:1" },
		{ "broad", "network: { mode: allowlist, hosts: ['*'] }", "broad@1:37" },
		{ "tcp",
		    "network: { mode: allowlist, hosts: [a.test], protocols: ['tcp:'] }",
		    "tcp_needs_ports@1:58 (empty_policy@1:1)" },
		{ "protocol",
		    "network: { mode: allowlist, hosts: [a.test], protocols: ['ftp:'] }",
		    "bad_value@1:58 (empty_policy@1:1)" },
		{ "unknown", "network: { mode: allowlist, hosts: [a.test], host: x }",
		    "unknown_key@1:46" },
	};

	(void)state;
	check_loads(cases, COUNT_OF(cases), &laptop);
}

static void
test_tcp_shares_no_port_with_what_is_read(void **state)
{
	static const struct load_case cases[] = {
		{ "the same host",
		    "allow: [{ host: a.test },\n  { host: a.test, protocol: tcp, ports: "
		    "[443] }]",
		    "tcp_shared@1:17 tcp_shared@2:11" },
		{ "other ports",
		    "allow: [{ host: a.test },\n  { host: a.test, protocol: tcp, ports: "
		    "[22] }]",
		    "" },
		{ "under a wildcard",
		    "allow: [{ host: a.b.test },\n  { host: '*.b.test', protocol: tcp, "
		    "ports: ['1-1000'] }]",
		    "tcp_shared@1:17" },
		{ "over a name",
		    "allow: [{ host: '**.b.test', protocol: http },\n"
		    "  { host: b.test, protocol: tcp, ports: [80] }]",
		    "tcp_shared@1:17 tcp_shared@2:11" },
		{ "beside the apex",
		    "allow: [{ host: '*.b.test' },\n  { host: b.test, protocol: tcp, "
		    "ports: [443] }]",
		    "" },
		{ "ranges",
		    "allow: [{ host: 10.0.0.0/8 },\n  { host: 10.1.0.1, protocol: tcp, "
		    "ports: [443] }]",
		    "tcp_shared@2:11" },
		{ "any",
		    "allow: [{ host: '*', broad: true },\n  { host: b.test, protocol: "
		    "tcp, ports: [443] }]",
		    "(broad@1:17) tcp_shared@2:11" },
		{ "any has no special names",
		    "allow: [{ host: '*', broad: true },\n  { host: db.local, protocol: "
		    "tcp, ports: [443] }]",
		    "(broad@1:17)" },
	};

	(void)state;
	check_loads(cases, COUNT_OF(cases), &laptop);
}

static void
test_a_rule_that_can_never_win_is_a_warning(void **state)
{
	static const struct load_case cases[] = {
		{ "twice", "allow: [{ host: a.test },\n  { host: a.test }]",
		    "(never_wins@2:3)" },
		{ "narrower and later",
		    "allow: [{ host: a.test, protocol: http },\n"
		    "  { host: a.test, protocol: http, methods: [GET] }]",
		    "(never_wins@2:3)" },
		{ "narrower and first",
		    "allow: [{ host: a.test, protocol: http, methods: [GET] },\n"
		    "  { host: a.test, protocol: http, methods: [GET, PUT] }]",
		    "" },
		{ "another port",
		    "allow: [{ host: a.test },\n  { host: a.test, ports: [8443] }]", "" },
		{ "same port, said",
		    "allow: [{ host: a.test },\n  { host: a.test, ports: [443] }]",
		    "(never_wins@2:3)" },
		{ "another protocol",
		    "allow: [{ host: a.test },\n  { host: a.test, protocol: http }]",
		    "" },
		{ "exact beats the wildcard before it",
		    "allow: [{ host: '**.a.test' },\n  { host: a.test }]", "" },
		{ "one host of two is left",
		    "allow: [{ host: a.test },\n  { host: [a.test, b.test] }]", "" },
		{ "denied", "allow: [{ host: x.a.test }]\ndeny: [{ host: '*.a.test' }]",
		    "(never_wins@1:9)" },
		{ "denied in part",
		    "allow: [{ host: x.a.test, protocol: http }]\n"
		    "deny: [{ host: '*.a.test', methods: [POST] }]",
		    "" },
		{ "denied on another port",
		    "allow: [{ host: x.a.test }]\n"
		    "deny: [{ host: '*.a.test', ports: [80] }]",
		    "" },
		{ "metadata", "allow: [{ host: 169.254.169.254, protocol: http }]",
		    "(never_wins@1:17)" },
	};

	(void)state;
	check_loads(cases, COUNT_OF(cases), &laptop);
}

#define SEEN "{ host: x.a.test, methods: [GET], paths: [/r/**] }"
#define INJECTING \
	"{ host: x.a.test, methods: [GET], inject: { header: authorization, " \
	"credential: forge } }"

static void
test_a_rule_whose_lists_another_one_undoes_is_a_warning(void **state)
{
	static const struct load_case cases[] = {
		{ "the same host", "allow: [" SEEN ",\n  { host: x.a.test }]",
		    "(undone@1:9)" },
		{ "a wildcard over it", "allow: [" SEEN ",\n  { host: '**.a.test' }]",
		    "(undone@1:9)" },
		{ "any", "allow: [" SEEN ",\n  { host: '*', broad: true }]",
		    "(broad@2:11) (undone@1:9)" },
		{ "without paths",
		    "allow: [" SEEN ",\n  { host: x.a.test, methods: [GET, PUT] }]",
		    "(undone@1:9)" },
		{ "without methods",
		    "allow: [" SEEN ",\n  { host: x.a.test, paths: [/r/**] }]",
		    "(undone@1:9)" },
		{ "both protocols",
		    "allow: [" SEEN ",\n  { host: x.a.test, protocol: [http, https] }]",
		    "(undone@1:9)" },
		{ "the port, said",
		    "allow: [" SEEN ",\n  { host: x.a.test, ports: ['400-500'] }]",
		    "(undone@1:9)" },
		{ "the short form",
		    "network: { mode: allowlist, hosts: [x.a.test] }\n"
		    "allow: [{ host: x.a.test, methods: [GET] }]",
		    "(never_wins@2:9)" },
		{ "the short form, wider",
		    "network: { mode: allowlist, hosts: ['*.a.test'] }\nallow: [" SEEN
		    "]",
		    "(undone@2:9)" },
		{ "addresses",
		    "allow: [{ host: 10.1.2.3, methods: [GET] },\n  { host: 10.0.0.0/8 "
		    "}]",
		    "(undone@1:9)" },
		{ "one host of two",
		    "allow: [{ host: [x.test, y.test], methods: [GET] },\n"
		    "  { host: y.test }]",
		    "(undone@1:9)" },
		{ "more methods, the same paths",
		    "allow: [" SEEN
		    ",\n  { host: x.a.test, methods: [GET, PUT], paths: [/r/**] }]",
		    "" },
		{ "other requests",
		    "allow: [" SEEN ",\n  { host: x.a.test, methods: [PUT] }]", "" },
		{ "some of its requests",
		    "allow: [{ host: x.a.test, methods: [GET, PUT], paths: [/r] },\n"
		    "  { host: x.a.test, methods: [GET] }]",
		    "" },
		{ "all is meant",
		    "allow: [" SEEN ",\n  { host: x.a.test, paths: ['/**'] }]", "" },
		{ "another port",
		    "allow: [" SEEN ",\n  { host: x.a.test, ports: [8443] }]", "" },
		{ "another protocol",
		    "allow: [" SEEN ",\n  { host: x.a.test, protocol: http }]", "" },
		{ "a narrower host",
		    "allow: [{ host: '*.a.test', methods: [GET] },\n  { host: x.a.test "
		    "}]",
		    "" },
		{ "where a credential goes, the same host",
		    "allow: [" INJECTING ",\n  { host: x.a.test }]", "(undone@1:9)" },
		{ "where a credential goes, more hosts",
		    "allow: [" INJECTING ",\n  { host: '*.a.test' }]", "" },
		{ "beside it", "allow: [" SEEN ",\n  { host: '*.x.a.test' }]", "" },
	};

	(void)state;
	check_loads(cases, COUNT_OF(cases), &seeing);
}

static void
test_an_inner_rule_outside_the_outer_layer_is_a_warning(void **state)
{
	const struct ruleset_source source[] = {
		{ "outer",
		    STR("allow: [{ host: '*.a.test' }, { host: b.test, protocol: http "
			"}]"),
		    false },
		{ "inner",
		    STR("allow: [{ host: x.a.test }, { host: b.test }, { host: "
			"'**.b.test', protocol: http },\n"
			"  { host: c.test }]"),
		    false },
	};
	struct ruleset *rs;
	struct report rep;
	struct buf b;

	(void)state;
	report_init(&rep);
	buf_init(&b, 1000);
	rs = ruleset_build(source, 2, &laptop, &rep);
	put_codes(&b, &rep);
	assert_string_equal(buf_cstr(&b), "(never_wins@1:29) (never_wins@2:3)");
	assert_int_equal(ruleset_layers(rs), 2);
	assert_string_equal(ruleset_layer_name(rs, 1), "inner");
	ruleset_free(rs);
	buf_fini(&b);
	report_fini(&rep);
}

static void
test_a_policy_that_fails_its_own_tests_is_not_loaded(void **state)
{
	static const struct load_case cases[] = {
		{ "they hold",
		    "allow: [{ host: a.test, protocol: http, methods: [GET], paths: "
		    "[/x/**] },\n"
		    "  { host: b.test, private: [10.0.0.0/8] }]\n"
		    "expect:\n"
		    "  - allow: GET http://a.test/x/y\n"
		    "  - deny: POST http://a.test/x/y\n    reason: method_not_allowed\n"
		    "  - deny: GET http://a.test/y\n    reason: path_not_allowed\n"
		    "  - allow: GET https://b.test/anything\n"
		    "  - allow: b.test:443\n"
		    "  - allow: CONNECT b.test:443\n    answers: [10.1.2.3]\n"
		    "  - deny: b.test:443\n    answers: [192.168.1.1]\n    reason: "
		    "address_denied\n"
		    "  - deny: b.test:80\n    reason: port_not_allowed\n"
		    "  - deny: b.test:443\n    answers: timeout\n    reason: "
		    "dns_timeout\n"
		    "  - deny: b.test:443\n    answers: nxdomain\n    reason: "
		    "dns_failed\n",
		    "" },
		{ "they do not",
		    "allow: [{ host: a.test }]\n"
		    "expect:\n"
		    "  - allow: c.test:443\n"
		    "  - deny: a.test:443\n"
		    "  - deny: c.test:443\n    reason: host_denied\n",
		    "expect_failed@3:5 expect_failed@4:5 expect_failed@5:5" },
		{ "a reporting policy is tested as if it enforced",
		    "mode: report\nallow: [{ host: a.test }]\nexpect:\n  - deny: "
		    "c.test:443\n",
		    "(only_reports@1:7)" },
		{ "not tests",
		    "allow: [{ host: a.test }]\n"
		    "expect:\n"
		    "  - allow: GET a.test:443\n"
		    "  - deny: a.test:443\n    reason: host_not_alowed\n"
		    "  - reason: host_denied\n"
		    "  - allow: a.test:443\n    reason: host_denied\n"
		    "  - deny: c.test:443\n    answer: [1.2.3.4]\n"
		    "  - deny: c.test\n",
		    "bad_expect@3:12 bad_value@5:13 bad_expect@6:5 bad_expect@8:5 "
		    "unknown_key@10:5 bad_expect@11:11" },
	};

	(void)state;
	check_loads(cases, COUNT_OF(cases), &laptop);
}

static void
test_the_digest_is_that_of_the_files_bytes(void **state)
{
	const struct ruleset_source source[] = {
		{ "a", STR("network: { mode: deny-all }"), false },
	};
	struct ruleset *rs;
	struct report rep;

	(void)state;
	report_init(&rep);
	rs = ruleset_build(source, 1, &laptop, &rep);
	assert_non_null(rs);
	/* printf 'network: { mode: deny-all }' | sha256sum */
	assert_string_equal(ruleset_digest(rs),
	    "7c793c874803b9b6e06f04133714fcb70c8c64095062ef5e5b39c4ba62904924");
	ruleset_free(rs);
	rs = ruleset_build(NULL, 0, &laptop, &rep);
	assert_non_null(rs);
	assert_int_equal(ruleset_layers(rs), 0);
	ruleset_free(rs);
	report_fini(&rep);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_fault_has_its_code_and_place),
		cmocka_unit_test(test_production_keeps_more_closed),
		cmocka_unit_test(test_missing_empty_and_null_lists_deny),
		cmocka_unit_test(test_the_short_form_is_a_pasted_capability_policy),
		cmocka_unit_test(test_tcp_shares_no_port_with_what_is_read),
		cmocka_unit_test(test_a_rule_that_can_never_win_is_a_warning),
		cmocka_unit_test(test_a_rule_whose_lists_another_one_undoes_is_a_warning),
		cmocka_unit_test(test_an_inner_rule_outside_the_outer_layer_is_a_warning),
		cmocka_unit_test(test_a_policy_that_fails_its_own_tests_is_not_loaded),
		cmocka_unit_test(test_the_digest_is_that_of_the_files_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
