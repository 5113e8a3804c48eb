/*
 * door.h - what an entrance can do: bytes -> ask, and a reason -> bytes
 */
#ifndef WEIR_PROXY_DOOR_H
#define WEIR_PROXY_DOOR_H

#include "proxy/exchange.h"

/* The outer exchange when the bytes come out of a tunnel, else NULL. */
struct door {
	const char *name; /* in records: "proxy" */
	/* x->head is read: fills x->ask, or says why it is none. */
	enum reason (*ask)(
	    struct exchange *x, const struct exchange *outer, const char **why);
	/*
	 * The whole answer to a refused exchange, into `out`.  `closes`: nothing
	 * more will be read.  `at`: offset of the byte that was refused, or -1.
	 */
	void (*refuse)(
	    struct buf *out, const struct exchange *x, bool closes, int64_t at);
};

extern const struct door door_http;

/* The reason for a head the codec refused. */
enum reason door_http_reason(enum http_error e);

#endif
