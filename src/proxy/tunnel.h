/*
 * tunnel.h - an accepted CONNECT: what is spoken in it, and then the bytes
 *
 * PEEK_CLIENT reads the first bytes, judges them and FLUSHes them to the
 * origin; PEEK_SERVER reads one record head, for after a HelloRetryRequest the
 * client may name another server in its second hello; SPLICE relays until both
 * sides have ended.  Not a byte goes upstream before it was judged.
 */
#ifndef WEIR_PROXY_TUNNEL_H
#define WEIR_PROXY_TUNNEL_H

#include "proxy/exchange.h"

enum tunnel_end {
	TUNNEL_ENDED,   /* the exchange is over; x->reason says how */
	TUNNEL_REFUSED, /* x->reason; what was refused did not reach the origin */
	TUNNEL_UNTOLD,  /* so too, and the client speaks HTTP: it can be told */
	TUNNEL_HTTP,    /* `first` is the beginning of a plain HTTP request */
	TUNNEL_TLS, /* of a TLS that is to be opened: policy wants to see what is in it */
};

typedef void tunnel_done(void *arg, enum tunnel_end how, struct str first);

struct peek;

struct tunnel {
	struct engine *e;
	struct exchange *x;
	struct stream *client, *origin;
	struct peek *peek; /* NULL once spliced: an idle tunnel holds no buffer */
	struct relay relay;
	tunnel_done *done; /* once, never inside start */
	void *arg;
};

/* `early` came with the CONNECT's head; it is borrowed for the call.  origin: NULL where
 * what is spoken will be opened. */
void tunnel_start(struct tunnel *t, struct engine *e, struct exchange *x,
    struct stream *client, struct stream *origin, struct str early, tunnel_done *done,
    void *arg);
/* Policy changed, or a stop: ends without done(); the streams stay the owner's. */
void tunnel_cancel(struct tunnel *t);
/* What has passed and is not in x yet. */
struct tally tunnel_tally(const struct tunnel *t);

#endif
