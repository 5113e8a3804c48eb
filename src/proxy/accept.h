/*
 * accept.h - who may connect
 */
#ifndef WEIR_PROXY_ACCEPT_H
#define WEIR_PROXY_ACCEPT_H

#include "net/datagram.h"
#include "net/listener.h"
#include "proxy/door.h"

/* Takes the fd.  `unix_path` is the socket it came through, or NULL. */
void accept_client(struct engine *e, const struct door *door, int fd,
    const struct peer *peer, const char *unix_path);

/* One that is a question. */
void accept_datagram(struct engine *e, const struct door *door, const struct datagram *d);

#endif
