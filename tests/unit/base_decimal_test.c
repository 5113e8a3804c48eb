/* base/decimal: numbers and sums are exact, or refused */
#include "unit.h"

#include "base/decimal.h"

static void
test_reported_cost_is_rounded_up(void **state)
{
	static const struct {
		const char *text;
		usd_nano n;
	} rows[] = {
		{ "2.8e-07", 280 },
		{ "0.0000900001", 90001 },
		{ "0", 0 },
		{ "0e5", 0 },
		{ "0e99999999999999999999", 0 },
		{ "1E-30", 1 },
		{ "1e-99999999999", 1 },
		{ "2.5E+1", 25000000000 },
		{ "1e99999999999", -1 },
		{ "1e20", -1 },
		{ "-0.1", -1 },
		{ "None", -1 },
		{ "NaN", -1 },
		{ "1e", -1 },
		{ "", -1 },
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		usd_nano n = -1;
		bool is_read = usd_round_up(str_of(rows[i].text), &n);

		assert_row(rows[i].text, is_read == (rows[i].n >= 0));
		assert_row(rows[i].text, n == rows[i].n);
	}
}

static void
test_rates_are_scaled_from_their_text(void **state)
{
	static const struct {
		const char *text;
		uint64_t n;
		bool has_more;
	} rows[] = {
		{ "1.25e-07", 125000000, false },
		{ "1e-05", 10000000000, false },
		{ "0.00001", 10000000000, false },
		{ "2e-15", 2, false },
		{ "2.5e-15", 2, true },
		{ "1e-16", 0, true },
		{ "0.0", 0, false },
		{ "1", 1000000000000000, false },
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		bool has_more;
		wide n;

		assert_row(
		    rows[i].text, decimal_read(str_of(rows[i].text), 15, &n, &has_more));
		assert_row(rows[i].text, n == rows[i].n && has_more == rows[i].has_more);
	}
}

static void
test_what_does_not_fit_is_no_smaller_sum(void **state)
{
	wide n = ~(wide)0;
	usd_nano usd;

	(void)state;
	assert_false(wide_add(&n, 1));
	n = ~(wide)0;
	assert_false(wide_mul(&n, 2));
	assert_false(wide_usd((wide)INT64_MAX + 1, 1, &usd));
	assert_true(wide_usd((wide)INT64_MAX, 1, &usd));
	assert_true(usd == INT64_MAX);
	assert_true(wide_usd(1000001, 1000000, &usd));
	assert_true(usd == 2);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_reported_cost_is_rounded_up),
		cmocka_unit_test(test_rates_are_scaled_from_their_text),
		cmocka_unit_test(test_what_does_not_fit_is_no_smaller_sum),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
