/*
 * own.h - what a call refers to at the provider, and what it leaves there
 *
 * A call may name only objects that its own session made (objects.h); the answer that
 * names new ones makes them that session's.
 *
 * A call that runs on in the background outlives its exchange: what is held stays so,
 * and the exchange whose answer first says how it ended settles it.  What that takes
 * stands in the note of its response.
 *
 * Belongs to one worker.
 */
#ifndef WEIR_PROXY_OWN_H
#define WEIR_PROXY_OWN_H

#include "proxy/spend.h"

/*
 * The call refers to what a provider keeps: done(true) when it is all this session's,
 * and it is known what the call can cost.  done(false): x->reason.
 */
void own_check(struct spend *s, void (*done)(void *arg, bool is_fine), void *arg);
/* So much of the answer was read: what it names belongs to the session from now on. */
void own_keep(struct spend *s, const struct answer *a);
/* The same for the whole answer, with the last word on how much it was. */
void own_keep_all(struct spend *s, const struct usage *u);

#endif
