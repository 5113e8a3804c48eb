/*
 * refusals.h - one client's refusals beyond limits.refusals: late, and summed
 *
 * Who is refused may ask again at once, for ever.  Beyond the limit the answer is the
 * same and comes later, and the record is one for a minute of them (state/sums.h).  On
 * the connection's loop.
 */
#ifndef WEIR_PROXY_REFUSALS_H
#define WEIR_PROXY_REFUSALS_H

#include "proxy/conn.h"

/* c->x is refused: counts that, once.  How long the answer is to wait; 0: not. */
msec refusals_count(struct conn *c);
/* A connection that is not let in. */
void refusals_drop(struct conn *c, enum reason reason);

#endif
