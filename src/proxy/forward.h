/*
 * forward.h - one HTTP exchange to an origin and back
 *
 * Both heads are made anew, both bodies framed anew; whichever side is slow
 * slows the other.  An error in the middle of a message must be seen as one: the
 * receiver never gets a clean end.
 */
#ifndef WEIR_PROXY_FORWARD_H
#define WEIR_PROXY_FORWARD_H

#include "proxy/exchange.h"
#include "proxy/flow.h"
#include "proxy/messages.h"

enum forward_end {
	FORWARD_DONE,    /* the answer is whole; is_*_kept say what may go on */
	FORWARD_REFUSED, /* the client got nothing yet: tell it x->reason */
	FORWARD_CUT,     /* the client has part of an answer, or is gone: x->reason */
	FORWARD_STALE,   /* a kept connection was dead before it was used: dial anew */
};

typedef void forward_done(void *arg, enum forward_end how);

struct forward {
	struct engine *e;
	struct exchange *x;
	struct stream *client;
	struct origin *origin;
	struct buf *more; /* the owner's: what came behind the request's body */
	struct flow up, down;
	struct sieve sieve; /* of what goes up */
	struct scrub scrub; /* of a credential that was put in */
	struct http_reader reader;
	struct buf head; /* a response head that comes in pieces */
	struct http_head response;
	bool is_pinned;    /* inside a tunnel: the origin's end is the tunnel's */
	bool is_up_broken; /* the origin takes no more of the request */
	bool has_head;     /* the final response head was understood */
	bool has_answered; /* some of the final answer was sent to the client */
	bool is_client_kept, is_origin_kept;
	bool is_websocket, is_spliced;
	bool is_told;     /* CUT, and the client was told why: it may read that */
	bool is_starting; /* within start, where done() may not run */
	bool is_over;     /* done() is due, with `how` */
	enum forward_end how;
	uint8_t interim;
	msec begun, moved_up, moved_down; /* last progress of each flow */
	msec rate_at;                     /* body_rate: when the current minute began */
	uint64_t rate_bytes;              /* and what came in it */
	struct relay relay;               /* after 101 */
	struct messages *messages; /* which it carries, where a rule has dlp; or NULL */
	struct timer timer;
	forward_done *done; /* once, never inside start */
	void *arg;
};

/*
 * x is judged, x->head is the request, `rest` what came behind its head; both
 * are borrowed until done.
 */
void forward_start(struct forward *f, struct engine *e, struct exchange *x,
    struct stream *client, struct origin *origin, struct str rest, struct buf *more,
    bool is_pinned, forward_done *done, void *arg);
/* What has passed and is not in x yet. */
struct tally forward_tally(const struct forward *f);
/* A websocket's exchange was judged again, and x->snapshot is another: what it carries is
 * looked at as that one says. */
void forward_moved(struct forward *f);
void forward_cancel(struct forward *f); /* frees what it holds; done() does not run */

#endif
