/*
 * What takes long is done beside the loop, in its order, and finished on it.
 */
#include "base/chore.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <unistd.h>

#include "unit.h"

#define CHORES 20 /* more than are handed over at a time */
#define LAST (CHORES - 1)

struct toil;

struct one {
	struct chore chore;
	struct toil *toil;
	int worked, done;
	bool is_cleared_by_done;
	bool is_at_home; /* its work was */
};

struct toil {
	struct loop *loop;
	struct chores *chores;
	struct one one[CHORES];
	pthread_t home;
	atomic_bool is_begun, may_end; /* the work at any */
	atomic_bool is_ending;         /* what is handed over may be done here, too */
	int priority;                  /* of who works */
	int done;
	int order[2 * CHORES]; /* in which they were done */
	int most;              /* then the loop stops */
};

static void
wait_until(atomic_bool *is_so)
{
	while (!atomic_load(is_so))
		usleep(100);
}

static void
on_work(void *arg)
{
	struct one *one = arg;
	struct toil *t = one->toil;

	atomic_store(&t->is_begun, true);
	wait_until(&t->may_end);
	one->is_at_home = pthread_equal(pthread_self(), t->home);
	t->priority = getpriority(PRIO_PROCESS, 0);
	one->worked++;
}

static void
on_done(void *arg)
{
	struct one *one = arg;
	struct toil *t = one->toil;

	assert_true(pthread_equal(pthread_self(), t->home));
	assert_true(!one->is_at_home || atomic_load(&t->is_ending));
	one->done++;
	if (one->is_cleared_by_done)
		assert_true(chore_clear(&one->chore));
	t->order[t->done++] = (int)(one - t->one);
	if (t->done == t->most)
		loop_stop(t->loop);
}

static void
toil_init(struct toil *t, int most)
{
	*t = (struct toil){ .loop = loop_new(), .home = pthread_self(), .most = most };
	t->chores = chores_new(t->loop);
	assert_ptr_equal(chores_loop(t->chores), t->loop);
	for (int i = 0; i < CHORES; i++) {
		t->one[i].toil = t;
		chore_init(&t->one[i].chore, t->chores, on_work, on_done, &t->one[i]);
	}
	assert_int_equal(chores_start(t->chores), 0);
}

static void
settle(struct toil *t)
{
	atomic_store(&t->is_ending, true);
	atomic_store(&t->may_end, true);
	chores_stop(t->chores);
	loop_settle(t->loop);
}

static void
toil_fini(struct toil *t)
{
	settle(t);
	chores_free(t->chores);
	chores_free(NULL);
	loop_free(t->loop);
}

static void
let_end(void *arg)
{
	struct toil *t = arg;

	assert_int_equal(t->done, 0);
	atomic_store(&t->may_end, true);
}

static void
test_what_takes_long_holds_up_nothing_and_keeps_its_order(void **state)
{
	struct toil t;

	(void)state;
	toil_init(&t, CHORES);
	for (int i = 0; i < CHORES; i++)
		chore_ask(&t.one[i].chore);
	chore_ask(&t.one[LAST].chore); /* it waits: once all the same */
	loop_post(t.loop, let_end, &t);
	loop_run(t.loop); /* for ever, if a letter had to wait for the work */
	settle(&t);
	assert_int_equal(t.done, CHORES);
	for (int i = 0; i < CHORES; i++) {
		assert_int_equal(t.order[i], i);
		assert_int_equal(t.one[i].worked, 1);
	}
	assert_true(t.priority >= 10);
	toil_fini(&t);
}

static void
test_what_is_asked_for_while_it_is_worked_at_is_done_once_more(void **state)
{
	struct toil t;

	(void)state;
	toil_init(&t, 2);
	chore_ask(&t.one[0].chore);
	wait_until(&t.is_begun);
	chore_ask(&t.one[0].chore);
	chore_ask(&t.one[0].chore);
	atomic_store(&t.may_end, true);
	loop_run(t.loop);
	settle(&t);
	assert_int_equal(t.one[0].worked, 2);
	assert_int_equal(t.one[0].done, 2);
	toil_fini(&t);
}

static void
test_who_is_finished_is_not_worked_at_again(void **state)
{
	struct toil t;

	(void)state;
	toil_init(&t, 2);
	t.one[0].is_cleared_by_done = true;
	chore_ask(&t.one[0].chore);
	wait_until(&t.is_begun);
	chore_ask(&t.one[0].chore);
	chore_ask(&t.one[1].chore);
	atomic_store(&t.may_end, true);
	loop_run(t.loop);
	settle(&t);
	assert_int_equal(t.one[0].worked, 1);
	assert_int_equal(t.one[1].worked, 1);
	toil_fini(&t);
}

static void
test_what_waits_can_be_called_off_and_what_is_worked_at_comes_back(void **state)
{
	struct toil t;

	(void)state;
	toil_init(&t, 0);
	for (int i = 0; i < CHORES; i++)
		chore_ask(&t.one[i].chore);
	wait_until(&t.is_begun);
	chore_ask(&t.one[0].chore);
	assert_false(chore_clear(&t.one[0].chore)); /* and not once more */
	assert_true(chore_clear(&t.one[LAST].chore));
	assert_true(chore_clear(&t.one[LAST].chore));
	settle(&t);
	assert_int_equal(t.one[0].worked, 1);
	assert_int_equal(t.one[0].done, 1);
	assert_int_equal(t.one[LAST].worked, 0);
	for (int i = 0; i < CHORES; i++) /* what was not handed over stays undone */
		assert_int_equal(t.one[i].worked, t.one[i].done);
	assert_true(t.done < CHORES);
	toil_fini(&t);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
		    test_what_takes_long_holds_up_nothing_and_keeps_its_order),
		cmocka_unit_test(
		    test_what_is_asked_for_while_it_is_worked_at_is_done_once_more),
		cmocka_unit_test(test_who_is_finished_is_not_worked_at_again),
		cmocka_unit_test(
		    test_what_waits_can_be_called_off_and_what_is_worked_at_comes_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
