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
 * Sharded by session: a mutex for an open, then atomics.  Any thread.  Times are
 * milliseconds since 1970.
 */
#ifndef WEIR_STATE_SESSION_H
#define WEIR_STATE_SESSION_H

#include "base/list.h"
#include "base/str.h"

typedef int64_t unix_ms;

#define SESSION_ANCESTORS 8
#define SESSION_UNLIMITED INT64_C(-1)
#define SESSION_FOREVER INT64_MAX
#define SESSION_DETACH_MS 60000

struct sessions; /* the registry */
struct session;  /* one session; counted */

/* sessions.bind and sessions.turns */
enum session_bind { SESSION_BIND_FIRST, SESSION_BIND_ARMED, SESSION_BIND_NONE };

struct session_ops { /* of `grant` below; all NULL: it is never kept */
	void (*ref)(void *grant);
	void (*unref)(void *grant);
};

struct sessions *sessions_new(const struct session_ops *ops);
void sessions_free(struct sessions *all); /* every session has been put back */

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
struct session *session_ref(struct session *s);
void session_unref(struct session *s); /* NULL is fine */

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
/* Bytes that no other session has; they may be any. */
struct str session_name(const struct session *s);
struct session_parts {
	struct str issuer, tenant, sid;
};
/* What such bytes say; borrows from them. */
struct session_parts session_name_parts(struct str name);
/* What holds now in this turn, whatever an older token says; each as it was at some
 * moment.  The turn's are unlimited when the newest to limit one was of another turn. */
struct session_limits session_limits(struct session *s, struct str turn);

/* Bytes it may send to one host: the least of its own and its ancestors'. */
int64_t session_upload(const struct session *s);

/* ---- what is counted: on the session and all its ancestors, or on none */

/* One exchange.  *retry_ms when waiting helps. */
enum session_answer session_begin(
    struct session *s, unix_ms now, int64_t *retry_ms) MUST_CHECK;
void session_end(struct session *s);

/* One model call was settled.  For operators to see: what it may use the ledger knows. */
void session_used(struct session *s, int64_t tokens);

/* ---- presence: what keeps a source attached, and is told when it must end */

/*
 * Embedded in a connection.  `told` runs at most once, on the thread that revokes,
 * detaches or disarms, with the session's lock held: it only posts to the connection's
 * loop.  After seat_leave() has returned it does not run any more.
 */
struct seat {
	struct list link;
	struct session *session;
	uint64_t jti; /* by hash; 0: none */
	uint64_t arm; /* the source by whose arm it came, by hash; 0: by none */
	void (*told)(void *arg, enum session_answer why);
	void *arg;
};
/* For the ask that opened `s`.  Anything but SESSION_OK: since then it was ended,
 * disarmed or taken over, or its token revoked; the seat is not taken. */
enum session_answer seat_take(struct seat *seat, struct session *s,
    const struct session_ask *ask, unix_ms now,
    void (*told)(void *arg, enum session_answer why), void *arg) MUST_CHECK;
void seat_leave(struct seat *seat, unix_ms now); /* fine when it is not taken */

/* ---- what operators do; each ends the seats it concerns and returns how many */

/* Of every issuer; sub-agents with it.  Remembered until `until`. */
size_t sessions_revoke(
    struct sessions *all, struct str tenant, struct str sid, unix_ms until, unix_ms now);
size_t sessions_revoke_token(
    struct sessions *all, struct str tenant, struct str jti, unix_ms until, unix_ms now);
/* The source lets go; the next one that comes owns it. */
size_t sessions_detach(struct sessions *all, struct str tenant, struct str sid);

/* ---- arms: a source that speaks for a session without carrying its token */

/* The token's text is wiped when the arm goes, or its time is over and somebody looks.  A
 * new arm for a source ends the old one, and the seats it had, unless it is for the same
 * session. */
void sessions_arm(struct sessions *all, struct str source, struct str token,
    const struct session_ask *of, unix_ms until, unix_ms now);
bool sessions_disarm(struct sessions *all, struct str source);
/* Whoever asks the store whether a source is armed notes this before. */
uint64_t sessions_arm_changes(struct sessions *all, struct str source);
/* What it answered to that: one is armed, or (at its `now`) none is, which ends what the
 * arm had opened unless its time was over before.  False: somebody has changed it since
 * `seen`, so nothing was done; ask again. */
bool sessions_arm_told(struct sessions *all, struct str source, struct str token,
    const struct session_ask *of, unix_ms until, unix_ms now, uint64_t seen) MUST_CHECK;
bool sessions_disarm_told(
    struct sessions *all, struct str source, unix_ms now, uint64_t seen) MUST_CHECK;
/* It is armed, and the last word on that is older. */
bool sessions_arm_is_stale(
    struct sessions *all, struct str source, unix_ms now, int64_t most_ms) MUST_CHECK;
/* Appends the token's text; false: this source is not armed. */
bool sessions_armed(struct sessions *all, struct str source, unix_ms now, struct buf *to);

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
