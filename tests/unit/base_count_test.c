#include "base/count.h"

#include <pthread.h>
#include <stdbool.h>
#include <string.h>

#include "base/err.h"
#include "unit.h"

#define THREADS 100 /* more than there are shards */
#define ADDS 1000

static void *
add_many(void *arg)
{
	for (int i = 0; i < ADDS; i++) {
		count_add(COUNT_EXCHANGES, 1);
		count_add(COUNT_EXCHANGES_OPEN, i % 2 == 0 ? 1 : -1);
		count_add_at(COUNT_REFUSED, (size_t)i % 3, 2);
	}
	return arg;
}

static void
test_no_thread_loses_a_count(void **state)
{
	pthread_t thread[THREADS];

	(void)state;
	for (size_t i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&thread[i], NULL, add_many, NULL), 0);
	for (size_t i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	assert_int_equal(count_get(COUNT_EXCHANGES, 0), THREADS * ADDS);
	assert_int_equal(count_get(COUNT_EXCHANGES_OPEN, 0), 0);
	assert_int_equal(count_get(COUNT_REFUSED, 0), THREADS * 334 * 2);
	assert_int_equal(count_get(COUNT_REFUSED, 2), THREADS * 333 * 2);
	assert_int_equal(count_get(COUNT_REFUSED, 3), 0);
}

static void
test_a_family_does_not_run_into_its_neighbours(void **state)
{
	size_t last = count_row(COUNT_REFUSED)->labels - 1;

	(void)state;
	count_add_at(COUNT_REFUSED, last, 5);
	assert_int_equal(count_get(COUNT_REFUSED, last), 5);
	assert_int_equal(count_get(COUNT_REFUSED + 1, 0), 0);
	count_add(COUNT_N - 1, 7);
	assert_int_equal(count_get(COUNT_N - 1, 0), 7);
}

static void
test_every_row_is_named_as_graphs_expect(void **state)
{
	(void)state;
	for (enum count_id id = 0; id < COUNT_N; id++) {
		const struct count_row *row = count_row(id);
		size_t n = strlen(row->name);
		bool is_total = n > 6 && strcmp(row->name + n - 6, "_total") == 0;

		assert_row(row->name, strncmp(row->name, "weir_", 5) == 0);
		assert_row(row->name, row->labels > 0 && row->help[0] != '\0');
		assert_row(row->name, is_total == (row->type == COUNT_COUNTER));
	}
}

static void
test_every_error_has_its_text(void **state)
{
	(void)state;
	assert_string_equal(err_text(OK), "ok");
	assert_string_equal(err_text(ERR_INVALID), "invalid");
	assert_string_equal(err_text(ERR_DESCRIPTORS), "no file descriptor left");
	assert_string_equal(err_text(1), "unknown error");
	assert_string_equal(err_text(-10000), "unknown error");
	assert_string_equal(err_text(INT32_MIN), "unknown error");
	assert_true(ERR_INVALID < 0);
}

int
main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_no_thread_loses_a_count),
		cmocka_unit_test(test_a_family_does_not_run_into_its_neighbours),
		cmocka_unit_test(test_every_row_is_named_as_graphs_expect),
		cmocka_unit_test(test_every_error_has_its_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
