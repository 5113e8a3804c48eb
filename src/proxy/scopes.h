/*
 * scopes.h - the purses that one model call is paid from, and their ceilings
 *
 * A call counts in every scope of its session at once: turn, session, ancestors, tenant,
 * the public pool and the total, as far as something limits them.  The grant says the
 * session's own ceilings, the settings everybody's.
 *
 * Texts are borrowed of the grants.  Belongs to one worker.
 */
#ifndef WEIR_PROXY_SCOPES_H
#define WEIR_PROXY_SCOPES_H

#include "proxy/exchange.h"

struct scopes {
	struct ledger_scope of[LEDGER_SCOPES]; /* innermost first */
	size_t n;
	bool has_no_room; /* a limit of calls or tokens is 0 */
};

/* Of x->who, and of `g`, whose money it is. */
void scopes_gather(struct scopes *s, const struct exchange *x, const struct grant *g);

#endif
