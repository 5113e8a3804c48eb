/*
 * tls_server.h - TLS with a client: weir's own, or in place of the origin it wanted
 *
 * Where the client's hello was read already those bytes come first, then the stream's,
 * which may be TLS itself.  TLS 1.2 or later, http/1.1 by ALPN, no tickets and no kept
 * sessions: a resumed one would pass by the choice of a certificate.  Belongs to one
 * worker.
 */
#ifndef WEIR_NET_TLS_SERVER_H
#define WEIR_NET_TLS_SERVER_H

#include "net/ca.h"
#include "net/tls_stream.h"

struct tls_server;

struct tls_server *tls_server_new(struct chores *cs);
void tls_server_free(struct tls_server *s); /* after all its streams; NULL is fine */

/*
 * As tls_start().  `first` is borrowed for the call, and may be empty.  ERR_DISTRUSTED:
 * the client has seen the certificate and wants none of it; ERR_INVALID: what it sent is
 * no TLS that is spoken here; ERR_IO: it went away.
 */
struct tls_start *tls_accept(struct tls_server *server, struct stream *s,
    struct str first, struct leaf *leaf, msec timeout_ms, tls_done *done, void *arg);

#endif
