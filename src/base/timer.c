#include "base/timer.h"

#include <stddef.h>

void
timer_init(struct timer *t, void (*fn)(void *arg), void *arg)
{
	*t = (struct timer){ .fn = fn, .arg = arg };
}

void
timer_clear(struct timer *t)
{
	list_remove(&t->link);
}

bool
timer_is_set(const struct timer *t)
{
	return !list_is_empty(&t->link);
}

static void
level_init(struct wheel_level *level)
{
	*level = (struct wheel_level){ 0 };
	for (size_t i = 0; i < WHEEL_SLOTS; i++)
		list_init(&level->slot[i]);
}

void
wheel_init(struct wheel *w, msec now)
{
	level_init(&w->near);
	level_init(&w->far);
	w->tick = now / WHEEL_TICK_MS;
	w->next = WHEEL_NEVER;
}

static void
level_fini(struct wheel_level *level)
{
	for (size_t i = 0; i < WHEEL_SLOTS; i++)
		while (!list_is_empty(&level->slot[i]))
			list_remove(level->slot[i].next);
}

void
wheel_fini(struct wheel *w)
{
	level_fini(&w->near);
	level_fini(&w->far);
}

static void
level_add(struct wheel_level *level, int64_t at, struct timer *t)
{
	size_t i = (size_t)(at % WHEEL_SLOTS);

	level->bits[i / 64] |= UINT64_C(1) << (i % 64);
	list_append(&level->slot[i], &t->link);
}

/* All of a slot, moved to `out`, so that callbacks may change the wheel meanwhile. */
static void
level_take(struct wheel_level *level, int64_t at, struct list *out)
{
	size_t i = (size_t)(at % WHEEL_SLOTS);
	struct list *slot = &level->slot[i];

	list_init(out);
	level->bits[i / 64] &= ~(UINT64_C(1) << (i % 64));
	if (list_is_empty(slot))
		return;
	*out = *slot;
	out->next->prev = out->prev->next = out;
	list_init(slot);
}

/* The first slot with work behind `at`, once round; WHEEL_NEVER.  Mends stale bits. */
static int64_t
level_next(struct wheel_level *level, int64_t at)
{
	int64_t end = at + WHEEL_SLOTS;

	for (at++; at < end; at++) {
		size_t i = (size_t)(at % WHEEL_SLOTS);
		uint64_t bits = level->bits[i / 64] >> (i % 64);

		if (bits == 0) {
			at += (int64_t)(63 - i % 64); /* on to the next word */
			continue;
		}
		at += __builtin_ctzll(bits);
		i = (size_t)(at % WHEEL_SLOTS);
		if (at < end && !list_is_empty(&level->slot[i]))
			return at;
		if (at < end)
			level->bits[i / 64] &= ~(UINT64_C(1) << (i % 64));
	}
	return WHEEL_NEVER;
}

static int64_t
tick_of(msec at)
{
	return (at + WHEEL_TICK_MS - 1) / WHEEL_TICK_MS; /* up: never early */
}

/* Lays a timer where its deadline says; `first` is the earliest tick that can still run.
 */
static void
file(struct wheel *w, struct timer *t, int64_t first)
{
	int64_t due = tick_of(t->at), block, last;

	if (due < first)
		due = first;
	if (due - w->tick < WHEEL_SLOTS) {
		level_add(&w->near, due, t);
	} else {
		block = due / WHEEL_SLOTS;
		last = w->tick / WHEEL_SLOTS + WHEEL_SLOTS - 1;
		if (block > last)
			block = last; /* filed anew when that comes up */
		level_add(&w->far, block, t);
		due = block * WHEEL_SLOTS;
	}
	if (due < w->next)
		w->next = due;
}

/* Ticks without work need no running, but an idle wheel must not file by an old time. */
static void
skip_idle(struct wheel *w, msec now)
{
	int64_t tick = now / WHEEL_TICK_MS;

	if (tick > w->next - 1)
		tick = w->next - 1;
	if (tick > w->tick)
		w->tick = tick;
}

void
wheel_set(struct wheel *w, struct timer *t, msec at, msec now)
{
	bool is_later = timer_is_set(t) && at >= t->at;

	t->at = at;
	if (is_later)
		return;
	timer_clear(t);
	skip_idle(w, now);
	file(w, t, w->tick + 1);
}

static void
cascade(struct wheel *w)
{
	struct list moved;

	level_take(&w->far, w->tick / WHEEL_SLOTS, &moved);
	while (!list_is_empty(&moved)) {
		struct timer *t = list_entry(moved.next, struct timer, link);

		timer_clear(t);
		file(w, t, w->tick);
	}
}

static void
run_tick(struct wheel *w)
{
	struct list due;

	if (w->tick % WHEEL_SLOTS == 0)
		cascade(w);
	level_take(&w->near, w->tick, &due);
	while (!list_is_empty(&due)) {
		struct timer *t = list_entry(due.next, struct timer, link);

		timer_clear(t);
		if (tick_of(t->at) > w->tick)
			file(w, t, w->tick + 1); /* it was moved later */
		else
			t->fn(t->arg);
	}
}

static int64_t
next_work(struct wheel *w)
{
	int64_t near = level_next(&w->near, w->tick);
	int64_t far = level_next(&w->far, w->tick / WHEEL_SLOTS);

	if (far != WHEEL_NEVER && far * WHEEL_SLOTS < near)
		return far * WHEEL_SLOTS;
	return near;
}

void
wheel_run(struct wheel *w, msec now)
{
	while (w->next <= now / WHEEL_TICK_MS) {
		w->tick = w->next;
		run_tick(w);
		w->next = next_work(w);
	}
	skip_idle(w, now);
}

msec
wheel_next(const struct wheel *w)
{
	return w->next == WHEEL_NEVER ? WHEEL_NEVER : w->next * WHEEL_TICK_MS;
}
