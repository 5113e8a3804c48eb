/* meter/usage_json: what the ledger keeps of a call says its cost again */
#include "unit.h"

#include <string.h>

#include "meter/usage_json.h"

#define MEMORY ((size_t)1 << 20)

static struct usage_kept
all_of_it(void)
{
	struct usage_kept k = {
		.day = 20300101, .api = STR("anthropic"), .id = STR("r\"1")
	};

	usage_name(k.usage.model, STR("m"));
	k.usage.is_fast = true;
	k.usage.region = REGION_EU;
	k.usage.has_reported = true;
	k.usage.reported = 0;
	k.usage.nrun = 2;
	k.usage.run[0] = (struct run){ .tier = TIER_ULTRAFAST,
		.input_total = 10,
		.cache_read = 1,
		.cache_write = 2,
		.cache_write_long = 3,
		.audio_in = 4,
		.output = 20,
		.audio_out = 5,
		.reasoning = 6,
		.searches = 7,
		.file_searches = 8 };
	k.usage.run[1] = (struct run){ .output = USAGE_TOKENS_MAX };
	usage_name(k.usage.run[1].model, STR("advisor"));
	return k;
}

static void
assert_same_run(const struct run *a, const struct run *b)
{
	assert_string_equal(a->model, b->model);
	assert_int_equal(a->tier, b->tier);
	assert_int_equal(a->input_total, b->input_total);
	assert_int_equal(a->cache_read, b->cache_read);
	assert_int_equal(a->cache_write, b->cache_write);
	assert_int_equal(a->cache_write_long, b->cache_write_long);
	assert_int_equal(a->audio_in, b->audio_in);
	assert_int_equal(a->output, b->output);
	assert_int_equal(a->audio_out, b->audio_out);
	assert_int_equal(a->reasoning, b->reasoning);
	assert_int_equal(a->searches, b->searches);
	assert_int_equal(a->file_searches, b->file_searches);
}

static void
test_what_is_printed_is_read_back_whole(void **state)
{
	struct usage_kept k = all_of_it(), back;
	struct arena a;
	struct buf text;

	(void)state;
	arena_init(&a, MEMORY);
	buf_init(&text, MEMORY);
	usage_print(&text, &k);
	assert_null(usage_parse(&back, buf_view(&text), &a));
	assert_int_equal(back.day, k.day);
	assert_true(str_eq(back.api, k.api));
	assert_true(str_eq(back.id, k.id));
	assert_string_equal(back.usage.model, "m");
	assert_true(back.usage.is_fast);
	assert_int_equal(back.usage.region, REGION_EU);
	assert_true(back.usage.has_reported);
	assert_int_equal(back.usage.reported, 0);
	assert_int_equal(back.usage.state, USAGE_ALL);
	assert_int_equal(back.usage.nrun, 2);
	assert_same_run(&back.usage.run[0], &k.usage.run[0]);
	assert_same_run(&back.usage.run[1], &k.usage.run[1]);
	buf_fini(&text);
	arena_fini(&a);
}

static void
test_what_is_zero_takes_no_room(void **state)
{
	struct usage_kept k = { .usage = { .nrun = 1 } };
	struct buf text;

	(void)state;
	k.usage.run[0].output = 3;
	buf_init(&text, MEMORY);
	usage_print(&text, &k);
	assert_string_equal(buf_cstr(&text), "{\"runs\":[{\"output\":3}]}");
	buf_fini(&text);
}

static void
test_what_is_no_usage_is_not_guessed(void **state)
{
	static const char *const rows[] = {
		"",
		"[]",
		"{}",
		"{\"runs\":{}}",
		"{\"runs\":[1]}",
		"{\"runs\":[],\"runs\":[]}",
		"{\"runs\":[],\"day\":\"1\"}",
		"{\"runs\":[],\"fast\":2}",
		"{\"runs\":[],\"region\":3}",
		"{\"runs\":[],\"reported\":-1}",
		"{\"runs\":[],\"model\":1}",
		"{\"runs\":[{\"output\":-1}]}",
		"{\"runs\":[{\"output\":1.5}]}",
		"{\"runs\":[{\"output\":9223372036854775808}]}",
		"{\"runs\":[{\"tier\":\"cheap\"}]}",
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct usage_kept k;
		struct arena a;

		arena_init(&a, MEMORY);
		assert_row(rows[i], usage_parse(&k, str_of(rows[i]), &a) != NULL);
		arena_fini(&a);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_is_printed_is_read_back_whole),
		cmocka_unit_test(test_what_is_zero_takes_no_room),
		cmocka_unit_test(test_what_is_no_usage_is_not_guessed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
