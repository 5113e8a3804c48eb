#include "base/loop.h"

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "base/small.h"

struct task {
	struct task *next;
	void (*fn)(void *arg);
	void *arg;
};

/* First in, first out. */
struct tasks {
	struct task *head, **tail;
};

struct turn {
	usec now; /* 0: nobody has asked in this turn */
};

struct loop {
	struct event_base *base;
	struct turn *
	    turn; /* apart, so that asking a const loop for the time may read the clock */

	struct event bell; /* edge-triggered: each write rings, nobody need read */
	int bell_fd;
	atomic_bool is_stopping;
	pthread_mutex_t lock; /* mailbox */
	struct tasks mailbox;
	bool is_owed; /* its own thread posted, and rang no bell */

	struct tasks dying; /* loop_free_later() */

	struct wheel wheel;
	struct event alarm; /* the one libevent timer: set to wheel_next() */
	msec alarm_at;
};

static _Thread_local struct loop *running; /* on this thread */

static void
tasks_init(struct tasks *q)
{
	*q = (struct tasks){ .tail = &q->head };
}

static void
tasks_add(struct tasks *q, struct task *task)
{
	*q->tail = task;
	q->tail = &task->next;
}

static struct task *
task_new(void (*fn)(void *arg), void *arg)
{
	struct task *task = mem_alloc(sizeof(*task));

	*task = (struct task){ .fn = fn, .arg = arg };
	return task;
}

/* Runs and frees a chain; false when it was empty. */
static bool
tasks_run(struct task *chain)
{
	bool is_any = chain != NULL;

	while (chain != NULL) {
		struct task *task = chain;

		chain = task->next;
		task->fn(task->arg);
		free(task);
	}
	return is_any;
}

static struct task *
tasks_take(struct tasks *q)
{
	struct task *chain = q->head;

	tasks_init(q);
	return chain;
}

static usec
clock_us(clockid_t id)
{
	struct timespec ts;

	clock_gettime(id, &ts);
	return (usec)ts.tv_sec * 1000000 + ts.tv_nsec / 1000;
}

usec
clock_mono_us(void)
{
	return clock_us(CLOCK_MONOTONIC);
}

usec
clock_wall_us(void)
{
	return clock_us(CLOCK_REALTIME);
}

int64_t
clock_wall_ms(void)
{
	return clock_wall_us() / 1000;
}

int64_t
clock_wall_s(void)
{
	return clock_wall_us() / 1000000;
}

static usec
now_us(const struct loop *l)
{
	if (l->turn->now == 0)
		l->turn->now = clock_mono_us();
	return l->turn->now;
}

msec
loop_now(const struct loop *l)
{
	return now_us(l) / 1000;
}

/* The mailbox is emptied once: what its tasks post waits for the next turn. */
static bool
drain_mailbox(struct loop *l)
{
	struct task *chain;

	l->is_owed = false;
	pthread_mutex_lock(&l->lock);
	chain = tasks_take(&l->mailbox);
	pthread_mutex_unlock(&l->lock);
	return tasks_run(chain);
}

static void
on_bell(evutil_socket_t fd, short what, void *arg)
{
	(void)fd, (void)what;
	drain_mailbox(arg);
}

static void
ring(struct loop *l)
{
	uint64_t one = 1;
	ssize_t n = write(l->bell_fd, &one, sizeof(one));

	assert(n == sizeof(one));
	(void)n;
}

void
loop_post(struct loop *l, void (*fn)(void *arg), void *arg)
{
	struct task *task = task_new(fn, arg);
	bool is_first;

	pthread_mutex_lock(&l->lock);
	is_first = l->mailbox.head == NULL;
	tasks_add(&l->mailbox, task);
	pthread_mutex_unlock(&l->lock);
	if (!is_first) /* the bell has rung, or loop_run() knows */
		return;
	if (running == l)
		l->is_owed = true; /* it is awake: a bell would be two system calls */
	else
		ring(l);
}

void
loop_stop(struct loop *l)
{
	atomic_store(&l->is_stopping, true);
	ring(l);
}

void
loop_free_later(struct loop *l, void (*fn)(void *arg), void *arg)
{
	tasks_add(&l->dying, task_new(fn, arg));
}

static void
set_alarm(struct loop *l)
{
	msec at = wheel_next(&l->wheel), delay = at - loop_now(l);
	struct timeval tv;

	l->alarm_at = at;
	if (at == WHEEL_NEVER)
		return;
	if (delay < 0)
		delay = 0;
	tv.tv_sec = delay / 1000;
	tv.tv_usec = delay % 1000 * 1000;
	event_add(&l->alarm, &tv);
}

static void
on_alarm(evutil_socket_t fd, short what, void *arg)
{
	struct loop *l = arg;

	(void)fd, (void)what;
	l->alarm_at = 0; /* callbacks need not set it: it is set below */
	wheel_run(&l->wheel, loop_now(l));
	set_alarm(l);
}

void
timer_set(struct loop *l, struct timer *t, msec delay_ms)
{
	msec now = loop_now(l);

	wheel_set(&l->wheel, t, now + (delay_ms > 0 ? delay_ms : 0), now);
	if (wheel_next(&l->wheel) < l->alarm_at)
		set_alarm(l);
}

static struct event_base *
new_base(void)
{
	struct event_config *config;
	struct event_base *base;

	small_for_libevent();
	config = event_config_new();
	if (config == NULL)
		abort();
	/* what other threads want comes through the bell, so libevent needs no locks */
	if (event_config_set_flag(config, EVENT_BASE_FLAG_NOLOCK) != 0 ||
	    event_config_require_features(config, EV_FEATURE_ET) != 0)
		abort();
	base = event_base_new_with_config(config);
	event_config_free(config);
	if (base == NULL)
		abort();
	return base;
}

struct loop *
loop_new(void)
{
	struct loop *l = mem_zalloc(sizeof(*l));

	l->base = new_base();
	l->turn = mem_zalloc(sizeof(*l->turn));
	tasks_init(&l->mailbox);
	tasks_init(&l->dying);
	pthread_mutex_init(&l->lock, NULL);
	wheel_init(&l->wheel, loop_now(l));
	l->turn->now = 0;
	l->alarm_at = WHEEL_NEVER;
	event_assign(&l->alarm, l->base, -1, 0, on_alarm, l);
	l->bell_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (l->bell_fd < 0)
		abort();
	event_assign(
	    &l->bell, l->base, l->bell_fd, EV_READ | EV_PERSIST | EV_ET, on_bell, l);
	event_add(&l->bell, NULL);
	return l;
}

struct event_base *
loop_base(struct loop *l)
{
	return l->base;
}

/* What is freed may free more. */
static bool
end_turn(struct loop *l)
{
	bool is_any = false;

	while (tasks_run(tasks_take(&l->dying)))
		is_any = true;
	l->turn->now = 0;
	return is_any;
}

/* What it posted to itself is another turn, but none that events must be waited for; who
 * posts again and again lets them have theirs. */
static void
run_turn(struct loop *l)
{
	event_base_loop(
	    l->base, l->is_owed ? EVLOOP_ONCE | EVLOOP_NONBLOCK : EVLOOP_ONCE);
	end_turn(l);
	if (!l->is_owed)
		return;
	drain_mailbox(l);
	end_turn(l);
}

void
loop_run(struct loop *l)
{
	struct loop *outer = running;

	running = l;
	l->turn->now = 0; /* the time since loop_new() was no turn */
	while (!atomic_exchange(&l->is_stopping, false))
		run_turn(l);
	running = outer;
}

void
loop_settle(struct loop *l)
{
	while (drain_mailbox(l) || end_turn(l))
		;
}

void
loop_free(struct loop *l)
{
	if (l == NULL)
		return;
	loop_settle(l);
	wheel_fini(&l->wheel);
	event_del(&l->alarm);
	event_del(&l->bell);
	event_base_free(l->base);
	close(l->bell_fd);
	pthread_mutex_destroy(&l->lock);
	free(l->turn);
	free(l);
}
