/*
 * flow.h - one message body on its way: read by its framing, written by ours
 *
 * What comes in is checked by wire/body, what goes out is framed anew; payload
 * is not copied unless the receiver takes less than it is given, and then the
 * sender is not read before the rest is gone (back-pressure).
 */
#ifndef WEIR_PROXY_FLOW_H
#define WEIR_PROXY_FLOW_H

#include "net/stream.h"
#include "proxy/scrub.h"
#include "proxy/sieve.h"
#include "wire/body.h"

struct flow {
	struct body_reader in;
	bool is_chunked;     /* goes out in chunks; else as it is */
	bool is_done;        /* the body has ended; perhaps some of it is pending */
	struct buf pending;  /* what the receiver has not taken yet */
	int64_t max;         /* a longer body is FLOW_OVER; -1: no limit */
	struct sieve *sieve; /* what it must pass; the owner's, or NULL */
	struct scrub *scrub; /* takes a secret out of it; the owner's, or NULL */
	struct buf clean;    /* what that lets pass */
	uint64_t payload;    /* bytes of body so far */
	uint64_t written;    /* bytes given to the receiver, framing and head too */
};

enum flow_result {
	FLOW_MORE,   /* all used */
	FLOW_DONE,   /* the body ended within `in` */
	FLOW_BAD,    /* the sender broke its framing */
	FLOW_OVER,   /* the body is longer than `max`: what went beyond was not sent */
	FLOW_LOST,   /* the receiver is gone */
	FLOW_CAUGHT, /* something in it may not pass, and was not sent */
};

void flow_init(struct flow *f, const struct http_head *head, bool is_chunked);
void flow_fini(struct flow *f);
/*
 * `head` (may be empty) goes out first, in the same write.  *used of `in`
 * belonged to the body.
 */
enum flow_result flow_feed(
    struct flow *f, struct stream *to, struct str head, struct str in, size_t *used);
/* The sender's connection ended; true when the body may end so, and then it is done. */
bool flow_end(struct flow *f, struct stream *to);
/* Writes what is pending.  0: nothing is left; -EAGAIN: some is; else -errno: lost. */
int flow_flush(struct flow *f, struct stream *to);

#endif
