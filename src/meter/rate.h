/*
 * rate.h - what a price list may say of a model
 *
 * Plain data.
 */
#ifndef WEIR_METER_RATE_H
#define WEIR_METER_RATE_H

#include "meter/usage.h"

typedef uint32_t yyyymmdd; /* 20270101; 0: no date, a table is taken at its word */

enum rate_kind {
	RATE_INPUT,
	RATE_OUTPUT,
	RATE_READ,
	RATE_WRITE,
	RATE_WRITE_LONG,
	RATE_AUDIO_IN,
	RATE_AUDIO_OUT,
	RATE_REASONING,
	RATE_N
};

struct rates {
	nano_per_mtok of[RATE_N];
};

/* A multiplier is scaled by this: 1.1 is 1100000. */
#define MULTIPLIER_ONE 1000000

struct price_facts {
	struct str model;              /* the entry's name */
	int64_t max_input, max_output; /* 0: not said */
	bool is_embedding;
	bool per_prompt;     /* one search fee for each grounded prompt, not each query */
	bool has_search_fee; /* said, even if 0 */
	usd_nano search, search_max,
	    file_search;      /* for one; medium, dearest context size */
	int64_t fast, us, eu; /* multipliers; 0: not said */
};

#endif
