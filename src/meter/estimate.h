/*
 * estimate.h - what to charge when nobody said
 *
 * A ceiling, never a guess below the bill: the smaller of what was reserved and what
 * the most pessimistic reading of what was seen costs.  Pure: time comes in as a
 * number.  Any thread.
 */
#ifndef WEIR_METER_ESTIMATE_H
#define WEIR_METER_ESTIMATE_H

#include "meter/bound.h"

struct estimate_input {
	const struct prices *prices;
	yyyymmdd day;
	const struct bound *bound;
	usd_nano reserved;
	int64_t ms;                     /* since the request went upstream */
	uint64_t max_tokens_per_second; /* 0: time says nothing */
	bool runs_on; /* the provider goes on to the end without us: full output */
};

/* Puts the estimated tokens into *u (its only run) and returns the charge. */
usd_nano estimate(struct usage *u, const struct call *c, const struct estimate_input *in);

#endif
