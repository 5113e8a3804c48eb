/*
 * trail.c - what is recorded of an exchange before it ends
 */
#include "proxy/trail.h"

#define AT_ONCE 64             /* records in one turn */
#define PAUSE_MS WHEEL_TICK_MS /* until the next ones */
#define RETRY_MS ((msec)1000)  /* the journal has no place */

static struct trailed *
first_of(const struct list *queue)
{
	return list_is_empty(queue) ? NULL
				    : list_entry(queue->next, struct trailed, queue);
}

static bool
is_due(const struct trailed *x, msec now)
{
	return x != NULL && x->due <= now;
}

/* The one that is due next; NULL: there is none. */
static struct trailed *
next_of(const struct trail *t)
{
	struct trailed *young = first_of(&t->young), *old = first_of(&t->old);

	return young == NULL || (old != NULL && old->due < young->due) ? old : young;
}

static void
look_again(struct trail *t, msec at_least)
{
	const struct trailed *x = next_of(t);
	msec wait;

	if (x == NULL)
		return;
	wait = x->due - loop_now(t->loop);
	timer_set(t->loop, &t->timer, wait > at_least ? wait : at_least);
}

static void
wait_in(struct trail *t, struct list *queue, struct trailed *x, msec delay)
{
	list_remove(&x->queue);
	x->due = loop_now(t->loop) + delay;
	list_append(queue, &x->queue);
	if (!timer_is_set(&t->timer) || x->due < t->timer.at)
		look_again(t, 0);
}

void
trail_opened(struct trail *t, struct trailed *x)
{
	x->is_opened = true;
	wait_in(t, &t->old, x, t->every);
}

static void
on_due(void *arg)
{
	struct trail *t = arg;
	msec now = loop_now(t->loop);
	struct trailed *x;

	for (int n = 0; is_due(x = next_of(t), now); n++) {
		if (n == AT_ONCE) {
			look_again(t, PAUSE_MS);
			return;
		}
		if (!t->say(x)) {
			look_again(t, RETRY_MS);
			return;
		}
		trail_opened(t, x);
	}
	look_again(t, 0);
}

void
trail_init(struct trail *t, struct loop *l, msec open_after, msec every, trail_say *say)
{
	t->loop = l;
	t->say = say;
	t->open_after = open_after;
	t->every = every;
	list_init(&t->young);
	list_init(&t->old);
	timer_init(&t->timer, on_due, t);
}

void
trail_fini(struct trail *t)
{
	timer_clear(&t->timer);
}

void
trail_begin(struct trail *t, struct trailed *x)
{
	wait_in(t, &t->young, x, t->open_after);
}

void
trail_end(struct trailed *x)
{
	list_remove(&x->queue);
}
