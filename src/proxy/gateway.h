/*
 * gateway.h - one call to a provider and its answer back, metered as it passes
 *
 * The request is sent as it was understood; the answer passes piece by piece,
 * unbuffered, its transfer and content codings taken off, while the meter reads
 * beside.  A kept connection that turns out dead before a byte of the request has left
 * is GATEWAY_STALE, and so is one that ends unanswered where asking twice is harmless:
 * GET, HEAD, OPTIONS outside the meter.  Everything else is sent once, whatever happens:
 * what was sent may have been billed.  A client that goes away does not end the call's
 * account: the answer is read on for budget.drain, so that its usage is known.  The
 * client sees the end of the answer after the ledger has its cost.
 */
#ifndef WEIR_PROXY_GATEWAY_H
#define WEIR_PROXY_GATEWAY_H

#include "proxy/gateway_head.h"
#include "proxy/origin.h"
#include "wire/body.h"
#include "wire/coding.h"

enum gateway_end {
	GATEWAY_DONE,    /* the answer is whole */
	GATEWAY_REFUSED, /* the client got nothing yet: tell it x->reason */
	GATEWAY_CUT,     /* the client has part of an answer, or is gone: x->reason */
	GATEWAY_STALE,   /* a kept connection was dead; nothing is spent: dial anew */
};

typedef void gateway_done(void *arg, enum gateway_end how);

struct gateway {
	struct engine *e;
	struct exchange *x;
	struct spend *spend;
	struct stream *client;
	struct origin *origin;
	struct buf up;           /* of the request, not taken yet */
	struct buf head;         /* of the answer, in pieces */
	struct buf down;         /* to the client, not taken yet */
	struct buf shown, clean; /* a piece of the answer, on its way there */
	struct http_reader reader;
	struct http_head response;
	struct body_reader body;
	struct decoder *decoder;
	struct answer *answer; /* NULL: nothing is metered */
	struct scrub scrub;
	struct timer timer;
	msec moved;
	msec drain_until; /* is_client_gone: how long it is read on */
	uint8_t interim;
	bool is_begun;        /* some of the request may have left */
	bool is_stale;        /* none of it did, or it may be asked twice */
	int64_t keep_alive_s; /* how long the provider keeps it; -1: not said */
	bool is_up_broken;    /* not all of it could be sent */
	bool is_origin_kept;  /* it may carry another request */
	bool has_head, has_answered;
	bool is_chunked, is_client_kept;
	bool is_client_gone;
	bool is_runaway;  /* it has cost more than is held */
	size_t runaway;   /* bytes that passed since, up to where it can be cut */
	bool is_settling; /* the origin has nothing more to say */
	bool is_whole;    /* it said all */
	bool is_ended;    /* the client's end is written, when all of `down` is */
	enum reason reason;
	enum close_by by;
	gateway_done *done; /* once, never inside start */
	void *arg;
};

/* x->verdict is an allow; spend is judged, and reserved where it costs. */
void gateway_start(struct gateway *g, struct engine *e, struct spend *spend,
    struct stream *client, struct origin *origin, gateway_done *done, void *arg);
/* Frees what it holds, and settles by what was seen; done() does not run. */
void gateway_cancel(struct gateway *g);
/* In done(): the provider has said all, and its connection can be used again. */
bool gateway_leaves_origin(const struct gateway *g);
/* What is on its way ends as its family ends a stream: the session is over. */
void gateway_cut(struct gateway *g, enum reason reason);

#endif
