/*
 * caller.h - on whose behalf: a session, and all that it may do here and now
 *
 * Made by WHO for a connection, from a token or what stands for one, and held by the
 * connection (whose seat at the session it is) and by each exchange of that identity.
 * One worker's, as they are.
 */
#ifndef WEIR_PROXY_CALLER_H
#define WEIR_PROXY_CALLER_H

#include <stdatomic.h>

#include "base/loop.h"
#include "policy/claims.h"
#include "proxy/recheck.h"
#include "state/seat.h"
#include "state/writers.h"

struct caller {
	unsigned refs;
	struct session *session; /* a reference */
	struct grant *grant;     /* what its token says; a reference */
	struct writer *writer;   /* of what its family has recorded; a reference */
	/* What it must pass through, too: its ancestors' grants, parent first;
	 * references. Those of ancestors that have none are left out. */
	struct grant *kin[SESSION_ANCESTORS];
	size_t nkin;
	bool is_armed;    /* an arm of its source says so, no token was brought */
	unix_ms deadline; /* at which what it has open ends; or SESSION_FOREVER */

	/* Its seat: what ends the session or the token ends the connection. */
	struct seat seat;
	struct loop *loop;
	atomic_bool is_told;
	enum session_answer why; /* set before it is told */
	void (*ended)(void *arg, enum session_answer why);
	void *arg;              /* NULL: the connection has let go */
	struct recheck recheck; /* while it has not */
};

/*
 * Takes the references that `of` has (session, grant, writer, kin; no more is looked at);
 * `ask` opened the session.
 * NULL: it was ended meanwhile, *why says by what; the references are gone.  `ended`
 * runs at most once, from the loop, and not after caller_leave().
 */
struct caller *caller_new(const struct caller *of, const struct session_ask *ask,
    struct loop *loop, void (*ended)(void *arg, enum session_answer why), void *arg,
    enum session_answer *why) MUST_CHECK;
struct caller *caller_ref(struct caller *c);
void caller_unref(struct caller *c); /* NULL is fine */
/* The connection's reference, and its seat; NULL is fine. */
void caller_leave(struct caller *c);

#endif
