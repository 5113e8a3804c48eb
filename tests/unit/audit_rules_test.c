/*
 * audit_rules_test.c - what rules.h promises
 */
#include "audit/rules.h"

#include <stdlib.h>
#include <string.h>

#include "audit/doubt.h"
#include "audit/redact.h"
#include "base/count.h"
#include "unit.h"

#define BADGE "name: badge, pattern: 'acme-[a-z0-9]{8,64}', examples: [acme-0123abcd]"
#define LOGIN \
	"name: login, pattern: 'door code: ([0-9]{4,12})', group: 1, " \
	"examples: ['door code: 12345'], counterexamples: ['door code: ask']"

static struct settings *
settings_with(const char *rules, struct report *rep)
{
	struct buf text;
	struct settings *s;

	buf_init(&text, 65536);
	buf_fmt(&text, "redact: { rules: [ %s ] }\n", rules);
	report_init(rep);
	s = settings_load_text("w.yaml", buf_view(&text), "/", rep);
	buf_fini(&text);
	return s;
}

static struct redactor *
obeying(const char *rules)
{
	struct redactor *r = redactor_new(STR("a key"), "k1");
	struct report rep;
	struct settings *s = settings_with(rules, &rep);

	if (s == NULL)
		fail_msg("%s: %s", rep.finding[0].code, rep.finding[0].text);
	redactor_obey(r, rules_load(s, &rep));
	for (size_t i = 0; i < rep.n; i++)
		fail_msg("%s: %s", rep.finding[i].code, rep.finding[i].text);
	report_fini(&rep);
	settings_free(s);
	return r;
}

/* ---- what is masked */

static const struct {
	const char *what, *in;
	const char *out; /* #kind# stands for a mark */
} cases[] = {
	{ "a match", "see acme-0123abcd now", "see #badge# now" },
	{ "what is no match", "see acme-road now", "see acme-road now" },
	{ "a group only", "door code: 987654, ask", "door code: #login#, ask" },
	{ "in percent escapes", "?a=acm%65-0123abcd&b", "?a=#badge#&b" },
	{ "in JSON's", "say acme\\u002d0123abcd\\n", "say #badge#\\n" },
	{ "two of them", "acme-0123abcd,door code: 1234", "#badge#,door code: #login#" },
	{ "at the very end", "x acme-0123abcd", "x #badge#" },
	{ "nothing", "", "" },
};

/* Every mark becomes #kind#. */
static void
without_digits(struct buf *to, struct str text)
{
	static const char head[] = "~redacted.";
	size_t at = 0, end, n;

	while (at < text.n) {
		struct str rest = str_sub(text, at, text.n);
		if (str_starts(rest, STR(head)) &&
		    str_find(str_sub(rest, 10, rest.n), '.', &n) &&
		    str_find(str_sub(rest, 1, rest.n), '~', &end)) {
			buf_fmt(to, "#%.*s#", (int)n, rest.p + 10);
			at += end + 2;
		} else {
			buf_char(to, text.p[at++]);
		}
	}
}

static void
test_a_rule_masks_what_it_says_and_twice_is_once(void **state)
{
	struct redactor *r = obeying("{" BADGE "},{" LOGIN "}");

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct buf once, twice, seen;

		buf_init(&once, 10000);
		buf_init(&twice, 10000);
		buf_init(&seen, 10000);
		redact(r, REDACT_TEXT, str_of(cases[i].in), &once);
		redact(r, REDACT_TEXT, buf_view(&once), &twice);
		without_digits(&seen, buf_view(&once));
		if (strcmp(buf_cstr(&seen), cases[i].out) != 0)
			fail_msg("%s: %s", cases[i].what, buf_cstr(&once));
		assert_row(cases[i].what, str_eq(buf_view(&once), buf_view(&twice)));
		buf_fini(&once);
		buf_fini(&twice);
		buf_fini(&seen);
	}
	redactor_free(r);
}

static void
test_a_text_full_of_literals_is_masked_when_it_costs_too_much(void **state)
{
	struct redactor *r = obeying("{" BADGE "}");
	struct buf in, out;

	(void)state;
	buf_init(&in, 1 << 20);
	buf_init(&out, 1 << 22);
	for (int i = 0; i < 20000; i++)
		buf_text(&in, "acme-");
	redact(r, REDACT_TEXT, buf_view(&in), &out);
	assert_non_null(strstr(buf_cstr(&out), "~redacted.doubt."));
	assert_true(count_get(COUNT_REDACT_FAILCLOSED, DOUBT_BUDGET) > 0);
	buf_fini(&in);
	buf_fini(&out);
	redactor_free(r);
}

/* ---- what is refused */

#define NAMED "{ name: badge, examples: [acme-0123], pattern: "

static const struct {
	const char *rule, *code;
	size_t at; /* byte of the rule where the caret is; 0: it is not asked */
} bad[] = {
	{ NAMED "'acme-[a-z0-9]+' }", "rule_unbounded", sizeof(NAMED) + 14 },
	{ NAMED "\"acme-[a-z0-9]*\" }", "rule_unbounded", sizeof(NAMED) + 14 },
	{ NAMED "'acme-[a-z0-9]{4,}' }", "rule_unbounded", sizeof(NAMED) + 14 },
	{ NAMED "'acme-[a-z0-9]{4,2000}' }", "rule_unbounded", 0 },
	{ NAMED "'acme-(?:[0-9]{4}|(?R))' }", "rule_forbidden", sizeof(NAMED) + 18 },
	{ NAMED "'(*COMMIT)acme-[0-9]{4}' }", "rule_forbidden", sizeof(NAMED) + 1 },
	{ NAMED "'acme-\\Q0123\\E' }", "rule_forbidden", 0 },
	{ NAMED "'acme-[0-9{4}' }", "rule_pattern", 0 },
	{ NAMED "'acme-[0-9]{4})' }", "rule_pattern", sizeof(NAMED) + 14 },
	{ NAMED "'[a-z]{4}-[0-9]{4}' }", "rule_literal", 0 },
	{ NAMED "'ac?me-[0-9]{4}' }", "rule_literal", 0 },
	{ NAMED "'acme-[0-9]{4}|x-[0-9]{4}' }", "rule_literal", 0 },
	{ NAMED "'(?i)acme-[0-9]{4}' }", "rule_literal", 0 },
	{ NAMED "'(?i)acme-[0-9]{4}', literal: 'acme-' }", NULL, 0 },
	{ NAMED "'acme-(?:[0-9]|(?:x|y)){4}' }", NULL, 0 },
	{ NAMED "'(?:acme-|x)[0-9]{4}' }", "rule_literal", 0 },
	{ NAMED "'acme-[0-9]{4}', group: 1 }", "rule_group", 0 },
	{ NAMED "'acme-[a-z]{4}' }", "rule_example", 0 },
	{ NAMED "'acme-[0-9]{4}', literal: 'cme-' }", "rule_example", 0 },
	{ "{ name: badge, pattern: 'acme-[0-9]{4}', examples: [] }", "rule_example", 0 },
	{ NAMED "'acme-[0-9]{4}', counterexamples: [acme-9999] }", "rule_counterexample",
	    0 },
	{ NAMED "'acme-(?:[0-9]{1,64}){1,64}x?[0-9]{1,9}!{0,1}' }", NULL, 0 },
	{ NAMED "'acme-(?:[0-9]{1,64}){1,64}(?![0-9\\x00])' }", "rule_slow", 0 },
	{ "{ name: doubt, examples: [acme-0123], pattern: 'acme-[0-9]{4}' }", "rule_name",
	    0 },
	{ "{ name: jwt, examples: [acme-0123], pattern: 'acme-[0-9]{4}' }", "rule_name",
	    0 },
	{ "{ " BADGE " }, { " BADGE " }", "rule_name", 0 },
	{ "{ name: badge, pattern: 'acme-[0-9]{4}' }", "missing_key", 0 },
};

static void
test_a_rule_that_could_cost_or_is_untrue_is_refused_where_it_is_wrong(void **state)
{
	static const size_t before = sizeof("redact: { rules: [ ") - 1;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(bad); i++) {
		struct report rep;
		struct settings *s = settings_with(bad[i].rule, &rep);
		if (s != NULL)
			rules_free(rules_load(s, &rep));
		const char *code = rep.n == 0 ? NULL : rep.finding[0].code;
		if ((code == NULL) != (bad[i].code == NULL) ||
		    (code != NULL && strcmp(code, bad[i].code) != 0))
			fail_msg("%s: %s", bad[i].rule, code == NULL ? "-" : code);
		if (bad[i].at > 0 && rep.finding[0].mark.column != before + bad[i].at)
			fail_msg("%s: column %u, not %zu", bad[i].rule,
			    (unsigned)rep.finding[0].mark.column, before + bad[i].at);
		settings_free(s);
		report_fini(&rep);
	}
}

static void
test_a_rule_without_a_literal_is_told_what_took_it(void **state)
{
	static const struct {
		const char *pattern, *hint;
	} takes[] = {
		{ "'[a-z]{4}-[0-9]{4}' }", "begin the pattern with plain characters" },
		{ "'acme-[0-9]|x-[0-9]' }", "acme-(?:a|b)" },
		{ "'acme|acmf' }", "acme-(?:a|b)" },
		{ "'(?i)acme-[0-9]{4}' }", "(?i) at the beginning" },
		{ "'(?:acme|acmf)-[0-9]{4}' }", "a group" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(takes); i++) {
		struct report rep;
		struct buf rule;

		buf_init(&rule, 1024);
		buf_fmt(&rule, "%s%s", NAMED, takes[i].pattern);
		struct settings *s = settings_with(buf_cstr(&rule), &rep);
		rules_free(rules_load(s, &rep));
		assert_true(rep.n > 0 && rep.finding[0].hint != NULL);
		assert_row(
		    rep.finding[0].hint, strstr(rep.finding[0].hint, takes[i].hint));
		settings_free(s);
		report_fini(&rep);
		buf_fini(&rule);
	}
}

/* ---- cards */

static struct redactor *
watching_cards(const char *value)
{
	struct redactor *r = redactor_new(STR("a key"), "k1");
	struct report rep;
	struct buf text;

	buf_init(&text, 1000);
	buf_fmt(&text, "redact: { cards: %s }\n", value);
	report_init(&rep);
	struct settings *s = settings_load_text("w.yaml", buf_view(&text), "/", &rep);
	assert_non_null(s);
	redactor_obey(r, rules_load(s, &rep));
	settings_free(s);
	report_fini(&rep);
	buf_fini(&text);
	return r;
}

/* Numbers that issuers publish for tests, and none. */
static const struct {
	const char *what;
	enum redact_as as;
	const char *in, *out;
} cards[] = {
	{ "in groups", REDACT_TEXT, "paid with 4111 1111 1111 1111 1234 times",
	    "paid with #card# 1234 times" },
	{ "with dashes", REDACT_TEXT, "(5555-5555-5555-4444).", "(#card#)." },
	{ "three groups", REDACT_TEXT, "3782 822463 10005", "#card#" },
	{ "in one", REDACT_URL, "/a?n=6011111111111117&b", "/a?n=#card#&b" },
	{ "a number in JSON", REDACT_JSON, "{\"n\": 4111111111111111, \"m\": 2}",
	    "{\"n\": \"#card#\", \"m\": 2}" },
	{ "a string in JSON", REDACT_JSON, "[\"4111111111111111\"]", "[\"#card#\"]" },
	{ "another last digit", REDACT_TEXT, "4111111111111112", NULL },
	{ "no issuer's", REDACT_TEXT, "1748503543012 9111111111111111", NULL },
	{ "a longer number", REDACT_TEXT, "41111111111111110000", NULL },
	{ "a part of something", REDACT_TEXT,
	    "v1.4111111111111111 a4111111111111111 4111111111111111.5 "
	    "ab-4111111111111111",
	    NULL },
	{ "groups of two kinds", REDACT_TEXT, "4111-1111 1111-1111", NULL },
};

static void
test_cards_are_masked_where_they_are_to_be(void **state)
{
	struct redactor *on = watching_cards("true"), *off = watching_cards("false");

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cards); i++) {
		const char *want = cards[i].out != NULL ? cards[i].out : cards[i].in;
		struct buf out, seen, plain;

		buf_init(&out, 10000);
		buf_init(&seen, 10000);
		buf_init(&plain, 10000);
		redact(on, cards[i].as, str_of(cards[i].in), &out);
		without_digits(&seen, buf_view(&out));
		if (strcmp(buf_cstr(&seen), want) != 0)
			fail_msg("%s: %s", cards[i].what, buf_cstr(&out));
		redact(off, cards[i].as, str_of(cards[i].in), &plain);
		assert_row(cards[i].what, str_eq(buf_view(&plain), str_of(cards[i].in)));
		buf_fini(&out);
		buf_fini(&seen);
		buf_fini(&plain);
	}
	redactor_free(on);
	redactor_free(off);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_rule_masks_what_it_says_and_twice_is_once),
		cmocka_unit_test(
		    test_a_text_full_of_literals_is_masked_when_it_costs_too_much),
		cmocka_unit_test(
		    test_a_rule_that_could_cost_or_is_untrue_is_refused_where_it_is_wrong),
		cmocka_unit_test(test_a_rule_without_a_literal_is_told_what_took_it),
		cmocka_unit_test(test_cards_are_masked_where_they_are_to_be),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
