/*
 * arms.h - sources that speak for a session without carrying its token
 *
 * One arm for each source.  The token's text is wiped when the arm's time is over and
 * somebody looks; the arm itself stays as long as what it opened may be open, which is
 * the registry's to end (state/session.h).
 *
 * An operator changes them, and so does what the store answers, which may have been asked
 * before the operator's change and come after it.  So changes are counted: whoever asks
 * the store notes the count, and an answer is worth nothing once it has moved.
 *
 * Times are milliseconds since 1970.  Any thread: it has a lock of its own, inside of
 * which nothing else is locked.
 */
#ifndef WEIR_STATE_ARMS_H
#define WEIR_STATE_ARMS_H

#include <pthread.h>

#include "base/map.h"

#define ARMS_COUNTS 256        /* several sources share one: it only moves more often */
#define ARMS_LATEST UINT64_MAX /* for `seen`: said now, whatever has changed */

struct arms {
	pthread_mutex_t lock;
	struct map by_source;
	uint64_t changes[ARMS_COUNTS];
};

struct arm; /* one that stood for a source until now: the caller's */

struct arm_order {
	struct str source, token;
	struct str session; /* its key */
	int64_t until_ms;   /* the source speaks for it */
	int64_t ends_ms;    /* the token: nothing that it opened is open then */
};

void arms_init(struct arms *all);
void arms_fini(struct arms *all);

uint64_t arms_changes(struct arms *all, struct str source);
/* *old: the one before it, or NULL.  False: there were changes since `seen`, and it is
 * not put; so with the next two. */
bool arms_put(struct arms *all, const struct arm_order *o, uint64_t seen, int64_t now_ms,
    struct arm **old) MUST_CHECK;
/* *old NULL: there was none. */
bool arms_take(
    struct arms *all, struct str source, uint64_t seen, struct arm **old) MUST_CHECK;
/* The store, whose clock says `now_ms`, knows of none (any more).  One whose time was
 * over by then stays, as above; any other is taken. */
bool arms_miss(struct arms *all, struct str source, uint64_t seen, int64_t now_ms,
    struct arm **old) MUST_CHECK;
struct str arm_session(const struct arm *a);
void arm_free(struct arm *a); /* wiped; NULL is fine */

/* Appends the token's text; false: this source is not armed (any more). */
bool arms_token(
    struct arms *all, struct str source, int64_t now_ms, struct buf *to) MUST_CHECK;
/* Is it armed, and for that session? */
bool arms_are_for(
    struct arms *all, struct str source, struct str session, int64_t now_ms) MUST_CHECK;
/* Is there one for that session, also when its time is over? */
bool arms_stand_for(struct arms *all, struct str source, struct str session) MUST_CHECK;
/* Is it armed, and was last put longer ago than that? */
bool arms_are_stale(
    struct arms *all, struct str source, int64_t now_ms, int64_t most_ms) MUST_CHECK;
/* How many there are, and how many of them have their token; tests ask. */
size_t arms_count(struct arms *all, size_t *tokens);

#endif
