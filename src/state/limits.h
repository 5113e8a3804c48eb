/*
 * limits.h - what one client may hold and how fast it may come
 *
 * Shared by all workers: sharded by client, its mutex taken once when a
 * connection begins, then atomics.  A client is a source address (all loopback
 * is one) or the Unix socket it came through.  An entry lives while it is
 * referenced or its rate bucket is not full again.  Any thread.
 */
#ifndef WEIR_STATE_LIMITS_H
#define WEIR_STATE_LIMITS_H

#include <stdatomic.h>

#include "base/loop.h"

struct limits; /* the table */
struct client; /* one client's share */

struct limits *limits_new(void);
void limits_free(struct limits *l);

struct client *client_ref(struct limits *l, struct str key, msec now); /* made when new */
void client_unref(struct client *c);
struct str client_name(const struct client *c); /* its key */

enum client_slot {
	CLIENT_CONNECTION,
	CLIENT_SURPLUS, /* connections beyond the cap, let in only to be told so */
	CLIENT_CONNECTING,
	CLIENT_TUNNEL,
	CLIENT_LOOKUP, /* of a name that only a wildcard admits */
	CLIENT_SLOT_N
};
/* Takes one of the client's places; false when it has `cap` of them already (0: no
 * limit). */
bool client_take(struct client *c, enum client_slot slot, int64_t cap) MUST_CHECK;
void client_give(struct client *c, enum client_slot slot);
/*
 * So many bytes more are kept in memory for the client, of its `most` and of `all` that
 * there are for everybody (0: no limit).  False: there is no room, and nothing changed.
 */
bool client_keep(struct client *c, size_t n, int64_t most, int64_t all) MUST_CHECK;
void client_drop(struct client *c, size_t n); /* they are kept no more */

/* 0: within `rate` a second (a burst may be as large).  Else how long an answer should be
 * delayed (ms, at most 1000). */
msec client_delay(struct client *c, int64_t rate, msec now);

/* The same for `rate` in a minute, of which all may come at once. */
msec client_delay_minute(struct client *c, int64_t rate, msec now);

#endif
