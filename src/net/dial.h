/*
 * dial.h - vetted addresses -> one connected socket, raced with a deadline
 *
 * Happy eyeballs (RFC 8305): the next address is tried 250 ms after the last or
 * as soon as it failed; at most 4 addresses; the first to connect wins, the
 * others are closed.  Only a `struct vetted` can be dialled.
 */
#ifndef WEIR_NET_DIAL_H
#define WEIR_NET_DIAL_H

#include "base/guard.h"
#include "net/stream.h"

struct dial;

/* err 0: fd is connected and the caller's (non-blocking, CLOEXEC, TCP_NODELAY); *to is
 * where. else ERR_REFUSED, ERR_UNROUTABLE, ERR_TIMEOUT, ERR_DESCRIPTORS, ERR_IO and fd is
 * -1. */
typedef void dial_done(void *arg, int err, int fd, const struct endpoint *to);

/* done runs once, from the loop, never inside start; after cancel never. */
struct dial *dial_start(
    struct loop *l, const struct vetted *to, msec timeout_ms, dial_done *done, void *arg);
/*
 * Right after start: the winner is opened as `into` as well, before done (which
 * then owns `into` and its fd; stream_attach() it).  Nobody has to leave and
 * enter epoll for that, and what became ready is not lost.  `into` must stay
 * until done or cancel, and is not touched when the dial fails.
 */
void dial_into(struct dial *d, struct stream *into);
void dial_cancel(struct dial *d); /* NULL is fine */

#endif
