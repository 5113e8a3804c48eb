/*
 * op.h - one question to the store, on its way there and back
 *
 * Made on the caller's thread, with all keys built; then the ledger's thread's, while
 * it is with the store; then the caller's again.  Nothing is shared in between, so
 * there are no locks.
 */
#ifndef WEIR_LEDGER_OP_H
#define WEIR_LEDGER_OP_H

#include "base/arena.h"
#include "base/list.h"
#include "ledger/key.h"
#include "ledger/terms.h"

enum op_kind {
	OP_RESERVE,
	OP_SESSION,
	OP_SETTLE,
	OP_LOOK,
	OP_RENEW,
	OP_RELEASE, /* a reserve that is in doubt or was cancelled */
	OP_SWEEP,   /* leases that are over */
	OP_ADJUST,
	OP_FORGET,
	OP_REVOKE,
	OP_NOTE_PUT,
	OP_NOTE_GET,
	OP_NOTE_DELETE,
	OP_NOTE_ADD,
	OP_KINDS
};

struct op_scope {
	struct str key; /* without its window */
	enum ledger_window window;
	usd_nano cap, claim;
	int64_t gen, max_calls, max_tokens;
};

#define OP_TOMBS 4 /* session and tenant, of this issuer and of any */

struct op_who {
	bool is_any;
	struct str session; /* key */
	struct str scope;   /* key of its scope row */
	struct str jti;     /* key of its revocation; empty: none */
	struct str issuer, tenant, sid, sub, par, turn, claims;
	struct str tomb[OP_TOMBS];
	int64_t gen;
	usec expires;
	usd_nano claim;
	bool turns_concurrent;
};

struct ledger;

struct ledger_op {
	struct ledger *ledger;
	struct loop *on; /* NULL: nobody waits */
	ledger_done *done;
	void *arg;
	bool is_cancelled; /* the caller's; what follows is the ledger's thread's */

	struct list link; /* queue, or with the store, or kept */
	bool is_in_doubt; /* the store may have done it, though the answer is AWAY */
	msec since;       /* when the ledger's thread got it */
	struct arena memory;

	enum op_kind kind;
	struct op_who who;
	struct str call; /* key */
	size_t nscope;
	struct op_scope scope[LEDGER_SCOPES];
	usd_nano want, floor;
	int64_t share_ppm;
	usec lease_us;
	struct str provider, model, prices, usage;
	usd_nano cost; /* settle; adjust: the difference */
	int64_t input, cached, output;
	unsigned flags;
	usec keep_us;       /* forget */
	struct str session; /* key: forget (of parts, any may be empty), revoke, note */
	struct str note;    /* key */
	struct str text;
	int64_t number;
	usec until;

	struct ledger_reply reply;
};

/*
 * Each copies all it is given.  NULL: the request makes no sense (op_reserve, op_session,
 * op_note); the others answer LEDGER_INVALID by themselves: op->reply.answer is set.
 */
struct ledger_op *op_new(enum op_kind kind);
void op_free(struct ledger_op *op);
struct ledger_op *op_reserve(const struct ledger_reserve *r);
struct ledger_op *op_session(const struct ledger_who *who);
struct ledger_op *op_settle(const struct ledger_settle *s);
struct ledger_op *op_look(const struct ledger_look *q);
struct ledger_op *op_renew(const struct ledger_renew *r);
struct ledger_op *op_release(const struct ledger_op *reserve);
struct ledger_op *op_adjust(const struct ledger_adjust *a);
struct ledger_op *op_forget(const struct ledger_forget *f);
struct ledger_op *op_revoke(struct str issuer, struct str tenant, struct str sid);
struct ledger_op *op_note(enum op_kind kind, const struct ledger_note *n);

/* All but the caller's part moves to a new op that nobody waits for. */
struct ledger_op *op_split(struct ledger_op *op);

/* Text that lives as long as the op. */
struct str op_text(struct ledger_op *op, struct str s);

#endif
