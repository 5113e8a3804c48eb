/*
 * intercept.h - a tunnel whose TLS weir answers itself, so that it sees the requests
 *
 * The origin is proved first (TLS, its chain, its name), then a certificate for the name
 * is made or taken, then the client's handshake is answered over the bytes that were
 * read of it.  From there on the requests inside are exchanges of their own, and the
 * CONNECT is their parent.  An origin that is not proved is told inside, to each request
 * that policy lets through: nothing is ever passed on unseen instead.
 *
 * The connection's worker.
 */
#ifndef WEIR_PROXY_INTERCEPT_H
#define WEIR_PROXY_INTERCEPT_H

#include "proxy/conn.h"

/* c->x is judged and needs sight; `first` is what the client has said. */
enum next intercept_begin(struct conn *c, struct str first);

/* Stages of the way to an origin. */
enum next intercept_prove(struct conn *c);
enum next intercept_leaf(struct conn *c);
enum next intercept_accept(struct conn *c);

#endif
