/*
 * audit_past_test.c - what past.h promises: every `open` has one end, whatever else a log
 * holds
 */
#include "audit/past.h"

#include <stdio.h>
#include <string.h>

#include "unit.h"

#define TS "\"ts\":\"2031-04-05T06:07:08.123456Z\""
#define ID(c) #c "aaaaaaaaaaaaaaaaaaaaaaaaa"
#define HEAD(c, phase) \
	"{\"v\":1," TS \
	",\"id\":\"" ID(c) "\",\"seq\":7,\"kind\":\"http\",\"phase\":\"" phase "\""
#define EVENT(name) \
	"{\"v\":1," TS \
	",\"seq\":1,\"kind\":\"system\",\"phase\":\"final\",\"event\":\"" name "\""
#define PREV \
	",\"prev\":" \
	"\"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef\"}"

static const struct {
	const char *title;
	const char *lines[6];
	const char *ends[3]; /* in any order */
} cases[] = {
	{ "an end", { HEAD(a, "open") PREV, HEAD(a, "final") PREV }, { NULL } },
	{ "no end", { HEAD(a, "open") ",\"decision\":\"allow\",\"reason\":\"ok\"" PREV },
	    { HEAD(
		a, "final") ",\"decision\":\"allow\",\"reason\":\"internal\",\"outcome\":"
			    "\"lost\",\"flags\":[\"lost\"],\"error\":\"weir ended before "
			    "this did\"" } },
	{ "what was not decided is denied", { HEAD(a, "open") ",\"session\":null" PREV },
	    { HEAD(
		a, "final") ",\"decision\":\"deny\",\"reason\":\"internal\",\"session\":"
			    "null,\"outcome\":\"lost\",\"flags\":[\"lost\"],\"error\":"
			    "\"weir ended before this did\"" } },
	{ "the last that was known, in its order",
	    { HEAD(a, "open") ",\"bytes\":{\"up\":1}" PREV,
		HEAD(
		    a, "progress") ",\"bytes\":{\"up\":9},\"ms\":{\"total\":5},\"model\":"
				   "\"m\",\"usd\":{\"reserved\":\"1\"}" PREV },
	    { HEAD(
		a, "final") ",\"decision\":\"deny\",\"reason\":\"internal\",\"bytes\":{"
			    "\"up\":9},\"ms\":{\"total\":5},\"outcome\":\"lost\","
			    "\"flags\":[\"lost\"],\"error\":\"weir ended before this "
			    "did\",\"model\":\"m\",\"usd\":{\"reserved\":\"1\"}" } },
	{ "one of two",
	    { HEAD(a, "open") PREV, HEAD(b, "open") PREV, HEAD(a, "final") PREV },
	    { HEAD(
		b, "final") ",\"decision\":\"deny\",\"reason\":\"internal\",\"outcome\":"
			    "\"lost\",\"flags\":[\"lost\"],\"error\":\"weir ended before "
			    "this did\"" } },
	{ "nothing is open over a start", { HEAD(a, "open") PREV, EVENT("start") PREV },
	    { NULL } },
	{ "what only had an end", { HEAD(a, "final") PREV }, { NULL } },
	{ "words of others are none of weir's",
	    { HEAD(a, "final") ",\"error\":\"\\\"phase\\\":\\\"open\\\"\"" PREV,
		HEAD(b, "open") ",\"error\":\",\\\"phase\\\":\\\"final\\\"\"" PREV,
		HEAD(b, "final") PREV },
	    { NULL } },
	{ "what is no record", { "{", "", "{\"v\":1," TS ",\"id\":\"a\"}", "x" },
	    { NULL } },
};

static void
test_every_open_has_one_end(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct past p;
		struct buf line;
		size_t n = 0;

		past_init(&p);
		buf_init(&line, 1 << 16);
		for (size_t k = 0; cases[i].lines[k] != NULL; k++)
			past_see(&p, str_of(cases[i].lines[k]));
		while (past_next(&p, 7, &line)) {
			if (cases[i].ends[n] == NULL ||
			    !str_eq(buf_view(&line), str_of(cases[i].ends[n])))
				fail_msg("%s: %s", cases[i].title, buf_cstr(&line));
			buf_reset(&line);
			n++;
		}
		if (cases[i].ends[n] != NULL)
			fail_msg("%s: %zu ends", cases[i].title, n);
		buf_fini(&line);
		past_fini(&p);
	}
}

static void
test_lines_go_on_from_the_last_checkpoint(void **state)
{
	struct past p;

	(void)state;
	past_init(&p);
	past_see(&p, STR(EVENT("start") PREV));
	assert_int_equal(p.lines, 1);
	past_see(
	    &p, STR(EVENT("checkpoint") ",\"name\":\"weir\",\"lines\":\"4711\"" PREV));
	past_see(&p, STR(HEAD(a, "final") PREV));
	assert_int_equal(p.lines, 4713);
	past_fini(&p);
}

static void
test_a_run_begins_behind_the_last_start_or_stop(void **state)
{
	static const char text[] =
	    EVENT("start") PREV "\n" HEAD(a, "final") PREV "\n" EVENT("stop") PREV
	    "\n" HEAD(b, "final") ",\"error\":\"\\\"event\\\":\\\"start\\\"\"" PREV "\n";
	size_t at;

	(void)state;
	assert_true(past_find_boundary(STR(text), &at));
	assert_memory_equal(text + at, EVENT("stop"), sizeof(EVENT("stop")) - 1);
	assert_false(past_find_boundary(STR(HEAD(a, "final") PREV "\n"), &at));
	assert_false(past_find_boundary(STR_NONE, &at));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_open_has_one_end),
		cmocka_unit_test(test_lines_go_on_from_the_last_checkpoint),
		cmocka_unit_test(test_a_run_begins_behind_the_last_start_or_stop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
