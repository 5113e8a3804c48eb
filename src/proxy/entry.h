/*
 * entry.h - what comes before a door's own bytes: TLS, where its listener wants that
 *
 * Whoever connects there has the handshake answered with the certificate of tls.listen;
 * from then on the stream is like any other, to the door and all behind it.  What fails
 * has its one record; who connects and says nothing has none, as everywhere.
 */
#ifndef WEIR_PROXY_ENTRY_H
#define WEIR_PROXY_ENTRY_H

#include "proxy/conn.h"

/* Stages of every way that begins at such a listener. */
enum next entry_secure(struct conn *c);
enum next entry_late(struct conn *c);

/* Before GREET, and nothing was said. */
bool entry_is_idle(const struct conn *c);
/* Before GREET: what is under way is an exchange from here on, for it ends. */
void entry_begin(struct conn *c);

#endif
