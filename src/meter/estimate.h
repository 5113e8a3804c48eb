/*
 * estimate.h - what to charge when nobody said
 *
 * A ceiling, never a guess below the bill: the smaller of what was reserved and what
 * the most pessimistic reading of what was seen costs.  Where more than what was
 * reserved is sure, the provider keeps to no limit, and that reading has no lid.
 *
 * And a floor: what a call has cost for sure, by which a stream that runs on is known.
 * Pure: time comes in as a number.  Any thread.
 */
#ifndef WEIR_METER_ESTIMATE_H
#define WEIR_METER_ESTIMATE_H

#include "meter/bound.h"

/*
 * Of an honest tokenizer's tokens none is longer, in bytes of text: the longest of the
 * vocabularies that are known are runs of 128 spaces.  So text divided by it is never
 * more than what is billed, whatever the language; plain English is thirty times that.
 */
#define ESTIMATE_LONGEST_TOKEN 128

struct estimate_input {
	const struct prices *prices;
	yyyymmdd day;
	const struct bound *bound;
	usd_nano reserved;
	int64_t ms;                     /* since the request went upstream */
	uint64_t max_tokens_per_second; /* 0: time says nothing */
	bool runs_on;   /* the provider goes on to the end without us: full output */
	usd_nano least; /* by estimate_least(); 0: not known */
};

/*
 * What was used for sure: the totals that were reported, also running ones, unless they
 * are absurd, and a token for each ESTIMATE_LONGEST_TOKEN bytes of text.  Time, announced
 * estimates and ratios of text are not sure.  False: no price says.
 */
bool estimate_least(const struct usage *u, const struct call *c, const struct prices *p,
    yyyymmdd day, usd_nano *out) MUST_CHECK;
/* Puts the estimated tokens into *u (its only run) and returns the charge. */
usd_nano estimate(struct usage *u, const struct call *c, const struct estimate_input *in);

#endif
