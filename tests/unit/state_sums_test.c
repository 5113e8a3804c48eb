/*
 * state_sums_test.c - what sums.h promises: nothing is counted twice, nothing is left out
 */
#include "state/sums.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "unit.h"

#define THREADS 4
#define EACH 20000

struct told {
	size_t rows, others;
	uint64_t count;
	usec from, to;
	bool refuses;
	char text[4096];
};

static bool
take(void *arg, const struct sum *row)
{
	struct told *t = arg;
	size_t at = strlen(t->text);

	if (t->refuses)
		return false;
	t->rows++;
	t->others += row->door == NULL;
	t->count += row->count;
	t->from = row->from;
	t->to = row->to;
	snprintf(t->text + at, sizeof(t->text) - at, "%s %.*s/%.*s %.*s %d\n",
	    row->reason, STR_ARG(row->tenant), STR_ARG(row->sid), STR_ARG(row->client),
	    (int)row->count);
	return true;
}

static struct sum
of_client(const char *client, const char *reason)
{
	return (
	    struct sum){ .reason = reason, .door = "proxy", .client = str_of(client) };
}

static struct sum
of_session(const char *tenant, const char *sid, const char *client)
{
	struct sum one = of_client(client, "host_not_allowed");

	one.issuer = STR("app");
	one.tenant = str_of(tenant);
	one.sid = str_of(sid);
	return one;
}

static void
add(struct sums *s, struct sum one, usec now)
{
	sums_add(s, &one, now);
}

static void
test_each_client_and_reason_has_a_row(void **state)
{
	struct sums *s = sums_new(10);
	struct told t = { 0 };

	(void)state;
	add(s, of_client("10.0.0.1", "host_denied"), 5);
	add(s, of_client("10.0.0.1", "host_denied"), 3);
	add(s, of_client("10.0.0.1", "host_denied"), 9);
	assert_int_equal(sums_take(s, take, &t), 0);
	assert_string_equal(t.text, "host_denied / 10.0.0.1 3\n");
	assert_int_equal(t.from, 3);
	assert_int_equal(t.to, 9);
	add(s, of_client("10.0.0.1", "host_denied"), 1);
	add(s, of_client("10.0.0.2", "host_denied"), 1);
	add(s, of_client("10.0.0.2", "path_not_allowed"), 1);
	memset(&t, 0, sizeof(t));
	assert_int_equal(sums_take(s, take, &t), 0);
	assert_int_equal(t.rows, 3);
	sums_free(s);
}

static void
test_a_session_has_one_row_wherever_it_comes_from(void **state)
{
	struct sums *s = sums_new(10);
	struct told t = { 0 };

	(void)state;
	add(s, of_session("acme", "s1", "10.0.0.1"), 1);
	add(s, of_session("acme", "s1", "10.0.0.2"), 2);
	assert_int_equal(sums_take(s, take, &t), 0);
	assert_string_equal(t.text, "host_not_allowed acme/s1 10.0.0.1 2\n");
	add(s, of_session("acme", "s1", "10.0.0.1"), 1);
	add(s, of_session("a", "cmes1", "10.0.0.1"), 1);
	add(s, of_session("acmes", "1", "10.0.0.1"), 1);
	memset(&t, 0, sizeof(t));
	assert_int_equal(sums_take(s, take, &t), 0);
	assert_int_equal(t.rows, 3);
	sums_free(s);
}

static void
test_beyond_the_bound_one_row_has_the_rest(void **state)
{
	struct sums *s = sums_new(3);
	struct told t = { 0 };
	char client[32];

	(void)state;
	for (int i = 0; i < 100; i++) {
		snprintf(client, sizeof(client), "10.0.0.%d", i);
		add(s, of_client(client, "host_denied"), i);
	}
	assert_int_equal(sums_take(s, take, &t), 0);
	assert_int_equal(t.rows, 4);
	assert_int_equal(t.others, 1);
	assert_int_equal(t.count, 100);
	memset(&t, 0, sizeof(t));
	assert_int_equal(sums_take(s, take, &t), 0);
	assert_int_equal(t.rows, 0);
	sums_free(s);
}

static void
test_what_cannot_be_taken_counts_on(void **state)
{
	struct sums *s = sums_new(2);
	struct told t = { .refuses = true };

	(void)state;
	add(s, of_client("10.0.0.1", "host_denied"), 1);
	add(s, of_client("10.0.0.2", "host_denied"), 2);
	add(s, of_client("10.0.0.3", "host_denied"), 3);
	assert_int_equal(sums_take(s, take, &t), 3);
	add(s, of_client("10.0.0.1", "host_denied"), 7);
	t.refuses = false;
	assert_int_equal(sums_take(s, take, &t), 0);
	assert_int_equal(t.rows, 3);
	assert_int_equal(t.count, 4);
	assert_non_null(strstr(t.text, "host_denied / 10.0.0.1 2\n"));
	sums_free(s);
}

static void *
add_many(void *arg)
{
	for (int i = 0; i < EACH; i++)
		add(arg, of_client(i % 2 ? "10.0.0.1" : "10.0.0.2", "host_denied"), i);
	return NULL;
}

static void
test_threads_that_count_while_rows_are_taken_lose_nothing(void **state)
{
	struct sums *s = sums_new(10);
	struct told t = { 0 };
	pthread_t thread[THREADS];

	(void)state;
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&thread[i], NULL, add_many, s), 0);
	for (int i = 0; i < 100; i++) {
		t.refuses = i % 3 == 0;
		(void)sums_take(s, take, &t);
		t.text[0] = '\0';
	}
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	t.refuses = false;
	(void)sums_take(s, take, &t);
	assert_int_equal(t.count, THREADS * EACH);
	sums_free(s);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_client_and_reason_has_a_row),
		cmocka_unit_test(test_a_session_has_one_row_wherever_it_comes_from),
		cmocka_unit_test(test_beyond_the_bound_one_row_has_the_rest),
		cmocka_unit_test(test_what_cannot_be_taken_counts_on),
		cmocka_unit_test(
		    test_threads_that_count_while_rows_are_taken_lose_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
