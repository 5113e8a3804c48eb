/*
 * tls.h - TLS to an origin: its name verified, then a stream like any other
 *
 * tls_start() takes an open, plain stream and shakes hands under a deadline: TLS
 * 1.2 or later, chain against the roots, name against the certificate's subject
 * alternative names (RFC 9525), http/1.1 by ALPN, no renegotiation.  From then
 * on stream_read() and stream_write() speak TLS; an end without close_notify is
 * a broken stream, for it may be an attacker's.  Sessions are resumed, each
 * towards the host and port it was made with.
 *
 * Roots are shared and immutable; a client belongs to one worker.
 */
#ifndef WEIR_NET_TLS_H
#define WEIR_NET_TLS_H

#include "net/stream.h"
#include "wire/url.h"

struct roots; /* net/roots.h */

struct tls_client;

/* Keeps a reference of the roots. */
struct tls_client *tls_client_new(struct roots *r);
void tls_client_free(struct tls_client *c); /* after all its streams; NULL is fine */

struct tls_start;

/*
 * err 0: the stream speaks TLS, and its events are the caller's again (attach,
 * and what is `ready` stays).  Else ERR_TIMEOUT, ERR_IO (the origin went away)
 * or ERR_UNVERIFIED, `why` is a sentence for the operator (good for the call),
 * and the stream is to be closed.
 */
typedef void tls_done(void *arg, int err, const char *why);

/* done runs once, from the loop, never inside start; after cancel never. */
struct tls_start *tls_start(struct tls_client *c, struct loop *l, struct stream *s,
    const struct host *name, uint16_t port, msec timeout_ms, tls_done *done, void *arg);
void tls_cancel(struct tls_start *t); /* the stream is to be closed; NULL is fine */

bool stream_is_tls(const struct stream *s);

#endif
