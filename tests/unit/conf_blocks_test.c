/*
 * conf_blocks_test.c - lists and maps of blocks are read as strictly as the file they
 * are in, and a key whose code is not there yet is unknown
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "conf/settings.h"
#include "unit.h"

static const char contract[] =
    "production: false\n"
    "boundary: { kind: docker-internal }\n"
    "listen: { gateway: [\"127.0.0.1:8787\"], admin: [\"unix:/run/weir/admin.sock\"] }\n"
    "policies: [policies/agent.yaml]\n"
    "profiles:\n"
    "  ci: { policies: [policies/agent.yaml, policies/ci.yaml],\n"
    "        budget: { max: { sessionUsd: \"1\" } } }\n"
    "credentials:\n"
    "  forge: { value: env:WEIR_TEST_A, hosts: [forge.example.com], tenants: [acme] }\n"
    "sessions:\n"
    "  required: true\n"
    "  keys:\n"
    "  - { issuer: \"https://app.example.com\", alg: HS256, kid: k1, secret: "
    "env:WEIR_TEST_A, tenants: [acme, beta] }\n"
    "  - { issuer: other, audience: w, jwks: env:WEIR_TEST_A }\n"
    "  static:\n"
    "  - { user: sandbox1, password: env:WEIR_TEST_A,\n"
    "      claims: { sid: s1, tenant: local, budget: { sessionUsd: \"1\", turnUsd: 0.5 "
    "},\n"
    "                models: [\"a\\\"b\"], public: true, network: ~ } }\n"
    "  claims: { other: { sid: session_id, tenant: org } }\n"
    "  public: allow\n  bind: none\n  turns: concurrent\n  network: required\n"
    "  max_ttl: 2h\n"
    "budget:\n"
    "  mode: strict\n  floor: 10\n  share: 0.25\n  drain: 1s\n"
    "  default: { turnUsd: \"1\", sessionUsd: 5, vmSeconds: 100 }\n"
    "  max: { sessionUsd: \"50.000000001\" }\n"
    "  tenants: { \"*\": { usd: \"100\", per: day }, acme: { usd: 7 } }\n"
    "  total: { usd: \"2000\", per: month }\n"
    "  public: { usd: \"20\", per: day }\n"
    "gateway:\n"
    "  prices: prices.json\n  unpriced: refuse\n  hosted: refuse\n"
    "  max_tokens_per_second: 7\n"
    "  providers:\n"
    "  - { name: anthropic, kind: anthropic, path: /anthropic,\n"
    "      upstream: \"https://api.anthropic.com\", hosts: [api.anthropic.com],\n"
    "      credential: { header: x-api-key, value: env:WEIR_TEST_A }, settle: reported "
    "}\n"
    "ledger: { url: \"redis://127.0.0.1:1/0\", password: env:WEIR_TEST_A }\n";

static struct settings *
ahead(const char *text, struct report *rep)
{
	setenv("WEIR_TEST_A", "aaaaaaaa", 1);
	report_init(rep);
	return settings_load_text("w.yaml", str_of(text), "/etc/weir", rep);
}

static void
test_the_contracts_example_is_read(void **state)
{
	struct report rep;
	struct settings *s = ahead(contract, &rep);
	struct buf b;

	(void)state;
	buf_init(&b, 100000);
	report_print_text(&rep, &b);
	assert_string_equal(buf_cstr(&b), "");
	buf_fini(&b);
	assert_non_null(s);
	assert_int_equal(s->boundary_kind, BOUNDARY_DOCKER_INTERNAL);
	assert_string_equal(s->profiles.p[0].name, "ci");
	assert_string_equal(s->profiles.p[0].policies.p[1], "/etc/weir/policies/ci.yaml");
	assert_int_equal(s->profiles.p[0].max.session_usd, 1000000000);
	assert_int_equal(s->profiles.p[0].fallback.session_usd, UNWRITTEN);
	assert_string_equal(s->credentials.p[0].hosts.p[0], "forge.example.com");
	assert_int_equal(s->credentials.p[0].value.n, 8);
	assert_int_equal(s->sessions_keys.n, 2);
	assert_string_equal(s->sessions_keys.p[0].audience, "weir");
	assert_string_equal(s->sessions_keys.p[1].audience, "w");
	assert_null(s->sessions_keys.p[1].alg);
	assert_string_equal(s->sessions_keys.p[0].tenants.p[1], "beta");
	assert_string_equal(s->sessions_static.p[0].claims,
	    "{\"sid\":\"s1\",\"tenant\":\"local\",\"budget\":{\"sessionUsd\":\"1\","
	    "\"turnUsd\":0.5},\"models\":[\"a\\\"b\"],\"public\":true,\"network\":null}");
	assert_string_equal(s->sessions_claims.p[0].name, "other");
	assert_string_equal(s->sessions_claims.p[0].as[CLAIM_SID], "session_id");
	assert_null(s->sessions_claims.p[0].as[CLAIM_TURN]);
	assert_int_equal(s->sessions_max_ttl, 7200);
	assert_int_equal(s->sessions_bind, BIND_NONE);
	assert_int_equal(s->budget_share, 250000);
	assert_int_equal(s->budget_default.session_usd, 5000000000);
	assert_int_equal(s->budget_max.session_usd, 50000000001);
	assert_int_equal(s->budget_max.turn_usd, UNWRITTEN);
	assert_int_equal(s->budget_tenants.p[0].per, PER_DAY);
	assert_int_equal(s->budget_tenants.p[1].per, PER_EVER);
	assert_int_equal(s->budget_total.usd, 2000000000000);
	assert_string_equal(s->gateway_providers.p[0].credential_header, "x-api-key");
	assert_int_equal(s->gateway_providers.p[0].settle, SETTLE_REPORTED);
	assert_string_equal(s->ledger_url, "redis://127.0.0.1:1/0");
	settings_free(s);
	report_fini(&rep);
}

static void
test_what_is_not_written_has_the_contracts_default(void **state)
{
	struct report rep;
	struct settings *s = ahead("{}", &rep);

	(void)state;
	assert_non_null(s);
	assert_true(s->sessions_required);
	assert_int_equal(s->sessions_max_ttl, 86400);
	assert_int_equal(s->sessions_bind, BIND_FIRST);
	assert_int_equal(s->sessions_public, PUBLIC_DENY);
	assert_int_equal(s->sessions_network, NETWORK_INHERIT);
	assert_int_equal(s->budget_mode, BUDGET_CLAMP);
	assert_int_equal(s->budget_floor, 1024);
	assert_int_equal(s->budget_share, 500000);
	assert_int_equal(s->budget_drain, 5000);
	assert_int_equal(s->budget_default.vm_seconds, 14400);
	assert_int_equal(s->budget_default.turn_usd, UNWRITTEN);
	assert_int_equal(s->budget_total.usd, UNWRITTEN);
	assert_int_equal(s->gateway_hosted, HOSTED_STRIP);
	assert_int_equal(s->gateway_max_tokens_per_second, 400);
	assert_string_equal(s->ledger_url, "sqlite:ledger.db");
	assert_int_equal(s->boundary_kind, BOUNDARY_UNWRITTEN);
	settings_free(s);
	s = ahead("production: false", &rep);
	assert_false(s->sessions_required); /* nobody could bring one */
	settings_free(s);
	s = ahead("{ production: false, sessions: { required: true } }", &rep);
	assert_true(s->sessions_required);
	settings_free(s);
	report_fini(&rep);
}

static const struct {
	const char *text, *code;
	size_t line, column;
} wrong[] = {
	{ "sessions: { keys: [ { alg: HS256 } ] }", "missing_key", 1, 21 },
	{ "sessions: { keys: [ { issuer: a, isuer: b } ] }", "unknown_key", 1, 34 },
	{ "sessions: { keys: { issuer: a } }", "wrong_type", 1, 19 },
	{ "sessions: { keys: [ { issuer: a, secret: hunter2 } ] }", "secret_literal", 1,
	    42 },
	{ "sessions: { max_ttl: 500ms }", "out_of_range", 1, 22 },
	{ "sessions: { bind: second }", "bad_choice", 1, 19 },
	{ "budget: { default: { turnUsd: -1 } }", "bad_amount", 1, 31 },
	{ "budget: { default: { turnUsd: 1e3 } }", "bad_amount", 1, 31 },
	{ "budget: { default: { turnUsd: \"0.0000000001\" } }", "bad_amount", 1, 31 },
	{ "budget: { share: 0 }", "bad_share", 1, 18 },
	{ "budget: { share: 1.1 }", "bad_share", 1, 18 },
	{ "budget: { tenants: { a: { per: day } } }", "missing_key", 1, 25 },
	{ "gateway: { providers: [ { name: a, kind: mine, path: /a, upstream: u } ] }",
	    "bad_choice", 1, 42 },
	{ "profiles: { ci: { budget: { max: { sesionUsd: 1 } } } }", "unknown_key", 1,
	    36 },
};

static void
test_what_is_wrong_inside_a_block_is_pointed_at(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(wrong); i++) {
		struct report rep;

		assert_row(wrong[i].text, ahead(wrong[i].text, &rep) == NULL);
		assert_row(wrong[i].text, rep.n >= 1);
		assert_row(
		    wrong[i].text, strcmp(rep.finding[0].code, wrong[i].code) == 0);
		assert_row(wrong[i].text, rep.finding[0].mark.line == wrong[i].line);
		assert_row(wrong[i].text, rep.finding[0].mark.column == wrong[i].column);
		report_fini(&rep);
	}
}

/* Also where its key is misspelt, or stands where a block should. */
static void
test_no_finding_shows_a_secret_of_a_block(void **state)
{
	static const char *const texts[] = {
		"sessions: { keys: [ { issuer: a, secret: hunter2, x: 1 } ] }",
		"sessions: { keys: [ { issuer: a, secrt: hunter2 } ] }",
		"sessions: { keys: [ hunter2 ] }",
		"sessions: { static: [ { user: a, password: [hunter2] } ] }",
		"credentials: { forge: { value: hunter2, hosts: [a] } }",
		"credentials: { forge: hunter2 }",
		"gateway: { providers: [ { name: a, credential: { value: hunter2 } } ] }",
		"ledger: { password: hunter2 }",
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(texts); i++) {
		struct report rep;
		struct buf b;

		buf_init(&b, 100000);
		assert_row(texts[i], ahead(texts[i], &rep) == NULL);
		report_print_text(&rep, &b);
		assert_row(texts[i], strstr(buf_cstr(&b), "hunter2") == NULL);
		report_print_json(&rep, &b);
		assert_row(texts[i], strstr(buf_cstr(&b), "hunter2") == NULL);
		buf_fini(&b);
		report_fini(&rep);
	}
}

static const struct {
	const char *text, *code;
} unfit[] = {
	{ "sessions: { keys: [ { issuer: a, secret: env:WEIR_TEST_A } ] }",
	    "no_boundary" },
	{ "boundary: { kind: vm }", "no_sessions" },
	{ "sessions: { required: false }", "sessions_not_required" },
	{ "sessions: { default: { sid: a } }", "laptop_session" },
	{ "gateway: { providers: [ { name: a, kind: none, path: /, upstream: "
	  "\"http://a\" } ] }",
	    "plain_upstream" },
	{ "gateway: { providers: [ { name: a, kind: none, path: /, upstream: "
	  "\"https://a\" } ] }",
	    "endless_session" },
	{ "gateway: { providers: [ { name: a, kind: none, path: /, upstream: "
	  "\"https://a\" } ] }",
	    "endless_tenant" },
	{ "ledger: { url: \"memory:\" }", "memory_ledger" },
	{ "audit: { on_failure: drop }", "drops_records" },
};

static bool
has_code(const struct report *rep, const char *code)
{
	for (size_t i = 0; i < rep->n; i++)
		if (strcmp(rep->finding[i].code, code) == 0)
			return true;
	return false;
}

static void
write_file(const char *path, const char *text)
{
	FILE *f = fopen(path, "we");

	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static void
test_production_says_all_that_it_refuses(void **state)
{
	char path[] = "/tmp/weir-conf-XXXXXX";
	int fd = mkstemp(path);

	(void)state;
	assert_true(fd >= 0);
	setenv("WEIR_TEST_A", "aaaaaaaa", 1);
	for (size_t i = 0; i < COUNT_OF(unfit); i++) {
		struct report rep;

		write_file(path, unfit[i].text);
		report_init(&rep);
		assert_row(unfit[i].text, settings_load_file(path, &rep) == NULL);
		assert_row(unfit[i].text, has_code(&rep, unfit[i].code));
		report_fini(&rep);
	}
	unlink(path);
}

static void
test_production_takes_what_is_whole(void **state)
{
	char path[] = "/tmp/weir-conf-XXXXXX";
	int fd = mkstemp(path);
	struct report rep;

	(void)state;
	assert_true(fd >= 0);
	setenv("WEIR_TEST_A", "aaaaaaaa", 1);
	write_file(path,
	    "boundary: { kind: vm }\npolicies: [a.yaml]\n"
	    "sessions: { keys: [ { issuer: a, secret: env:WEIR_TEST_A } ] }\n"
	    "budget: { max: { sessionUsd: 1 }, tenants: { \"*\": { usd: 1 } } }\n"
	    "gateway: { providers: [ { name: a, kind: none, path: /, upstream: "
	    "\"https://a\" } ] }\n");
	report_init(&rep);
	struct settings *s = settings_load_file(path, &rep);
	assert_non_null(s);
	assert_int_equal(rep.n, 0);
	settings_free(s);
	report_fini(&rep);
	unlink(path);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_contracts_example_is_read),
		cmocka_unit_test(test_what_is_not_written_has_the_contracts_default),
		cmocka_unit_test(test_what_is_wrong_inside_a_block_is_pointed_at),
		cmocka_unit_test(test_no_finding_shows_a_secret_of_a_block),
		cmocka_unit_test(test_production_says_all_that_it_refuses),
		cmocka_unit_test(test_production_takes_what_is_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
