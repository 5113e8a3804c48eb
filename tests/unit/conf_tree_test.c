/*
 * conf_tree_test.c - YAML is read strictly, and every fault has its place
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "conf/tree.h"
#include "unit.h"

static struct tree *
read_text(const char *text, struct report *rep)
{
	report_init(rep);
	return tree_read_text("t.yaml", str_of(text), rep);
}

/* What is refused, where, and by which code. */
static const struct {
	const char *promise, *text, *code;
	size_t line, column;
} refused[] = {
	{ "anchor", "a: &x 1\n", "anchor", 1, 4 },
	{ "anchor on a block", "a: &x { b: 1 }\n", "anchor", 1, 4 },
	{ "anchor on a list", "a: &x [1]\n", "anchor", 1, 4 },
	{ "anchor on a key", "&x a: 1\n", "anchor", 1, 1 },
	{ "alias", "a: 1\nb: *x\n", "alias", 2, 4 },
	{ "alias as a key", "*x : 1\n", "alias", 1, 1 },
	{ "unquoted star", "a: [*.example.com]\n", "syntax", 1, 6 },
	{ "tag", "a: !!str 1\n", "tag", 1, 4 },
	{ "own tag", "a: !x 1\n", "tag", 1, 4 },
	{ "tag on a list", "a: !!seq [1]\n", "tag", 1, 4 },
	{ "tag on the root", "!!map\na: 1\n", "tag", 1, 1 },
	{ "yaml directive", "%YAML 1.1\n---\na: 1\n", "directive", 1, 1 },
	{ "tag directive", "%TAG ! !foo\n---\na: 1\n", "directive", 1, 1 },
	{ "second document", "a: 1\n---\nb: 1\n", "second_document", 2, 1 },
	{ "second document after an end", "a: 1\n...\n---\nb: 1\n", "second_document", 3,
	    1 },
	{ "merge key", "a: 1\n<<: { b: 1 }\n", "merge_key", 2, 1 },
	{ "duplicate key", "a: 1\nb: 2\na: 3\n", "duplicate_key", 3, 1 },
	{ "duplicate key in flow", "{\"a\": 1, 'a': 2}\n", "duplicate_key", 1, 10 },
	{ "duplicate key deep inside", "l:\n  - { x: 1, x: { y: 1 } }\n", "duplicate_key",
	    2, 13 },
	{ "empty key", "'': 1\n", "bad_key", 1, 1 },
	{ "list as a key", "[a]: 1\n", "bad_key", 1, 1 },
	{ "template left in", "a: {{ name }}\n", "bad_key", 1, 5 },
	{ "empty file", "", "empty", 1, 1 },
	{ "comments alone", "# nothing\n", "empty", 1, 1 },
	{ "null document", "---\n", "empty", 1, 1 },
	{ "list at the top", "- a\n", "wrong_type", 1, 1 },
	{ "text at the top", "hello\n", "wrong_type", 1, 1 },
	{ "tab for indentation", "a:\n\tb: 1\n", "syntax", 2, 1 },
	{ "colon in a value", "a: b: c\n", "syntax", 1, 5 },
	{ "bracket left open", "a: [1, 2\n", "syntax", 2, 1 },
	{ "quote left open", "a: \"b\n", "syntax", 2, 1 },
	{ "bad escape", "a: \"\\q\"\n", "syntax", 1, 5 },
	{ "no UTF-8", "a: 1\nb: x\xff\n", "not_utf8", 2, 5 },
	{ "overlong UTF-8", "a: \xc0\xaf\n", "not_utf8", 1, 4 },
	{ "surrogate", "a: \xed\xa0\x80\n", "not_utf8", 1, 4 },
	{ "cut UTF-8", "a: \xe2\x82", "not_utf8", 1, 4 },
	{ "column counts characters", "a: \xc3\xa4\xc3\xb6\xff\n", "not_utf8", 1, 6 },
	{ "byte order mark",
	    "\xef\xbb\xbf"
	    "a: 1\n",
	    "control_character", 1, 1 },
	{ "escape character", "a: \x1b[0m\n", "control_character", 1, 4 },
	{ "carriage return alone", "a: 1\rb: 2\n", "control_character", 1, 5 },
	{ "line break of Unicode",
	    "a: 1 # \xe2\x80\xa8"
	    "b: 2\n",
	    "control_character", 1, 8 },
	{ "NUL by escape", "a: \"x\\0y\"\n", "control_character", 1, 4 },
};

static void
test_what_is_refused_has_its_code_and_place(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(refused); i++) {
		struct report rep;
		struct tree *t = read_text(refused[i].text, &rep);
		tree_free(t);
		if (rep.n == 0)
			fail_msg("%s: accepted", refused[i].promise);
		const struct finding *f = &rep.finding[0];
		if (strcmp(f->code, refused[i].code) != 0 ||
		    f->mark.line != refused[i].line ||
		    f->mark.column != refused[i].column)
			fail_msg("%s: %s at %zu:%zu (%s)", refused[i].promise, f->code,
			    f->mark.line, f->mark.column, f->text);
		report_fini(&rep);
	}
}

static void
test_json_is_accepted(void **state)
{
	struct report rep;
	struct tree *t = read_text(
	    "{\"a\":{\"b\":[1,\"x\\/y\\u00e4\",true]},\n\t\"c\":\"5s\"}\n", &rep);

	(void)state;
	assert_non_null(t);
	assert_int_equal(rep.errors, 0);
	const struct node *list = node_get(node_get(t->root, "a"), "b");
	assert_int_equal(list->n, 3);
	assert_true(str_eq(list->child->next->text, STR("x/y\xc3\xa4")));
	assert_true(list->child->next->is_quoted);
	assert_false(list->child->is_quoted);
	tree_free(t);
	report_fini(&rep);
}

static void
test_marks_point_at_keys_and_values(void **state)
{
	struct report rep;
	struct tree *t = read_text("a: 1\r\n\xc3\xa4:\r\n  - x\r\n  -   yy\r\n", &rep);
	const struct node *list;

	(void)state;
	assert_non_null(t);
	list = node_get(t->root, "\xc3\xa4");
	assert_non_null(list);
	assert_int_equal(list->key_mark.line, 2);
	assert_int_equal(list->key_mark.column, 1);
	assert_int_equal(list->child->next->mark.line, 4);
	assert_int_equal(list->child->next->mark.column, 7);
	assert_true(str_eq(str_sub(t->source, list->child->next->from, 2), STR("yy")));
	assert_int_equal(list->child->next->to - list->child->next->from, 2);
	assert_null(list->child->next->next);
	tree_free(t);
	report_fini(&rep);
}

static void
test_all_faults_are_found_in_one_run(void **state)
{
	struct report rep;
	struct tree *t = read_text("a: &x 1\nb: *x\na: 2\nc: !t 3\n", &rep);

	(void)state;
	assert_non_null(t);
	assert_int_equal(rep.errors, 4);
	assert_int_equal(t->root->n, 3); /* the second a went nowhere */
	assert_true(str_eq(node_get(t->root, "a")->text, STR("1")));
	assert_true(node_get(t->root, "b")->is_broken);
	tree_free(t);
	report_fini(&rep);
}

static void
test_depth_is_limited_to_32(void **state)
{
	static const char *const codes[] = { "", "too_deep" };
	char text[128];

	(void)state;
	for (size_t more = 0; more < 2; more++) {
		size_t depth = 31 + more;
		struct report rep;
		memcpy(text, "a: ", 3);
		memset(text + 3, '[', depth);
		memset(text + 3 + depth, ']', depth);
		text[3 + 2 * depth] = '\0';
		struct tree *t = read_text(text, &rep);
		assert_int_equal(t == NULL, more == 1);
		assert_string_equal(rep.n > 0 ? rep.finding[0].code : "", codes[more]);
		tree_free(t);
		report_fini(&rep);
	}
}

static void
test_file_beyond_its_limit_is_refused(void **state)
{
	char path[] = "/tmp/conf_tree_test.XXXXXX";
	int fd = mkstemp(path);
	struct report rep;

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(write(fd, "a: 123\n", 7), 7);
	close(fd);
	report_init(&rep);
	struct tree *t = tree_read_file(path, 7, &rep);
	assert_non_null(t);
	tree_free(t);
	assert_null(tree_read_file(path, 6, &rep));
	assert_string_equal(rep.finding[0].code, "too_large");
	unlink(path);
	assert_null(tree_read_file(path, 7, &rep));
	assert_string_equal(rep.finding[1].code, "missing_file");
	assert_null(tree_read_file("/", 7, &rep));
	assert_string_equal(rep.finding[2].code, "unreadable_file");
	report_fini(&rep);
}

/* A file with more values than text is no way to take all memory. */
static void
test_many_small_values_stay_bounded(void **state)
{
	size_t n = 200000;
	char *text = malloc(2 * n + 8);
	struct report rep;
	char *at = text + sprintf(text, "a: [");

	(void)state;
	for (size_t i = 0; i < n; i++)
		at += sprintf(at, "1,");
	at[0] = ']';
	at[1] = '\0';
	struct tree *t = read_text(text, &rep);
	assert_true(t != NULL || strcmp(rep.finding[0].code, "too_large") == 0);
	tree_free(t);
	report_fini(&rep);
	free(text);
}

/* ---- readers of one value */

enum reader { BOOLEAN, INTEGER, DURATION, SIZE, TEXT };

static bool
read_value(enum reader reader, const struct tree *t, const struct node *n,
    struct report *rep, int64_t *out)
{
	struct str text;
	bool is_true = false;

	switch (reader) {
	case BOOLEAN:
		if (!node_bool(t, n, rep, &is_true))
			return false;
		*out = is_true;
		return true;
	case INTEGER:
		return node_int(t, n, rep, -5, 1000, out);
	case DURATION:
		return node_duration(t, n, rep, out);
	case SIZE:
		return node_size(t, n, rep, out);
	case TEXT:
		*out = 0;
		return node_str(t, n, rep, &text);
	}
	return false;
}

static const struct {
	enum reader reader;
	const char *text;
	const char *code; /* NULL: good */
	int64_t value;
} values[] = {
	{ BOOLEAN, "true", NULL, 1 },
	{ BOOLEAN, "false", NULL, 0 },
	{ BOOLEAN, "yes", "bad_boolean", 0 },
	{ BOOLEAN, "no", "bad_boolean", 0 },
	{ BOOLEAN, "on", "bad_boolean", 0 },
	{ BOOLEAN, "off", "bad_boolean", 0 },
	{ BOOLEAN, "True", "bad_boolean", 0 },
	{ BOOLEAN, "TRUE", "bad_boolean", 0 },
	{ BOOLEAN, "'true'", "bad_boolean", 0 },
	{ BOOLEAN, "1", "bad_boolean", 0 },
	{ BOOLEAN, "", "null_value", 0 },
	{ BOOLEAN, "[true]", "wrong_type", 0 },
	{ INTEGER, "0", NULL, 0 },
	{ INTEGER, "1000", NULL, 1000 },
	{ INTEGER, "-5", NULL, -5 },
	{ INTEGER, "-6", "out_of_range", 0 },
	{ INTEGER, "1001", "out_of_range", 0 },
	{ INTEGER, "9223372036854775808", "out_of_range", 0 },
	{ INTEGER, "18446744073709551616", "bad_integer", 0 },
	{ INTEGER, "-0", "bad_integer", 0 },
	{ INTEGER, "+1", "bad_integer", 0 },
	{ INTEGER, "010", "bad_integer", 0 },
	{ INTEGER, "0x10", "bad_integer", 0 },
	{ INTEGER, "0o10", "bad_integer", 0 },
	{ INTEGER, "1_000", "bad_integer", 0 },
	{ INTEGER, "1.0", "bad_integer", 0 },
	{ INTEGER, "1e3", "bad_integer", 0 },
	{ INTEGER, "'80'", "bad_integer", 0 },
	{ INTEGER, "~", "null_value", 0 },
	{ DURATION, "0", NULL, 0 },
	{ DURATION, "250ms", NULL, 250 },
	{ DURATION, "5s", NULL, 5000 },
	{ DURATION, "'5s'", NULL, 5000 },
	{ DURATION, "2m", NULL, 120000 },
	{ DURATION, "24h", NULL, 86400000 },
	{ DURATION, "5", "bad_duration", 0 },
	{ DURATION, "05s", "bad_duration", 0 },
	{ DURATION, "5 s", "bad_duration", 0 },
	{ DURATION, "5S", "bad_duration", 0 },
	{ DURATION, "5sec", "bad_duration", 0 },
	{ DURATION, "1.5s", "bad_duration", 0 },
	{ DURATION, "-5s", "bad_duration", 0 },
	{ DURATION, "1h30m", "bad_duration", 0 },
	{ DURATION, "s", "bad_duration", 0 },
	{ DURATION, "9223372036854775807h", "out_of_range", 0 },
	{ DURATION, "99999999999999999999h", "bad_duration", 0 },
	{ DURATION, "null", "null_value", 0 },
	{ SIZE, "0", NULL, 0 },
	{ SIZE, "512B", NULL, 512 },
	{ SIZE, "16KiB", NULL, 16384 },
	{ SIZE, "10MiB", NULL, 10485760 },
	{ SIZE, "1GiB", NULL, 1073741824 },
	{ SIZE, "2TiB", NULL, 2199023255552 },
	{ SIZE, "10", "bad_size", 0 },
	{ SIZE, "10KB", "bad_size", 0 },
	{ SIZE, "10kib", "bad_size", 0 },
	{ SIZE, "8388608TiB", "out_of_range", 0 },
	{ SIZE, "{}", "wrong_type", 0 },
	{ TEXT, "anything: at all", "wrong_type", 0 },
	{ TEXT, "yes", NULL, 0 },
	{ TEXT, "''", NULL, 0 },
	{ TEXT, "'null'", NULL, 0 },
	{ TEXT, "null", "null_value", 0 },
};

static void
test_values_are_read_strictly(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(values); i++) {
		char text[64];
		struct report rep;
		int64_t value = -1;
		snprintf(text, sizeof(text), "a:\n  %s\n", values[i].text);
		struct tree *t = read_text(text, &rep);
		assert_non_null(t);
		bool is_read =
		    read_value(values[i].reader, t, node_get(t->root, "a"), &rep, &value);
		const char *code = rep.n == 0 ? NULL : rep.finding[0].code;
		if (is_read != (values[i].code == NULL) || is_read != (code == NULL) ||
		    (is_read && value != values[i].value) ||
		    (!is_read && strcmp(code, values[i].code) != 0))
			fail_msg("%s: %s %lld", values[i].text,
			    code == NULL ? "read" : code, (long long)value);
		tree_free(t);
		report_fini(&rep);
	}
}

static void
test_unknown_key_gets_a_suggestion(void **state)
{
	static const char *const known[] = { "host", "ports", "methods" };
	struct report rep;
	struct tree *t = read_text("host: a\nprots: [1]\nzebra: 1\n", &rep);

	(void)state;
	assert_non_null(t);
	node_check_keys(t, t->root, &rep, known, 3);
	assert_int_equal(rep.n, 2);
	assert_string_equal(rep.finding[0].code, "unknown_key");
	assert_string_equal(rep.finding[0].hint, "did you mean \"ports\"?");
	assert_string_equal(rep.finding[0].source, "prots: [1]");
	assert_null(rep.finding[1].hint);
	tree_free(t);
	report_fini(&rep);
}

static void
test_hidden_value_is_in_no_finding(void **state)
{
	struct report rep;
	struct tree *t = read_text(
	    "a: { x: 1, key: hunter\xc3\xa4, y: 2 }\nb: |\n  one\n  two\nc: 3\n", &rep);
	const struct node *a;

	(void)state;
	assert_non_null(t);
	a = node_get(t->root, "a");
	tree_hide(t, node_get(a, "key"));
	tree_hide(t, node_get(t->root, "b"));
	node_error(t, node_get(a, "y"), &rep, "x", NULL, "y");
	node_error(t, node_get(t->root, "c"), &rep, "x", NULL, "c");
	assert_string_equal(rep.finding[0].source, "a: { x: 1, key: ********, y: 2 }");
	assert_string_equal(rep.finding[1].source, "c: 3");
	assert_null(strstr(t->source.p, "one"));
	assert_null(strstr(t->source.p, "two"));
	tree_free(t);
	report_fini(&rep);
}

static void
test_syntax_error_shows_no_line_that_may_hold_a_secret(void **state)
{
	struct report rep;

	(void)state;
	assert_null(read_text("audit: { key: hunter2, key: hunter3 ]\n", &rep));
	for (size_t i = 0; i < rep.n; i++)
		assert_null(rep.finding[i].source);
	report_fini(&rep);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_is_refused_has_its_code_and_place),
		cmocka_unit_test(test_json_is_accepted),
		cmocka_unit_test(test_marks_point_at_keys_and_values),
		cmocka_unit_test(test_all_faults_are_found_in_one_run),
		cmocka_unit_test(test_depth_is_limited_to_32),
		cmocka_unit_test(test_file_beyond_its_limit_is_refused),
		cmocka_unit_test(test_many_small_values_stay_bounded),
		cmocka_unit_test(test_values_are_read_strictly),
		cmocka_unit_test(test_unknown_key_gets_a_suggestion),
		cmocka_unit_test(test_hidden_value_is_in_no_finding),
		cmocka_unit_test(test_syntax_error_shows_no_line_that_may_hold_a_secret),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
