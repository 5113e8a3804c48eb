/*
 * reach.h - a connection to where something goes: straight, or through the parent proxy
 *
 * Straight it is a dial.  Else the parent is looked up, its addresses are vetted by what
 * the operator wrote, it is dialled, and asked to connect to one vetted address after the
 * other, until it says yes.  What it says beside that is nobody's to see.
 * Belongs to one worker.
 */
#ifndef WEIR_PROXY_REACH_H
#define WEIR_PROXY_REACH_H

#include "proxy/engine.h"

struct reach;

struct reach_order {
	const struct host *host; /* borrowed for the start */
	uint16_t port;
	/* NULL: the name is the parent's to look up; outlives the reach */
	const struct vetted *to;
	struct str asker; /* answers for looking up the parent; borrowed for the start */
	msec timeout_ms;
};

/*
 * err 0: *to is where it goes, NULL where the parent alone knows.  Else as a dial's, a
 * lookup's of the parent, ERR_PARENT when it said no or what is no answer.
 */
typedef void reach_done(
    void *arg, int err, const struct endpoint *to, bool is_through_parent);

/*
 * done runs once, from the loop, never inside start; after cancel never.  `into` becomes
 * the stream, without a notify() yet; when it failed, it is to be closed, which may be so
 * already.
 */
struct reach *reach_start(struct engine *e, struct snapshot *s,
    const struct reach_order *order, struct stream *into, reach_done *done,
    void *arg) MUST_CHECK;
void reach_cancel(struct reach *r); /* NULL is fine */

#endif
