#include "base/utf8.h"

#include "unit.h"

static void
test_only_rfc_3629_is_text(void **state)
{
	static const struct {
		const char *name, *bytes;
		size_t n; /* of the first character; 0: none */
		uint32_t code;
	} cases[] = {
		{ "ASCII", "a", 1, 'a' },
		{ "two bytes", "\xc3\xa4", 2, 0xe4 },
		{ "three bytes", "\xe2\x82\xac", 3, 0x20ac },
		{ "four bytes", "\xf0\x9f\x98\x80", 4, 0x1f600 },
		{ "least of two", "\xc2\x80", 2, 0x80 },
		{ "least of three", "\xe0\xa0\x80", 3, 0x800 },
		{ "least of four", "\xf0\x90\x80\x80", 4, 0x10000 },
		{ "the last", "\xf4\x8f\xbf\xbf", 4, 0x10ffff },
		{ "beyond the last", "\xf4\x90\x80\x80", 0, 0 },
		{ "overlong slash", "\xc0\xaf", 0, 0 },
		{ "overlong in three", "\xe0\x80\xaf", 0, 0 },
		{ "overlong in four", "\xf0\x80\x80\xaf", 0, 0 },
		{ "surrogate", "\xed\xa0\x80", 0, 0 },
		{ "before surrogates", "\xed\x9f\xbf", 3, 0xd7ff },
		{ "after surrogates", "\xee\x80\x80", 3, 0xe000 },
		{ "continuation alone", "\x80", 0, 0 },
		{ "cut short", "\xe2\x82", 0, 0 },
		{ "wrong continuation", "\xe2\x28\xa1", 0, 0 },
		{ "five bytes", "\xf8\x88\x80\x80\x80", 0, 0 },
		{ "0xff", "\xff", 0, 0 },
		{ "nothing", "", 0, 0 },
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		uint32_t code = 0;
		size_t n = utf8_char(str_of(cases[i].bytes), &code);

		assert_row(cases[i].name, n == cases[i].n);
		assert_row(cases[i].name, n == 0 || code == cases[i].code);
	}
}

static void
test_one_bad_byte_spoils_the_text(void **state)
{
	(void)state;
	assert_true(utf8_is_valid(STR("")));
	assert_true(utf8_is_valid(STR("gr\xc3\xbc\xc3\x9f\0x")));
	assert_false(utf8_is_valid(STR("gr\xfc\xdf")));
	assert_false(utf8_is_valid(STR("gr\xc3")));
}

static void
test_cutting_keeps_characters_whole(void **state)
{
	struct str s = STR("a\xe2\x82\xac"
			   "b");

	(void)state;
	assert_true(str_eq(utf8_cut(s, 9), s));
	assert_true(str_eq(utf8_cut(s, 4), STR("a\xe2\x82\xac")));
	assert_true(str_eq(utf8_cut(s, 3), STR("a")));
	assert_true(str_eq(utf8_cut(s, 2), STR("a")));
	assert_true(str_eq(utf8_cut(s, 1), STR("a")));
	assert_true(str_eq(utf8_cut(s, 0), STR("")));
	/* bytes that are no text are cut where they are, not eaten */
	assert_int_equal(utf8_cut(STR("\x80\x80\x80\x80\x80\x80\x80"), 6).n, 3);
}

static void
test_what_moves_a_terminal_is_a_control(void **state)
{
	static const uint32_t controls[] = { 0, '\n', 0x1b, 0x7f, 0x85, 0x9b, 0x2028,
		0x202e, 0x2066, 0xfeff };
	static const uint32_t texts[] = { ' ', 'a', 0xa0, 0xe4, 0x20ac, 0x1f600 };

	(void)state;
	for (size_t i = 0; i < COUNT_OF(controls); i++)
		assert_true(utf8_is_control(controls[i]));
	for (size_t i = 0; i < COUNT_OF(texts); i++)
		assert_false(utf8_is_control(texts[i]));
}

int
main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_only_rfc_3629_is_text),
		cmocka_unit_test(test_one_bad_byte_spoils_the_text),
		cmocka_unit_test(test_cutting_keeps_characters_whole),
		cmocka_unit_test(test_what_moves_a_terminal_is_a_control),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
