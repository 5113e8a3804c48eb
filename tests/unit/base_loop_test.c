#include "base/loop.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "unit.h"

#define THREADS 4
#define POSTS 2000

struct letters {
	struct loop *loop;
	int next[THREADS]; /* what each thread's next letter must say */
	int open;          /* letters still to come */
};

struct letter {
	struct letters *to;
	int thread, number;
};

static void
on_letter(void *arg)
{
	struct letter *letter = arg;
	struct letters *to = letter->to;

	assert_int_equal(to->next[letter->thread]++, letter->number);
	free(letter);
	if (--to->open == 0)
		loop_stop(to->loop);
}

struct sender {
	struct letters *to;
	int thread;
};

static void *
send_letters(void *arg)
{
	struct sender *sender = arg;

	for (int i = 0; i < POSTS; i++) {
		struct letter *letter = malloc(sizeof(*letter));

		*letter = (struct letter){ sender->to, sender->thread, i };
		loop_post(sender->to->loop, on_letter, letter);
	}
	return NULL;
}

static void
test_letters_of_many_threads_all_arrive_each_in_its_order(void **state)
{
	struct letters to = { .loop = loop_new(), .open = THREADS * POSTS };
	struct sender sender[THREADS];
	pthread_t thread[THREADS];

	(void)state;
	for (int i = 0; i < THREADS; i++) {
		sender[i] = (struct sender){ &to, i };
		assert_int_equal(
		    pthread_create(&thread[i], NULL, send_letters, &sender[i]), 0);
	}
	loop_run(to.loop);
	for (int i = 0; i < THREADS; i++) {
		pthread_join(thread[i], NULL);
		assert_int_equal(to.next[i], POSTS);
	}
	loop_free(to.loop);
}

static void *
run_loop(void *arg)
{
	loop_run(arg);
	return NULL;
}

static void
test_stop_works_from_another_thread_and_before_the_run(void **state)
{
	struct loop *l = loop_new();
	pthread_t thread;

	(void)state;
	assert_int_equal(pthread_create(&thread, NULL, run_loop, l), 0);
	loop_stop(l); /* before or during: either way the run ends */
	pthread_join(thread, NULL);
	loop_stop(l);
	loop_run(l);
	loop_free(l);
	loop_free(NULL);
}

/* What happened, as text. */
struct story {
	struct loop *loop;
	char text[16];
	size_t n;
};

static void
tell(struct story *s, char c)
{
	assert_true(s->n + 1 < sizeof(s->text));
	s->text[s->n++] = c;
}

static void
on_freed(void *arg)
{
	tell(arg, 'f');
}

static void
on_freed_frees_more(void *arg)
{
	struct story *s = arg;

	tell(s, 'F');
	loop_free_later(s->loop, on_freed, s);
}

static void
on_stop(void *arg)
{
	struct story *s = arg;

	tell(s, 's');
	loop_stop(s->loop);
}

static void
on_first(void *arg)
{
	struct story *s = arg;

	loop_free_later(s->loop, on_freed_frees_more, s);
	loop_post(s->loop, on_stop, s); /* another turn */
	tell(s, '1');
}

static void
on_second(void *arg)
{
	tell(arg, '2');
}

static void
test_what_is_freed_later_goes_when_this_turn_is_done(void **state)
{
	struct story s = { .loop = loop_new() };

	(void)state;
	loop_post(s.loop, on_first, &s);
	loop_post(s.loop, on_second, &s);
	loop_run(s.loop);
	assert_string_equal(s.text, "12Ffs");
	loop_free(s.loop);
}

struct busy {
	struct loop *loop;
	struct timer timer;
	bool is_told; /* by another thread */
	bool is_over;
	unsigned times;
};

static void
on_busy(void *arg)
{
	struct busy *b = arg;

	b->times++;
	if (!b->is_over)
		loop_post(b->loop, on_busy, b);
}

static void
on_told(void *arg)
{
	((struct busy *)arg)->is_told = true;
}

static void *
tell_busy(void *arg)
{
	struct busy *b = arg;

	loop_post(b->loop, on_told, b);
	return NULL;
}

static void
on_enough(void *arg)
{
	struct busy *b = arg;

	b->is_over = b->is_told;
	if (b->is_over)
		loop_stop(b->loop);
	else
		timer_set(b->loop, &b->timer, 1);
}

static void
test_who_posts_to_itself_for_ever_lets_timers_and_letters_in(void **state)
{
	struct busy b = { .loop = loop_new() };
	pthread_t other;

	(void)state;
	timer_init(&b.timer, on_enough, &b);
	timer_set(b.loop, &b.timer, 1);
	loop_post(b.loop, on_busy, &b);
	assert_int_equal(pthread_create(&other, NULL, tell_busy, &b), 0);
	loop_run(b.loop);
	pthread_join(other, NULL);
	assert_true(b.times > 1);
	loop_free(b.loop);
}

static void
test_freeing_the_loop_runs_what_is_left(void **state)
{
	struct story s = { .loop = loop_new() };
	struct timer t;

	(void)state;
	timer_init(&t, on_second, &s);
	timer_set(s.loop, &t, 5);
	loop_post(s.loop, on_first, &s);
	loop_free_later(s.loop, on_freed, &s);
	loop_free(s.loop);
	assert_string_equal(s.text, "1sfFf");
	assert_false(timer_is_set(&t));
}

struct wait {
	struct loop *loop;
	struct timer timer;
	usec set_at, delay;
};

static void
on_due(void *arg)
{
	struct wait *w = arg;

	assert_true(clock_mono_us() - w->set_at >= w->delay);
	assert_false(timer_is_set(&w->timer));
	loop_stop(w->loop);
}

static void
test_timers_fire_in_real_time_and_never_early(void **state)
{
	static const msec delays[] = { 0, 1, 40, 90 };
	struct wait w = { .loop = loop_new() };

	(void)state;
	timer_init(&w.timer, on_due, &w);
	for (size_t i = 0; i < COUNT_OF(delays); i++) {
		w.delay = delays[i] * 1000;
		w.set_at = loop_now(w.loop) * 1000;
		timer_set(w.loop, &w.timer, delays[i]);
		loop_run(w.loop);
	}
	loop_free(w.loop);
}

static void
test_a_sooner_timer_wakes_a_loop_that_waits_for_a_later_one(void **state)
{
	struct wait far = { .loop = loop_new() },
		    near = { .loop = far.loop, .delay = 40000 };

	(void)state;
	timer_init(&far.timer, on_due, &far);
	timer_init(&near.timer, on_due, &near);
	timer_set(far.loop, &far.timer, 3600000);
	near.set_at = clock_mono_us();
	timer_set(far.loop, &near.timer, 41);
	loop_run(far.loop);
	assert_true(timer_is_set(&far.timer));
	loop_free(far.loop);
}

static usec
cpu_us(void)
{
	struct rusage use;

	getrusage(RUSAGE_THREAD, &use);
	return (use.ru_utime.tv_sec + use.ru_stime.tv_sec) * 1000000 +
	       use.ru_utime.tv_usec + use.ru_stime.tv_usec;
}

static void
test_a_loop_of_thousands_of_far_timers_sleeps(void **state)
{
	static struct timer far[20000];
	struct wait w = { .loop = loop_new(), .delay = 200000 };
	usec before;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(far); i++) {
		timer_init(&far[i], on_second, NULL);
		timer_set(w.loop, &far[i], 30000 + (msec)i);
	}
	timer_init(&w.timer, on_due, &w);
	w.set_at = loop_now(w.loop) * 1000;
	timer_set(w.loop, &w.timer, 200);
	before = cpu_us();
	loop_run(w.loop);
	assert_true(cpu_us() - before < 50000);
	loop_free(w.loop);
}

struct clocks {
	struct loop *loop;
	msec first;
	int turns;
};

static void
on_clocks(void *arg)
{
	struct clocks *c = arg;
	msec now = loop_now(c->loop);
	usec end = clock_mono_us() + 2000;

	assert_true(now > c->first);
	assert_true(clock_mono_us() / 1000 - now < 10000); /* not from a turn long ago */
	while (clock_mono_us() < end) /* time goes on; this turn's does not */
		assert_true(loop_now(c->loop) == now);
	c->first = now;
	if (++c->turns < 3)
		loop_post(c->loop, on_clocks, c);
	else
		loop_stop(c->loop);
}

static void
test_the_clock_stands_within_a_turn_and_moves_between(void **state)
{
	struct clocks c = { .loop = loop_new() };

	(void)state;
	loop_post(c.loop, on_clocks, &c);
	loop_run(c.loop);
	assert_int_equal(c.turns, 3);
	assert_true(clock_wall_us() > INT64_C(1600000000) * 1000000);
	loop_free(c.loop);
}

static void
test_the_base_is_an_edge_triggered_epoll(void **state)
{
	struct loop *l = loop_new();

	(void)state;
	assert_string_equal(event_base_get_method(loop_base(l)), "epoll");
	assert_true((event_base_get_features(loop_base(l)) & EV_FEATURE_ET) != 0);
	loop_free(l);
}

int
main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(
		    test_letters_of_many_threads_all_arrive_each_in_its_order),
		cmocka_unit_test(test_stop_works_from_another_thread_and_before_the_run),
		cmocka_unit_test(test_what_is_freed_later_goes_when_this_turn_is_done),
		cmocka_unit_test(
		    test_who_posts_to_itself_for_ever_lets_timers_and_letters_in),
		cmocka_unit_test(test_freeing_the_loop_runs_what_is_left),
		cmocka_unit_test(test_timers_fire_in_real_time_and_never_early),
		cmocka_unit_test(
		    test_a_sooner_timer_wakes_a_loop_that_waits_for_a_later_one),
		cmocka_unit_test(test_a_loop_of_thousands_of_far_timers_sleeps),
		cmocka_unit_test(test_the_clock_stands_within_a_turn_and_moves_between),
		cmocka_unit_test(test_the_base_is_an_edge_triggered_epoll),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
