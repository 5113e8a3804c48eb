/*
 * spend.h - one model call's money: what is known of it
 *
 * Made for an exchange at the gateway and kept until it ends.  The request's body is
 * read into it, understood by the meter (judge.h), and reserved for in every scope of
 * the session before a byte goes upstream (hold.h); the reservation is renewed while the
 * call runs, and settled once (charge.h, settle.h).  Whatever way the exchange ends, what
 * is held does not stay held.
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

#define SPEND_NAME 129 /* of a request, at the provider; with its NUL */

struct spend {
	struct engine *e;
	struct exchange *x;
	const struct route *route;
	const struct grant *grant; /* whose money; NULL: nobody's */
	struct arena arena;        /* of the call */
	struct buf body;           /* the request's */
	size_t kept;               /* of it, what is counted against limits.bodies */
	struct client *share;      /* whose; outlives this, as the exchange need not */
	struct call call;
	bool is_read;    /* the body is whole */
	bool is_metered; /* the call costs; after judge_call() */
	struct bound bound;
	yyyymmdd day;
	struct object_note
	    referred[CALL_REFERENCES]; /* of call.reference[]: after own_check() */
	size_t nreferred;
	size_t nkept;   /* objects that the answer named and the store was told of */
	uint64_t asked; /* output that was asked for, when is_clamped */
	bool is_clamped;

	struct scopes scopes;
	struct ledger_op *op;
	struct timer lease;
	/* it was refused for its size, and that scope has so much left */
	bool is_short;
	usd_nano short_of;
	uint64_t
	    counted; /* tokens of its prompt, by the provider's counter; 0: not asked */
	usd_nano granted;
	bool is_held, is_sent;
	msec sent_at;

	/* for the record and the client */
	bool has_left;
	usd_nano left, turn_left, session_left;
	struct ledger_room room[LEDGER_SCOPES]; /* after hold_look() */
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
/* More of the body came.  False: there is too much in memory already. */
bool spend_keep(struct spend *s) MUST_CHECK;
void spend_free(struct spend *s); /* after settle_end(); NULL is fine */

/* For the record; NULL: it was no model call, or was never understood as one. */
const struct record_money *spend_money(struct spend *s);

/* Does its answer say what was used? */
bool spend_is_told(const struct spend *s);
/* From now on it may cost. */
void spend_sent(struct spend *s, msec at);
/* Its head is there: notes what the provider calls the request. */
void spend_answered(struct spend *s, const struct http_head *response);

/* ---- for what works on it */

/* False, with x->reason; `why` is static, or the exchange's. */
bool spend_refuse(struct spend *s, enum reason reason, const char *why);
void spend_tell(struct spend *s, bool is_fine); /* done(), once */
/* What the store says is left, for the record and the client. */
void spend_note_room(struct spend *s, const struct ledger_reply *r);
/* The call in the background that it asks after; NULL: none, or that has been settled. */
const struct object_note *spend_ran_on(const struct spend *s);

#endif
