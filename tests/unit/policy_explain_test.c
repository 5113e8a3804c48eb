/*
 * policy_explain_test.c - what explain says, and that its fix is one
 */
#include <string.h>

#include "policy/compile.h"
#include "policy/explain.h"
#include "unit.h"

static const struct ruleset_terms laptop = { .is_report_ok = true };
static const struct ruleset_terms seeing = { .is_report_ok = true, .opens_tls = true };
static const struct ruleset_terms production = { .is_production = true };

static struct ruleset *
load(const char *text, const struct ruleset_terms *terms)
{
	struct ruleset_source source = { "agent.yaml", str_of(text), false };
	struct report rep;
	struct ruleset *rs;
	struct buf b;

	report_init(&rep);
	buf_init(&b, 10000);
	rs = ruleset_build(&source, 1, terms, &rep);
	report_print_text(&rep, &b);
	if (rs == NULL)
		fail_msg("%s\n%s", text, buf_cstr(&b));
	buf_fini(&b);
	report_fini(&rep);
	return rs;
}

struct fix_case {
	const char *method, *target, *answer;
	const char *fix;  /* YAML, NULL: none would do */
	const char *not_; /* a near request that the fix must not admit, or NULL */
};

static const char policy[] =
    "allow:\n"
    "- { host: a.test, protocol: http, methods: [GET], paths: [/r/**] }\n"
    "- { host: b.test }\n"
    "deny: [{ host: no.test }, { host: [9.9.9.0/24] }]\n";
static const char policy_that_sees[] =
    "allow:\n"
    "- { host: d.test, methods: [GET], paths: [/r/**] }\n";

static const char *
policy_under(const struct ruleset_terms *terms)
{
	return terms->opens_tls ? policy_that_sees : policy;
}

static void
ask_for(struct explain_ask *ask, const char *method, const char *target,
    const char *answer, struct addr *addr)
{
	explain_ask_init(ask, str_of(method), str_of(target));
	ask->has_answers = answer != NULL;
	ask->nanswer = answer != NULL;
	ask->answer = addr;
	if (answer != NULL)
		assert_true(addr_parse(addr, str_of(answer)));
}

/* The policy with the fix under its allow list decides otherwise about this, and not
 * about that. */
static void
check_fix(const struct fix_case *c, const char *fix, const struct ruleset_terms *terms,
    const struct place *place)
{
	struct explain_ask ask;
	struct explained e;
	struct ruleset *rs;
	struct addr addr;
	struct arena a;
	struct buf b;

	arena_init(&a, 1 << 20);
	buf_init(&b, 4096);
	buf_text(&b, "allow:\n");
	buf_text(&b, fix);
	buf_text(&b, strchr(policy_under(terms), '\n') + 1);
	rs = load(buf_cstr(&b), terms);
	ask_for(&ask, c->method, c->target, c->answer, &addr);
	explain(&e, rs, place, &ask, &a);
	assert_row(c->target, e.verdict.allow);
	if (c->not_ != NULL) {
		ask_for(&ask, c->method, c->not_, c->answer, &addr);
		explain(&e, rs, place, &ask, &a);
		assert_row(c->not_, !e.verdict.allow);
	}
	ruleset_free(rs);
	buf_fini(&b);
	arena_fini(&a);
}

/* Has it a request that a rule could name, if it were told? */
static bool
hides_request(const struct fix_case *c, const struct ruleset_terms *terms)
{
	return terms->opens_tls && strstr(c->target, "://") == NULL && c->fix != NULL &&
	       strstr(c->fix, "https") != NULL;
}

static bool
says_smaller(const struct explained *e)
{
	bool says = false;

	for (size_t i = 0; i < e->nwarning; i++)
		says |= strstr(e->warning[i], "smaller rule") != NULL;
	return says;
}

static void
check_fixes(const struct fix_case *cases, size_t n, const struct ruleset_terms *terms)
{
	struct place place = { .is_loopback_own_ok = !terms->is_production };
	struct ruleset *rs = load(policy_under(terms), terms);

	for (size_t i = 0; i < n; i++) {
		struct explain_ask ask;
		struct explained e;
		struct addr addr;
		struct arena a;
		struct buf b;

		arena_init(&a, 1 << 20);
		buf_init(&b, 4096);
		ask_for(&ask, cases[i].method, cases[i].target, cases[i].answer, &addr);
		explain(&e, rs, &place, &ask, &a);
		assert_row(cases[i].target, !e.verdict.allow);
		fix_yaml(&e.fix, &b);
		if (strcmp(buf_cstr(&b), cases[i].fix == NULL ? "" : cases[i].fix) != 0)
			fail_msg("%s: %s", cases[i].target, buf_cstr(&b));
		assert_row(cases[i].target, (e.fix.nalso > 0) == (cases[i].fix != NULL));
		assert_row(
		    cases[i].target, says_smaller(&e) == hides_request(&cases[i], terms));
		if (cases[i].fix != NULL) {
			check_fix(&cases[i], cases[i].fix, terms, &place);
			buf_reset(&b);
			fix_line(&e.fix, &b);
			assert_null(strpbrk(buf_cstr(&b), "\n\""));
			buf_char(&b, '\n');
			check_fix(&cases[i], buf_cstr(&b), terms, &place);
		}
		buf_fini(&b);
		arena_fini(&a);
	}
	ruleset_free(rs);
}

static void
test_the_fix_admits_what_was_refused_and_little_else(void **state)
{
	static const struct fix_case cases[] = {
		{ NULL, "c.test:443", NULL, "- host: c.test\n  protocol: https\n",
		    "c.test:80" },
		{ NULL, "c.test:80", NULL, "- host: c.test\n  protocol: http\n",
		    "c.test:443" },
		{ NULL, "c.test:5432", NULL,
		    "- host: c.test\n  protocol: https\n  ports: [5432]\n",
		    "c.test:5433" },
		{ NULL, "https://x.c.test/y", NULL,
		    "- host: x.c.test\n  protocol: https\n", "https://c.test/" },
		{ "POST", "http://a.test/r/x?y", NULL,
		    "- host: a.test\n  protocol: http\n  methods: [\"POST\"]\n  paths: "
		    "[\"/r/x\"]\n",
		    "http://a.test/r/y" },
		{ "GET", "http://a.test:81/x", NULL,
		    "- host: a.test\n  protocol: http\n  ports: [81]\n  methods: "
		    "[\"GET\"]\n"
		    "  paths: [\"/x\"]\n",
		    "http://a.test/x" },
		{ "GET", "http://c.test/a/../b", NULL,
		    "- host: c.test\n  protocol: http\n  methods: [\"GET\"]\n", NULL },
		{ "GET", "http://c.test/?_method=PUT", NULL,
		    "- host: c.test\n  protocol: http\n", NULL },
		{ "OPTIONS", "http://c.test", NULL,
		    "- host: c.test\n  protocol: http\n  methods: [\"OPTIONS\"]\n",
		    NULL },
		{ NULL, "8.8.8.8:443", NULL, "- host: \"8.8.8.8\"\n  protocol: https\n",
		    "8.8.4.4:443" },
		{ NULL, "[fd00::5]:443", NULL, "- host: \"fd00::5\"\n  protocol: https\n",
		    "[fd00::6]:443" },
		{ NULL, "printer:443", NULL, "- host: \"printer\"\n  protocol: https\n",
		    NULL },
		{ NULL, "b.test:443", "10.1.2.3",
		    "- host: b.test\n  protocol: https\n  private: [\"10.1.2.3/32\"]\n",
		    NULL },
		{ NULL, "b.test:443", "127.0.0.1",
		    "- host: b.test\n  protocol: https\n  private: [\"127.0.0.1/32\"]\n",
		    NULL },
		{ NULL, "c.test:443", "169.254.169.254",
		    "- host: c.test\n  protocol: https\n  metadata: true\n", NULL },
		{ NULL, "no.test:443", NULL, NULL, NULL },
		{ NULL, "b.test:443", "9.9.9.9", NULL, NULL },
		{ NULL, "b.test:443", "0.0.0.0", NULL, NULL },
		{ NULL, "c.test:443", "224.0.0.1", NULL, NULL },
		{ NULL, "c..test:443", NULL, NULL, NULL },
		{ "TRACE", "http://a.test/r/", NULL, NULL, NULL },
	};
	static const struct fix_case in_production[] = {
		{ NULL, "b.test:443", "127.0.0.1", NULL, NULL },
		{ NULL, "b.test:443", "169.254.1.1", NULL, NULL },
		{ NULL, "b.test:443", "10.0.0.1",
		    "- host: b.test\n  protocol: https\n  private: [\"10.0.0.1/32\"]\n",
		    NULL },
	};

	(void)state;
	check_fixes(cases, COUNT_OF(cases), &laptop);
	check_fixes(in_production, COUNT_OF(in_production), &production);
}

/* Where TLS is opened a rule may look inside: so it says which request it means. */
static void
test_the_fix_of_a_request_inside_tls_names_it_where_it_is_seen(void **state)
{
	static const struct fix_case cases[] = {
		{ "POST", "https://c.test:8443/repos/x", "127.0.0.1",
		    "- host: c.test\n  protocol: https\n  ports: [8443]\n"
		    "  methods: [\"POST\"]\n  paths: [\"/repos/x\"]\n"
		    "  private: [\"127.0.0.1/32\"]\n",
		    "https://c.test:8443/repos/y" },
		{ "POST", "https://d.test/r/x", NULL,
		    "- host: d.test\n  protocol: https\n  methods: [\"POST\"]\n"
		    "  paths: [\"/r/x\"]\n",
		    "https://d.test/etc" },
		{ "DELETE", "https://d.test/q/x?y", NULL,
		    "- host: d.test\n  protocol: https\n  methods: [\"DELETE\"]\n"
		    "  paths: [\"/q/x\"]\n",
		    "https://d.test/q" },
		{ NULL, "https://x.c.test", NULL,
		    "- host: x.c.test\n  protocol: https\n  methods: [\"GET\"]\n"
		    "  paths: [\"/\"]\n",
		    "https://x.c.test/y" },
		{ "GET", "https://c.test/a/../b", NULL,
		    "- host: c.test\n  protocol: https\n  methods: [\"GET\"]\n", NULL },
		{ "get", "https://c.test/a", NULL,
		    "- host: c.test\n  protocol: https\n  paths: [\"/a\"]\n", NULL },
		{ "GET", "https://c.test/a*", NULL,
		    "- host: c.test\n  protocol: https\n  methods: [\"GET\"]\n", NULL },
		{ "GET", "https://c.test/?_method=PUT", NULL,
		    "- host: c.test\n  protocol: https\n", NULL },
		{ "GET", "https://9.1.1.1/x", NULL,
		    "- host: \"9.1.1.1\"\n  protocol: https\n  methods: [\"GET\"]\n"
		    "  paths: [\"/x\"]\n",
		    "https://9.1.1.1/y" },
		{ NULL, "c.test:443", NULL, "- host: c.test\n  protocol: https\n",
		    "c.test:80" },
		{ NULL, "c.test:80", NULL, "- host: c.test\n  protocol: http\n",
		    "c.test:443" },
		{ "TRACE", "https://c.test/", NULL, NULL, NULL },
	};

	(void)state;
	check_fixes(cases, COUNT_OF(cases), &seeing);
}

static void
check_json(
    const char *method, const char *target, const char *answer, const char *expected)
{
	struct ruleset *rs = load(policy, &laptop);
	struct place place = { 0 };
	struct explain_ask ask;
	struct explained e;
	struct addr addr;
	struct arena a;
	struct buf b;

	arena_init(&a, 1 << 20);
	buf_init(&b, 1 << 16);
	ask_for(&ask, method, target, answer, &addr);
	explain(&e, rs, &place, &ask, &a);
	explain_print_json(&e, rs, STR("{\"n\":1.50}"), &b);
	assert_string_equal(buf_cstr(&b), expected);
	buf_fini(&b);
	arena_fini(&a);
	ruleset_free(rs);
}

static void
test_the_json_object_has_every_key_in_order(void **state)
{
	(void)state;
	check_json(NULL, "B.test.:443", "93.184.215.14",
	    "{\"id\":{\"n\":1.50},\"decision\":\"allow\",\"reason\":\"ok\",\"status\":"
	    "200,"
	    "\"rule\":\"agent.yaml:3 "
	    "allow[1]\",\"layer\":\"agent\",\"host\":\"b.test\",\"port\":443,"
	    "\"protocol\":\"https\",\"dial\":[\"93.184.215.14:443\"],\"assurance\":"
	    "\"sni\","
	    "\"warnings\":[],\"trace\":["
	    "{\"stage\":\"shape\",\"layer\":null,\"rule\":null,\"verdict\":\"pass\","
	    "\"why\":null},"
	    "{\"stage\":\"allow\",\"layer\":\"agent\",\"rule\":\"agent.yaml:3 allow[1]\","
	    "\"verdict\":\"pass\",\"why\":\"fits\"},"
	    "{\"stage\":\"address\",\"layer\":null,\"rule\":null,\"verdict\":\"pass\","
	    "\"why\":\"every address may be dialled\"},"
	    "{\"stage\":\"rule\",\"layer\":\"agent\",\"rule\":\"agent.yaml:3 allow[1]\","
	    "\"verdict\":\"allow\",\"why\":null}],\"fix\":null}");
	check_json("PUT", "http://a.test/r/x", NULL,
	    "{\"id\":{\"n\":1.50},\"decision\":\"deny\",\"reason\":\"method_not_"
	    "allowed\","
	    "\"status\":405,\"rule\":null,\"layer\":\"agent\",\"host\":\"a.test\","
	    "\"port\":80,"
	    "\"protocol\":null,\"dial\":[],\"assurance\":null,\"warnings\":[],\"trace\":["
	    "{\"stage\":\"shape\",\"layer\":null,\"rule\":null,\"verdict\":\"pass\","
	    "\"why\":null},"
	    "{\"stage\":\"method\",\"layer\":\"agent\",\"rule\":\"agent.yaml:2 "
	    "allow[0]\","
	    "\"verdict\":\"skip\",\"why\":\"not this method\"},"
	    "{\"stage\":\"method\",\"layer\":\"agent\",\"rule\":null,\"verdict\":"
	    "\"deny\","
	    "\"why\":\"not this method\"}],"
	    "\"fix\":{\"rule\":{\"host\":\"a.test\",\"protocol\":\"http\",\"methods\":["
	    "\"PUT\"],"
	    "\"paths\":[\"/r/x\"]},\"also_admits\":[\"any query, fields and body with "
	    "it\","
	    "\"any public address that a.test resolves to\"]}}");
}

static void
test_what_was_not_looked_up_is_said_to_be_not_evaluated(void **state)
{
	(void)state;
	check_json(NULL, "b.test:443", NULL,
	    "{\"id\":{\"n\":1.50},\"decision\":\"allow\",\"reason\":\"ok\",\"status\":"
	    "200,"
	    "\"rule\":\"agent.yaml:3 "
	    "allow[1]\",\"layer\":\"agent\",\"host\":\"b.test\",\"port\":443,"
	    "\"protocol\":\"https\",\"dial\":[],\"assurance\":\"sni\","
	    "\"warnings\":[\"address rules were not evaluated: nothing was looked "
	    "up\"],\"trace\":["
	    "{\"stage\":\"shape\",\"layer\":null,\"rule\":null,\"verdict\":\"pass\","
	    "\"why\":null},"
	    "{\"stage\":\"allow\",\"layer\":\"agent\",\"rule\":\"agent.yaml:3 allow[1]\","
	    "\"verdict\":\"pass\",\"why\":\"fits\"},"
	    "{\"stage\":\"address\",\"layer\":null,\"rule\":null,\"verdict\":\"skip\","
	    "\"why\":\"not evaluated: nothing was looked up\"},"
	    "{\"stage\":\"rule\",\"layer\":\"agent\",\"rule\":\"agent.yaml:3 allow[1]\","
	    "\"verdict\":\"allow\",\"why\":null}],\"fix\":null}");
}

static const char limited[] =
    "allow:\n"
    "- { name: forge, host: l.test, protocol: http, methods: [GET], upload: 10MiB, "
    "max_body: 8MiB }\n"
    "- { host: '*.w.test', protocol: http, upload: 1MiB, methods: [GET] }\n"
    "- { host: 192.0.2.0/24, protocol: http, max_body: 8MiB, methods: [GET] }\n"
    "- { host: p.test, protocol: http, methods: [GET] }\n";

/* Under the rule for a log, and in what it also admits: the same sentence, or none. */
static void
check_unlimited(const struct ruleset *rs, const char *target, const char *says)
{
	struct place place = { 0 };
	struct explain_ask ask;
	struct explained e;
	struct arena a;
	struct buf line, text;

	arena_init(&a, 1 << 20);
	buf_init(&line, 4096);
	buf_init(&text, 65536);
	explain_ask_init(&ask, STR("POST"), str_of(target));
	explain(&e, rs, &place, &ask, &a);
	assert_row(target, e.fix.is_there);
	fix_line(&e.fix, &line);
	explain_print_text(&e, rs, &text);
	const char *comment = strstr(buf_cstr(&line), " # it also admits ");
	assert_row(target, (comment != NULL) == (says != NULL));
	assert_row(
	    target, (strstr(buf_cstr(&text), "would stop") != NULL) == (says != NULL));
	if (says != NULL) {
		assert_string_equal(comment + strlen(" # it also admits "), says);
		assert_row(target, strstr(buf_cstr(&text), says) != NULL);
	}
	buf_fini(&text);
	buf_fini(&line);
	arena_fini(&a);
}

static void
test_a_fix_says_which_limits_of_its_host_it_lacks(void **state)
{
	struct ruleset *rs = load(limited, &laptop);

	(void)state;
	check_unlimited(rs, "http://l.test/x",
	    "whatever upload, max_body would stop: this rule has none, unlike "
	    "agent.yaml:2 forge");
	check_unlimited(rs, "http://a.w.test/x",
	    "whatever upload would stop: this rule has none, unlike agent.yaml:3 "
	    "allow[1]");
	check_unlimited(rs, "http://192.0.2.7/x",
	    "whatever max_body would stop: this rule has none, unlike agent.yaml:4 "
	    "allow[2]");
	check_unlimited(rs, "http://p.test/x", NULL);
	check_unlimited(rs, "http://new.test/x", NULL);
	ruleset_free(rs);
}

static void
test_addresses_are_dialled_in_turns_ipv6_first(void **state)
{
	static const char *const answers[] = { "1.0.0.1", "1.0.0.2", "1.0.0.3",
		"2606:4700::1" };
	static const char *const order[] = { "2606:4700::1", "1.0.0.1", "1.0.0.2",
		"1.0.0.3" };
	struct ruleset *rs = load(policy, &laptop);
	struct addr addr[COUNT_OF(answers)];
	struct place place = { 0 };
	struct explain_ask ask;
	struct explained e;
	struct arena a;
	char text[ADDR_TEXT];

	(void)state;
	arena_init(&a, 1 << 20);
	explain_ask_init(&ask, STR_NONE, STR("b.test:443"));
	for (size_t i = 0; i < COUNT_OF(answers); i++)
		assert_true(addr_parse(&addr[i], str_of(answers[i])));
	ask.has_answers = true;
	ask.answer = addr;
	ask.nanswer = COUNT_OF(answers);
	explain(&e, rs, &place, &ask, &a);
	assert_int_equal(e.dial.count, COUNT_OF(order));
	for (size_t i = 0; i < COUNT_OF(order); i++)
		assert_string_equal(addr_text(text, &e.dial.addr[i]), order[i]);
	arena_fini(&a);
	ruleset_free(rs);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_fix_admits_what_was_refused_and_little_else),
		cmocka_unit_test(
		    test_the_fix_of_a_request_inside_tls_names_it_where_it_is_seen),
		cmocka_unit_test(test_the_json_object_has_every_key_in_order),
		cmocka_unit_test(test_what_was_not_looked_up_is_said_to_be_not_evaluated),
		cmocka_unit_test(test_a_fix_says_which_limits_of_its_host_it_lacks),
		cmocka_unit_test(test_addresses_are_dialled_in_turns_ipv6_first),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
