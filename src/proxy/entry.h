/*
 * entry.h - what comes before a door's own bytes: a balancer's word, and TLS
 *
 * A connection from an address of proxy_protocol.from begins with a PROXY v2 header, and
 * is from then on its source's; one from elsewhere is not looked at for that.  At a tls:
 * listener the handshake is answered with the certificate of tls.listen; from then on the
 * stream is like any other, to the door and all behind it.  What fails has its one
 * record; who connects and says nothing has none, as everywhere.
 */
#ifndef WEIR_PROXY_ENTRY_H
#define WEIR_PROXY_ENTRY_H

#include "proxy/conn.h"

/* Stages of every way that begins at a listener which may have these. */
enum next entry_source(struct conn *c);
enum next entry_secure(struct conn *c);
enum next entry_late(struct conn *c);

/* Before GREET, and nothing was said. */
bool entry_is_idle(const struct conn *c);
/* Before GREET: what is under way is an exchange from here on, for it ends. */
void entry_begin(struct conn *c);

#endif
