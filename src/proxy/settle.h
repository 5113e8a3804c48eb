/*
 * settle.h - how the account of a call is closed
 *
 * Once, whatever way the exchange ends: a call that was not sent costs nothing, one that
 * was is charged what it was seen to use, and at the ceiling where nobody said.  A call
 * that runs on in the background stays held for 8 h and a quarter, to be settled by the
 * exchange whose answer says how it ended, or else charged in full.
 *
 * Belongs to one worker.
 */
#ifndef WEIR_PROXY_SETTLE_H
#define WEIR_PROXY_SETTLE_H

#include "proxy/spend.h"

/*
 * The answer is over, or nothing more of it will be read.  done() runs when the ledger
 * has it, or is not to be waited for.  False: there is nothing to settle, and done() does
 * not run.
 */
bool settle_call(struct spend *s, const struct answer *a, struct usage *u,
    void (*done)(void *arg, bool is_fine), void *arg);
/* Gives back or settles what is held; done() does not run.  NULL is fine. */
void settle_end(struct spend *s);

#endif
