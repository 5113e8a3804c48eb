/*
 * literal.h - is the address that was asked for a model provider's?
 *
 * A provider's host is refused by its name (policy/metered.h); its address, which a rule
 * may well admit, would lead to the same place past the meter.  So where both are there,
 * an address in place of a name is held against all that those hosts resolve to now.
 * What a server does not say may be this address: then it is refused, too.
 * For an exchange that DECIDE has admitted.
 *
 * One exchange at a time; worker thread.
 */
#ifndef WEIR_PROXY_LITERAL_H
#define WEIR_PROXY_LITERAL_H

#include "net/found.h"
#include "proxy/exchange.h"

enum literal { LITERAL_REFUSED, LITERAL_ASK, LITERAL_FREE };

/* False: it costs nothing: the target is a name, or nothing is metered. */
bool literal_matters(const struct exchange *x);
/* LITERAL_ASK: *name must be looked up, and literal_judge() told.  LITERAL_REFUSED:
 * x->reason says why. */
enum literal literal_next(struct exchange *x, struct host *name);
/* The answer for the name that was last said; false: x->reason. */
bool literal_judge(struct exchange *x, const struct found *found) MUST_CHECK;

#endif
