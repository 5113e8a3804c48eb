/*
 * counts.h - what a session has sent before, asked of the store where a cap may hold
 *
 * A cap counts from what the session's family has sent in its life, and that is the
 * store's to know (proxy/sent.h).  It is asked only where some cap can hold what goes
 * through this connection: a rule of the caller's layers has one, limits.upload is set,
 * or a token of its family says one; at the gateway only the latter two, and only where
 * no meter limits the provider.  So who has none waits for nothing, and costs the store
 * nothing.
 *
 * On the connection's loop.  The account is that of c->who; without one nothing is asked.
 */
#ifndef WEIR_PROXY_COUNTS_H
#define WEIR_PROXY_COUNTS_H

#include "proxy/conn.h"

/*
 * For the exchange under way, under the rules of `s`.  True: the store is asked, the
 * stage is to WAIT, and the way goes on with then(), or with the refusal of what the
 * store could not say.  False: nothing more is to be known.
 */
bool counts_ask(struct conn *c, const struct snapshot *s,
    enum next (*then)(struct conn *c)) MUST_CHECK;

/*
 * For what is open (c->outer, or what c->x carries), before a reload judges it again
 * under c->e->snapshot.  True: the store is asked, or was and has not answered, and
 * done(c, reply) runs from the loop; it hands the reply to counts_told().  False: nothing
 * more is to be known.
 */
bool counts_hold(struct conn *c, ledger_done *done) MUST_CHECK;
/* False: the store cannot say what was sent, and there is a cap. */
bool counts_told(struct conn *c, const struct ledger_reply *reply) MUST_CHECK;

#endif
