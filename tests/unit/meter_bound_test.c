/* meter/bound: what is held is never less than the bill, and a clamp keeps to what was
 * granted */
#include "unit.h"

#include <string.h>

#include "meter/api.h"
#include "meter/estimate.h"
#include "meter/hosted.h"

/* n$ for a token: in 2000, out 10000, write 2500, an hour 4000 */
#define TABLE \
	"{\"m\":{\"max_input_tokens\":1000000,\"max_output_tokens\":128000," \
	"\"input_cost_per_token\":2e-06,\"output_cost_per_token\":1e-05," \
	"\"cache_creation_input_token_cost\":2.5e-06," \
	"\"cache_creation_input_token_cost_above_1hr\":4e-06," \
	"\"search_context_cost_per_query\":{\"search_context_size_medium\":0.01," \
	"\"search_context_size_high\":0.02}," \
	"\"provider_specific_entry\":{\"us\":1.1,\"fast\":2.0}}," \
	"\"dear\":{\"max_input_tokens\":1000000,\"max_output_tokens\":8000," \
	"\"input_cost_per_token\":1e-05,\"output_cost_per_token\":1e-04," \
	"\"search_context_cost_per_query\":{\"search_context_size_medium\":0.01}}," \
	"\"g\":{\"max_input_tokens\":1000,\"max_output_tokens\":100,\"input_cost_per_" \
	"token\":1e-06," \
	"\"output_cost_per_token\":1e-06,\"input_cost_per_audio_token\":5e-06," \
	"\"weir_search_unit\":\"prompt\",\"search_context_cost_per_query\":" \
	"{\"search_context_size_medium\":0.035}}," \
	"\"nolimit\":{\"input_cost_per_token\":1e-06,\"output_cost_per_token\":1e-06}," \
	"\"e\":{\"mode\":\"embedding\",\"max_input_tokens\":8191,\"input_cost_per_" \
	"token\":2e-08," \
	"\"output_cost_per_token\":0}}"

static struct prices *prices;
static struct arena arena;
static struct call call;

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
	arena_fini(&arena);
	return 0;
}

static void
read_at(enum provider_kind kind, const char *path, const char *body)
{
	static const struct http_head head = { .kind = HTTP_REQUEST };
	struct model_request r = { kind, STR("POST"), str_of(path), &head, str_of(body) };

	arena_fini(&arena);
	arena_init(&arena, 1 << 20);
	if (!call_read(&call, &r, &arena))
		fail_msg("%s: %s", body, call.why);
}

static enum bound_error
bound_with(struct bound *b, uint64_t counted, uint64_t referred)
{
	struct bound_input in = {
		.prices = prices, .counted = counted, .referred = referred
	};
	struct str which;

	return bound_call(b, &call, &in, &which);
}

#define IN(body, more) ((int64_t)(sizeof(body) - 1) + 256 + (more))

static void
test_bound_is_the_worst_case(void **state)
{
#define PLAIN "{\"model\":\"m\",\"max_tokens\":1000}"
#define ONE \
	"{\"model\":\"m\",\"max_tokens\":1000,\"messages\":[{\"role\":\"user\"," \
	"\"content\":\"a\"}]}"
#define CACHED \
	"{\"model\":\"m\",\"max_tokens\":1000,\"system\":[{\"type\":\"text\",\"cache_" \
	"control\":{}}]}"
#define HOUR \
	"{\"model\":\"m\",\"max_tokens\":1000,\"system\":[{\"type\":\"text\",\"cache_" \
	"control\":{\"ttl\":\"1h\"}}]}"
#define IMAGE \
	"{\"model\":\"m\",\"max_tokens\":0,\"messages\":[{\"content\":[{\"type\":" \
	"\"image\"," \
	"\"source\":{\"type\":\"base64\",\"data\":\"\"}}]}]}"
#define DOCUMENT \
	"{\"model\":\"m\",\"max_tokens\":0,\"messages\":[{\"content\":[{\"type\":" \
	"\"document\"," \
	"\"source\":{\"type\":\"base64\",\"data\":\"AAAA\"}}]}]}"
#define FAST \
	"{\"model\":\"m\",\"max_tokens\":1000,\"speed\":\"fast\",\"inference_geo\":" \
	"\"us\"}"
#define FETCHED \
	"{\"model\":\"m\",\"max_tokens\":0,\"messages\":[{\"content\":[{\"type\":" \
	"\"web_fetch_tool_result\",\"content\":{\"type\":\"web_fetch_result\"," \
	"\"content\":{\"type\":\"document\",\"source\":{\"type\":\"base64\",\"data\":" \
	"\"AAAA\"}}}}]}]}"
#define UNKNOWN \
	"{\"model\":\"m\",\"max_tokens\":0,\"messages\":[{\"content\":[{\"type\":" \
	"\"film\",\"source\":{\"type\":\"base64\",\"data\":\"AAAA\"}}]}]}"
#define SLOWER \
	"{\"model\":\"m\",\"max_tokens\":1000,\"speed\":\"fast\",\"inference_geo\":" \
	"\"us\",\"fallbacks\":[{\"model\":\"m\",\"speed\":\"standard\"," \
	"\"inference_geo\":\"global\"}]}"
#define CHAIN "{\"model\":\"m\",\"max_tokens\":9000,\"fallbacks\":[{\"model\":\"dear\"}]}"
#define ADVISOR \
	"{\"model\":\"m\",\"max_tokens\":100,\"tools\":[{\"type\":\"advisor_1\"," \
	"\"model\":\"dear\"," \
	"\"max_uses\":2,\"max_tokens\":50}]}"
#define SEARCH \
	"{\"model\":\"m\",\"max_tokens\":0,\"tools\":[{\"type\":\"web_search_" \
	"20250305\",\"max_uses\":2}]}"
#define COMPACTS \
	"{\"model\":\"m\",\"max_tokens\":0,\"context_management\":{\"edits\":[{" \
	"\"type\":\"compact_1\"}]}}"
	static const struct {
		const char *name, *body;
		usd_nano want;
	} rows[] = {
		{ "a byte is a token", PLAIN, IN(PLAIN, 0) * 2000 + 1000 * 10000 },
		{ "a message costs a few more", ONE, IN(ONE, 8) * 2000 + 1000 * 10000 },
		{ "the model's own limit", "{\"model\":\"m\",\"max_tokens\":999999}",
		    IN("{\"model\":\"m\",\"max_tokens\":999999}", 0) * 2000 +
			128000LL * 10000 },
		{ "no limit", "{\"model\":\"m\"}",
		    IN("{\"model\":\"m\"}", 0) * 2000 + 128000LL * 10000 },
		{ "the cache may be written", CACHED,
		    IN(CACHED, 8) * 2500 + 1000 * 10000 },
		{ "for an hour", HOUR, IN(HOUR, 8) * 4000 + 1000 * 10000 },
		{ "an image is its cap", IMAGE, (IN(IMAGE, 16) - 2 + 5000) * 2000 },
		{ "a document is all that the model takes", DOCUMENT, 1000000LL * 2000 },
		{ "a document that a hosted fetch brought", FETCHED, 1000000LL * 2000 },
		{ "under a name that nobody knows", UNKNOWN, 1000000LL * 2000 },
		{ "a fallback's own speed and place", SLOWER,
		    (IN(SLOWER, 0) * 2000 + 1000 * 10000) * 2 * 22 / 10 },
		{ "multipliers", FAST, (IN(FAST, 0) * 2000 + 1000 * 10000) * 22 / 10 },
		{ "a chain may be billed as a whole", CHAIN,
		    IN(CHAIN, 0) * 2000 + 9000LL * 10000 + IN(CHAIN, 0) * 10000 +
			8000LL * 100000 },
		{ "an advisor reads all, each time", ADVISOR,
		    /* hosted like any tool: twice 10000 tokens, and the prompt again */
		    IN(ADVISOR, 768 + 24) * 3 * 2000 + 2LL * 10000 * 2000 + 100 * 10000 +
			2 * (IN(ADVISOR, 768 + 24) * 10000 + 50LL * 100000) +
			2LL * 100 * 10000 },
		{ "searches: fee, results, the prompt again", SEARCH,
		    2 * 20000000LL + 2LL * 10000 * 2000 +
			IN(SEARCH, 768 + 24) * 3 * 2000 },
		{ "a compaction is one more pass", COMPACTS,
		    IN(COMPACTS, 0) * 2 * 2000 + 8192LL * 10000 },
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct bound b;

		read_at(PROVIDER_ANTHROPIC, "/v1/messages", rows[i].body);
		assert_row(rows[i].name, bound_with(&b, 0, 0) == BOUND_OK);
		if (b.want != rows[i].want)
			fail_msg("%s: %lld is not %lld", rows[i].name, (long long)b.want,
			    (long long)rows[i].want);
	}
}

static void
test_bound_of_gemini(void **state)
{
#define GROUNDED \
	"{\"tools\":[{\"google_search\":{}}],\"generationConfig\":{\"candidateCount\":" \
	"2}}"
#define SOUND \
	"{\"contents\":[{\"parts\":[{\"inlineData\":{\"mimeType\":\"audio/" \
	"wav\",\"data\":\"AAAA\"}}]}]}"
	static const struct {
		const char *name, *body;
		usd_nano want;
	} rows[] = {
		{ "one fee for a grounded prompt", GROUNDED,
		    35000000 + 10LL * 10000 * 1000 + IN(GROUNDED, 768 + 24) * 11 * 1000 +
			2 * 100 * 1000 },
		{ "sound at its own rate", SOUND, 1000LL * 5000 + 100 * 1000 },
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct bound b;

		read_at(
		    PROVIDER_GEMINI, "/v1beta/models/g:generateContent", rows[i].body);
		assert_row(rows[i].name, bound_with(&b, 0, 0) == BOUND_OK);
		if (b.want != rows[i].want)
			fail_msg("%s: %lld is not %lld", rows[i].name, (long long)b.want,
			    (long long)rows[i].want);
	}
	struct bound b;

	read_at(PROVIDER_GEMINI, "/v1beta/models/e:embedContent",
	    "{\"content\":{\"parts\":[{\"text\":\"abc\"}]}}");
	assert_int_equal(bound_with(&b, 0, 0), BOUND_OK);
	assert_true(b.limit == 0 && !b.can_clamp && b.want > 0);
}

static void
test_what_has_no_price_has_no_bound(void **state)
{
	static const struct {
		const char *body;
		enum bound_error error;
	} rows[] = {
		{ "{\"model\":\"nobody\"}", BOUND_UNPRICED },
		{ "{\"model\":\"m\",\"fallbacks\":[{\"model\":\"nobody\"}]}",
		    BOUND_UNPRICED },
		{ "{\"model\":\"m\",\"fallbacks\":\"default\"}", BOUND_UNPRICED },
		{ "{\"model\":\"m\",\"x\":{\"model\":\"nobody\"}}", BOUND_UNPRICED },
		{ "{\"model\":\"nolimit\"}", BOUND_ENDLESS },
		{ "{\"model\":\"nolimit\",\"max_tokens\":9}", BOUND_OK },
		{ "{\"model\":\"nolimit\",\"max_tokens\":9,\"container\":\"c\"}",
		    BOUND_ENDLESS },
		{ "{\"model\":\"nolimit\",\"max_tokens\":9,\"tools\":[{\"type\":\"web_"
		  "search_1\"}]}",
		    BOUND_UNPRICED },
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct bound b;

		read_at(PROVIDER_ANTHROPIC, "/v1/messages", rows[i].body);
		assert_row(rows[i].body, bound_with(&b, 0, 0) == rows[i].error);
	}
}

static void
test_counter_and_records_take_the_place_of_the_worst_case(void **state)
{
	struct bound b;

	(void)state;
	read_at(PROVIDER_ANTHROPIC, "/v1/messages",
	    "{\"model\":\"m\",\"max_tokens\":0,\"container\":\"c\"}");
	assert_int_equal(bound_with(&b, 0, 0), BOUND_OK);
	assert_int_equal(b.input, 1000000);
	assert_int_equal(bound_with(&b, 5000, 0), BOUND_OK);
	assert_int_equal(b.input, 5000 + 100 + 256);
	assert_int_equal(bound_with(&b, 0, 777), BOUND_OK);
	assert_int_equal(b.input, call.body.n + 256 + 777);
	read_at(PROVIDER_ANTHROPIC, "/v1/messages", "{\"model\":\"m\",\"max_tokens\":0}");
	assert_int_equal(bound_with(&b, 5000, 0), BOUND_OK);
	assert_int_equal(b.input, call.body.n + 256); /* a byte is at most a token */
}

static void
test_clamp_keeps_to_what_was_granted(void **state)
{
	static const char *const bodies[] = {
		"{\"model\":\"m\",\"max_tokens\":128000}",
		"{\"model\":\"m\",\"max_tokens\":128000,\"fallbacks\":[{\"model\":"
		"\"dear\"}]}",
		"{\"model\":\"m\",\"max_tokens\":128000,\"speed\":\"fast\"}",
		"{\"model\":\"m\",\"max_tokens\":128000,\"tools\":[{\"type\":\"advisor_"
		"1\",\"model\":"
		"\"dear\"}]}",
		"{\"model\":\"m\"}",
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(bodies); i++) {
		struct bound b;
		usd_nano hold = 0, least = 0;

		read_at(PROVIDER_ANTHROPIC, "/v1/messages", bodies[i]);
		assert_int_equal(bound_with(&b, 0, 0), BOUND_OK);
		assert_true(b.can_clamp && b.least == BOUND_FLOOR);
		assert_true(
		    bound_floor(&b, &least) && bound_hold(&b, BOUND_FLOOR, &hold));
		assert_true(least == hold && least < b.want);
		for (usd_nano granted = least; granted <= b.want;
		     granted += (b.want - least) / 97) {
			uint64_t limit = bound_limit(&b, granted);

			assert_true(limit >= b.least && limit <= b.limit);
			assert_true(bound_hold(&b, limit, &hold) && hold <= granted);
			if (limit < b.limit)
				assert_true(
				    bound_hold(&b, limit + 1, &hold) && hold > granted);
		}
		assert_true(bound_limit(&b, b.want) == b.limit);
		assert_true(bound_limit(&b, 0) == 0);
		bound_clamp(&b, 2000);
		assert_true(
		    b.limit == 2000 && bound_hold(&b, 2000, &hold) && b.want == hold);
	}
}

static void
test_clamp_leaves_room_to_think(void **state)
{
	struct bound b;
	usd_nano least;

	(void)state;
	read_at(PROVIDER_ANTHROPIC, "/v1/messages",
	    "{\"model\":\"m\",\"max_tokens\":32000,\"thinking\":{\"type\":\"enabled\","
	    "\"budget_tokens\":8000}}");
	assert_int_equal(bound_with(&b, 0, 0), BOUND_OK);
	assert_int_equal(b.least, 8000 + BOUND_FLOOR);
	read_at(
	    PROVIDER_ANTHROPIC, "/v1/messages", "{\"model\":\"m\",\"max_tokens\":500}");
	assert_int_equal(bound_with(&b, 0, 0), BOUND_OK);
	assert_true(b.least == 500 && bound_floor(&b, &least) && least == b.want);
}

/* --- estimates --- */

static void
test_missing_usage_is_charged_at_a_ceiling(void **state)
{
	static const struct {
		const char *name, *body;
		struct usage usage;
		int64_t ms;
		uint64_t rate;
		bool runs_on;
		int64_t output;
		bool knows_input;
	} rows[] = {
		{ "nothing seen", "{\"model\":\"m\",\"max_tokens\":4000}", { .nrun = 0 },
		    0, 0, false, 1 + 64, false },
		{ "bytes", "{\"model\":\"m\",\"max_tokens\":4000}",
		    { .text_bytes = 1000 }, 0, 0, false, 401 + 64, false },
		{ "announced", "{\"model\":\"m\",\"max_tokens\":4000}",
		    { .announced = 900 }, 0, 0, false, 900 + 64, false },
		{ "running total", "{\"model\":\"m\",\"max_tokens\":4000}",
		    { .nrun = 1,
			.run = { { .input_total = 50, .output = 700 } },
			.text_bytes = 10 },
		    0, 0, false, 700 + 64, true },
		{ "time", "{\"model\":\"m\",\"max_tokens\":4000}", { .text_bytes = 10 },
		    2500, 400, false, 3 * 400 + 64, false },
		{ "never beyond the limit", "{\"model\":\"m\",\"max_tokens\":100}",
		    { .text_bytes = 10000 }, 0, 0, false, 100, false },
		{ "the provider goes on", "{\"model\":\"m\",\"max_tokens\":4000}",
		    { .nrun = 0 }, 0, 0, true, 4000, false },
		{ "an advisor's part is not seen",
		    "{\"model\":\"m\",\"max_tokens\":4000,\"fallbacks\":[{\"model\":"
		    "\"dear\"}]}",
		    { .nrun = 1, .run = { { .input_total = 50, .output = 700 } } }, 0, 0,
		    false, 764, false },
		{ "absurd", "{\"model\":\"m\",\"max_tokens\":4000}",
		    { .nrun = 1,
			.run = { { .input_total = 50, .output = 7 } },
			.is_absurd = true },
		    0, 0, false, 71, false },
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct usage u = rows[i].usage;
		struct bound b;
		usd_nano hold, cost;

		read_at(PROVIDER_ANTHROPIC, "/v1/messages", rows[i].body);
		assert_row(rows[i].name, bound_with(&b, 0, 0) == BOUND_OK);
		struct estimate_input in = { prices, 0, &b, b.want, rows[i].ms,
			rows[i].rate, rows[i].runs_on, 0 };

		if (u.nrun > 0)
			usage_name(u.model, STR("m"));
		cost = estimate(&u, &call, &in);
		assert_row(
		    rows[i].name, u.nrun == 1 && u.run[0].output == rows[i].output);
		assert_row(rows[i].name, bound_hold(&b, (uint64_t)rows[i].output, &hold));
		if (rows[i].knows_input)
			assert_row(
			    rows[i].name, cost == 50 * 2000 + rows[i].output * 10000);
		else
			assert_row(rows[i].name, cost == hold);
		in.reserved = 5;
		assert_row(rows[i].name, estimate(&u, &call, &in) == 5);
	}
}

/* Each of n answers is made at full speed; what a request asks for is as dear as it said,
 * and what it foretold may be billed though it did not come. */
static void
test_ceiling_counts_all_answers_and_all_that_was_asked(void **state)
{
	struct usage u = { .nrun = 0 };
	struct bound b;

	(void)state;
	read_at(PROVIDER_OPENAI, "/v1/chat/completions",
	    "{\"model\":\"m\",\"max_tokens\":4000,\"n\":8}");
	assert_int_equal(bound_with(&b, 0, 0), BOUND_OK);
	estimate(&u, &call,
	    &(struct estimate_input){ prices, 0, &b, b.want, 2500, 400, false, 0 });
	assert_int_equal(u.run[0].output, 8 * (3 * 400 + 64));

	u = (struct usage){ .nrun = 1, .run = { { .input_total = 50, .output = 7 } } };
	usage_name(u.model, STR("m"));
	read_at(PROVIDER_ANTHROPIC, "/v1/messages", FAST);
	assert_int_equal(bound_with(&b, 0, 0), BOUND_OK);
	assert_int_equal(
	    estimate(&u, &call,
		&(struct estimate_input){ prices, 0, &b, b.want, 0, 0, false, 0 }),
	    (50 * 2000 + 71 * 10000) * 22 / 10);

	u = (struct usage){ .nrun = 1, .run = { { .input_total = 50, .output = 7 } } };
	usage_name(u.model, STR("m"));
	read_at(PROVIDER_OPENAI, "/v1/chat/completions",
	    "{\"model\":\"m\",\"max_tokens\":4000,\"prediction\":[\"0123456789\"]}");
	assert_int_equal(bound_with(&b, 0, 0), BOUND_OK);
	estimate(
	    &u, &call, &(struct estimate_input){ prices, 0, &b, b.want, 0, 0, false, 0 });
	assert_int_equal(u.run[0].output, 7 + 64 + 14);
}

static void
test_what_is_sure_is_totals_and_the_longest_tokens(void **state)
{
	static const struct {
		const char *name;
		struct usage usage;
		int64_t input, output; /* that are paid for */
	} rows[] = {
		{ "nothing", { .nrun = 0 }, 0, 0 },
		{ "text", { .text_bytes = 90000, .text_least = 12800 }, 0, 100 },
		{ "part of a token", { .text_least = 127 }, 0, 0 },
		{ "a total",
		    { .nrun = 1, .run = { { .input_total = 50, .output = 700 } } }, 50,
		    700 },
		{ "the larger of both",
		    { .nrun = 1,
			.run = { { .input_total = 50, .output = 7 } },
			.text_least = 12800 },
		    50, 100 },
		{ "announced is not said", { .announced = 5000 }, 0, 0 },
		{ "absurd totals are none",
		    { .nrun = 1,
			.run = { { .input_total = 50, .output = 700 } },
			.is_absurd = true,
			.text_least = 128 },
		    0, 1 },
		{ "nor are torn ones",
		    { .nrun = 1, .run = { { .input_total = 50, .cache_read = 51 } } }, 0,
		    0 },
		{ "of a model without a price",
		    { .nrun = 1,
			.run = { { .model = "nobody", .output = 3 } },
			.model = "nobody" },
		    0, 3 },
	};

	(void)state;
	read_at(PROVIDER_ANTHROPIC, "/v1/messages", "{\"model\":\"m\",\"max_tokens\":9}");
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		usd_nano least;

		assert_row(rows[i].name,
		    estimate_least(&rows[i].usage, &call, prices, 0, &least));
		assert_row(
		    rows[i].name, least == rows[i].input * 2000 + rows[i].output * 10000);
	}
}

static void
test_what_is_surely_above_the_reservation_has_no_lid(void **state)
{
	struct usage u = { .nrun = 1,
		.run = { { .input_total = 50, .output = 700 } },
		.text_bytes = 10000 };
	struct bound b;

	(void)state;
	read_at(
	    PROVIDER_ANTHROPIC, "/v1/messages", "{\"model\":\"m\",\"max_tokens\":100}");
	assert_true(bound_with(&b, 0, 0) == BOUND_OK);
	struct estimate_input in = { .prices = prices, .bound = &b, .reserved = b.want };

	usage_name(u.model, STR("m"));
	assert_true(estimate_least(&u, &call, prices, 0, &in.least));
	assert_true(in.least > in.reserved);
	assert_int_equal(estimate(&u, &call, &in), 50 * 2000 + (4001 + 64) * 10000);
	assert_int_equal(u.run[0].output, 4001 + 64);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bound_is_the_worst_case),
		cmocka_unit_test(test_bound_of_gemini),
		cmocka_unit_test(test_what_has_no_price_has_no_bound),
		cmocka_unit_test(
		    test_counter_and_records_take_the_place_of_the_worst_case),
		cmocka_unit_test(test_clamp_keeps_to_what_was_granted),
		cmocka_unit_test(test_clamp_leaves_room_to_think),
		cmocka_unit_test(test_missing_usage_is_charged_at_a_ceiling),
		cmocka_unit_test(test_ceiling_counts_all_answers_and_all_that_was_asked),
		cmocka_unit_test(test_what_is_sure_is_totals_and_the_longest_tokens),
		cmocka_unit_test(test_what_is_surely_above_the_reservation_has_no_lid),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
