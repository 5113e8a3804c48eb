/*
 * terms.h - what the ledger is asked, and what it answers
 *
 * Scopes, sessions, reservations, and the reply: the words that ledger.h's calls, the
 * stores, and the readers share.  Text in them is borrowed.
 */
#ifndef WEIR_LEDGER_TERMS_H
#define WEIR_LEDGER_TERMS_H

#include <stdatomic.h>

#include "base/loop.h"
#include "base/money.h"

#define LEDGER_ANCESTORS 8 /* above one session */
/* Of one reservation: turn, session, ancestors, tenant, public, total. */
#define LEDGER_SCOPES (LEDGER_ANCESTORS + 5)
#define LEDGER_MONEY_MAX ((usd_nano)INT64_C(9000000000000000000)) /* as a cap: none */
#define LEDGER_COST_MAX ((usd_nano)INT64_C(1000000000000000000))  /* of one call */
#define LEDGER_NO_CLAIM ((usd_nano)-1)
#define LEDGER_NOBODY "=" /* as a sub, which no claim can be: the token says none */
#define LEDGER_FOREVER ((usec)INT64_C(9000000000000000)) /* as a time: in 2255 */

enum ledger_answer {
#define ANSWER(name, text) LEDGER_##name,
#include "ledger/answers.def"
#undef ANSWER
	LEDGER_ANSWERS
};

const char *ledger_answer_text(enum ledger_answer a); /* static */

/* Which store, and how patient. */
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
	usec first_use;
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
 * of what a provider keeps for a session.  An object that is another session's is not
 * put again: LEDGER_OWNER.  What a session has sent, and where to, is a note that several
 * instances add to (totals.h).
 */
enum ledger_note_kind {
	LEDGER_NOTE_JTI,
	LEDGER_NOTE_ARM,
	LEDGER_NOTE_OBJECT,
	LEDGER_NOTE_SENT,
	LEDGER_NOTE_KINDS
};

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
	int64_t gen;       /* the largest seen */
	struct str claims; /* kept with it; empty: the asker's are no older */
	size_t nkin;       /* ancestors, parent first */
	struct ledger_kin kin[LEDGER_ANCESTORS];

	/* note_get, note_add: */
	struct ledger_note note;
};

/* A question on its way. */
struct ledger_op;
typedef void ledger_done(void *arg, const struct ledger_reply *reply);

#endif
