/*
 * conns.h - what a worker asks of all its connections
 */
#ifndef WEIR_PROXY_CONNS_H
#define WEIR_PROXY_CONNS_H

#include "proxy/engine.h"

/* A drain began: idle connections close, others when their exchange is over. */
void conns_drain(struct engine *e);
/* A second stop: everything closes now; records are written. */
void conns_stop(struct engine *e);
struct conn;
/* What is open on it ends now, and the record says so; `why` is static. */
void conns_end(struct conn *c, enum reason reason, const char *why);
/* Open tunnels are judged again under e->snapshot, a slice each loop turn. */
void conns_rejudge(struct engine *e);
/* The same for those alone whose tokens let them send another amount than before. */
void conns_recap(struct engine *e);

#endif
