/*
 * services.h - what this process lives on: never dialled for a client
 *
 * Name servers, open sockets, and the store: where `private` opens the network that
 * they are in, a name of the client's choice could point at them.
 *
 * The store's host is looked up as its driver does it, and blocks as that does: at the
 * start and on reload, on the main thread.
 */
#ifndef WEIR_DAEMON_SERVICES_H
#define WEIR_DAEMON_SERVICES_H

#include "conf/settings.h"
#include "daemon/sockets.h"

/* Their number; *out is owned by the caller (free). */
size_t services_gather(const struct settings *set, const struct sockets *sockets,
    struct endpoint **out) MUST_CHECK;

#endif
