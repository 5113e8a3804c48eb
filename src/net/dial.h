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

/* err 0: connected to *to; else ERR_REFUSED, ERR_UNROUTABLE, ERR_TIMEOUT, ERR_DESCRIPTORS
 * or ERR_IO. */
typedef void dial_done(void *arg, int err, const struct endpoint *to);

/*
 * done runs once, from the loop, never inside start; after cancel never.  Before
 * it the winner is opened as `into`, without a notify() yet: stream_attach() it.
 * Nobody has to leave and enter epoll for that, and what became ready is not
 * lost.  `into` must stay until done or cancel; a dial that fails leaves it alone.
 */
struct dial *dial_start(struct loop *l, const struct vetted *to, struct stream *into,
    msec timeout_ms, dial_done *done, void *arg);
void dial_cancel(struct dial *d); /* NULL is fine */

#endif
