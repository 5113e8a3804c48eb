/*
 * counter.h - how many tokens the provider says a prompt has
 *
 * A call is bounded as if each byte were a token.  Where its scopes have no room for
 * that, but might have for the prompt as it will be counted, the provider's own free
 * counter is asked, once: the request as it would be sent, with the same credential, at
 * the same upstream, for the same model.  What it says bounds the input, with a margin
 * (meter/bound.h); what it does not say plainly, or in time, counts for nothing, and the
 * call stays refused.  Nothing the client sends can answer in its place, and no call is
 * counted more than once.
 *
 * Belongs to one worker.
 */
#ifndef WEIR_PROXY_COUNTER_H
#define WEIR_PROXY_COUNTER_H

#include "proxy/spend.h"

struct counter;

typedef void counter_done(void *arg, uint64_t tokens); /* 0: nobody knows */

/* The call was refused for its size alone: could it fit once its prompt is counted? */
bool counter_might_help(const struct spend *s);
/*
 * done runs once, from the loop, never inside start; after cancel never.  NULL: there is
 * no counter for such a call.  `asker` answers for the lookup.
 */
struct counter *counter_start(
    struct spend *s, struct str asker, counter_done *done, void *arg);
void counter_cancel(struct counter *c); /* NULL is fine */

/* The label's value in weir_token_counts_total. */
const char *counter_result(size_t label);

#endif
