#include "wire/scan.h"

#include <string.h>

#include "json_oracle.h"
#include "unit.h"

enum { MODEL, USAGE, INPUT, CACHED, RUN, RUN_MODEL, KIND, ITEM, PATHS };

static const struct scan_path paths[] = {
	[MODEL] = { { "model" } },
	[USAGE] = { { "usage" } },
	[INPUT] = { { "usage", "input" } },
	[CACHED] = { { "usage", "details", "cached" } },
	[RUN] = { { "usage", "runs", "[]" } },
	[RUN_MODEL] = { { "usage", "runs", "[]", "model" } },
	[KIND] = { { "[]", "kind" } },
	[ITEM] = { { "[]", "list", "[]" } },
};

static void
say(void *arg, unsigned path, const struct scan_value *v)
{
	static const char letters[] = "mUicRrki";
	struct buf *out = arg;

	buf_fmt(out, "%c", letters[path]);
	switch (v->type) {
	case JSON_OBJECT:
	case JSON_ARRAY:
		buf_char(out, v->type == JSON_OBJECT ? '{' : '[');
		break;
	case JSON_OBJECT_END:
	case JSON_ARRAY_END:
		buf_char(out, v->type == JSON_OBJECT_END ? '}' : ']');
		break;
	case JSON_STRING:
		buf_fmt(out, "'%.*s' ", STR_ARG(v->text));
		break;
	case JSON_NUMBER:
		buf_fmt(out, "=%.*s ", STR_ARG(v->text));
		break;
	case JSON_TRUE:
	case JSON_FALSE:
	case JSON_NULL:
		buf_text(out, v->type == JSON_NULL ? "=null " : "=bool ");
		break;
	case JSON_KEY:
	case JSON_END:
	case JSON_BAD:
		fail();
	}
}

static enum scan_state
scan_in_pieces(struct scan *s, struct str text, size_t piece)
{
	for (; text.n > 0; text = str_sub(text, piece, text.n))
		if (scan_feed(s, str_sub(text, 0, piece)) == SCAN_BAD)
			return SCAN_BAD;
	return scan_end(s);
}

static void
test_values_are_found_however_the_text_is_cut(void **state)
{
	static const struct {
		const char *text, *found;
	} cases[] = {
		{ "{}", "" },
		{ "{\"model\":\"a\",\"x\":{\"model\":\"b\"}}", "m'a' " },
		{ "{\"x\":[{\"model\":1}],\"model\":2}", "m=2 " },
		{ "{\"m\\u006fdel\":\"\\ud83c\\udf0a\\n\"}", "m'\xf0\x9f\x8c\x8a\n' " },
		{ " {\"usage\" : {\"input\": 1.25e-07 , \"details\":{\"cached\":12}}} ",
		    "U{i=1.25e-07 c=12 U}" },
		{ "{\"usage\":null}", "U=null " },
		{ "{\"usage\":[{\"input\":3}]}", "U[U]" },
		{ "{\"usage\":{\"input\":true,\"input2\":1}}", "U{i=bool U}" },
		{ "{\"usage\":{\"runs\":[{\"model\":\"a\"},{},{\"model\":null},7]}}",
		    "U{R{r'a' R}R{R}R{r=null R}R=7 U}" },
		{ "[{\"kind\":1,\"list\":[\"a\",[],{}]},{\"kind\":2}]",
		    "k=1 i'a' i[i]i{i}k=2 " },
		{ "{\"[]\":{\"kind\":1}}", "" },
		{ "{\"usage\":{\"runs\":{\"[]\":1}}}", "U{U}" },
		{ "[-0,0.5,1E+3,10]", "" },
		{ "7", "" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++)
		for (size_t piece = 1; piece <= strlen(cases[i].text); piece++) {
			struct buf out;
			struct scan s;

			buf_init(&out, 65536);
			scan_begin(&s, paths, PATHS, say, &out);
			assert_row(cases[i].text,
			    scan_in_pieces(&s, str_of(cases[i].text), piece) ==
				SCAN_DONE);
			assert_string_equal(buf_cstr(&out), cases[i].found);
			assert_false(s.has_duplicate);
			buf_fini(&out);
		}
}

static void
say_nothing(void *arg, unsigned path, const struct scan_value *v)
{
	(void)arg;
	(void)path;
	(void)v;
}

static void
test_what_is_no_json_is_said_to_be_none(void **state)
{
	static const char *const texts[] = { "", "{", "{\"a\"}", "{\"a\":}", "{\"a\":1,}",
		"[1,]", "[1 2]", "[01]", "[1.]", "[.5]", "[1e]", "[+1]", "[-]", "[--1]",
		"[1e+]", "[0x1]", "tru", "[truth]", "nul", "{a:1}", "{'a':1}",
		"{\"a\" 1}", "[\"\\x\"]", "[\"\\u12g4\"]", "[\"\\ud800\"]",
		"[\"\\udc00\"]", "[\"\\ud800\\u0041\"]", "[\"\\ud800x\"]", "[\"\t\"]",
		"[\"\xff\"]", "[\"\xc0\x80\"]", "[\"\xed\xa0\x80\"]",
		"[\"\xf4\x90\x80\x80\"]", "[\"\xe2\x82\"]", "[\"a]", "[1}", "{\"a\":1]",
		"[1]]", "[1] x", "1 2", "]" };

	(void)state;
	for (size_t i = 0; i < COUNT_OF(texts); i++)
		for (size_t piece = 1; piece <= strlen(texts[i]) + 1; piece++) {
			struct scan s;

			scan_begin(&s, paths, PATHS, say_nothing, NULL);
			assert_row(texts[i],
			    scan_in_pieces(&s, str_of(texts[i]), piece) == SCAN_BAD);
			assert_row(texts[i], s.error != NULL);
			assert_row(texts[i], !oracle_reads(str_of(texts[i])));
		}
}

static void
test_a_key_that_stands_twice_is_seen_where_a_path_goes(void **state)
{
	static const struct {
		const char *text;
		bool has_duplicate;
	} cases[] = {
		{ "{\"model\":1,\"model\":2}", true },
		{ "{\"model\":1,\"m\\u006fdel\":2}", true },
		{ "{\"usage\":{\"input\":1},\"usage\":{\"input\":2}}", true },
		{ "{\"usage\":{\"runs\":[{\"model\":1},{\"model\":2}]}}", false },
		{ "{\"usage\":{\"runs\":[{\"model\":1,\"model\":2}]}}", true },
		{ "[{\"kind\":1},{\"kind\":1}]", false },
		{ "{\"x\":1,\"x\":2}", false },
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct scan s;

		scan_begin(&s, paths, PATHS, say_nothing, NULL);
		assert_row(cases[i].text,
		    scan_in_pieces(&s, str_of(cases[i].text), 3) == SCAN_DONE);
		assert_row(cases[i].text, s.has_duplicate == cases[i].has_duplicate);
	}
}

static struct str
nested(struct buf *b, size_t depth)
{
	for (size_t i = 0; i < depth; i++)
		buf_char(b, '[');
	for (size_t i = 0; i < depth; i++)
		buf_char(b, ']');
	return buf_view(b);
}

static void
test_depth_is_capped(void **state)
{
	struct buf b;
	struct scan s;

	(void)state;
	buf_init(&b, 65536);
	scan_begin(&s, paths, PATHS, say_nothing, NULL);
	assert_int_equal(scan_in_pieces(&s, nested(&b, SCAN_DEPTH), 100), SCAN_DONE);
	scan_reset(&s);
	buf_reset(&b);
	assert_int_equal(scan_in_pieces(&s, nested(&b, SCAN_DEPTH + 1), 100), SCAN_BAD);
	buf_fini(&b);
}

static void
keep(void *arg, unsigned path, const struct scan_value *v)
{
	struct scan_value *kept = arg;

	if (path == MODEL)
		*kept = *v;
}

static void
test_a_value_knows_where_it_stands(void **state)
{
	static const char text[] = "{\"a\":1, \"model\" : \"xy\" }";
	struct scan_value v = { 0 };
	struct scan s;

	(void)state;
	scan_begin(&s, paths, PATHS, keep, &v);
	assert_int_equal(scan_in_pieces(&s, str_of(text), 4), SCAN_DONE);
	assert_memory_equal(text + v.key, "\"model\"", 7);
	assert_int_equal(v.end - v.begin, 4);
	assert_memory_equal(text + v.begin, "\"xy\"", 4);
}

static void
test_long_text_is_cut_and_said_to_be(void **state)
{
	struct scan_value v = { 0 };
	struct buf b;
	struct scan s;

	(void)state;
	buf_init(&b, 65536);
	buf_text(&b, "{\"model\":\"");
	for (size_t i = 0; i <= SCAN_TEXT; i++)
		buf_char(&b, 'x');
	buf_text(&b, "\"}");
	scan_begin(&s, paths, PATHS, keep, &v);
	assert_int_equal(scan_in_pieces(&s, buf_view(&b), 7), SCAN_DONE);
	assert_true(v.is_cut);
	assert_int_equal(v.text.n, SCAN_TEXT);
	buf_fini(&b);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_values_are_found_however_the_text_is_cut),
		cmocka_unit_test(test_what_is_no_json_is_said_to_be_none),
		cmocka_unit_test(test_a_key_that_stands_twice_is_seen_where_a_path_goes),
		cmocka_unit_test(test_depth_is_capped),
		cmocka_unit_test(test_a_value_knows_where_it_stands),
		cmocka_unit_test(test_long_text_is_cut_and_said_to_be),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
