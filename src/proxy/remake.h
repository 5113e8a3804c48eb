/*
 * remake.h - heads as weir sends them, made anew from what was understood
 *
 * No line of framing is passed through.  Hop-by-hop fields, those Connection
 * names, X-Weir-* and, towards a client, what only a proxy may say are left
 * out; Via is added.  Pure.  RFC 9110 7.6; rules W1-W9.
 */
#ifndef WEIR_PROXY_REMAKE_H
#define WEIR_PROXY_REMAKE_H

#include "policy/ask.h"
#include "proxy/injection.h"

struct remake {
	const char *via; /* own pseudonym */
	struct arena *arena;
	const struct injection *injection; /* requests: what is put in; NULL: nothing */
	bool is_bare;           /* requests: without what is put in, to be looked at */
	uint16_t port;          /* requests: the one that Host need not say */
	bool strips_rewriters;  /* requests: the fields of fields.def do not pass */
	bool strips_extensions; /* requests: of websockets, which would hide messages */
	bool is_upgrade;        /* websocket asked for, or answered by 101 */
	bool is_chunked;        /* how the body will be framed */
	bool is_kept;           /* responses: the connection stays open */
};

/* False: the arena or `out` is full: nothing of it is sent. */
bool remake_request(struct buf *out, const struct http_head *head, const struct ask *ask,
    const struct remake *how) MUST_CHECK;
/* `minor` is the client's HTTP/1.minor. */
bool remake_response(struct buf *out, const struct http_head *head, int minor,
    const struct remake *how) MUST_CHECK;

/* Has this request been through a weir of that name? */
bool remake_is_loop(const struct http_head *head, const char *via);

#endif
