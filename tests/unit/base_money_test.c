/*
 * base_money_test.c - what money.h promises: exact, or not at all
 */
#include "base/money.h"

#include "unit.h"

static const struct {
	const char *text;
	usd_nano amount; /* -1: no amount */
} amounts[] = {
	{ "0", 0 },
	{ "0.000000001", 1 },
	{ "0.50", 500000000 },
	{ "5", 5 * USD_NANO },
	{ "100.123456789", 100123456789 },
	{ "9223372036.854775807", INT64_MAX },
	{ "9223372036.854775808", -1 },
	{ "9223372037", -1 },
	{ "0.0000000001", -1 },
	{ "00.5", -1 },
	{ "05", -1 },
	{ ".5", -1 },
	{ "5.", -1 },
	{ "-1", -1 },
	{ "+1", -1 },
	{ "1e3", -1 },
	{ "1,5", -1 },
	{ " 1", -1 },
	{ "1.5x", -1 },
	{ "", -1 },
};

static void
test_amounts_are_read_exactly_or_refused(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(amounts); i++) {
		usd_nano got = -1;
		bool is_read = usd_read(str_of(amounts[i].text), &got);

		assert_row(amounts[i].text, is_read == (amounts[i].amount >= 0));
		assert_row(amounts[i].text, got == amounts[i].amount);
	}
}

static void
test_amounts_are_printed_in_their_shortest_form(void **state)
{
	char out[USD_TEXT];

	(void)state;
	assert_string_equal(usd_print(0, out), "0");
	assert_string_equal(usd_print(412000000, out), "0.412");
	assert_string_equal(usd_print(-3 * USD_NANO, out), "-3");
	assert_string_equal(usd_print(10 * USD_NANO, out), "10");
	assert_string_equal(usd_print(INT64_MIN, out), "-9223372036.854775808");
}

static void
test_what_does_not_fit_is_said_and_changes_nothing(void **state)
{
	usd_nano out = 7;

	(void)state;
	assert_false(money_add(INT64_MAX, 1, &out));
	assert_int_equal(out, 7);
	assert_true(money_add(INT64_MAX - 1, 1, &out));
	assert_int_equal(out, INT64_MAX);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_amounts_are_read_exactly_or_refused),
		cmocka_unit_test(test_amounts_are_printed_in_their_shortest_form),
		cmocka_unit_test(test_what_does_not_fit_is_said_and_changes_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
