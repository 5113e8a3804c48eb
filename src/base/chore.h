/*
 * chore.h - what takes long, such as a step of a handshake, is done beside a loop
 *
 * It is worked at on a thread of lower priority, so that whatever comes to the loop
 * meanwhile does not wait for it, and is finished on the loop.  All calls belong to the
 * loop's thread.
 */
#ifndef WEIR_BASE_CHORE_H
#define WEIR_BASE_CHORE_H

#include "base/list.h"
#include "base/loop.h"

struct chores; /* one loop's, and its thread */

struct chores *chores_new(struct loop *home);
int chores_start(struct chores *cs) MUST_CHECK; /* 0, or an errno: no thread */
/* The thread ends, what was handed to it is worked at here, and finished as the loop
 * settles.  What still waits is left alone. */
void chores_stop(struct chores *cs); /* again is fine */
void chores_free(struct chores *cs); /* once the loop has settled; NULL is fine */
struct loop *chores_loop(const struct chores *cs);

/* The caller's; nobody else looks within. */
struct chore {
	struct list link;
	struct chores *of;
	void (*work)(void *arg); /* beside the loop: touches nothing that is the loop's */
	void (*done)(void *arg); /* on the loop, after it */
	void *arg;
	bool is_waiting, is_away, is_wanted_again;
};

void chore_init(struct chore *c, struct chores *of, void (*work)(void *arg),
    void (*done)(void *arg), void *arg);
/*
 * In the order they were asked for.  One that waits is done once all the same; one that
 * is being worked at once more, unless its `done` clears it.
 */
void chore_ask(struct chore *c);
/*
 * It is not asked for any more.  False: it is being worked at, so that it and what it
 * works with must stay until `done`, which comes nevertheless.
 */
bool chore_clear(struct chore *c);

#endif
