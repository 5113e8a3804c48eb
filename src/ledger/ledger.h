/*
 * ledger.h - what was spent, what is promised, and whether there is room for more
 *
 * The invariant: no reservation is granted that would make spent + reserved > cap
 * in any of its scopes.  It is kept by the store, in one atomic step, so it holds
 * across workers, instances, and kill -9.
 *
 * One thread with a loop owns the store.  Calls come from any worker's loop and
 * follow the one shape: x_start(..., done, arg) copies what it is given and returns
 * a handle; done runs once, on the caller's loop, never inside start; after
 * ledger_cancel() it never runs.  What done says is durable: it runs after the
 * store's commit.  The reply and its text are borrowed for that call.
 *
 * In doubt:
 * - the store is away: reserve and session answer LEDGER_AWAY at once (fail closed);
 * - a settle is kept and tried again until it is in the store or the ledger ends;
 *   its done waits for that for at most `patience_ms`, then says LEDGER_AWAY;
 * - a reserve of which nobody knows whether it took place, or that was cancelled, is
 *   given back as soon as the store can be asked (nothing went upstream for it);
 * - a reservation that nobody settles before its lease is over is charged in full,
 *   flagged LEDGER_LOST.  A settle that comes later still says what the call cost:
 *   the row keeps it, and charges what it was more.
 */
#ifndef WEIR_LEDGER_LEDGER_H
#define WEIR_LEDGER_LEDGER_H

#include <stdatomic.h>

#include "base/loop.h"
#include "base/money.h"

#define LEDGER_SCOPES 12                                          /* of one reservation */
#define LEDGER_ANCESTORS 8                                        /* above one session */
#define LEDGER_MONEY_MAX ((usd_nano)INT64_C(9000000000000000000)) /* as a cap: none */
#define LEDGER_COST_MAX ((usd_nano)INT64_C(1000000000000000000))  /* of one call */
#define LEDGER_NO_CLAIM ((usd_nano)-1)

enum ledger_answer {
#define ANSWER(name, text) LEDGER_##name,
#include "ledger/answers.def"
#undef ANSWER
	LEDGER_ANSWERS
};

const char *ledger_answer_text(enum ledger_answer a); /* static */

/* ---- the ledger */

struct ledger;

struct ledger_options {
	const char
	    *url; /* memory: · sqlite:PATH · redis://HOST:PORT/DB · redis+unix:PATH */
	const char *directory; /* state_dir: a relative PATH and the seen file are in it;
				  NULL: . */
	struct str password;   /* of Redis; empty: none */
	msec patience_ms;      /* how long a caller waits for the store; 0: 5 s */
	msec sweep_ms;         /* how often leases are looked at; 0: 1 s */
	int uid, gid;          /* owner of files made while still root; -1: as is */
	/* Tests move the store's clock by this many microseconds; NULL: nobody does. */
	const _Atomic int64_t *shift_us;
};

/*
 * Opens the store.  A store that is not fit (unreadable, of another version, damaged,
 * already open for writing elsewhere) is NULL after logging why.  Redis may be away:
 * it is tried again for ever.
 */
struct ledger *ledger_open(const struct ledger_options *o) MUST_CHECK;
void ledger_start(struct ledger *l); /* the thread; after rights are dropped */
/*
 * Ends the thread after what was asked has been answered.  Nothing may be started after
 * this; what callers' loops still have to say to them, they say.
 */
void ledger_close(struct ledger *l);
/* Any thread: LEDGER_OK, LEDGER_AWAY or LEDGER_ROLLED_BACK, for /readyz and /status. */
enum ledger_answer ledger_health(const struct ledger *l);
/* Any thread: settles that wait for the store. */
size_t ledger_waiting(const struct ledger *l);

/* ---- scopes */

enum ledger_scope_kind {
	LEDGER_TURN,     /* issuer, tenant, sid, turn */
	LEDGER_SESSION,  /* issuer, tenant, sid */
	LEDGER_ANCESTOR, /* the same row as that session's own */
	LEDGER_TENANT,   /* issuer (may be empty), tenant */
	LEDGER_PUBLIC,   /* nothing: all public sessions */
	LEDGER_TOTAL,    /* nothing */
};

/* By the store's clock, UTC.  A window that has begun never becomes an earlier one. */
enum ledger_window { LEDGER_EVER, LEDGER_DAY, LEDGER_MONTH };

/*
 * The cap that holds is the smaller of `cap` and what tokens claimed: the claim of
 * the largest gen seen (the smallest one, where several of that gen differ).  So a
 * lower claim holds at once, a higher one needs a larger gen, and an old token
 * brings no riches back.  A claim with an older gen can only lower, and only itself.
 */
struct ledger_scope {
	enum ledger_scope_kind kind;
	enum ledger_window window;
	struct str issuer, tenant, sid,
	    turn;       /* 1..128 bytes each, where the kind has it */
	usd_nano cap;   /* configured, as of now */
	usd_nano claim; /* LEDGER_NO_CLAIM: what is remembered */
	int64_t gen;
	int64_t max_calls, max_tokens; /* 0: no limit; tokens are counted when settled */
};

struct ledger_room {
	usd_nano cap, spent, reserved; /* after the step */
	int64_t calls, tokens;
};

/* What is left; below zero after charges over what was held. */
usd_nano ledger_left(const struct ledger_room *r);

/* ---- sessions */

/*
 * Whose call it is.  The first use of (issuer, tenant, sid) makes `sub` its owner and
 * `par` its parent, for ever.
 */
struct ledger_who {
	struct str issuer, tenant, sid, sub; /* no sid: no session, nothing is checked */
	struct str par;                      /* the parent's sid, or empty */
	struct str turn;                     /* or empty */
	struct str jti;                      /* or empty */
	int64_t gen;
	usec expires; /* of the token; since 1970 */
	usd_nano
	    claim; /* budget.sessionUsd, remembered for sub-agents; or LEDGER_NO_CLAIM */
	bool turns_concurrent;
	struct str
	    claims; /* up to 8 KiB, kept with the largest gen: for sub-agents' limits */
};

struct ledger_kin {
	struct str sid, claims;
};

/* ---- operations */

struct ledger_call {
	struct str request; /* 1..64 bytes */
	int64_t attempt;    /* with it: names the call, once for ever */
};

struct ledger_reserve {
	struct ledger_call call;
	struct ledger_who who;
	size_t nscope;
	struct ledger_scope scope[LEDGER_SCOPES]; /* innermost first */
	usd_nano want, floor;                     /* 0 <= floor <= want */
	int64_t
	    share_ppm; /* at most this of the smallest remainder, unless floor is more */
	msec lease_ms;
	struct str provider, model, prices; /* for the row: ≤ 128 bytes each */
};

/* Flags of a row.  Those of the first line are the caller's to set. */
enum ledger_flag {
	LEDGER_ESTIMATED = 1,
	LEDGER_REPORTED = 2,
	LEDGER_MALFORMED = 4,
	LEDGER_CUT = 8,
	LEDGER_OVER_HOLD = 16, /* cost more than was held */
	LEDGER_LOST = 32,      /* nobody settled it in time: charged in full */
	LEDGER_LATE = 64,      /* settled after that */
	LEDGER_UNHELD = 128,   /* the store knew no reservation of it */
	LEDGER_UNSENT = 256,   /* given back: nothing went upstream */
	LEDGER_ADJUSTED = 512, /* an operator's correction */
};

struct ledger_settle {
	struct ledger_call call;
	usd_nano cost; /* at most LEDGER_COST_MAX */
	int64_t input, cached, output;
	struct str
	    usage; /* up to 4 KiB, JSON: all that is needed to compute the cost again */
	struct str
	    prices; /* digest of the table it was computed with; empty: the reserve's */
	struct str model; /* the one that answered; empty: the reserve's */
	unsigned flags;   /* of the caller's */
	/* The reserve's own, so that a store that lost the reservation still charges. */
	size_t nscope;
	const struct ledger_scope *scope;
};

/* What is there, without asking for any of it. */
struct ledger_look {
	size_t nscope;
	const struct ledger_scope *scope;
};

struct ledger_renew {
	struct ledger_call call;
	msec lease_ms;
};

/* A correction: `delta` (may be negative) is added to what was spent in one scope. */
struct ledger_adjust {
	struct ledger_call call; /* names the correction: twice is once */
	struct ledger_scope scope;
	usd_nano delta;
	struct str why; /* up to 1 KiB */
};

/* Deletes a tenant (no sid) or a session; it cannot come back for `keep_ms`. */
struct ledger_forget {
	struct str issuer, tenant, sid; /* no issuer: of every issuer */
	msec keep_ms;
};

/*
 * What else lasts: a name, some text, and when it ends.  An arm's name is its socket or
 * address, a revocation's is ledger_jti_name(), an object's (provider, id) that
 * of what a provider keeps for a session.
 */
enum ledger_note_kind { LEDGER_NOTE_JTI, LEDGER_NOTE_ARM, LEDGER_NOTE_OBJECT };

struct ledger_note {
	enum ledger_note_kind kind;
	struct str issuer, tenant, sid; /* whose it is; forgotten with it */
	struct str name;                /* up to 512 bytes; unique within the kind */
	struct str text;                /* up to 8 KiB */
	int64_t number;
	usec until; /* since 1970; it is not there any more after that */
};

/* The name of a LEDGER_NOTE_JTI. */
void ledger_jti_name(
    struct buf *to, struct str issuer, struct str tenant, struct str jti);

struct ledger_reply {
	enum ledger_answer answer;
	int64_t revision; /* of the store, after this step: a total order of all steps */
	usec now;         /* the store's clock */

	/* reserve, settle: */
	usd_nano granted; /* reserve */
	usd_nano charged; /* settle: what this call has cost its scopes */
	unsigned flags;   /* settle: of the row */
	bool is_repeat;   /* it had been done before; this is what was answered then */
	size_t nroom;     /* as many as scopes, in their order */
	struct ledger_room room[LEDGER_SCOPES];
	size_t refused;    /* EXHAUSTED, LIMIT: which scope; the innermost of those that
			      refuse */
	bool is_in_flight; /* EXHAUSTED: it would fit, were other calls settled at nothing
			    */

	/* session, reserve: */
	usec first_use;
	int64_t gen; /* the largest seen */
	size_t nkin; /* ancestors, parent first */
	struct ledger_kin kin[LEDGER_ANCESTORS];

	/* note_get: */
	struct ledger_note note;
};

struct ledger_op;
typedef void ledger_done(void *arg, const struct ledger_reply *reply);

/* NULL: too much is waiting, or the request makes no sense; refuse (ledger_unavailable).
 */
struct ledger_op *ledger_reserve_start(struct ledger *l, struct loop *on,
    const struct ledger_reserve *r, ledger_done *done, void *arg) MUST_CHECK;
/* First use, owner, turn, ancestors, revocation: what a session's every first call asks.
 */
struct ledger_op *ledger_session_start(struct ledger *l, struct loop *on,
    const struct ledger_who *who, ledger_done *done, void *arg) MUST_CHECK;
/* Never NULL.  done may be NULL for all that follow. */
struct ledger_op *ledger_settle_start(struct ledger *l, struct loop *on,
    const struct ledger_settle *s, ledger_done *done, void *arg);
struct ledger_op *ledger_renew_start(struct ledger *l, struct loop *on,
    const struct ledger_renew *r, ledger_done *done, void *arg);
struct ledger_op *ledger_adjust_start(struct ledger *l, struct loop *on,
    const struct ledger_adjust *a, ledger_done *done, void *arg);
struct ledger_op *ledger_forget_start(struct ledger *l, struct loop *on,
    const struct ledger_forget *f, ledger_done *done, void *arg);
/* room[] of each scope: for `GET /weir/v1/session`. */
struct ledger_op *ledger_look_start(struct ledger *l, struct loop *on,
    const struct ledger_look *q, ledger_done *done, void *arg);
/* A revoked session never comes back. */
struct ledger_op *ledger_revoke_start(struct ledger *l, struct loop *on,
    struct str issuer, struct str tenant, struct str sid, ledger_done *done, void *arg);
struct ledger_op *ledger_note_put_start(struct ledger *l, struct loop *on,
    const struct ledger_note *n, ledger_done *done, void *arg);
/* Only kind and name are looked at. */
struct ledger_op *ledger_note_get_start(struct ledger *l, struct loop *on,
    const struct ledger_note *n, ledger_done *done, void *arg);
struct ledger_op *ledger_note_delete_start(struct ledger *l, struct loop *on,
    const struct ledger_note *n, ledger_done *done, void *arg);

/*
 * done will not run.  A reserve that was granted all the same is given back; anything
 * else happens or not.  On the loop it was started on; op is gone.
 */
void ledger_cancel(struct ledger_op *op);

#endif
