/*
 * sessions.h - the sessions that this process knows
 *
 * A table, sharded by session.  One that is in it stays: when there are too many, those
 * that nobody holds make room, for the store knows them.  What a session may do is in
 * session.h, who is present at it in seat.h.  Any thread.  Times are milliseconds since
 * 1970.
 */
#ifndef WEIR_STATE_SESSIONS_H
#define WEIR_STATE_SESSIONS_H

#include "base/str.h"

typedef int64_t unix_ms;

#define SESSION_UNLIMITED INT64_C(-1)

struct sessions; /* the table; owned */
struct session;  /* one session; counted */

/* Of what is kept with a session, `grant` in session.h; all NULL: it is never kept. */
struct session_ops {
	void (*ref)(void *grant);
	void (*unref)(void *grant);
};

struct sessions *sessions_new(const struct session_ops *ops);
void sessions_free(struct sessions *all); /* every session has been put back */

struct session *session_ref(struct session *s);
void session_unref(struct session *s); /* NULL is fine */

/* Bytes that no other session has; they may be any.  Borrowed while `s` is held. */
struct str session_name(const struct session *s);
struct session_parts {
	struct str issuer, tenant, sid;
};
/* What such bytes say; borrows from them. */
struct session_parts session_name_parts(struct str name);

/* ---- for /sessions and the log */

struct session_view {
	struct str issuer, tenant, sid, sub, turn, source;
	unix_ms first_use;
	int64_t open, seats, calls, tokens;
	bool is_ended;
};
/* Under the shard's lock: copy, do not call back.  tenant empty: all. */
void sessions_each(struct sessions *all, struct str tenant,
    void (*fn)(void *arg, const struct session_view *v), void *arg);

#endif
