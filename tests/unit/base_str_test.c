#include "base/str.h"

#include <stdlib.h>
#include <string.h>

#include "unit.h"

static void
test_decimal_is_plain_or_refused(void **state)
{
	static const struct {
		const char *text;
		bool is_number;
		uint64_t value;
	} cases[] = {
		{ "0", true, 0 },
		{ "7", true, 7 },
		{ "65535", true, 65535 },
		{ "18446744073709551615", true, UINT64_MAX },
		{ "18446744073709551616", false, 0 },
		{ "99999999999999999999", false, 0 },
		{ "100000000000000000000", false, 0 },
		{ "", false, 0 },
		{ "00", false, 0 },
		{ "01", false, 0 },
		{ "+1", false, 0 },
		{ "-1", false, 0 },
		{ " 1", false, 0 },
		{ "1 ", false, 0 },
		{ "0x1", false, 0 },
		{ "1e3", false, 0 },
		{ "1.0", false, 0 },
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		uint64_t value = 0;
		bool is_number = str_decimal(str_of(cases[i].text), &value);

		assert_row(cases[i].text, is_number == cases[i].is_number);
		assert_row(cases[i].text, value == cases[i].value);
	}
}

static void
test_digits_are_what_decimal_reads(void **state)
{
	static const uint64_t numbers[] = { 0, 7, 10, 65535, UINT64_MAX - 1, UINT64_MAX };
	char memory[STR_DIGITS];

	(void)state;
	for (size_t i = 0; i < COUNT_OF(numbers); i++) {
		uint64_t value = 1;

		assert_true(str_decimal(str_digits(memory, numbers[i]), &value));
		assert_true(value == numbers[i]);
	}
	assert_true(str_eq(str_digits(memory, 0), STR("0")));
	assert_true(str_eq(str_digits(memory, UINT64_MAX), STR("18446744073709551615")));
}

static void
test_split_gives_every_piece_the_empty_ones_too(void **state)
{
	static const struct {
		const char *text;
		size_t n;
		const char *piece[4];
	} cases[] = {
		{ "", 1, { "" } },
		{ "a", 1, { "a" } },
		{ ",", 2, { "", "" } },
		{ "a,", 2, { "a", "" } },
		{ ",a", 2, { "", "a" } },
		{ "a,b,c", 3, { "a", "b", "c" } },
		{ "a,,b", 3, { "a", "", "b" } },
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct str rest = str_of(cases[i].text), piece;
		size_t n = 0;

		while (str_split(&rest, ',', &piece)) {
			assert_row(cases[i].text, n < cases[i].n);
			assert_row(
			    cases[i].text, str_eq(piece, str_of(cases[i].piece[n])));
			n++;
		}
		assert_row(cases[i].text, n == cases[i].n);
	}
}

static void
test_nothing_splits_into_nothing(void **state)
{
	struct str rest = STR_NONE, piece;

	(void)state;
	assert_false(str_split(&rest, ',', &piece));
}

static void
test_slices_are_clipped_to_what_they_slice(void **state)
{
	struct str s = STR("hello");

	(void)state;
	assert_true(str_eq(str_sub(s, 1, 3), STR("ell")));
	assert_true(str_eq(str_sub(s, 1, SIZE_MAX), STR("ello")));
	assert_true(str_eq(str_sub(s, 9, 1), STR("")));
	assert_true(str_eq(str_sub(STR_NONE, 1, 1), STR_NONE));
}

static void
test_comparing_looks_at_length_and_bytes(void **state)
{
	(void)state;
	assert_true(str_eq(STR(""), STR_NONE));
	assert_true(str_eq(STR("a\0b"), STR("a\0b")));
	assert_false(str_eq(STR("a\0b"), STR("a\0c")));
	assert_false(str_eq(STR("a"), STR("ab")));
	assert_true(str_eq_nocase(STR("Host"), STR("hOST")));
	assert_false(
	    str_eq_nocase(STR("@"), STR("`"))); /* differ by the case bit, no letters */
	assert_false(str_eq_nocase(STR("\xc3\x84"), STR("\xc3\xa4"))); /* ASCII only */
	assert_true(str_starts(STR("abc"), STR("ab")));
	assert_false(str_starts(STR("a"), STR("ab")));
	assert_true(str_ends(STR("abc"), STR("bc")));
	assert_false(str_ends(STR("c"), STR("bc")));
	assert_true(str_ends(STR("c"), STR("")));
}

static void
test_finding_gives_the_first_or_the_last(void **state)
{
	size_t at = 99;

	(void)state;
	assert_false(str_find(STR("abc"), 'x', &at));
	assert_false(str_rfind(STR_NONE, 'x', &at));
	assert_int_equal(at, 99);
	assert_true(str_find(STR("a:b:c"), ':', &at));
	assert_int_equal(at, 1);
	assert_true(str_rfind(STR("a:b:c"), ':', &at));
	assert_int_equal(at, 3);
}

static void
test_trim_takes_space_and_tab_only(void **state)
{
	(void)state;
	assert_true(str_eq(str_trim(STR(" \ta b\t ")), STR("a b")));
	assert_true(str_eq(str_trim(STR("\x0b"
					"a\r\n")),
	    STR("\x0b"
		"a\r\n")));
	assert_true(str_eq(str_trim(STR(" \t ")), STR("")));
}

static void
test_what_does_not_fit_is_left_out_whole_and_remembered(void **state)
{
	struct buf b;

	(void)state;
	buf_init(&b, 8);
	buf_text(&b, "12345");
	assert_false(b.is_over);
	buf_text(&b, "6789");
	assert_true(b.is_over);
	assert_true(str_eq(buf_view(&b), STR("12345")));
	buf_fmt(&b, "%s", "6789");
	assert_true(str_eq(buf_view(&b), STR("12345")));
	buf_fmt(&b, "%d", 678);
	assert_true(str_eq(buf_view(&b), STR("12345678")));
	assert_string_equal(buf_cstr(&b), "12345678");
	assert_null(buf_room(&b, 1));
	buf_reset(&b);
	assert_false(b.is_over);
	assert_int_equal(b.n, 0);
	buf_fini(&b);
}

static void
test_a_buf_of_nothing_is_empty_text(void **state)
{
	struct buf b;

	(void)state;
	buf_init(&b, 0);
	assert_string_equal(buf_cstr(&b), "");
	assert_int_equal(buf_view(&b).n, 0);
	assert_non_null(buf_view(&b).p);
	buf_add(&b, NULL, 0);
	assert_false(b.is_over);
	buf_char(&b, 'x');
	assert_true(b.is_over);
	buf_fini(&b);
}

static void
test_a_buf_grows_to_its_limit_exactly(void **state)
{
	struct buf b;

	(void)state;
	for (size_t max = 1; max < 300; max++) {
		buf_init(&b, max);
		for (size_t i = 0; i < max; i++)
			buf_char(&b, 'x');
		assert_false(b.is_over);
		assert_true(b.cap <= max + 1 || b.cap == 64);
		buf_char(&b, 'x');
		assert_true(b.is_over);
		assert_int_equal(strlen(buf_cstr(&b)), max);
		buf_fini(&b);
	}
}

static void
test_room_is_written_and_then_counted(void **state)
{
	struct buf b;
	char *room;

	(void)state;
	buf_init(&b, 100);
	room = buf_room(&b, 100);
	assert_non_null(room);
	for (size_t i = 0; i < 6; i++)
		room[i] = "abcdef"[i];
	buf_grew(&b, 6);
	assert_null(buf_room(&b, 95));
	assert_false(b.is_over); /* nothing was left out: nobody added it */
	buf_drop(&b, 2);
	assert_true(str_eq(buf_view(&b), STR("cdef")));
	buf_drop(&b, 4);
	assert_int_equal(b.n, 0);
	buf_fini(&b);
}

static void
test_copies_end_with_a_nul(void **state)
{
	char *copy = str_dup(STR_NONE);

	(void)state;
	assert_string_equal(copy, "");
	free(copy);
	copy = mem_strdup("text");
	assert_string_equal(copy, "text");
	free(copy);
}

static void
test_hex_digits_have_values(void **state)
{
	(void)state;
	assert_int_equal(ascii_hex_value('0'), 0);
	assert_int_equal(ascii_hex_value('f'), 15);
	assert_int_equal(ascii_hex_value('A'), 10);
	assert_int_equal(ascii_hex_value('g'), -1);
	assert_int_equal(ascii_hex_value('\xb1'), -1);
	assert_false(ascii_is_hex('/'));
	assert_true(ascii_is_alnum('Z'));
	assert_false(ascii_is_alnum('\xe4'));
}

int
main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_decimal_is_plain_or_refused),
		cmocka_unit_test(test_digits_are_what_decimal_reads),
		cmocka_unit_test(test_split_gives_every_piece_the_empty_ones_too),
		cmocka_unit_test(test_nothing_splits_into_nothing),
		cmocka_unit_test(test_slices_are_clipped_to_what_they_slice),
		cmocka_unit_test(test_comparing_looks_at_length_and_bytes),
		cmocka_unit_test(test_finding_gives_the_first_or_the_last),
		cmocka_unit_test(test_trim_takes_space_and_tab_only),
		cmocka_unit_test(test_what_does_not_fit_is_left_out_whole_and_remembered),
		cmocka_unit_test(test_a_buf_of_nothing_is_empty_text),
		cmocka_unit_test(test_a_buf_grows_to_its_limit_exactly),
		cmocka_unit_test(test_room_is_written_and_then_counted),
		cmocka_unit_test(test_copies_end_with_a_nul),
		cmocka_unit_test(test_hex_digits_have_values),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
