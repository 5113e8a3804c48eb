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

#include "net/tls_stream.h"
#include "wire/url.h"

struct roots; /* net/roots.h */

struct tls_client;

/* Keeps a reference of the roots. */
struct tls_client *tls_client_new(struct roots *r, struct chores *cs);
void tls_client_free(
    struct tls_client *c); /* once its last stream is gone; NULL is fine */

/* As tls_done says; ERR_UNVERIFIED: it is not that name's, or nobody vouches for it.
 * done runs once, from the loop, never inside start; after cancel never. */
struct tls_start *tls_start(struct tls_client *c, struct stream *s,
    const struct host *name, uint16_t port, msec timeout_ms, tls_done *done, void *arg);

#endif
