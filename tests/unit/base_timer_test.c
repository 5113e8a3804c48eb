#include "base/timer.h"

#include <stdlib.h>

#include "unit.h"

#define MANY INT64_C(5000)
#define HOUR INT64_C(3600000)
#define DAY (24 * HOUR)
#define NEVER_DUE (-1)

/* A wheel with a clock of its own: no test waits for real time. */
struct bench {
	struct wheel w;
	msec now;
};

struct probe {
	struct timer timer;
	struct bench *bench;
	msec due, fired; /* fired: -1 until it was */
	int times;
};

static void
on_fire(void *arg)
{
	struct probe *p = arg;

	p->fired = p->bench->now;
	p->times++;
}

static void
bench_init(struct bench *b, msec now)
{
	b->now = now;
	wheel_init(&b->w, now);
}

static void
probe_set(struct bench *b, struct probe *p, msec delay)
{
	p->due = b->now + delay;
	wheel_set(&b->w, &p->timer, p->due, b->now);
}

static void
probe_init(struct bench *b, struct probe *p)
{
	*p = (struct probe){ .bench = b, .due = NEVER_DUE, .fired = -1 };
	timer_init(&p->timer, on_fire, p);
}

/* Wakes just when the wheel asks, as the loop does; counts how often. */
static size_t
run_until(struct bench *b, msec end)
{
	size_t wakes = 0;

	while (wheel_next(&b->w) <= end) {
		if (wheel_next(&b->w) > b->now)
			b->now = wheel_next(&b->w);
		wheel_run(&b->w, b->now);
		wakes++;
	}
	b->now = end;
	return wakes;
}

static bool
is_on_time(const struct probe *p)
{
	return p->times == 1 && p->fired >= p->due && p->fired <= p->due + WHEEL_TICK_MS;
}

static void
test_every_timer_fires_once_never_early_and_at_most_a_tick_late(void **state)
{
	static const msec starts[] = { 0, 1, 31, 32, 16383, 16384, 123456789 };
	static const msec delays[] = { 0, 1, 31, 32, 33, 1000, 16351, 16352, 16383, 16384,
		16385, 16416, 32768, 60000, HOUR, 2 * HOUR, 3 * HOUR, DAY, 40 * DAY };

	(void)state;
	for (size_t i = 0; i < COUNT_OF(starts); i++) {
		struct probe p[COUNT_OF(delays)];
		struct bench b;

		bench_init(&b, starts[i]);
		for (size_t j = 0; j < COUNT_OF(delays); j++) {
			probe_init(&b, &p[j]);
			probe_set(&b, &p[j], delays[j]);
		}
		run_until(&b, starts[i] + 41 * DAY);
		for (size_t j = 0; j < COUNT_OF(delays); j++)
			assert_true(is_on_time(&p[j]));
		assert_true(wheel_next(&b.w) == WHEEL_NEVER);
	}
}

/* Timers set, moved and cleared at random times, against what each one's last deadline
 * says. */
static void
test_random_setting_moving_and_clearing_keeps_every_promise(void **state)
{
	static struct probe p[MANY];
	unsigned seed = 7;
	struct bench b;

	(void)state;
	bench_init(&b, 5);
	for (size_t i = 0; i < MANY; i++)
		probe_init(&b, &p[i]);
	for (size_t step = 0; step < 10 * MANY; step++) {
		struct probe *q = &p[(size_t)rand_r(&seed) % MANY];

		if (q->times > 0) {
			assert_true(is_on_time(q));
		} else if (rand_r(&seed) % 4 == 0) {
			timer_clear(&q->timer);
			assert_false(timer_is_set(&q->timer));
			q->due = NEVER_DUE;
		} else {
			probe_set(
			    &b, q, rand_r(&seed) % (rand_r(&seed) % 2 ? 500 : 100000));
		}
		run_until(&b, b.now + rand_r(&seed) % 20);
	}
	run_until(&b, b.now + HOUR);
	for (size_t i = 0; i < MANY; i++)
		assert_true(p[i].due == NEVER_DUE ? p[i].times == 0 : is_on_time(&p[i]));
}

static void
test_timers_of_different_ticks_fire_in_order(void **state)
{
	struct probe early, late;
	struct bench b;

	(void)state;
	bench_init(&b, 0);
	probe_init(&b, &early);
	probe_init(&b, &late);
	probe_set(&b, &late, 20000);
	probe_set(&b, &early, 19900);
	run_until(&b, 19950);
	assert_int_equal(early.times, 1);
	assert_int_equal(late.times, 0);
	run_until(&b, 21000);
	assert_int_equal(late.times, 1);
}

static void
test_an_idle_time_out_moved_with_every_byte_is_one_wake(void **state)
{
	struct probe p;
	struct bench b;
	size_t wakes = 0;

	(void)state;
	bench_init(&b, 0);
	probe_init(&b, &p);
	for (int i = 0; i < 10000; i++) { /* 10 s of bytes, a time-out of 60 s */
		probe_set(&b, &p, 60000);
		wakes += run_until(&b, b.now + 1);
	}
	assert_int_equal(wakes, 0);
	wakes += run_until(&b, b.now + 61000);
	assert_true(is_on_time(&p));
	assert_true(wakes <= 4);
}

static void
test_thousands_of_far_timers_cost_no_wakes(void **state)
{
	static struct probe p[MANY];
	struct bench b;

	(void)state;
	bench_init(&b, 0);
	for (size_t i = 0; i < MANY; i++) {
		probe_init(&b, &p[i]);
		probe_set(&b, &p[i], HOUR + (msec)i);
	}
	assert_int_equal(run_until(&b, HOUR - 20000), 0);
	wheel_fini(&b.w);
	for (size_t i = 0; i < MANY; i++)
		assert_false(timer_is_set(&p[i].timer));
}

static void
test_moved_sooner_it_fires_sooner(void **state)
{
	struct probe p;
	struct bench b;

	(void)state;
	bench_init(&b, 0);
	probe_init(&b, &p);
	probe_set(&b, &p, HOUR);
	probe_set(&b, &p, 2 * HOUR);
	probe_set(&b, &p, 100);
	run_until(&b, 200);
	assert_true(is_on_time(&p));
}

static void
test_cleared_it_does_not_fire(void **state)
{
	struct probe p;
	struct bench b;

	(void)state;
	bench_init(&b, 0);
	probe_init(&b, &p);
	timer_clear(&p.timer); /* was never set */
	probe_set(&b, &p, 100);
	assert_true(timer_is_set(&p.timer));
	timer_clear(&p.timer);
	timer_clear(&p.timer);
	run_until(&b, HOUR);
	assert_int_equal(p.times, 0);
}

static void
test_a_wheel_that_slept_long_still_files_by_the_hour_it_is(void **state)
{
	struct probe p;
	struct bench b;

	(void)state;
	bench_init(&b, 0);
	probe_init(&b, &p);
	b.now = 50 * DAY; /* nobody ran an empty wheel meanwhile */
	probe_set(&b, &p, 40);
	assert_true(wheel_next(&b.w) <= p.due + WHEEL_TICK_MS);
	run_until(&b, b.now + 100);
	assert_true(is_on_time(&p));
}

struct pair {
	struct bench *bench;
	struct timer mine, other;
	int mine_times, other_times;
};

static void
on_clear_other(void *arg)
{
	struct pair *pair = arg;

	pair->mine_times++;
	timer_clear(&pair->other);
}

static void
on_other(void *arg)
{
	((struct pair *)arg)->other_times++;
}

static void
test_a_callback_may_clear_one_that_is_due_in_the_same_tick(void **state)
{
	struct bench b;
	struct pair pair = { .bench = &b };

	(void)state;
	bench_init(&b, 0);
	timer_init(&pair.mine, on_clear_other, &pair);
	timer_init(&pair.other, on_other, &pair);
	wheel_set(&b.w, &pair.mine, 100, 0);
	wheel_set(&b.w, &pair.other, 100, 0);
	run_until(&b, 1000);
	assert_int_equal(pair.mine_times, 1);
	assert_int_equal(pair.other_times, 0);
}

static void
on_again(void *arg)
{
	struct pair *pair = arg;

	if (++pair->mine_times < 5)
		wheel_set(
		    &pair->bench->w, &pair->mine, pair->bench->now, pair->bench->now);
}

static void
test_a_callback_that_sets_itself_at_once_waits_a_tick(void **state)
{
	struct bench b;
	struct pair pair = { .bench = &b };

	(void)state;
	bench_init(&b, 0);
	timer_init(&pair.mine, on_again, &pair);
	wheel_set(&b.w, &pair.mine, 32, 0);
	b.now = 32;
	wheel_run(&b.w, b.now);
	assert_int_equal(pair.mine_times, 1); /* others have their turn */
	run_until(&b, 1000);
	assert_int_equal(pair.mine_times, 5);
}

struct owner {
	struct timer timer;
	int *freed;
};

static void
on_free_owner(void *arg)
{
	struct owner *owner = arg;

	++*owner->freed;
	free(owner);
}

static void
test_a_callback_may_free_its_timer(void **state)
{
	int freed = 0;
	struct bench b;

	(void)state;
	bench_init(&b, 0);
	for (int i = 0; i < 3; i++) {
		struct owner *owner = calloc(1, sizeof(*owner));

		owner->freed = &freed;
		timer_init(&owner->timer, on_free_owner, owner);
		wheel_set(&b.w, &owner->timer, 50, 0);
	}
	run_until(&b, 1000);
	assert_int_equal(freed, 3);
}

int
main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(
		    test_every_timer_fires_once_never_early_and_at_most_a_tick_late),
		cmocka_unit_test(
		    test_random_setting_moving_and_clearing_keeps_every_promise),
		cmocka_unit_test(test_timers_of_different_ticks_fire_in_order),
		cmocka_unit_test(test_an_idle_time_out_moved_with_every_byte_is_one_wake),
		cmocka_unit_test(test_thousands_of_far_timers_cost_no_wakes),
		cmocka_unit_test(test_moved_sooner_it_fires_sooner),
		cmocka_unit_test(test_cleared_it_does_not_fire),
		cmocka_unit_test(
		    test_a_wheel_that_slept_long_still_files_by_the_hour_it_is),
		cmocka_unit_test(
		    test_a_callback_may_clear_one_that_is_due_in_the_same_tick),
		cmocka_unit_test(test_a_callback_that_sets_itself_at_once_waits_a_tick),
		cmocka_unit_test(test_a_callback_may_free_its_timer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
