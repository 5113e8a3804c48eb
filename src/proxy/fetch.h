/*
 * fetch.h - weir's own small client: one question, one small answer
 *
 * What weir asks for itself goes the way a client's request does: the name is looked up,
 * the guard judges every address, and TLS proves the name before a byte is sent.
 * Redirects are not followed, coded answers are not read, nothing is asked twice.  One
 * deadline covers all of it, and the answer has a bound.  Each question has a connection
 * of its own.
 *
 * Belongs to one worker.
 */
#ifndef WEIR_PROXY_FETCH_H
#define WEIR_PROXY_FETCH_H

#include "proxy/engine.h"

struct fetch;

struct fetch_order {
	struct host host;
	uint16_t port;
	bool is_https;
	struct opened opened; /* its lists outlive the fetch */
	struct str asker;     /* answers for the lookup; borrowed for the start */
	struct buf *request;  /* head and body: taken, and wiped when it was sent */
	size_t max;           /* bytes of the answer's body */
	msec timeout_ms;
};

/*
 * err 0: a whole answer, `body` good for the call.  Else what kept it: of lookup, dial or
 * TLS; ERR_INVALID: the guard closes the address, or the answer is none that may be read
 * (malformed, cut short, too long); ERR_TIMEOUT; ERR_IO.
 */
typedef void fetch_done(void *arg, int err, int status, struct str body);

/* done runs once, from the loop, never inside start; after cancel never. */
struct fetch *fetch_start(struct engine *e, struct snapshot *snapshot,
    const struct fetch_order *order, fetch_done *done, void *arg);
void fetch_cancel(struct fetch *f); /* NULL is fine */

#endif
