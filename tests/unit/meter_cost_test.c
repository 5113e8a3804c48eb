/* meter/cost: a call costs exactly what the table says, rounded up once */
#include "unit.h"

#include <string.h>

#include "meter/cost.h"

#define TABLE \
	"{\"a\":{\"input_cost_per_token\":2e-06,\"output_cost_per_token\":1e-05," \
	"\"cache_read_input_token_cost\":1e-07,\"cache_creation_input_token_cost\":2." \
	"5e-06," \
	"\"cache_creation_input_token_cost_above_1hr\":4e-06," \
	"\"input_cost_per_audio_token\":3e-06,\"output_cost_per_audio_token\":2e-05," \
	"\"input_cost_per_token_batches\":1e-06,\"output_cost_per_token_batches\":5e-" \
	"06," \
	"\"search_context_cost_per_query\":{\"search_context_size_medium\":0.01}," \
	"\"weir_file_search_cost_per_call\":0.0025," \
	"\"provider_specific_entry\":{\"us\":1.1,\"fast\":2.0}}," \
	"\"b\":{\"input_cost_per_token\":1e-15,\"output_cost_per_token\":1e-15," \
	"\"search_context_cost_per_query\":{\"search_context_size_medium\":0.035}," \
	"\"weir_search_unit\":\"prompt\"}," \
	"\"c\":{\"input_cost_per_token\":1,\"output_cost_per_token\":1," \
	"\"output_cost_per_reasoning_token\":0.5}}"

static struct prices *prices;

static int
set_up(void **state)
{
	struct report rep;

	(void)state;
	report_init(&rep);
	int err = prices_read(&prices, "prices.json", STR(TABLE), &rep);

	report_fini(&rep);
	return err;
}

static int
tear_down(void **state)
{
	(void)state;
	prices_free(prices);
	return 0;
}

static void
test_cost_is_exact_and_rounded_up_once(void **state)
{
	static const struct {
		const char *name, *model;
		struct run run;
		bool is_fast;
		enum region region;
		usd_nano cost; /* -1: too large, -2: unpriced */
	} rows[] = {
		{ "plain", "a", { .input_total = 2095, .output = 503 }, false, 0,
		    9220000 },
		{ "cache is inside the prompt", "a",
		    { .input_total = 94733,
			.cache_read = 90112,
			.cache_write = 1200,
			.cache_write_long = 3400,
			.output = 777 },
		    false, 0, 33423200 },
		{ "audio has rates of its own", "a",
		    { .input_total = 100, .audio_in = 60, .output = 50, .audio_out = 20 },
		    false, 0, 80000 + 180000 + 300000 + 400000 },
		{ "batch", "a",
		    { .tier = TIER_BATCH, .input_total = 3210, .output = 456 }, false, 0,
		    5490000 },
		{ "multipliers multiply tokens, not fees", "a",
		    { .input_total = 1000,
			.output = 100,
			.searches = 2,
			.file_searches = 1 },
		    true, REGION_US, 6600000 + 20000000 + 2500000 },
		{ "no multiplier said is none", "a", { .input_total = 1000 }, false,
		    REGION_EU, 2000000 },
		{ "one fee for a grounded prompt", "b", { .searches = 3 }, false, 0,
		    35000000 },
		{ "a millionth of a nano-dollar is one", "b", { .input_total = 1 }, false,
		    0, 1 },
		{ "exactly one is one", "b", { .input_total = 1000000 }, false, 0, 1 },
		{ "nothing costs nothing", "b", { .input_total = 0 }, false, 0, 0 },
		{ "thinking at a rate of its own", "c", { .output = 3, .reasoning = 2 },
		    false, 0, 2 * USD_NANO },
		{ "parts above the whole are not paid back", "a",
		    { .input_total = 10, .cache_read = 20 }, false, 0, 2000 },
		{ "beyond all money", "c", { .input_total = USAGE_TOKENS_MAX }, false, 0,
		    -1 },
		{ "unknown model", "nobody", { .input_total = 1 }, false, 0, -2 },
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct usage u = {
			.nrun = 1, .is_fast = rows[i].is_fast, .region = rows[i].region
		};
		usd_nano cost = -1;

		u.run[0] = rows[i].run;
		usage_name(u.model, str_of(rows[i].model));
		enum cost_error error = cost_of(prices, &u, 0, &cost);

		assert_row(
		    rows[i].name, error == (rows[i].cost == -2      ? COST_UNPRICED
					       : rows[i].cost == -1 ? COST_TOO_LARGE
								    : COST_OK));
		if (error == COST_OK)
			assert_row(rows[i].name, cost == rows[i].cost);
	}
}

static void
test_runs_of_several_models_are_rounded_together(void **state)
{
	struct usage u = { .nrun = 0 };
	usd_nano cost;

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		struct run *r = usage_add(&u);

		usage_name(r->model, STR("b"));
		r->input_total = 400000; /* 0.4 n$ */
	}
	assert_int_equal(cost_of(prices, &u, 0, &cost), COST_OK);
	assert_true(cost == 2);
	usage_name(usage_add(&u)->model, STR("nobody"));
	assert_int_equal(cost_of(prices, &u, 0, &cost), COST_UNPRICED);
}

static void
test_runs_beyond_the_room_are_kept_in_another(void **state)
{
	struct usage u = { .nrun = 0 };
	struct run more = { .input_total = 5, .output = 7 };

	(void)state;
	usage_name(more.model, STR("b"));
	for (size_t i = 0; i < USAGE_RUNS; i++)
		usage_name(usage_add(&u)->model, i % 2 == 0 ? STR("a") : STR("b"));
	assert_null(usage_add(&u));
	usage_fold(&u, &more);
	assert_false(u.is_absurd);
	assert_true(u.run[1].input_total == 5 && usage_total(&u).output == 7);
	usage_name(more.model, STR("c"));
	usage_fold(&u, &more);
	assert_true(u.is_absurd);
}

static void
test_counts_are_whole_and_sane(void **state)
{
	static const struct {
		const char *text;
		int64_t n; /* -1: absurd */
	} rows[] = { { "0", 0 }, { "12", 12 }, { "1e3", 1000 }, { "1.0", 1 },
		{ "-1", -1 }, { "1.5", -1 }, { "1e18", -1 }, { "x", -1 } };

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct usage u = { .nrun = 0 };
		int64_t n = -1;

		assert_row(rows[i].text,
		    usage_count(&u, str_of(rows[i].text), &n) == (rows[i].n >= 0));
		assert_row(
		    rows[i].text, n == rows[i].n && u.is_absurd == (rows[i].n < 0));
	}
}

static void
test_bill_says_what_is_odd_about_a_reported_cost(void **state)
{
	static const struct {
		const char *name, *model;
		int64_t input; /* of 2000 n$ each */
		bool has_reported, trusts;
		usd_nano reported;
		struct bill bill;
		bool is_settled;
	} rows[] = {
		{ "the table", "a", 1000, false, false, 0,
		    { .cost = 2000000, .basis = BASIS_TABLE }, true },
		{ "not asked for", "a", 1000, true, false, 2100000,
		    { .cost = 2000000, .basis = BASIS_TABLE }, true },
		{ "trusted", "a", 1000, true, true, 2100000,
		    { .cost = 2100000, .basis = BASIS_REPORTED }, true },
		{ "zero with tokens", "a", 1000, true, true, 0,
		    { .cost = 2000000, .basis = BASIS_TABLE, .reported_zero = true },
		    true },
		{ "zero without", "a", 0, true, true, 0,
		    { .cost = 0, .basis = BASIS_REPORTED }, true },
		{ "far off", "a", 10000000, true, true, 15 * USD_NANO,
		    { .cost = 15 * USD_NANO,
			.basis = BASIS_REPORTED,
			.reported_off = true },
		    true },
		{ "only a tenth off", "a", 10000000, true, true, 22 * USD_NANO,
		    { .cost = 22 * USD_NANO, .basis = BASIS_REPORTED }, true },
		{ "no price", "nobody", 10, true, true, 5,
		    { .cost = 5, .basis = BASIS_REPORTED, .is_unpriced = true }, true },
		{ "no price, and nobody trusts it", "nobody", 10, true, false, 5,
		    { .cost = 0, .basis = BASIS_TABLE, .is_unpriced = true }, false },
		{ "zero with tokens that have no price", "nobody", 10, true, true, 0,
		    { .cost = 0,
			.basis = BASIS_TABLE,
			.reported_zero = true,
			.is_unpriced = true },
		    false },
		{ "neither", "nobody", 10, false, true, 0,
		    { .cost = 0, .basis = BASIS_TABLE, .is_unpriced = true }, false },
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct usage u = { .nrun = 1,
			.has_reported = rows[i].has_reported,
			.reported = rows[i].reported };
		struct bill b;

		u.run[0].input_total = rows[i].input;
		usage_name(u.model, str_of(rows[i].model));
		assert_row(rows[i].name,
		    bill_of(&b, prices, &u, 0, rows[i].trusts) == rows[i].is_settled);
		assert_row(rows[i].name, b.cost == rows[i].bill.cost);
		assert_row(rows[i].name, b.basis == rows[i].bill.basis);
		assert_row(rows[i].name, b.reported_zero == rows[i].bill.reported_zero);
		assert_row(rows[i].name, b.reported_off == rows[i].bill.reported_off);
		assert_row(rows[i].name, b.is_unpriced == rows[i].bill.is_unpriced);
	}
}

static void
test_absurd_counts_leave_only_a_trusted_cost(void **state)
{
	struct usage u = { .nrun = 1, .is_absurd = true, .has_reported = true };
	struct bill b;

	(void)state;
	usage_name(u.model, STR("a"));
	u.reported = 7;
	assert_false(bill_of(&b, prices, &u, 0, false));
	assert_true(bill_of(&b, prices, &u, 0, true));
	assert_true(b.cost == 7 && b.basis == BASIS_REPORTED);
	u.reported = 0; /* the table cannot count either */
	assert_false(bill_of(&b, prices, &u, 0, true));
	assert_true(b.reported_zero);
}

static void
test_a_trusted_cost_above_the_ceiling_is_what_the_bill_says(void **state)
{
	struct usage u = { .has_reported = true, .reported = 7 };

	(void)state;
	assert_true(bill_says_more(&u, 6, true));
	assert_false(bill_says_more(&u, 6, false));
	assert_false(bill_says_more(&u, 7, true));
	u.has_reported = false;
	assert_false(bill_says_more(&u, 6, true));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cost_is_exact_and_rounded_up_once),
		cmocka_unit_test(test_runs_of_several_models_are_rounded_together),
		cmocka_unit_test(test_runs_beyond_the_room_are_kept_in_another),
		cmocka_unit_test(test_counts_are_whole_and_sane),
		cmocka_unit_test(test_bill_says_what_is_odd_about_a_reported_cost),
		cmocka_unit_test(test_absurd_counts_leave_only_a_trusted_cost),
		cmocka_unit_test(
		    test_a_trusted_cost_above_the_ceiling_is_what_the_bill_says),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
