/*
 * conf_report_test.c - findings are shown with their line, safely
 */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "conf/report.h"
#include "unit.h"

static char *
as_text(const struct report *r)
{
	struct buf b;

	buf_init(&b, 1 << 20);
	report_print_text(r, &b);
	char *text = str_dup(buf_view(&b));
	buf_fini(&b);
	return text;
}

static const struct {
	const char *promise, *source;
	size_t line, column;
	const char *shown;
} lines[] = {
	{ "the caret stands under the column", "a: 1\nb: two\n", 2, 4,
	    "f.yaml:2:4: error: no [x]\n    b: two\n       ^\n" },
	{ "a tab takes its cells", "\tb: two\n", 1, 2,
	    "f.yaml:1:2: error: no [x]\n            b: two\n            ^\n" },
	{ "letters beyond ASCII take one cell", "\xc3\xa4\xc3\xb6: x\n", 1, 5,
	    "f.yaml:1:5: error: no [x]\n    \xc3\xa4\xc3\xb6: x\n        ^\n" },
	{ "control characters are made visible", "a\x1b[0m: x\n", 1, 8,
	    "f.yaml:1:8: error: no [x]\n    a\\x1b[0m: x\n              ^\n" },
	{ "text cannot be turned round",
	    "a\xe2\x80\xae"
	    "b\n",
	    1, 3, "f.yaml:1:3: error: no [x]\n    a\\u202eb\n           ^\n" },
	{ "bytes that are no UTF-8 are made visible",
	    "a\xff"
	    "b\n",
	    1, 3, "f.yaml:1:3: error: no [x]\n    a\\xffb\n         ^\n" },
	{ "the end of a line can be pointed at", "ab\r\n", 1, 3,
	    "f.yaml:1:3: error: no [x]\n    ab\n      ^\n" },
	{ "an empty line is not shown", "a\n\nb\n", 2, 1, "f.yaml:2:1: error: no [x]\n" },
	{ "a place beyond the text has no line", "a\n", 9, 1,
	    "f.yaml:9:1: error: no [x]\n" },
	{ "without a place the file is named", "a\n", 0, 0, "f.yaml: error: no [x]\n" },
};

static void
test_line_and_caret_are_shown(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(lines); i++) {
		struct mark mark = { "f.yaml", lines[i].line, lines[i].column };
		struct report r;
		report_init(&r);
		report_add(
		    &r, SEVERITY_ERROR, mark, str_of(lines[i].source), "x", NULL, "no");
		char *text = as_text(&r);
		if (strcmp(text, lines[i].shown) != 0)
			fail_msg("%s:\n%s", lines[i].promise, text);
		free(text);
		report_fini(&r);
	}
}

static void
test_long_line_is_clipped_round_the_caret(void **state)
{
	struct mark mark = { "f", 1, 5001 };
	struct report r;
	char line[10001];

	(void)state;
	memset(line, 'a', 10000);
	line[5000] = '!';
	line[10000] = '\0';
	report_init(&r);
	report_add(&r, SEVERITY_ERROR, mark, str_of(line), "x", NULL, "no");
	const struct finding *f = &r.finding[0];
	assert_true(strlen(f->source) < 200);
	assert_int_equal(f->source[f->caret], '!');
	assert_memory_equal(f->source, "...a", 4);
	assert_string_equal(f->source + strlen(f->source) - 4, "a...");
	report_fini(&r);
}

static void
test_findings_beyond_the_limit_are_counted(void **state)
{
	struct report r;

	(void)state;
	report_init(&r);
	for (size_t i = 0; i < 150; i++)
		report_add(&r, i % 2 == 0 ? SEVERITY_ERROR : SEVERITY_WARNING,
		    (struct mark){ 0 }, STR_NONE, "x", NULL, "n%zu", i);
	assert_int_equal(r.n, 100);
	assert_int_equal(r.errors, 75);
	assert_int_equal(r.warnings, 75);
	char *text = as_text(&r);
	assert_memory_equal(text, "weir: error: n0 [x]\nweir: warning: n1 [x]\n", 42);
	assert_string_equal(text + strlen(text) - 12, "and 50 more\n");
	free(text);
	report_fini(&r);
}

static void
test_json_can_be_read_whatever_the_file_holds(void **state)
{
	struct mark mark = { "a\"b\\c\n", 1, 2 };
	struct report r;
	struct buf b;
	json_error_t why;

	(void)state;
	report_init(&r);
	report_add(&r, SEVERITY_WARNING, mark, STR("x\x01\xff\"\\"), "some_code",
	    "say \"y\"", "\x02%s", "\xc3\xa4\xe2\x80\xae");
	report_add(&r, SEVERITY_ERROR, (struct mark){ 0 }, STR_NONE, "other", NULL, "z");
	buf_init(&b, 1 << 20);
	report_print_json(&r, &b);
	json_t *all = json_loadb(b.p, b.n, 0, &why);
	assert_non_null(all);
	assert_int_equal(json_array_size(all), 2);
	const json_t *first = json_array_get(all, 0), *second = json_array_get(all, 1);
	assert_string_equal(
	    json_string_value(json_object_get(first, "severity")), "warning");
	assert_string_equal(
	    json_string_value(json_object_get(first, "code")), "some_code");
	assert_string_equal(
	    json_string_value(json_object_get(first, "message")), "\\x02\xc3\xa4\\u202e");
	assert_string_equal(
	    json_string_value(json_object_get(first, "file")), "a\"b\\c\\x0a");
	assert_string_equal(
	    json_string_value(json_object_get(first, "source")), "x\\x01\\xff\"\\");
	assert_int_equal(json_integer_value(json_object_get(first, "column")), 2);
	assert_true(json_is_null(json_object_get(second, "line")));
	assert_true(json_is_null(json_object_get(second, "hint")));
	json_decref(all);
	buf_fini(&b);
	report_fini(&r);
}

static const struct {
	const char *word, *near;
} words[] = {
	{ "polices", "policies" },
	{ "Policies", "policies" },
	{ "state-dir", "state_dir" },
	{ "lsiten", "listen" },
	{ "prodution", "production" },
	{ "usr", "user" },
	{ "sessions", NULL },
	{ "budget", NULL },
	{ "gateway", NULL },
	{ "x", NULL },
	{ "", NULL },
};

static void
test_misspelt_words_find_their_neighbour(void **state)
{
	static const char *const known[] = { "policies", "state_dir", "listen",
		"production", "user", "dns" };

	(void)state;
	for (size_t i = 0; i < COUNT_OF(words); i++) {
		const char *near = report_suggest(str_of(words[i].word), known, 6);
		if ((near == NULL) != (words[i].near == NULL) ||
		    (near != NULL && strcmp(near, words[i].near) != 0))
			fail_msg(
			    "%s: %s", words[i].word, near == NULL ? "nothing" : near);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_line_and_caret_are_shown),
		cmocka_unit_test(test_long_line_is_clipped_round_the_caret),
		cmocka_unit_test(test_findings_beyond_the_limit_are_counted),
		cmocka_unit_test(test_json_can_be_read_whatever_the_file_holds),
		cmocka_unit_test(test_misspelt_words_find_their_neighbour),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
