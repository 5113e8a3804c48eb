/*
 * policy_claims_test.c - claims only narrow, and what is not plainly a claim grants
 * nothing
 */
#include <stdio.h>

#include "policy/compile.h"
#include "policy/match.h"
#include "tokens.h"
#include "wire/url.h"

static enum reason
read_with(struct grant **out, const struct settings *s, const char *claims, bool is_token,
    const char **why)
{
	const struct claims_source source = {
		.settings = s, .issuer = STR("app"), .is_token = is_token
	};

	*out = NULL;
	return claims_read(out, &source, str_of(claims), NOW, why);
}

/* A grant of {"exp":…,"sid":"s","tenant":"t", MORE}, or NULL. */
static struct grant *
grant_of(const struct settings *s, const char *more, const char **why)
{
	char text[20000];
	struct grant *g;

	snprintf(text, sizeof(text),
	    "{\"exp\":" HOUR_LATER ",\"sid\":\"s\",\"tenant\":\"t\"%s%s}",
	    more[0] == '\0' ? "" : ",", more);
	(void)read_with(&g, s, text, true, why);
	return g;
}

/* ---- money */

static const struct {
	const char *text; /* as JSON */
	int64_t nano;     /* -1: refused */
} amounts[] = {
	{ "\"0.50\"", 500000000 },
	{ "0.50", 500000000 },
	{ "5", 5000000000 },
	{ "\"5\"", 5000000000 },
	{ "\"0\"", 0 }, /* no model calls */
	{ "0", 0 },
	{ "\"0.000000001\"", 1 },
	{ "0.000000001", 1 },
	{ "0.1", 100000000 }, /* by its text, never through a double */
	{ "9007199.254740993", 9007199254740993 },
	{ "\"0.0000000001\"", -1 },
	{ "0.0000000001", -1 },
	{ "\"0.5000000000\"", -1 },
	{ "-1", -1 },
	{ "\"-1\"", -1 },
	{ "-0", -1 },
	{ "\"+1\"", -1 },
	{ "\"01\"", -1 },
	{ "\"1.\"", -1 },
	{ "\".5\"", -1 },
	{ "\"1e3\"", -1 },
	{ "1e3", -1 },
	{ "1E-2", -1 },
	{ "1e309", -1 },
	{ "\"1,5\"", -1 },
	{ "\"$5\"", -1 },
	{ "\" 5\"", -1 },
	{ "\"5 \"", -1 },
	{ "\"\"", -1 },
	{ "\"Infinity\"", -1 },
	{ "\"NaN\"", -1 },
	{ "\"0x10\"", -1 },
	{ "null", -1 },
	{ "true", -1 },
	{ "[5]", -1 },
	{ "{}", -1 },
	{ "\"99999999999999999999\"", -1 },
};

static void
test_money_is_read_from_its_text_or_refused(void **state)
{
	struct settings *s = settings_of("{}");

	(void)state;
	for (size_t i = 0; i < COUNT_OF(amounts); i++) {
		char text[200];
		const char *why;

		snprintf(text, sizeof(text), "\"budget\":{\"sessionUsd\":%s}",
		    amounts[i].text);
		struct grant *g = grant_of(s, text, &why);
		assert_row(amounts[i].text, (g != NULL) == (amounts[i].nano >= 0));
		if (g != NULL)
			assert_row(
			    amounts[i].text, g->session_usd.claim == amounts[i].nano);
		grant_unref(g);
	}
	settings_free(s);
}

/* ---- what is wrong */

#define N128 \
	"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa" \
	"bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"

static const struct {
	const char *more;
	bool is_fine;
} claims[] = {
	{ "", true },
	{ "\"unknown\":{\"to\":[\"weir\"]}", true },
	{ "\"sub\":\"user-17\",\"turn\":\"t_3\",\"jti\":\"a:b@c~d.e\",\"par\":\"p\"",
	    true },
	{ "\"sub\":\"" N128 "\"", true },
	{ "\"sub\":\"" N128 "c\"", false },
	{ "\"sub\":\"\"", false },
	{ "\"sub\":7", false },
	{ "\"sub\":null", false },
	{ "\"sub\":\"a/b\"", false },
	{ "\"sub\":\"..\"", false },
	{ "\"sub\":\".\"", false },
	{ "\"sub\":\"a b\"", false },
	{ "\"sub\":\"a}b{c\"", false },
	{ "\"sub\":\"a\\u0000b\"", false },
	{ "\"sub\":\"\xc3\xbc\"", false },
	{ "\"turn\":\"=t\"", false }, /* reserved for turns nobody named */
	{ "\"turn\":\"a\\nb\"", false },
	{ "\"jti\":\"a'b\"", false },
	{ "\"par\":\"s\"", false }, /* itself */
	{ "\"par\":[\"p\"]", false },
	{ "\"gen\":3", true },
	{ "\"gen\":0", true },
	{ "\"gen\":-1", false },
	{ "\"gen\":1.5", false },
	{ "\"gen\":\"3\"", false },
	{ "\"gen\":1e3", false },
	{ "\"gen\":9007199254740991", true },
	{ "\"gen\":9007199254740992", false },
	{ "\"budget\":{}", true },
	{ "\"budget\":null", false },
	{ "\"budget\":[]", false },
	{ "\"budget\":{\"turnUSD\":\"1\"}", false }, /* a slip must not lift a cap */
	{ "\"budget\":{\"vmSeconds\":14400}", true },
	{ "\"budget\":{\"vmSeconds\":\"14400\"}", false },
	{ "\"budget\":{\"vmSeconds\":1.5}", false },
	{ "\"budget\":{\"vmSeconds\":-1}", false },
	{ "\"budget\":{\"vmSeconds\":4294967296}", false },
	{ "\"limits\":{\"requestsPerMinute\":60,\"concurrency\":16,\"turnTokens\":1,"
	  "\"sessionTokens\":2,\"turnCalls\":0},\"turn\":\"t\"",
	    true },
	{ "\"limits\":{\"uploadBytes\":0}", true },
	{ "\"limits\":{\"uploadBytes\":\"1MiB\"}", false },
	{ "\"limits\":{\"requestPerMinute\":60}", false },
	{ "\"limits\":{\"concurrency\":-1}", false },
	{ "\"limits\":{\"concurrency\":null}", false },
	{ "\"limits\":{\"concurrency\":1e1}", false },
	{ "\"limits\":60", false },
	{ "\"models\":[\"claude-*\"]", true },
	{ "\"models\":[]", true },
	{ "\"models\":null", false },
	{ "\"models\":\"claude-*\"", false },
	{ "\"models\":[7]", false },
	{ "\"models\":[\"\"]", false },
	{ "\"models\":[\"a b\"]", false },
	{ "\"hostedTools\":true", true },
	{ "\"hostedTools\":false", true },
	{ "\"hostedTools\":[\"web_search\"]", true },
	{ "\"hostedTools\":\"web_search\"", false },
	{ "\"hostedTools\":null", false },
	{ "\"public\":false", true },
	{ "\"public\":\"false\"", false },
	{ "\"public\":0", false },
	{ "\"public\":true", false }, /* sessions.public: deny */
	{ "\"network\":\"deny-all\"", true },
	{ "\"network\":\"allow-all\"", false },
	{ "\"network\":null", false },
	{ "\"network\":[\"a.test\"]", false },
	{ "\"network\":{}", false },
	{ "\"network\":{\"allow\":[\"a.test\",\"*.b.test\",\"**.c.test\",\"*\"]}", true },
	{ "\"network\":{\"allow\":[]}", true },
	{ "\"network\":{\"allow\":null}", false },
	{ "\"network\":{\"allow\":\"a.test\"}", false },
	{ "\"network\":{\"allow\":[\"a.test\",7]}", false },
	{ "\"network\":{\"allow\":[\"a*.test\"]}", false },
	{ "\"network\":{\"allow\":[\"https://a.test\"]}", false },
	{ "\"network\":{\"allow\":[\"a.test\"],\"deny\":[\"b.test\"]}", false },
	{ "\"network\":{\"mode\":\"allowlist\",\"hosts\":[\"a.test\"],\"protocols\":["
	  "\"https:\",\"http\"],\"resolveDns\":true}",
	    true },
	{ "\"network\":{\"mode\":\"allowlist\"}", true },
	{ "\"network\":{\"mode\":\"deny-all\"}", true },
	{ "\"network\":{\"mode\":\"deny-all\",\"hosts\":[]}", true },
	{ "\"network\":{\"mode\":\"deny-all\",\"hosts\":[\"a.test\"]}", false },
	{ "\"network\":{\"mode\":\"allow-all\"}", false },
	{ "\"network\":{\"mode\":\"allowlist\",\"protocols\":[\"tcp\"],\"hosts\":[]}",
	    false },
	{ "\"network\":{\"mode\":\"allowlist\",\"hosts\":[],\"ports\":[1]}", false },
	{ "\"network\":{\"hosts\":[\"a.test\"]}", false },
	{ "\"profile\":7", false },
	{ "\"profile\":\"nobody\"", false },
	{ "\"profile\":\"default\"", true },
};

static void
test_what_is_not_plainly_a_claim_grants_nothing(void **state)
{
	struct settings *s = settings_of("{}");

	(void)state;
	for (size_t i = 0; i < COUNT_OF(claims); i++) {
		const char *why = NULL;
		struct grant *g = grant_of(s, claims[i].more, &why);

		assert_row(claims[i].more, (g != NULL) == claims[i].is_fine);
		assert_row(claims[i].more, (g == NULL) == (why != NULL));
		grant_unref(g);
	}
	settings_free(s);
}

static void
test_a_list_has_256_entries_at_most(void **state)
{
	static const struct {
		const char *begin, *end;
	} lists[] = {
		{ "\"network\":{\"allow\":[", "]}" },
		{ "\"models\":[", "]" },
		{ "\"hostedTools\":[", "]" },
	};
	struct settings *s = settings_of("{}");

	(void)state;
	for (size_t i = 0; i < COUNT_OF(lists); i++)
		for (int n = 256; n <= 257; n++) {
			const char *why;
			struct buf b;

			buf_init(&b, 20000);
			buf_text(&b, lists[i].begin);
			for (int k = 0; k < n; k++)
				buf_fmt(&b, "%s\"a%d.test\"", k > 0 ? "," : "", k);
			buf_text(&b, lists[i].end);
			struct grant *g = grant_of(s, buf_cstr(&b), &why);
			assert_row(lists[i].begin, (g != NULL) == (n == 256));
			grant_unref(g);
			buf_fini(&b);
		}
	settings_free(s);
}

/* ---- what is said together */

static void
test_a_session_has_a_name_and_in_production_a_tenant(void **state)
{
	struct settings *strict = settings_of("{}"),
			*lax = settings_of("production: false");
	struct grant *g;
	const char *why;

	(void)state;
	assert_int_equal(read_with(&g, strict,
			     "{\"exp\":" HOUR_LATER ",\"tenant\":\"t\"}", true, &why),
	    REASON_SESSION_INVALID);
	assert_int_equal(
	    read_with(&g, strict, "{\"exp\":" HOUR_LATER ",\"sid\":\"s\"}", true, &why),
	    REASON_SESSION_INVALID);
	assert_int_equal(
	    read_with(&g, lax, "{\"exp\":" HOUR_LATER ",\"sid\":\"s\"}", true, &why),
	    REASON_NONE);
	assert_true(str_eq(g->tenant, STR("local")));
	grant_unref(g);
	assert_int_equal(
	    read_with(&g, lax, "{\"sid\":\"s\"}", true, &why), REASON_SESSION_INVALID);
	assert_int_equal(read_with(&g, lax, "{\"sid\":\"s\"}", false, &why), REASON_NONE);
	assert_int_equal(g->expires, GRANT_FOREVER);
	grant_unref(g);
	settings_free(strict);
	settings_free(lax);
}

static void
test_gen_is_iat_where_it_is_not_said(void **state)
{
	struct settings *s = settings_of("{}");
	const char *why;

	(void)state;
	struct grant *a = grant_of(s, "\"iat\":1799999999", &why);
	struct grant *b = grant_of(s, "\"iat\":1799999999,\"gen\":7", &why);
	struct grant *c = grant_of(s, "", &why);
	assert_int_equal(a->gen, 1799999999);
	assert_int_equal(b->gen, 7);
	assert_int_equal(c->gen, 0);
	grant_unref(a);
	grant_unref(b);
	grant_unref(c);
	settings_free(s);
}

static void
test_a_turn_budget_without_turn_makes_one_of_each_jti(void **state)
{
	struct settings *s = settings_of("budget: { default: { turnUsd: 1 } }");
	const char *why;

	(void)state;
	struct grant *named = grant_of(s, "\"turn\":\"t\",\"jti\":\"j\"", &why);
	struct grant *implied = grant_of(s, "\"jti\":\"j\"", &why);
	struct grant *longest = grant_of(s, "\"jti\":\"" N128 "\"", &why);
	assert_true(str_eq(named->turn, STR("t")) && !named->is_turn_implied);
	assert_true(str_eq(implied->turn, STR("=j")) && implied->is_turn_implied);
	assert_true(longest->turn.n == 65 && longest->turn.p[0] == '=');
	assert_null(grant_of(s, "", &why));
	assert_string_equal(
	    why, "a turn's budget applies, and there is neither turn nor jti");
	grant_unref(named);
	grant_unref(implied);
	grant_unref(longest);
	settings_free(s);
	s = settings_of("{}");
	struct grant *none = grant_of(s, "\"jti\":\"j\"", &why);
	assert_int_equal(none->turn.n, 0);
	grant_unref(none);
	settings_free(s);
}

static void
test_who_has_no_token_is_in_one_turn_when_it_speaks_of_turns(void **state)
{
	static const struct {
		const char *claims, *turn;
	} rows[] = {
		{ "{\"sid\":\"s\",\"limits\":{\"turnCalls\":1}}", "=" },
		{ "{\"sid\":\"s\",\"limits\":{\"turnTokens\":1}}", "=" },
		{ "{\"sid\":\"s\",\"budget\":{\"turnUsd\":\"1\"}}", "=" },
		{ "{\"sid\":\"s\",\"limits\":{\"turnCalls\":1},\"turn\":\"t\"}", "t" },
		{ "{\"sid\":\"s\",\"limits\":{\"sessionTokens\":1}}", "" },
	};
	struct settings *s = settings_of("budget: { default: { turnUsd: 1 } }");
	struct claims_source source = { .settings = s };
	const char *why;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct grant *g;

		assert_int_equal(
		    claims_read(&g, &source, str_of(rows[i].claims), NOW, &why),
		    REASON_NONE);
		assert_true(str_eq(g->turn, str_of(rows[i].turn)));
		assert_int_equal(g->is_turn_implied, rows[i].turn[0] == '=');
		grant_unref(g);
	}
	settings_free(s);
}

static void
test_claims_are_ceilings_under_the_configured_ones(void **state)
{
	struct settings *s =
	    settings_of("budget: { default: { turnUsd: 1, sessionUsd: 5 }, max: { "
			"sessionUsd: 50 } }\n"
			"profiles: { ci: { budget: { max: { sessionUsd: 3 } } },\n"
			"  big: { budget: { default: { sessionUsd: 9 } } } }");
	static const struct {
		const char *more;
		int64_t cap, claim; /* of the session, whole USD; -1 none */
		int64_t vm;
	} rows[] = {
		{ "", 5, -1, 14400 },
		{ "\"budget\":{\"sessionUsd\":2}", 50, 2, 14400 },
		{ "\"budget\":{\"sessionUsd\":99}", 50, 99, 14400 },
		{ "\"profile\":\"ci\"", 3, -1, 14400 },
		{ "\"profile\":\"ci\",\"budget\":{\"sessionUsd\":99}", 3, 99, 14400 },
		{ "\"profile\":\"big\"", 9, -1, 14400 },
		{ "\"budget\":{\"vmSeconds\":7}", 5, -1, -1 },
	};
	const char *why;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		char text[200];

		snprintf(text, sizeof(text), "%s%s\"turn\":\"t\"", rows[i].more,
		    rows[i].more[0] == '\0' ? "" : ",");
		struct grant *g = grant_of(s, text, &why);
		assert_row(rows[i].more, g != NULL);
		if (g == NULL)
			continue;
		assert_row(rows[i].more, g->session_usd.cap == rows[i].cap * 1000000000);
		assert_row(rows[i].more,
		    g->session_usd.claim ==
			(rows[i].claim < 0 ? -1 : rows[i].claim * 1000000000));
		assert_row(rows[i].more, g->vm_seconds.cap == rows[i].vm);
		grant_unref(g);
	}
	settings_free(s);
}

static void
test_public_needs_all_of_its_bounds(void **state)
{
	static const char open[] =
	    "sessions: { public: allow }\nbudget: { public: { usd: 20 } }";
	static const struct {
		const char *settings, *more;
		bool is_fine;
	} rows[] = {
		{ open, "\"budget\":{\"sessionUsd\":1,\"vmSeconds\":60},\"public\":true",
		    true },
		{ open, "\"budget\":{\"sessionUsd\":1},\"public\":true", false },
		{ open, "\"budget\":{\"vmSeconds\":60},\"public\":true", false },
		{ open, "\"public\":true", false },
		{ "sessions: { public: allow }",
		    "\"budget\":{\"sessionUsd\":1,\"vmSeconds\":60},\"public\":true",
		    false },
		{ "budget: { public: { usd: 20 } }",
		    "\"budget\":{\"sessionUsd\":1,\"vmSeconds\":60},\"public\":true",
		    false },
	};
	const char *why;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct settings *s = settings_of(rows[i].settings);
		struct grant *g = grant_of(s, rows[i].more, &why);

		assert_row(rows[i].more, (g != NULL) == rows[i].is_fine);
		grant_unref(g);
		settings_free(s);
	}
}

static void
test_an_issuer_may_call_claims_something_else(void **state)
{
	struct settings *s = settings_of(
	    "sessions: { claims: { app: { sid: \"https://app/session\", tenant: org,\n"
	    "  budget: caps } } }");
	struct grant *g;
	const char *why;

	(void)state;
	assert_int_equal(read_with(&g, s,
			     "{\"exp\":" HOUR_LATER
			     ",\"https://app/session\":\"x\",\"org\":\"o\",\"sid\":\"/\","
			     "\"caps\":{\"sessionUsd\":1},\"budget\":{\"sessionUsd\":9}}",
			     true, &why),
	    REASON_NONE);
	assert_true(str_eq(g->sid, STR("x")) && str_eq(g->tenant, STR("o")));
	assert_int_equal(g->session_usd.claim, 1000000000);
	grant_unref(g);
	settings_free(s);
}

static void
test_a_claim_that_nothing_reads_is_known_and_what_it_may_mean(void **state)
{
	static const struct {
		const char *key, *inside, *name;
	} rows[] = {
		{ "uploadBytes", "limits", "uploadBytes" },
		{ "upload_byte", "limits", "uploadBytes" },
		{ "sessionUsd", "caps", "sessionUsd" },
		{ "model", NULL, "models" },
		{ "netwrok", NULL, "network" },
		{ "budget", NULL, "caps" }, /* this issuer calls it something else */
		{ "email", NULL, NULL },
	};
	struct settings *s =
	    settings_of("sessions: { claims: { app: { budget: caps } } }");
	const struct claims_source source = { .settings = s, .issuer = STR("app") };
	struct claim_hint hint;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		assert_false(claim_is_read(&source, str_of(rows[i].key), &hint));
		assert_true(rows[i].name == NULL
				? hint.name == NULL
				: hint.name != NULL && !strcmp(hint.name, rows[i].name));
		assert_true(
		    rows[i].inside == NULL
			? hint.inside == NULL
			: hint.inside != NULL && !strcmp(hint.inside, rows[i].inside));
	}
	for (const char *const *at = (const char *const[]){ "caps", "limits", "profile",
		 "iss", "aud", "jti", "models", NULL };
	     *at != NULL; at++)
		assert_true(claim_is_read(&source, str_of(*at), &hint));
	settings_free(s);
}

static void
test_what_the_store_kept_is_the_same_grant(void **state)
{
	struct settings *s = settings_of("{}");
	const struct claims_source source = {
		.settings = s, .issuer = STR("app"), .is_token = true
	};
	struct grant *again = NULL;
	const char *why;

	(void)state;
	struct grant *g = grant_of(s,
	    "\"nbf\":1800000000,\"models\":[\"a\"],\"network\":{\"allow\":[\"a.test\"]}",
	    &why);
	assert_int_equal(claims_recall(&again, &source, g->text, &why), REASON_NONE);
	assert_true(str_eq(again->sid, g->sid) && str_eq(again->text, g->text));
	assert_true(again->has_models && again->models.n == 1 && again->network != NULL);
	grant_unref(again);
	grant_unref(g);
	settings_free(s);
}

/* ---- models and tools */

static void
test_tools_are_those_that_are_named(void **state)
{
	static const struct {
		const char *more, *tool;
		bool is_tool;
	} rows[] = {
		{ "", "web_search", false },
		{ "\"hostedTools\":true", "web_search", true },
		{ "\"hostedTools\":false", "web_search", false },
		{ "\"hostedTools\":[]", "web_search", false },
		{ "\"hostedTools\":[\"web_search\"]", "web_search", true },
		{ "\"hostedTools\":[\"web_search\"]", "Web_search", false },
		{ "\"hostedTools\":[\"web_search\"]", "web_search_2", false },
		{ "\"hostedTools\":[\"web_search*\"]", "web_search_2", true },
		{ "\"hostedTools\":[\"web_*\"]", "web", false },
		{ "\"hostedTools\":[\"*_search\"]", "web_search", true },
		{ "\"hostedTools\":[\"*_search\"]", "web_searches", false },
		{ "\"hostedTools\":[\"a\",\"web_search\"]", "web_search", true },
		{ "\"hostedTools\":[\"web_fetch\"]", "web_search", false },
		{ "\"hostedTools\":[\"*\"]", "x", true },
	};
	struct settings *s = settings_of("{}");
	const char *why;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct grant *g = grant_of(s, rows[i].more, &why);

		assert_row(rows[i].more,
		    grant_has_tool(g, str_of(rows[i].tool)) == rows[i].is_tool);
		grant_unref(g);
	}
	settings_free(s);
}

/* No list is all of them, and an empty one is none. */
static void
test_a_list_of_no_models_is_not_no_list(void **state)
{
	struct settings *s = settings_of("{}");
	const char *why;
	struct grant *all = grant_of(s, "", &why);
	struct grant *none = grant_of(s, "\"models\":[]", &why);

	(void)state;
	assert_false(all->has_models);
	assert_true(none->has_models && none->models.n == 0);
	grant_unref(all);
	grant_unref(none);
	settings_free(s);
}

/* A pattern full of stars must not cost more than its length times the name's. */
static void
test_no_pattern_is_a_bomb(void **state)
{
	struct settings *s = settings_of("{}");
	char name[256];
	const char *why;
	struct buf more;

	(void)state;
	buf_init(&more, 1000);
	buf_text(&more, "\"hostedTools\":[\"");
	for (int i = 0; i < 100; i++)
		buf_text(&more, "*a");
	buf_text(&more, "b\"]");
	memset(name, 'a', sizeof(name));
	struct grant *g = grant_of(s, buf_cstr(&more), &why);
	buf_fini(&more);
	assert_non_null(g);
	assert_false(grant_has_tool(g, (struct str){ name, sizeof(name) }));
	grant_unref(g);
	settings_free(s);
}

/* ---- network */

static struct ruleset *
rules_of(const char *policy)
{
	static const struct ruleset_terms terms = { .is_report_ok = true };
	const struct ruleset_source source = { "p", str_of(policy), false };
	struct report rep;

	report_init(&rep);
	struct ruleset *rs = ruleset_build(&source, 1, &terms, &rep);
	assert_non_null(rs);
	report_fini(&rep);
	return rs;
}

static const char policy[] =
    "allow:\n"
    "- { name: web, host: [a.test, b.test, \"*.c.test\"] }\n"
    "- { name: plain, host: a.test, protocol: http }\n"
    "- { name: mail, host: a.test, protocol: tcp, ports: [25] }\n"
    "- { name: inside, host: [in.test, in2.test], private: [10.0.0.0/8] }\n"
    "- { name: literal, host: 192.0.2.7 }\n";

static const struct {
	const char *network, *host;
	uint16_t port;
	bool is_allowed;
} networks[] = {
	{ "", "a.test", 443, true },
	{ "\"network\":\"deny-all\"", "a.test", 443, false },
	{ "\"network\":{\"allow\":[]}", "a.test", 443, false },
	{ "\"network\":{\"allow\":[\"a.test\"]}", "a.test", 443, true },
	{ "\"network\":{\"allow\":[\"a.test\"]}", "a.test", 25, true },
	{ "\"network\":{\"allow\":[\"a.test\"]}", "a.test", 8443, false },
	{ "\"network\":{\"allow\":[\"a.test\"]}", "b.test", 443, false },
	{ "\"network\":{\"allow\":[\"*\"]}", "b.test", 443, true },
	{ "\"network\":{\"allow\":[\"*\"]}", "z.test", 443, false },
	{ "\"network\":{\"allow\":[\"z.test\"]}", "z.test", 443, false },
	{ "\"network\":{\"allow\":[\"x.c.test\"]}", "x.c.test", 443, true },
	{ "\"network\":{\"allow\":[\"x.c.test\"]}", "y.c.test", 443, false },
	{ "\"network\":{\"allow\":[\"192.0.2.7\"]}", "192.0.2.7", 443, true },
	{ "\"network\":{\"allow\":[\"*\"]}", "192.0.2.7", 443, false },
	{ "\"network\":{\"mode\":\"allowlist\",\"hosts\":[\"a.test\"]}", "a.test", 443,
	    true },
	{ "\"network\":{\"mode\":\"allowlist\",\"hosts\":[\"a.test\"]}", "a.test", 25,
	    false },
	{ "\"network\":{\"mode\":\"allowlist\",\"hosts\":[\"a.test\"],\"protocols\":["
	  "\"http:\"]}",
	    "a.test", 443, false },
	{ "\"network\":{\"mode\":\"allowlist\"}", "a.test", 443, false },
};

static void
test_network_narrows_and_never_widens(void **state)
{
	struct settings *s = settings_of("{}");
	struct ruleset *outer = rules_of(policy);
	const char *why;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(networks); i++) {
		struct grant *g = grant_of(s, networks[i].network, &why);
		struct admitted in;
		struct verdict v;
		struct arena a;
		struct host host;

		arena_init(&a, 1 << 20);
		assert_row(networks[i].network, g != NULL);
		assert_int_equal(
		    host_parse_bare(&host, str_of(networks[i].host)), HOST_OK);
		struct facts f = { .via = VIA_CONNECT,
			.host = &host,
			.port = networks[i].port,
			.protocols = PROTOCOL_ANY,
			.length = -1 };
		const struct ruleset *rs = grants_narrow(outer, &g, 1, &a);
		bool is_in = match_admit(rs, &f, &a, &in, &v, NULL);
		assert_row(networks[i].network, is_in == networks[i].is_allowed);
		/* the deciding rule is the policy's, not the claim's */
		if (is_in)
			assert_row(networks[i].network,
			    strncmp(rule_place(in.rule), "p:", 2) == 0);
		else if (networks[i].port != 8443 &&
			 strcmp(networks[i].host, "z.test") != 0)
			assert_string_equal(ruleset_layer_name(rs, v.layer), "claims");
		arena_fini(&a);
		grant_unref(g);
	}
	ruleset_free(outer);
	settings_free(s);
}

/* What a rule opens stays open under a claim, and a claim opens nothing. */
static void
test_network_neither_opens_nor_closes_addresses(void **state)
{
	struct settings *s = settings_of("{}");
	struct ruleset *outer = rules_of(policy);
	struct addr inside = V4(10, 1, 2, 3);
	struct place nowhere = { 0 };
	struct admitted in;
	struct verdict v;
	struct vetted vetted;
	struct arena a;
	struct host host;
	const char *why;

	(void)state;
	arena_init(&a, 1 << 20);
	struct grant *g =
	    grant_of(s, "\"network\":{\"allow\":[\"*\",\"10.0.0.0/8\"]}", &why);
	const struct ruleset *rs = grants_narrow(outer, &g, 1, &a);
	struct facts f = { .via = VIA_CONNECT,
		.host = &host,
		.port = 443,
		.protocols = PROTOCOL_ANY,
		.length = -1 };
	assert_int_equal(host_parse_bare(&host, STR("in.test")), HOST_OK);
	assert_true(match_admit(rs, &f, &a, &in, &v, NULL));
	assert_true(match_address(rs, &f, &in, &inside, 1, &nowhere, &vetted, &v, NULL));
	assert_int_equal(host_parse_bare(&host, STR("a.test")), HOST_OK);
	assert_true(match_admit(rs, &f, &a, &in, &v, NULL));
	assert_false(match_address(rs, &f, &in, &inside, 1, &nowhere, &vetted, &v, NULL));
	arena_fini(&a);
	grant_unref(g);
	ruleset_free(outer);
	settings_free(s);
}

static void
test_a_child_passes_through_its_ancestors_networks(void **state)
{
	struct settings *s = settings_of("{}");
	struct ruleset *outer = rules_of(policy);
	struct admitted in;
	struct verdict v;
	struct arena a;
	struct host host;
	const char *why;

	(void)state;
	arena_init(&a, 1 << 20);
	struct grant *family[] = { grant_of(s, "\"network\":{\"allow\":[\"*\"]}", &why),
		grant_of(s, "", &why),
		grant_of(s, "\"network\":{\"allow\":[\"b.test\"]}", &why) };
	const struct ruleset *rs = grants_narrow(outer, family, 3, &a);
	struct facts f = { .via = VIA_CONNECT,
		.host = &host,
		.port = 443,
		.protocols = PROTOCOL_ANY,
		.length = -1 };
	assert_int_equal(host_parse_bare(&host, STR("a.test")), HOST_OK);
	assert_false(match_admit(rs, &f, &a, &in, &v, NULL));
	assert_int_equal(host_parse_bare(&host, STR("b.test")), HOST_OK);
	assert_true(match_admit(rs, &f, &a, &in, &v, NULL));
	arena_fini(&a);
	for (size_t i = 0; i < 3; i++)
		grant_unref(family[i]);
	ruleset_free(outer);
	settings_free(s);
}

static void
test_network_may_be_required(void **state)
{
	struct settings *s = settings_of("sessions: { network: required }");
	const char *why;

	(void)state;
	struct grant *g = grant_of(s, "", &why);
	assert_non_null(g->network);
	assert_int_equal(g->network->model->nallow, 0);
	grant_unref(g);
	settings_free(s);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_money_is_read_from_its_text_or_refused),
		cmocka_unit_test(test_what_is_not_plainly_a_claim_grants_nothing),
		cmocka_unit_test(test_a_list_has_256_entries_at_most),
		cmocka_unit_test(test_a_session_has_a_name_and_in_production_a_tenant),
		cmocka_unit_test(test_gen_is_iat_where_it_is_not_said),
		cmocka_unit_test(test_a_turn_budget_without_turn_makes_one_of_each_jti),
		cmocka_unit_test(
		    test_who_has_no_token_is_in_one_turn_when_it_speaks_of_turns),
		cmocka_unit_test(test_claims_are_ceilings_under_the_configured_ones),
		cmocka_unit_test(test_public_needs_all_of_its_bounds),
		cmocka_unit_test(test_an_issuer_may_call_claims_something_else),
		cmocka_unit_test(
		    test_a_claim_that_nothing_reads_is_known_and_what_it_may_mean),
		cmocka_unit_test(test_what_the_store_kept_is_the_same_grant),
		cmocka_unit_test(test_tools_are_those_that_are_named),
		cmocka_unit_test(test_a_list_of_no_models_is_not_no_list),
		cmocka_unit_test(test_no_pattern_is_a_bomb),
		cmocka_unit_test(test_network_narrows_and_never_widens),
		cmocka_unit_test(test_network_neither_opens_nor_closes_addresses),
		cmocka_unit_test(test_a_child_passes_through_its_ancestors_networks),
		cmocka_unit_test(test_network_may_be_required),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
