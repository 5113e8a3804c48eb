/*
 * reported.h - what a gateway says that a call cost
 *
 * OpenRouter's usage.cost, LiteLLM's field, the AI Gateway's metadata: decimals in
 * every notation, read from their digits and rounded up once.  Pure; any thread.
 */
#ifndef WEIR_METER_REPORTED_H
#define WEIR_METER_REPORTED_H

#include "meter/answer.h"

/* Two amounts that count together; the second where the key is the caller's own. */
struct reported {
	struct str cost, upstream; /* p NULL: not said */
	bool is_byok;
	char text[2][SCAN_TEXT]; /* what cost and upstream point into */
};

/* A number or a decimal in a string; null takes back what was said. */
void reported_cost(struct reported *r, const struct scan_value *v);
void reported_upstream(struct reported *r, const struct scan_value *v);
/* Into u->reported; what is no amount is said to be none (u->is_cost_absurd). */
void reported_note(const struct reported *r, struct usage *u);
/* LiteLLM's x-litellm-response-cost: for `on_head` of a family. */
void reported_head(struct answer *a, const struct http_head *head);

#endif
