#include "wire/json.h"

#include <stdlib.h>
#include <string.h>

#include "json_oracle.h"
#include "unit.h"

static void
test_what_is_written_has_its_commas_and_escapes(void **state)
{
	struct json_out j;
	struct buf b;

	(void)state;
	buf_init(&b, 4096);
	json_out_init(&j, &b);
	json_open(&j, '{');
	json_key(&j, "a");
	json_int(&j, INT64_MIN);
	json_key(&j, "b");
	json_open(&j, '[');
	json_bool(&j, true);
	json_null(&j);
	json_text(&j, NULL);
	json_open(&j, '{');
	json_close(&j, '}');
	json_raw(&j, STR("[1]"));
	json_close(&j, ']');
	json_key(&j, "c\"");
	json_str(&j, STR("\"\\/\n\x01\x7f\xc3\xa9\xff\xed\xa0\x80z\0"));
	json_close(&j, '}');
	assert_string_equal(buf_cstr(&b),
	    "{\"a\":-9223372036854775808,\"b\":[true,null,null,{},[1]],\"c\\\"\":"
	    "\"\\\"\\\\/\\u000a\\u0001\x7f\xc3\xa9"
	    "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbdz\\u0000\"}");
	buf_fini(&b);
}

struct json_case {
	struct str text;
	bool is_json;
};

static const struct json_case texts[] = {
#define TEXT(text, is_json) \
	{ \
		{ text, sizeof(text) - 1 }, is_json \
	}
	TEXT("{}", true),
	TEXT(" [ ] ", true),
	TEXT("\"a\"", true),
	TEXT("0", true),
	TEXT("-0", true),
	TEXT("-1.50e+10", true),
	TEXT("1E5", true),
	TEXT("null", true),
	TEXT("[true,false,null,1,\"x\",{},[]]", true),
	TEXT("{\"a\":{\"b\":[1,2]},\"c\":\"d\"}\n", true),
	TEXT("\"\\u00e9\\ud83d\\ude00\\\"\\\\\\/\\b\\f\\n\\r\\t\"", true),
	TEXT("\"\xc3\xa9\xf0\x9f\x98\x80\"", true),
	TEXT("{\"a\":1,\"A\":2}", true),

	TEXT("", false),
	TEXT(" ", false),
	TEXT("{", false),
	TEXT("[1", false),
	TEXT("[1,]", false),
	TEXT("[,1]", false),
	TEXT("[1 2]", false),
	TEXT("[1}", false),
	TEXT("{\"a\":1]", false),
	TEXT("{\"a\"}", false),
	TEXT("{\"a\":}", false),
	TEXT("{\"a\" 1}", false),
	TEXT("{\"a\":1,}", false),
	TEXT("{a:1}", false),
	TEXT("{1:1}", false),
	TEXT("{} {}", false),
	TEXT("1 2", false),
	TEXT("01", false),
	TEXT("+1", false),
	TEXT("-", false),
	TEXT("1.", false),
	TEXT(".5", false),
	TEXT("1e", false),
	TEXT("0x1", false),
	TEXT("NaN", false),
	TEXT("-Infinity", false),
	TEXT("nul", false),
	TEXT("nulls", false),
	TEXT("True", false),
	TEXT("'a'", false),
	TEXT("\"a", false),
	TEXT("\"\\", false),
	TEXT("\"\\x\"", false),
	TEXT("\"\\u12\"", false),
	TEXT("\"\\u12g4\"", false),
	TEXT("\"\\ud83d\"", false),
	TEXT("\"\\ude00\"", false),
	TEXT("\"\\ud83d\\u0041\"", false),
	TEXT("\"\n\"", false),
	TEXT("\"\x1f\"", false),
	TEXT("\"a\0b\"", false),
	TEXT("\"\\\0\"", false),
	TEXT("\"\xff\"", false),
	TEXT("\"\xc0\x80\"", false),
	TEXT("\"\xed\xa0\x80\"", false),
	TEXT("\"\\\xc3\xa9\"", false),
	TEXT("\xef\xbb\xbf{}", false),
	TEXT("/**/1", false),
	TEXT("{\"a\":1,\"b\":2,\"a\":3}", false),
	TEXT("{\"a\":1,\"\\u0061\":3}", false),
	TEXT("[{\"\":{},\"\":1}]", false),
};

/* The tree as text again. */
static void
write_value(struct json_out *j, const struct json_value *v)
{
	if (v->type == JSON_OBJECT || v->type == JSON_ARRAY) {
		bool is_object = v->type == JSON_OBJECT;
		size_t n = 0;

		json_open(j, is_object ? '{' : '[');
		for (const struct json_value *c = v->child; c != NULL; c = c->next, n++) {
			if (is_object) {
				char *key = str_dup(c->key);

				json_key(j, key);
				free(key);
			}
			write_value(j, c);
		}
		assert_int_equal(n, v->n);
		json_close(j, is_object ? '}' : ']');
	} else if (v->type == JSON_STRING)
		json_str(j, v->text);
	else if (v->type == JSON_NUMBER)
		json_raw(j, v->text);
	else if (v->type == JSON_NULL)
		json_null(j);
	else
		json_bool(j, v->type == JSON_TRUE);
}

static void
test_a_text_is_read_as_another_reader_does(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(texts); i++) {
		const char *error = "none";
		struct arena a;

		arena_init(&a, 1 << 20);
		struct str text = texts[i].text;
		char *copy = arena_alloc(&a, text.n + 1);
		struct json_value *v;

		memcpy(copy, text.p, text.n);
		v = json_parse((struct str){ copy, text.n }, &a, &error);
		assert_row(text.p, (v != NULL) == texts[i].is_json);
		assert_row(text.p, oracle_reads(text) == texts[i].is_json);
		assert_row(text.p, (error == NULL) == texts[i].is_json);
		if (v != NULL) {
			struct json_out j;
			struct buf b;

			buf_init(&b, 4096);
			json_out_init(&j, &b);
			write_value(&j, v);
			assert_row(text.p, oracle_same(text, buf_view(&b)));
			buf_fini(&b);
		}
		arena_fini(&a);
	}
}

static void
test_tokens_come_in_order_with_their_text(void **state)
{
	static const struct {
		enum json_token token;
		const char *text;
	} want[] = {
		{ JSON_OBJECT, NULL },
		{ JSON_KEY, "a" },
		{ JSON_ARRAY, NULL },
		{ JSON_NUMBER, "1.0e2" },
		{ JSON_STRING, "x\ny" },
		{ JSON_ARRAY_END, NULL },
		{ JSON_KEY, "b\"" },
		{ JSON_OBJECT, NULL },
		{ JSON_OBJECT_END, NULL },
		{ JSON_KEY, "c" },
		{ JSON_FALSE, NULL },
		{ JSON_OBJECT_END, NULL },
		{ JSON_END, NULL },
		{ JSON_END, NULL },
	};
	struct json_in j;
	struct arena a;

	(void)state;
	arena_init(&a, 1 << 10);
	json_in_init(
	    &j, STR(" {\"a\":[1.0e2,\"x\\ny\"],\"b\\\"\" :\t{}, \"c\":false}\r\n"), &a);
	for (size_t i = 0; i < COUNT_OF(want); i++) {
		assert_int_equal(json_next(&j), want[i].token);
		if (want[i].text != NULL)
			assert_true(str_eq(j.text, str_of(want[i].text)));
	}
	arena_fini(&a);
}

static void
test_a_value_is_skipped_whole(void **state)
{
	struct json_in j;
	struct arena a;

	(void)state;
	arena_init(&a, 1 << 10);
	json_in_init(&j, STR("{\"a\":[{\"b\":[]},2],\"c\":3,\"d\":tru}"), &a);
	assert_int_equal(json_next(&j), JSON_OBJECT);
	assert_int_equal(json_next(&j), JSON_KEY);
	assert_true(json_skip(&j));
	assert_int_equal(json_next(&j), JSON_KEY);
	assert_true(str_eq(j.text, STR("c")));
	assert_true(json_skip(&j));
	assert_int_equal(json_next(&j), JSON_KEY);
	assert_false(json_skip(&j));
	assert_int_equal(j.at, 28);
	assert_non_null(j.error);
	assert_int_equal(json_next(&j), JSON_BAD);
	arena_fini(&a);
}

static void
test_depth_is_bounded(void **state)
{
	char text[2 * (JSON_DEPTH + 1)];
	const char *error;
	struct arena a;

	(void)state;
	arena_init(&a, 1 << 20);
	memset(text, '[', JSON_DEPTH);
	memset(text + JSON_DEPTH, ']', JSON_DEPTH);
	assert_non_null(json_parse((struct str){ text, 2 * JSON_DEPTH }, &a, &error));
	memset(text, '[', JSON_DEPTH + 1);
	memset(text + JSON_DEPTH + 1, ']', JSON_DEPTH + 1);
	assert_null(json_parse((struct str){ text, sizeof(text) }, &a, &error));
	assert_string_equal(error, "nested too deeply");
	arena_fini(&a);
}

static void
test_a_nul_does_not_end_a_text(void **state)
{
	const char *error;
	struct arena a;

	(void)state;
	arena_init(&a, 1 << 10);
	assert_null(json_parse(STR("1\0"), &a, &error));
	assert_null(json_parse(STR("[1\0]"), &a, &error));
	arena_fini(&a);
}

static void
test_a_text_beyond_the_arena_is_refused(void **state)
{
	const char *error;
	struct arena a;

	(void)state;
	arena_init(&a, 64);
	assert_null(json_parse(STR("[1,2,3,4,5,6,7,8,9]"), &a, &error));
	assert_string_equal(error, "text is too large");
	arena_fini(&a);
}

static void
test_members_are_found_by_name(void **state)
{
	const char *error;
	struct arena a;

	(void)state;
	arena_init(&a, 1 << 16);
	struct json_value *v =
	    json_parse(STR("{\"a\":1,\"b\":{\"c\":\"d\"}}"), &a, &error);

	assert_non_null(v);
	assert_null(json_get(v, "c"));
	assert_null(json_get(NULL, "c"));
	assert_null(json_get(json_get(v, "a"), "c"));
	assert_true(str_eq(json_get(json_get(v, "b"), "c")->text, STR("d")));
	arena_fini(&a);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_is_written_has_its_commas_and_escapes),
		cmocka_unit_test(test_a_text_is_read_as_another_reader_does),
		cmocka_unit_test(test_tokens_come_in_order_with_their_text),
		cmocka_unit_test(test_a_value_is_skipped_whole),
		cmocka_unit_test(test_depth_is_bounded),
		cmocka_unit_test(test_a_nul_does_not_end_a_text),
		cmocka_unit_test(test_a_text_beyond_the_arena_is_refused),
		cmocka_unit_test(test_members_are_found_by_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
