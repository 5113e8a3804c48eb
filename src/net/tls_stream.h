/*
 * tls_stream.h - TLS on a stream, whichever end of it weir is
 *
 * What tls.c (towards an origin) and tls_server.c (towards a client) share: the calls of
 * a stream over an SSL, and a handshake under a deadline, whose steps are chores.  A
 * stream that speaks TLS already may speak another one within.  Belongs to one worker.
 */
#ifndef WEIR_NET_TLS_STREAM_H
#define WEIR_NET_TLS_STREAM_H

#include <openssl/types.h>

#include "base/chore.h"
#include "net/stream.h"

struct tls;
struct tls_start; /* a handshake under way */

/*
 * err 0: the stream speaks TLS, and its events are the caller's again (attach,
 * and what is `ready` stays).  Else ERR_TIMEOUT, ERR_IO (the peer went away) or what
 * its role says, `why` is a sentence for the operator (good for the call), and the
 * stream is to be closed.
 */
typedef void tls_done(void *arg, int err, const char *why);

/*
 * The stream is to be closed, and may be already: one that a step is being worked at is
 * closed when that has ended.  NULL is fine.
 */
void tls_cancel(struct tls_start *t);
bool stream_is_tls(const struct stream *s);

/* What one end does differently; fault and why are asked beside the loop. */
struct tls_role {
	const char *late; /* the operator's words when the deadline comes */
	const char *left; /* and when the peer went away without any */
	/* After the handshake: why it is not good enough (static), or NULL. */
	const char *(*fault)(SSL *ssl);
	/* After one that failed: an error of err.h, and its words (static). */
	int (*why)(struct tls *t, const char **text);
	void (*failed)(struct tls *t); /* or NULL */
	void (*gone)(struct tls *t);   /* before it is freed; or NULL */
};

/* What hangs on a stream: its ops are this one's, so that a plain stream pays nothing.
 * The first member of what either end has. */
struct tls {
	struct stream_ops ops;
	const struct tls_role *role;
	struct tls *below; /* what brings its records; owned.  NULL: the socket does */
	SSL *ssl;
	bool read_wants_write, write_wants_read; /* a key update in the other direction */
	uint32_t chatter; /* records and messages that were TLS's own, and not paid for */
	uint32_t chatter_most; /* beyond it the peer only keeps this end busy */
};

/* Both ends' settings. */
void tls_stream_options(SSL_CTX *ctx);
/* What an SSL reads and writes its records by, on that stream. */
BIO *tls_stream_bio(const struct stream *s);
/* `t` is allocated with mem_zalloc() and freed with the stream; takes the SSL. */
void tls_stream_init(struct tls *t, SSL *ssl, const struct tls_role *role);
struct tls_start *tls_shake(struct tls *t, struct chores *cs, struct stream *s,
    msec timeout_ms, tls_done *done, void *arg);

#endif
