/*
 * accept.h - who may connect
 */
#ifndef WEIR_PROXY_ACCEPT_H
#define WEIR_PROXY_ACCEPT_H

#include "net/datagram.h"
#include "net/listener.h"
#include "proxy/door.h"

/* What a listener leads to. */
struct entrance {
	const struct door *door;
	const char *unix_path; /* where it is a Unix socket: "unix:/path"; lives on */
	bool is_tls;           /* TLS comes before the door's own bytes */
};

/* Takes the fd. */
void accept_client(
    struct engine *e, const struct entrance *in, int fd, const struct peer *peer);

/* A balancer has said whose the connection is: its limits are that one's from here on.
 * False: that one has too many. */
bool accept_as(struct conn *c, const struct endpoint *source) MUST_CHECK;

/* One that is a question. */
void accept_datagram(struct engine *e, const struct door *door, const struct datagram *d);

#endif
