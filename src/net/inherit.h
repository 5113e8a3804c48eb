/*
 * inherit.h - listening sockets that a service manager opened for this process
 *
 * Where weir may not bind (a port below 1024, somebody else's directory), whoever starts
 * it binds and hands the sockets over: LISTEN_FDS of sd_listen_fds(3), as .socket units
 * do.  They are known by where they are bound, so that a configuration says the same
 * with them as without.
 *
 * Belongs to main, before there are threads: the variables leave the environment.
 */
#ifndef WEIR_NET_INHERIT_H
#define WEIR_NET_INHERIT_H

#include "net/listener.h"

struct inherited_socket {
	struct listen_at at;
	int fd; /* -1: taken */
};

struct inherited {
	struct inherited_socket *p;
	size_t n;
};

/* 0, none at all included; or ERR_INVALID: one is no socket to listen on, says `why`. */
int inherit_open(struct inherited *in, struct buf *why) MUST_CHECK;
/* The socket that is bound there, the caller's from now on; -1: there is none. */
int inherit_take(struct inherited *in, const struct listen_at *at);
/* Where a socket is bound that nobody took; NULL: there is no such. */
const struct listen_at *inherit_left(const struct inherited *in);
void inherit_close(struct inherited *in); /* what nobody took */

#endif
