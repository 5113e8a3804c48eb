/*
 * audit_hung_test.c - what hung.h promises: who stands still is told of once, and waited
 * for no longer
 */
#include "audit/hung.h"

#include <semaphore.h>

#include "unit.h"

struct worker {
	pthread_mutex_t lock;
	struct hung at;
	sem_t may_end, has_ended;
};

static void *
work(void *arg)
{
	struct worker *w = arg;

	sem_wait(&w->may_end);
	pthread_mutex_lock(&w->lock);
	hung_over(&w->at);
	pthread_mutex_unlock(&w->lock);
	sem_post(&w->has_ended);
	return NULL;
}

static void
worker_init(struct worker *w)
{
	pthread_mutex_init(&w->lock, NULL);
	hung_init(&w->at);
	sem_init(&w->may_end, 0, 0);
	sem_init(&w->has_ended, 0, 0);
}

static void
worker_fini(struct worker *w)
{
	sem_destroy(&w->may_end);
	sem_destroy(&w->has_ended);
	hung_fini(&w->at);
	pthread_mutex_destroy(&w->lock);
}

static void
test_who_stands_still_is_told_of_once(void **state)
{
	struct hung h;

	(void)state;
	hung_init(&h);
	assert_false(hung_watch(&h, 1 + HUNG_MS)); /* it has not begun */
	hung_begin(&h, 1000);
	assert_false(hung_watch(&h, 999 + HUNG_MS));
	assert_true(hung_watch(&h, 1000 + HUNG_MS));
	assert_false(hung_watch(&h, 2000 + HUNG_MS));
	assert_true(hung_end(&h));
	assert_false(hung_watch(&h, 3000 + HUNG_MS));
	hung_begin(&h, 9000);
	assert_false(hung_end(&h)); /* in time */
	hung_begin(&h, 10000);
	assert_true(hung_watch(&h, 10000 + HUNG_MS)); /* each time anew */
	hung_fini(&h);
}

static void
test_who_goes_on_is_waited_for(void **state)
{
	struct worker w;
	pthread_t thread;

	(void)state;
	worker_init(&w);
	thread = hung_thread("works", work, &w);
	pthread_mutex_lock(&w.lock);
	hung_begin(&w.at, clock_mono_ms());
	sem_post(&w.may_end);
	assert_true(hung_join(&w.at, thread, &w.lock));
	pthread_mutex_unlock(&w.lock);
	worker_fini(&w);
}

static void
test_who_stands_still_is_not_waited_for(void **state)
{
	struct worker w;
	pthread_t thread;

	(void)state;
	worker_init(&w);
	thread = hung_thread("hangs", work, &w);
	pthread_mutex_lock(&w.lock);
	hung_begin(&w.at, clock_mono_ms() - HUNG_MS);
	assert_false(hung_join(&w.at, thread, &w.lock));
	pthread_mutex_unlock(&w.lock);
	sem_post(&w.may_end); /* what it uses is there as long as it is */
	sem_wait(&w.has_ended);
	worker_fini(&w);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_who_stands_still_is_told_of_once),
		cmocka_unit_test(test_who_goes_on_is_waited_for),
		cmocka_unit_test(test_who_stands_still_is_not_waited_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
