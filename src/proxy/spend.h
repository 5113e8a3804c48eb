/*
 * spend.h - one model call's money: judged, bounded, reserved, settled
 *
 * Made for an exchange at the gateway and kept until it ends.  The request's body is
 * read into it, understood by the meter, and reserved for in every scope of the session
 * before a byte goes upstream; the reservation is renewed while the call runs, and
 * settled once.  Whatever way the exchange ends, what is held does not stay held: a call
 * that was not sent costs nothing, one that was is charged what it was seen to use, and
 * at the ceiling where nobody said.
 *
 * A call that runs on in the background outlives its exchange: what is held stays so
 * for BACKGROUND_LEASE, and the exchange whose answer first says how it ended settles
 * it.  When none does it is charged in full.
 *
 * Belongs to one worker.
 */
#ifndef WEIR_PROXY_SPEND_H
#define WEIR_PROXY_SPEND_H

#include "meter/answer.h"
#include "meter/bound.h"
#include "meter/cost.h"
#include "proxy/exchange.h"
#include "proxy/objects.h"
#include "proxy/route.h"
#include "proxy/scopes.h"

#define BACKGROUND_LEASE ((msec)(8 * 3600 + 900) * 1000) /* they end within 8 h */
#define SPEND_NAME 129 /* of a request, at the provider; with its NUL */

struct spend {
	struct engine *e;
	struct exchange *x;
	const struct route *route;
	const struct grant *grant; /* whose money; NULL: nobody's */
	struct arena arena;        /* of the call */
	struct buf body;           /* the request's */
	struct call call;
	bool is_read;    /* the body is whole */
	bool is_metered; /* the call costs; after spend_judge() */
	struct bound bound;
	yyyymmdd day;
	struct object_note
	    referred[CALL_REFERENCES]; /* of call.reference[]: after spend_own() */
	size_t nreferred;
	size_t nkept;   /* objects that the answer named and the store was told of */
	uint64_t asked; /* output that was asked for, when is_clamped */
	bool is_clamped;

	struct scopes scopes;
	struct ledger_op *op;
	struct timer lease;
	usd_nano granted;
	bool is_held, is_sent;
	msec sent_at;

	/* for the record and the client */
	bool has_left;
	usd_nano left, turn_left, session_left;
	struct ledger_room room[LEDGER_SCOPES]; /* after spend_look() */
	size_t nroom;
	bool is_settled;
	usd_nano charged;
	enum basis basis;
	struct run tokens;
	char model[USAGE_MODEL];      /* that answered */
	char provider_id[SPEND_NAME]; /* what the provider calls the request */
	struct record_money money;

	void (*done)(void *arg, bool is_fine);
	void *arg;
};

/* x->route is set; x->who says whose. */
struct spend *spend_new(struct engine *e, struct exchange *x);
/* Gives back or settles what is held; done() does not run.  NULL is fine. */
void spend_end(struct spend *s);
void spend_free(struct spend *s);

/* For the record; NULL: it was no model call, or was never understood as one. */
const struct record_money *spend_money(struct spend *s);

/* The body is whole: may it run, and what can it cost?  False: x->reason. */
bool spend_judge(struct spend *s) MUST_CHECK;
/*
 * The call refers to what a provider keeps: done(true) when it is all this session's,
 * and it is known what the call can cost.  done(false): x->reason.
 */
void spend_own(struct spend *s, void (*done)(void *arg, bool is_fine), void *arg);
/*
 * done(true): so much is held.  done(false): x->reason.  False: x->reason at once, and
 * done() does not run.
 */
bool spend_reserve(
    struct spend *s, void (*done)(void *arg, bool is_fine), void *arg) MUST_CHECK;
/* s->room: what is left in each scope. */
bool spend_look(
    struct spend *s, void (*done)(void *arg, bool is_fine), void *arg) MUST_CHECK;
/* Does its answer say what was used? */
bool spend_is_told(const struct spend *s);
/* From now on it may cost. */
void spend_sent(struct spend *s);
/* Its head is there: notes what the provider calls the request. */
void spend_answered(struct spend *s, const struct http_head *response);
/* So much of the answer was read: what it names belongs to the session from now on. */
void spend_keep(struct spend *s, const struct answer *a);
/*
 * By what was said and delivered so far, which is the least that it can be
 * (estimate_least), the stream has cost more than is held.
 */
bool spend_is_passed(const struct spend *s, struct answer *a) MUST_CHECK;
/*
 * The answer is over, or nothing more of it will be read.  done() runs when the ledger
 * has it, or is not to be waited for.  False: there is nothing to settle, and done() does
 * not run.
 */
bool spend_settle(struct spend *s, const struct answer *a, struct usage *u,
    void (*done)(void *arg, bool is_fine), void *arg);

#endif
