/*
 * bound.h - the most that a call can cost
 *
 * One byte is at most one token; tools, messages and blocks cost some that are no
 * bytes; an image costs its family's cap, a document or a reference as much as the
 * model takes.  Each at the dearest rate that can apply.  Nothing here is learned from
 * earlier calls, and nothing a client writes makes the bound smaller than the bill.
 * Pure; any thread.
 */
#ifndef WEIR_METER_BOUND_H
#define WEIR_METER_BOUND_H

#include "meter/call.h"
#include "meter/price.h"

#define BOUND_FLOOR 1024 /* tokens: a shorter answer is of no use */

struct bound_run { /* one model that may run */
	const struct price *price;
	wide fixed;     /* n$ * 10^18: input, fees, whatever the limit does not change */
	wide per_token; /* n$ * 10^18 for each token of the limit, all answers together */
	uint64_t limit; /* the model makes no more for one answer */
	enum named_role role;
};

struct bound {
	uint64_t input; /* tokens of one prompt */
	uint64_t limit; /* of output that was asked for, or the dearest model's own */
	uint64_t least; /* a clamp goes no lower: floor, and room to think */
	bool can_clamp;
	usd_nano want;
	struct bound_run run[CALL_MODELS];
	size_t nrun;
};

enum bound_error {
	BOUND_OK,
	BOUND_UNPRICED, /* model_unpriced: *which */
	BOUND_ENDLESS, /* a model without a limit for what is unlimited: model_unpriced */
	BOUND_TOO_LARGE,
};

struct bound_input {
	const struct prices *prices;
	yyyymmdd day;
	uint64_t floor; /* tokens; 0: BOUND_FLOOR */
	/* From the provider's free counter; 0: not asked. */
	uint64_t counted;
	/* What weir's own records say of the objects the call refers to, input and output
	 * together; 0: not known, so as much as the model takes. */
	uint64_t referred;
};

enum bound_error bound_call(struct bound *b, const struct call *c,
    const struct bound_input *in, struct str *which) MUST_CHECK;

/* What the call can cost with that limit.  False: it does not fit. */
bool bound_hold(const struct bound *b, uint64_t limit, usd_nano *out) MUST_CHECK;
/* The highest limit, up to the one asked for, that so much money pays; 0: none. */
uint64_t bound_limit(const struct bound *b, usd_nano granted);
/* After call_clamp(): the call cannot make more than that. */
void bound_clamp(struct bound *b, uint64_t to);
/* What must be granted at least: the hold of `least` (or of all, if it cannot be
 * clamped). */
bool bound_floor(const struct bound *b, usd_nano *out) MUST_CHECK;

#endif
