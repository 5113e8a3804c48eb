/*
 * loop.h - a thread is a loop with a mailbox
 *
 * One libevent base, a wheel of timers, a mailbox other threads post to, a
 * clock read once a turn, and a list of things to free when the turn ends.
 * Everything here but loop_post() and loop_stop() belongs to the loop's own
 * thread.
 */
#ifndef WEIR_BASE_LOOP_H
#define WEIR_BASE_LOOP_H

#include <event2/event.h>
#include <event2/event_struct.h>

#include "base/str.h"
#include "base/timer.h"

typedef int64_t usec; /* microseconds */

struct loop;

struct loop *loop_new(void);
void loop_free(struct loop *l); /* settles it first */
/* Runs what is left in mailbox and free list; its thread runs no more. */
void loop_settle(struct loop *l);
void loop_run(struct loop *l);  /* until loop_stop() */
void loop_stop(struct loop *l); /* any thread */
struct event_base *loop_base(struct loop *l);

/* fn(arg) runs once on the loop's thread, in the order posted.  Any thread. */
void loop_post(struct loop *l, void (*fn)(void *arg), void *arg);
/*
 * fn(arg) runs when this turn's callbacks are done: how objects that callbacks
 * may still name are freed.
 */
void loop_free_later(struct loop *l, void (*fn)(void *arg), void *arg);

msec loop_now(const struct loop *l); /* monotonic, as of this turn's beginning */
usec clock_mono_us(void);            /* read now */
usec clock_wall_us(void);            /* since 1970, UTC; read now */
int64_t clock_wall_ms(void);
int64_t clock_wall_s(void);
static inline msec
clock_mono_ms(void)
{
	return clock_mono_us() / 1000;
}

/*
 * A deadline (timer.h): late by at most 32 ms, never early.  Setting it again
 * moves it; moving it later is one store.
 */
void timer_set(struct loop *l, struct timer *t, msec delay_ms);

#endif
