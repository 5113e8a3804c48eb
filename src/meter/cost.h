/*
 * cost.h - usage and prices -> what a call costs
 *
 * cost = ceil(sum(tokens * rate) * multipliers / 10^6 + fees): exact until the one
 * rounding, upwards, of the whole call.  Pure; any thread.
 */
#ifndef WEIR_METER_COST_H
#define WEIR_METER_COST_H

#include "meter/price.h"

enum cost_error {
	COST_OK,
	COST_UNPRICED, /* a run's model has no price */
	COST_TOO_LARGE,
};

enum cost_error cost_of(const struct prices *p, const struct usage *u, yyyymmdd day,
    usd_nano *out) MUST_CHECK;

/* How a call is settled: what is charged, and what there is to say about it. */
struct bill {
	usd_nano cost;
	enum basis { BASIS_TABLE, BASIS_REPORTED, BASIS_ESTIMATE } basis;
	bool reported_zero; /* and tokens were used: the table counted */
	bool reported_off;  /* over 10 % and 0.01 USD away from the table */
	bool is_unpriced;   /* the answer names a model without a price */
};

/*
 * For a usage whose state is ALL.  `trusts_reported`: the provider's `settle` is
 * reported.  False: neither table nor report gives a cost; estimate.h does.
 */
bool bill_of(struct bill *b, const struct prices *p, const struct usage *u, yyyymmdd day,
    bool trusts_reported) MUST_CHECK;
/* Usage was not told to its end, but a cost was, and it is above the ceiling. */
bool bill_says_more(const struct usage *u, usd_nano ceiling, bool trusts_reported);

#endif
