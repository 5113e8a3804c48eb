/*
 * talk.h - one socket of a probe, and all it does before one deadline
 *
 * A probe has a thread of its own, so it may wait: for poll(2), never past the deadline,
 * and for the system's resolver where a name stands in place of an address.
 */
#ifndef WEIR_CMD_TALK_H
#define WEIR_CMD_TALK_H

#include <openssl/types.h>
#include <sys/socket.h>

#include "base/loop.h"

struct talk {
	int fd;   /* -1: closed */
	SSL *ssl; /* NULL: what is said goes as it is */
	usec deadline;
	struct buf in; /* what came, all of it */
};

/*
 * `where` is "HOST:PORT", "tls:HOST:PORT" or "unix:PATH", kind SOCK_STREAM or SOCK_DGRAM.
 * 0: connected, and TLS is spoken; else an errno, ETIMEDOUT at the deadline, ENOENT for a
 * name without an address, EPROTO where no TLS is spoken, or by somebody whom the
 * system's roots (SSL_CERT_FILE) do not know by that name.  talk_close() is due either
 * way.
 */
int talk_open(struct talk *t, const char *where, int kind, msec timeout_ms) MUST_CHECK;
void talk_close(struct talk *t);

int talk_send(struct talk *t, struct str s) MUST_CHECK; /* 0 or errno */
/* > 0: bytes more in `in`; 0: the end; else -errno, -ETIMEDOUT at the deadline. */
ssize_t talk_more(struct talk *t) MUST_CHECK;
/* Until there are n; false: an end, an error or the deadline came before. */
bool talk_need(struct talk *t, size_t n) MUST_CHECK;
/* Until an HTTP head is whole; the same. */
bool talk_need_head(struct talk *t) MUST_CHECK;

#endif
