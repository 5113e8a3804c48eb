/*
 * trail.h - what is recorded of an exchange before it ends
 *
 * Weir may die, and what was open then has no end of its own.  So an exchange that
 * lasts is written down while it does: `open` once, `progress` again and again, and the
 * next start ends what has no end (audit/past.h).  What carries a credential or money
 * has its `open` record in the file before its first byte goes upstream.
 *
 * Two queues, each in the order of what is due, since all wait equally long in it:
 * joining and leaving cost the same for any number of exchanges, and there is one timer
 * for all of them.  Of many that are due at once a few are written in a turn.  Where the
 * journal has no place they are late, and neither fail nor wait for it.
 *
 * A worker's own.
 */
#ifndef WEIR_PROXY_TRAIL_H
#define WEIR_PROXY_TRAIL_H

#include "base/list.h"
#include "base/loop.h"

/* In the exchange that it is about; zero: on no trail. */
struct trailed {
	struct list queue;
	msec due;       /* its next record */
	bool is_opened; /* it has an `open` record */
};

/* Hands over the record that is due; false: the journal has no place. */
typedef bool trail_say(struct trailed *x);

struct trail {
	struct loop *loop;
	struct list young; /* exchanges without an `open` record */
	struct list old;   /* that have one: their `progress` */
	struct timer timer;
	msec open_after, every;
	trail_say *say;
};

void trail_init(
    struct trail *t, struct loop *l, msec open_after, msec every, trail_say *say);
void trail_fini(struct trail *t);

/* The exchange has begun, or is no more. */
void trail_begin(struct trail *t, struct trailed *x);
void trail_end(struct trailed *x); /* fine when it was not begun */
/* Its `open` record was handed over. */
void trail_opened(struct trail *t, struct trailed *x);

#endif
