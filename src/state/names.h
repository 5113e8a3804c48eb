/*
 * names.h - addresses that stand for names, for one client each
 *
 * The DNS door answers an allowed name with an address of a pool that leads nowhere;
 * when the client connects to it, this says which name it meant.  An address belongs to
 * one name until its time is over, and is then given to others last.  A client that has
 * as many as it may gets no more until the oldest is over.  Shared by all workers,
 * sharded by client; any thread.
 */
#ifndef WEIR_STATE_NAMES_H
#define WEIR_STATE_NAMES_H

#include "base/addr.h"
#include "base/loop.h"

struct names;

/* `most`: names of one client; no more than the pool has addresses. */
struct names *names_new(const struct prefix *pool, size_t most);
void names_free(struct names *n);

/* A datagram can say that it comes from anywhere, so that clients are counted, too. */
#define NAMES_CLIENTS_MOST 65536 /* about: a sixteenth of them in each shard */

#define NAMES_NAME_MAX 253 /* RFC 1035 2.3.4, written out */

/* The address that is the name for this client, from now on for keep_ms.  False: the
 * client has too many, or there are too many clients. */
bool names_give(struct names *n, struct str client, struct str name, struct addr *out,
    msec now, msec keep_ms) MUST_CHECK;
/* The name, into a buffer with room for it; false: the address is nobody's (any more). */
bool names_find(struct names *n, struct str client, const struct addr *a,
    char out[static NAMES_NAME_MAX + 1], msec now) MUST_CHECK;

#endif
