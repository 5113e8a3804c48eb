/*
 * A client has so many new names looked up in an hour, and no more, whoever else does.
 */
#include "state/coined.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#include "unit.h"

#define HOUR ((msec)3600000)

static msec
ask(struct coined *all, const char *who, int name, int64_t per_hour, msec now)
{
	char text[32];

	snprintf(text, sizeof(text), "n%d.a.test", name);
	return coined_wait(all, str_of(who), str_of(text), per_hour, now);
}

static void
test_so_many_at_once_and_then_as_they_come_due(void **state)
{
	struct coined *all = coined_new();

	(void)state;
	for (int i = 0; i < 60; i++)
		assert_int_equal(ask(all, "a", i, 60, 1000), 0);
	assert_int_equal(ask(all, "a", 60, 60, 1000), HOUR / 60);
	assert_int_equal(ask(all, "a", 60, 60, 1000 + HOUR / 120), HOUR / 120);
	assert_int_equal(ask(all, "a", 60, 60, 1000 + HOUR / 60), 0);
	assert_int_equal(ask(all, "a", 61, 60, 1000 + HOUR / 60), HOUR / 60);
	coined_free(all);
}

static void
test_a_name_is_new_once(void **state)
{
	struct coined *all = coined_new();

	(void)state;
	for (int i = 0; i < 100; i++) {
		assert_int_equal(ask(all, "a", 1, 2, 1000), 0);
		assert_int_equal(ask(all, "a", 2, 2, 1000), 0);
	}
	assert_true(ask(all, "a", 3, 2, 1000) > 0);
	assert_int_equal(ask(all, "a", 1, 2, 1000), 0);
	coined_free(all);
}

static void
test_what_is_not_remembered_is_new_again(void **state)
{
	struct coined *all = coined_new();

	(void)state;
	for (int i = 0; i <= COINED_RECENT; i++)
		assert_int_equal(ask(all, "a", i, COINED_RECENT + 1, 1000), 0);
	assert_int_equal(ask(all, "a", 1, COINED_RECENT + 1, 1000), 0);
	assert_true(ask(all, "a", 0, COINED_RECENT + 1, 1000) > 0);
	coined_free(all);
}

static void
test_each_is_counted_alone_and_0_is_no_limit(void **state)
{
	struct coined *all = coined_new();

	(void)state;
	assert_int_equal(ask(all, "a", 1, 1, 1000), 0);
	assert_true(ask(all, "a", 2, 1, 1000) > 0);
	assert_int_equal(ask(all, "b", 2, 1, 1000), 0);
	for (int i = 0; i < 1000; i++)
		assert_int_equal(ask(all, "a", i, 0, 1000), 0);
	coined_free(all);
}

/* Others that come and go are not what makes it forgotten while it counts. */
static void
test_who_has_asked_for_much_is_not_forgotten_for_a_few_others(void **state)
{
	struct coined *all = coined_new();
	char who[32];

	(void)state;
	assert_int_equal(ask(all, "a", 1, 1, 1000), 0);
	for (int i = 0; i < 2000; i++) {
		snprintf(who, sizeof(who), "other%d", i);
		assert_int_equal(ask(all, who, 1, 1, 1000), 0);
	}
	assert_true(ask(all, "a", 2, 1, 1000) > 0);
	coined_free(all);
}

#define THREADS 4
#define EACH 400

struct racer {
	pthread_t thread;
	struct coined *all;
	int first, found;
};

static void *
race(void *arg)
{
	struct racer *r = arg;

	for (int i = 0; i < EACH; i++)
		r->found += ask(r->all, "a", r->first + i, EACH, 1000) == 0;
	return NULL;
}

static void
test_threads_together_have_no_more(void **state)
{
	struct coined *all = coined_new();
	struct racer racer[THREADS];
	int found = 0;

	(void)state;
	for (int i = 0; i < THREADS; i++) {
		racer[i] = (struct racer){ .all = all, .first = i * EACH };
		pthread_create(&racer[i].thread, NULL, race, &racer[i]);
	}
	for (int i = 0; i < THREADS; i++) {
		pthread_join(racer[i].thread, NULL);
		found += racer[i].found;
	}
	assert_int_equal(found, EACH);
	coined_free(all);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_so_many_at_once_and_then_as_they_come_due),
		cmocka_unit_test(test_a_name_is_new_once),
		cmocka_unit_test(test_what_is_not_remembered_is_new_again),
		cmocka_unit_test(test_each_is_counted_alone_and_0_is_no_limit),
		cmocka_unit_test(
		    test_who_has_asked_for_much_is_not_forgotten_for_a_few_others),
		cmocka_unit_test(test_threads_together_have_no_more),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
