/*
 * timer.h - deadlines on a wheel
 *
 * Most deadlines never come: an idle time-out is moved with every byte.  So
 * setting, moving and clearing are O(1), and moving later is one store: the
 * timer stays where it lies and is filed anew when that slot comes up.
 *
 * The wheel knows no clock.  Its owner (the loop) tells it the time, and asks
 * when it wants to be told next; a wheel with nothing near wants nothing.
 * One thread.
 */
#ifndef WEIR_BASE_TIMER_H
#define WEIR_BASE_TIMER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"

typedef int64_t msec; /* milliseconds */

/* A deadline: late by at most one tick, never early. */
struct timer {
	struct list link;
	msec at;
	void (*fn)(void *arg);
	void *arg;
};

void timer_init(struct timer *t, void (*fn)(void *arg), void *arg);
void timer_clear(struct timer *t); /* fine when it is not set */
bool timer_is_set(const struct timer *t);

#define WHEEL_TICK_MS INT64_C(32)
#define WHEEL_SLOTS 512
#define WHEEL_NEVER INT64_MAX

/* A slot's bit may be set though its list is empty (cleared since), never the reverse. */
struct wheel_level {
	struct list slot[WHEEL_SLOTS];
	uint64_t bits[WHEEL_SLOTS / 64];
};

struct wheel {
	struct wheel_level near; /* a slot is a tick */
	/* a slot is WHEEL_SLOTS ticks, spread over `near` when they begin */
	struct wheel_level far;
	int64_t tick; /* all up to and including this one have run */
	int64_t next; /* no tick before this one has work; WHEEL_NEVER */
};

void wheel_init(struct wheel *w, msec now);
void wheel_fini(struct wheel *w); /* clears all timers that are set */
void wheel_set(struct wheel *w, struct timer *t, msec at, msec now);
void wheel_run(struct wheel *w,
    msec now); /* calls what is due; a callback may set, clear and free */
msec wheel_next(const struct wheel *w); /* when to run it again; WHEEL_NEVER */

#endif
