/*
 * arms.h - sources that speak for a session without carrying its token
 *
 * One arm for each source.  The token's text is wiped when the arm's time is over and
 * somebody looks; the arm itself stays as long as what it opened may be open, which is
 * the registry's to end (state/session.h).  Times are milliseconds since 1970.  Any
 * thread: it has a lock of its own, inside of which nothing else is locked.
 */
#ifndef WEIR_STATE_ARMS_H
#define WEIR_STATE_ARMS_H

#include <pthread.h>

#include "base/map.h"

struct arms {
	pthread_mutex_t lock;
	struct map by_source;
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

/* The one before it, or NULL. */
struct arm *arms_put(
    struct arms *all, const struct arm_order *o, int64_t now_ms) MUST_CHECK;
/* NULL: there was none. */
struct arm *arms_take(struct arms *all, struct str source) MUST_CHECK;
struct str arm_session(const struct arm *a);
void arm_free(struct arm *a); /* wiped; NULL is fine */

/* Appends the token's text; false: this source is not armed (any more). */
bool arms_token(
    struct arms *all, struct str source, int64_t now_ms, struct buf *to) MUST_CHECK;
/* Is it armed, and for that session? */
bool arms_are_for(
    struct arms *all, struct str source, struct str session, int64_t now_ms) MUST_CHECK;
/* How many there are, and how many of them have their token; tests ask. */
size_t arms_count(struct arms *all, size_t *tokens);

#endif
