/*
 * conn.h - one client connection: the stages an exchange goes through
 *
 * GREET -> DECIDE -> RESOLVE -> DIAL -> JUDGE -> CARRY -> RECORD, and then GREET
 * again on a kept connection or inside a tunnel that carries plain HTTP.  Every
 * way out leads through RECORD.  Belongs to one worker.
 */
#ifndef WEIR_PROXY_CONN_H
#define WEIR_PROXY_CONN_H

#include "net/listener.h"
#include "proxy/engine.h"

struct conn;

/* Takes the fd.  `unix_path` is the socket it came through, or NULL. */
void conn_accept(
    struct engine *e, int fd, const struct peer *peer, const char *unix_path);

/* A drain began: idle connections close, others when their exchange is over. */
void conns_drain(struct engine *e);
/* A second stop: everything closes now; records are written. */
void conns_stop(struct engine *e);
/* Open tunnels are judged again under e->snapshot, a slice each loop turn. */
void conns_rejudge(struct engine *e);

#endif
