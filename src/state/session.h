/*
 * session.h - who is using weir right now, and what each may still do
 *
 * What a verified token says is put to the session it names: is it the owner's, from
 * the source that holds the session, of the current turn, in time, not revoked, and are
 * its ancestors in order?  Then requests and open exchanges are counted for it and its
 * ancestors.  Model calls and tokens are the ledger's to limit, which every instance
 * shares; here they are only shown.
 *
 * This is the part of a session that lives in the process.  What must outlast it (first
 * use, owner, gen, current turn, revocations) is the store's: session_open() answers
 * SESSION_ASK_STORE when only the store can know, and what it says is put in by
 * session_learn().  So the store is asked once for a session and once for each new turn,
 * and a session that is known goes on while the store is away.
 *
 * The table is sessions.h's.  Its mutex is taken for an open, then atomics.  Any thread.
 * Times are milliseconds since 1970.
 */
#ifndef WEIR_STATE_SESSION_H
#define WEIR_STATE_SESSION_H

#include "state/sessions.h"

#define SESSION_ANCESTORS 8
#define SESSION_FOREVER INT64_MAX
#define SESSION_DETACH_MS 60000

/* sessions.bind and sessions.turns */
enum session_bind { SESSION_BIND_FIRST, SESSION_BIND_ARMED, SESSION_BIND_NONE };

enum session_answer {
	SESSION_OK,
	SESSION_ASK_STORE,
	SESSION_INVALID, /* the ancestors: unknown, foreign, a cycle, too deep, another
			    par */
	SESSION_OWNER_MISMATCH,
	SESSION_REVOKED,
	SESSION_TIME_EXHAUSTED,
	SESSION_NOT_ATTACHED,
	SESSION_TURN_ENDED,
	SESSION_EXPIRED,
	SESSION_RATE_LIMITED,
	SESSION_CONCURRENCY_LIMITED,
	SESSION_ANSWERS
};
const char *session_answer_text(enum session_answer a); /* a static sentence */

/* SESSION_UNLIMITED: none */
struct session_limits {
	int64_t requests_per_minute, concurrency;
	int64_t turn_calls, turn_tokens, session_tokens;
	int64_t upload; /* bytes to one host */
};

/* What a verified token says, and who came with it; borrowed for the call. */
struct session_ask {
	struct str issuer, tenant, sid, sub; /* the first three name the session */
	struct str turn, jti, par;           /* empty: none */
	int64_t gen;
	unix_ms expires;   /* the token's */
	int64_t vm_ms;     /* from first use; SESSION_UNLIMITED: none */
	struct str source; /* as state/limits keys clients: a peer address or a socket */
	struct session_limits limits;
	void *grant; /* what its sub-agents must pass through, too */
	enum session_bind bind;
	bool turns_concurrent;
	bool is_armed; /* the source brought no token, an arm speaks for it */
};

/*
 * SESSION_OK: *out is a reference.  Anything else: the token may not be used (now), and
 * nothing has changed; SESSION_ASK_STORE: ask the store, session_learn(), ask again.
 */
enum session_answer session_open(struct sessions *all, const struct session_ask *ask,
    unix_ms now, struct session **out) MUST_CHECK;

/* A session as the store knows it: what its newest token said. */
struct session_kin {
	struct str sid, turn;
	unix_ms first_use;
	int64_t gen;
	int64_t vm_ms;
	struct session_limits limits;
	void *grant; /* NULL: none kept */
};

/* What the store answered: the ask is this session's, and `gen` and turn are current. */
struct session_facts {
	unix_ms first_use;
	int64_t gen; /* the largest seen */
	/* Where that is more than the ask's: what it said, but for sid and first_use. */
	bool has_newer;
	struct session_kin newer;
	size_t nkin; /* parent first */
	struct session_kin kin[SESSION_ANCESTORS];
};
/* SESSION_OK, or SESSION_INVALID when the ancestors are not in order. */
enum session_answer session_learn(struct sessions *all, const struct session_ask *ask,
    const struct session_facts *facts, unix_ms now) MUST_CHECK;

/* The store's last word on this token of the session is older than that: where others
 * use the store, too, they may have revoked it meanwhile. */
bool session_is_stale(
    struct session *s, struct str jti, unix_ms now, int64_t most_ms) MUST_CHECK;
/* It was asked now, and said nothing against it.  session_learn() does this by itself. */
void session_confirm(struct session *s, struct str jti, unix_ms now);

/* ---- looking at one */

/* When this token's use of it must end: its exp, or the end of vmSeconds (its own and
 * its ancestors'), whichever comes first. */
unix_ms session_deadline(const struct session *s, unix_ms expires);
/* Parent first; borrowed while `s` is held.  The grants are references of the caller's.
 */
size_t session_ancestors(
    struct session *s, struct session *out[static SESSION_ANCESTORS]);
void *session_grant(struct session *s); /* the newest seen; a reference, or NULL */
/* The first ancestor, or itself; borrowed likewise. */
struct session *session_root(struct session *s);
/* What holds now in this turn, whatever an older token says; each as it was at some
 * moment.  The turn's are unlimited when the newest to limit one was of another turn. */
struct session_limits session_limits(struct session *s, struct str turn);

/* Bytes it may send to one host: the least of its own and its ancestors'. */
int64_t session_upload(const struct session *s);
/* How often that has changed for any: who has something open may ask anew then. */
uint64_t sessions_upload_changes(const struct sessions *all);

/* ---- what is counted: on the session and all its ancestors, or on none */

/* One exchange.  *retry_ms when waiting helps. */
enum session_answer session_begin(
    struct session *s, unix_ms now, int64_t *retry_ms) MUST_CHECK;
void session_end(struct session *s);

/* One model call was settled.  For operators to see: what it may use the ledger knows. */
void session_used(struct session *s, int64_t tokens);

/* ---- for state/seat, under the lock of the session's shard */

/* What session_open() asks of a session that is known; and where that is in order, what
 * the ask says is taken. */
enum session_answer session_check(
    const struct session *s, const struct session_ask *ask, unix_ms now) MUST_CHECK;
void session_enter(struct session *s, const struct session_ask *ask, unix_ms now);

#endif
