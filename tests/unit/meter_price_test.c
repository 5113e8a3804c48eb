/* meter/price: a rate is what its digits say, and what is not said is never free */
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "meter/price.h"

static struct prices *
read_prices(const char *text)
{
	struct prices *p = NULL;
	struct report rep;

	report_init(&rep);
	if (prices_read(&p, "prices.json", str_of(text), &rep) != 0)
		fail_msg("%s", rep.n > 0 ? rep.finding[0].text : "no finding");
	report_fini(&rep);
	return p;
}

#define ENTRY(keys) "{\"m\":{\"mode\":\"chat\"," keys "}}"

static void
test_what_is_not_said_is_never_cheaper(void **state)
{
	/* n$ for a million tokens */
	static const struct {
		const char *name, *text;
		int64_t prompt;
		enum tier tier;
		nano_per_mtok input, output, read, write, write_long, audio_in;
	} rows[] = {
		{ "plain rates stand in for all others",
		    ENTRY(
			"\"input_cost_per_token\":1e-06,\"output_cost_per_token\":5e-06"),
		    10, TIER_STANDARD, 1000000000, 5000000000, 1000000000, 1000000000,
		    1000000000, 1000000000 },
		{ "an hour costs no less than five minutes",
		    ENTRY(
			"\"input_cost_per_token\":1e-06,\"output_cost_per_token\":5e-06,"
			"\"cache_creation_input_token_cost\":1.25e-06"),
		    10, TIER_STANDARD, 1000000000, 5000000000, 1000000000, 1250000000,
		    1250000000, 1000000000 },
		{ "an hour costs no less than input",
		    ENTRY(
			"\"input_cost_per_token\":1e-06,\"output_cost_per_token\":5e-06,"
			"\"cache_creation_input_token_cost\":0"),
		    10, TIER_STANDARD, 1000000000, 5000000000, 1000000000, 0, 1000000000,
		    1000000000 },
		{ "an explicit 0 is a price",
		    ENTRY("\"input_cost_per_token\":0,\"output_cost_per_token\":0.0"), 10,
		    TIER_STANDARD, 0, 0, 0, 0, 0, 0 },
		{ "priority is twice the standard rate",
		    ENTRY(
			"\"input_cost_per_token\":1e-06,\"output_cost_per_token\":5e-06,"
			"\"cache_read_input_token_cost\":1e-07,"
			"\"output_cost_per_token_priority\":7e-06"),
		    10, TIER_PRIORITY, 2000000000, 7000000000, 200000000, 2000000000,
		    2000000000, 2000000000 },
		{ "ultrafast is six times the standard rate",
		    ENTRY(
			"\"input_cost_per_token\":1e-06,\"output_cost_per_token\":5e-06"),
		    10, TIER_ULTRAFAST, 6000000000, 30000000000, 6000000000, 6000000000,
		    6000000000, 6000000000 },
		{ "no discount that is not written",
		    ENTRY(
			"\"input_cost_per_token\":1e-06,\"output_cost_per_token\":5e-06,"
			"\"input_cost_per_token_flex\":5e-07"),
		    10, TIER_FLEX, 500000000, 5000000000, 500000000, 500000000, 500000000,
		    500000000 },
		{ "exactly the threshold is not over it",
		    ENTRY(
			"\"input_cost_per_token\":1e-06,\"output_cost_per_token\":5e-06,"
			"\"input_cost_per_token_above_200k_tokens\":2e-06,"
			"\"output_cost_per_token_above_200k_tokens\":7e-06"),
		    200000, TIER_STANDARD, 1000000000, 5000000000, 1000000000, 1000000000,
		    1000000000, 1000000000 },
		{ "one more is, for all tokens",
		    ENTRY(
			"\"input_cost_per_token\":1e-06,\"output_cost_per_token\":5e-06,"
			"\"input_cost_per_token_above_200k_tokens\":2e-06,"
			"\"output_cost_per_token_above_200k_tokens\":7e-06"),
		    200001, TIER_STANDARD, 2000000000, 7000000000, 2000000000, 2000000000,
		    2000000000, 2000000000 },
		{ "the highest threshold that is passed counts",
		    ENTRY(
			"\"input_cost_per_token\":1e-06,\"output_cost_per_token\":5e-06,"
			"\"input_cost_per_token_above_256k_tokens\":3e-06,"
			"\"input_cost_per_token_above_32k_tokens\":2e-06"),
		    300000, TIER_STANDARD, 3000000000, 5000000000, 3000000000, 3000000000,
		    3000000000, 3000000000 },
		{ "an hour's writing has thresholds too",
		    ENTRY(
			"\"input_cost_per_token\":1e-06,\"output_cost_per_token\":5e-06,"
			"\"cache_creation_input_token_cost_above_1hr\":2e-06,"
			"\"cache_creation_input_token_cost_above_1hr_above_100k_tokens\":"
			"9e-06,"
			"\"input_cost_per_token_above_100k_tokens\":3e-06"),
		    100001, TIER_STANDARD, 3000000000, 5000000000, 3000000000, 3000000000,
		    9000000000, 3000000000 },
		{ "a tier's price grows with the prompt, rounded up",
		    ENTRY(
			"\"input_cost_per_token\":3e-15,\"output_cost_per_token\":3e-15,"
			"\"input_cost_per_token_above_1k_tokens\":4e-15,"
			"\"input_cost_per_token_priority\":5e-15"),
		    1001, TIER_PRIORITY, 7 /* ceil(5 * 4 / 3) */, 6, 7, 7, 7, 7 },
		{ "a tier's own long price counts as it is",
		    ENTRY(
			"\"input_cost_per_token\":1e-06,\"output_cost_per_token\":5e-06,"
			"\"input_cost_per_token_priority\":2e-06,"
			"\"input_cost_per_token_priority_above_200k_tokens\":3e-06,"
			"\"input_cost_per_token_above_200k_tokens\":2e-06"),
		    200001, TIER_PRIORITY, 3000000000, 10000000000, 3000000000,
		    3000000000, 3000000000, 3000000000 },
		{ "xai's thresholds include the number itself",
		    ENTRY("\"litellm_provider\":\"xai\",\"input_cost_per_token\":1e-06,"
			  "\"output_cost_per_token\":5e-06,"
			  "\"input_cost_per_token_above_128k_tokens\":2e-06"),
		    128000, TIER_STANDARD, 2000000000, 5000000000, 2000000000, 2000000000,
		    2000000000, 2000000000 },
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct prices *p = read_prices(rows[i].text);
		const struct price *m = prices_find(p, STR("m"), 0);

		assert_row(rows[i].name, m != NULL);
		struct rates r = price_rates(m, rows[i].prompt, rows[i].tier);

		assert_row(rows[i].name, r.of[RATE_INPUT] == rows[i].input);
		assert_row(rows[i].name, r.of[RATE_OUTPUT] == rows[i].output);
		assert_row(rows[i].name, r.of[RATE_READ] == rows[i].read);
		assert_row(rows[i].name, r.of[RATE_WRITE] == rows[i].write);
		assert_row(rows[i].name, r.of[RATE_WRITE_LONG] == rows[i].write_long);
		assert_row(rows[i].name, r.of[RATE_AUDIO_IN] == rows[i].audio_in);
		assert_row(rows[i].name, r.of[RATE_AUDIO_OUT] == r.of[RATE_OUTPUT]);
		prices_free(p);
	}
}

static void
test_dearest_looks_at_every_prompt_up_to_the_size(void **state)
{
	struct prices *p = read_prices(
	    ENTRY("\"input_cost_per_token\":1e-06,\"output_cost_per_token\":9e-06,"
		  "\"input_cost_per_token_above_100k_tokens\":5e-06,"
		  "\"output_cost_per_token_above_100k_tokens\":7e-06"));
	const struct price *m = prices_find(p, STR("m"), 0);

	(void)state;
	assert_true(price_dearest(m, 100000, TIER_STANDARD).of[RATE_INPUT] == 1000000000);
	struct rates r = price_dearest(m, 100001, TIER_STANDARD);

	assert_true(r.of[RATE_INPUT] == 5000000000);
	assert_true(r.of[RATE_OUTPUT] == 9000000000);
	prices_free(p);
}

static void
test_model_without_input_or_output_rate_is_unpriced(void **state)
{
	static const struct {
		const char *name, *text;
	} rows[] = {
		{ "nothing said", ENTRY("\"max_tokens\":10") },
		{ "output missing", ENTRY("\"input_cost_per_token\":1e-06") },
		{ "output null", ENTRY("\"input_cost_per_token\":1e-06,\"output_cost_per_"
				       "token\":null") },
		{ "input missing", ENTRY("\"output_cost_per_token\":1e-06") },
		{ "billed by the picture", "{\"m\":{\"mode\":\"image_generation\","
					   "\"input_cost_per_token\":1e-06,"
					   "\"output_cost_per_token\":1e-06}}" },
		{ "tiers of a shape weir does not count by",
		    ENTRY(
			"\"input_cost_per_token\":1e-06,\"output_cost_per_token\":1e-06,"
			"\"tiered_pricing\":[{\"range\":[0,32000]}]") },
		{ "another name", "{\"mm\":{\"input_cost_per_token\":1e-06,"
				  "\"output_cost_per_token\":1e-06}}" },
		{ "sample_spec is none", "{\"sample_spec\":{\"note\":1}}" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct prices *p = read_prices(rows[i].text);

		assert_row(rows[i].name, prices_find(p, STR("m"), 0) == NULL);
		assert_row(rows[i].name, prices_find(p, STR("sample_spec"), 0) == NULL);
		prices_free(p);
	}
}

static void
test_prices_change_on_their_day(void **state)
{
	struct prices *p = read_prices(ENTRY(
	    "\"input_cost_per_token\":1e-06,\"output_cost_per_token\":5e-06,"
	    "\"weir_effective_until\":\"2026-12-31\","
	    "\"weir_next\":{\"from\":\"2027-01-01\",\"input_cost_per_token\":2e-06}"));
	struct prices *ends = read_prices(
	    ENTRY("\"input_cost_per_token\":1e-06,\"output_cost_per_token\":5e-06,"
		  "\"weir_effective_until\":\"2026-12-31\""));

	(void)state;
	const struct price *before = prices_find(p, STR("m"), 20261231);
	const struct price *after = prices_find(p, STR("m"), 20270101);

	assert_true(prices_find(p, STR("m"), 0) == before);
	assert_true(price_rates(before, 1, TIER_STANDARD).of[RATE_INPUT] == 1000000000);
	assert_true(price_rates(after, 1, TIER_STANDARD).of[RATE_INPUT] == 2000000000);
	assert_true(price_rates(after, 1, TIER_STANDARD).of[RATE_OUTPUT] == 5000000000);
	assert_non_null(prices_find(ends, STR("m"), 20261231));
	assert_null(prices_find(ends, STR("m"), 20270101));
	prices_free(p);
	prices_free(ends);
}

static void
test_alias_is_written_never_guessed(void **state)
{
	struct prices *p = read_prices(
	    "{\"weir_date\":\"2026-11-29\",\"weir_aliases\":{\"a-latest\":\"a\",\"x/"
	    "*\":\"b\","
	    "\"x/a*\":\"a\"},"
	    "\"a\":{\"input_cost_per_token\":1e-06,\"output_cost_per_token\":1e-06},"
	    "\"b\":{\"input_cost_per_token\":2e-06,\"output_cost_per_token\":1e-06}}");
	static const struct {
		const char *model, *entry;
	} rows[] = {
		{ "a", "a" },
		{ "a-latest", "a" },
		{ "x/anything", "b" }, /* the first pattern, in file order */
		{ "x/", "b" },
		{ "A", NULL },
		{ "a-20260101", NULL },
		{ "x/a\n", "b" },
		{ "", NULL },
		{ "ax/b", NULL },
	};

	(void)state;
	assert_true(prices_date(p) == 20261129);
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		const struct price *m = prices_find(p, str_of(rows[i].model), 0);

		if (rows[i].entry == NULL)
			assert_row(rows[i].model, m == NULL);
		else
			assert_row(rows[i].model,
			    str_eq(price_facts(m)->model, str_of(rows[i].entry)));
	}
	prices_free(p);
}

static void
test_findings_name_line_and_code(void **state)
{
	static const struct {
		const char *text, *code;
		size_t line;
	} rows[] = {
		{ "{\"m\":{\n\"input_cost_per_token\": -1}}", "bad_price", 2 },
		{ "{\"m\":{\n\n\"input_cost_per_token\": \"1e-06\"}}", "bad_price", 3 },
		{ "{\"m\":{\"input_cost_per_token\": 1e-16}}", "bad_price", 1 },
		{ "{\"m\":{\"input_cost_per_token\": 2}}", "bad_price", 1 },
		{ "{\"m\":{\"weir_serach_unit\": \"query\"}}", "unknown_key", 1 },
		{ "{\"m\":{\"weir_search_unit\": \"page\"}}", "bad_price", 1 },
		{ "{\"m\":{\"weir_next\": {\"input_cost_per_token\": 1}}}", "bad_date",
		    1 },
		{ "{\"weir_date\": \"2026-13-01\"}", "bad_date", 1 },
		{ "{\"weir_aliases\": {\"a\": \"b\"}}", "unknown_model", 1 },
		{ "{\"a\": {}, \"weir_aliases\": {\"a\": \"a\"}}", "bad_alias", 1 },
		{ "{\"m\": {}, \"m\": {}}", "duplicate_key", 1 },
		{ "{\"m\": 3}", "wrong_type", 1 },
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct prices *p = NULL;
		struct report rep;

		report_init(&rep);
		assert_row(rows[i].text,
		    prices_read(&p, "prices.json", str_of(rows[i].text), &rep) != 0);
		assert_row(rows[i].text, p == NULL && rep.errors == 1);
		assert_row(rows[i].text, strcmp(rep.finding[0].code, rows[i].code) == 0);
		assert_row(rows[i].text, rep.finding[0].mark.line == rows[i].line);
		report_fini(&rep);
	}
}

static void
test_forgotten_long_price_is_a_warning(void **state)
{
	struct prices *p = NULL;
	struct report rep;

	(void)state;
	report_init(&rep);
	assert_int_equal(
	    prices_read(&p, "prices.json",
		STR(ENTRY("\"max_input_tokens\":1000000,\"input_cost_per_token\":1e-06,"
			  "\"output_cost_per_token\":5e-06,"
			  "\"input_cost_per_token_above_200k_tokens\":2e-06")),
		&rep),
	    0);
	assert_int_equal(rep.warnings, 1);
	assert_string_equal(rep.finding[0].code, "missing_long_price");
	report_fini(&rep);
	prices_free(p);
}

static void
test_table_that_comes_with_weir_is_without_findings(void **state)
{
	const char *srcdir = getenv("srcdir");
	struct prices *p = NULL;
	struct report rep;
	char path[512];

	(void)state;
	if (srcdir == NULL) /* make check says where the source is */
		skip();
	snprintf(path, sizeof(path), "%s/policies/prices.json", srcdir);
	report_init(&rep);
	assert_int_equal(prices_load(&p, path, &rep), 0);
	assert_int_equal(rep.warnings, 0);
	assert_int_equal(prices_count(p), 37);
	assert_int_equal(strlen(prices_digest(p)), 64);
	assert_non_null(prices_find(p, STR("claude-haiku-4-5-20251001"), 0));
	report_fini(&rep);
	prices_free(p);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_is_not_said_is_never_cheaper),
		cmocka_unit_test(test_dearest_looks_at_every_prompt_up_to_the_size),
		cmocka_unit_test(test_model_without_input_or_output_rate_is_unpriced),
		cmocka_unit_test(test_prices_change_on_their_day),
		cmocka_unit_test(test_alias_is_written_never_guessed),
		cmocka_unit_test(test_findings_name_line_and_code),
		cmocka_unit_test(test_forgotten_long_price_is_a_warning),
		cmocka_unit_test(test_table_that_comes_with_weir_is_without_findings),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
