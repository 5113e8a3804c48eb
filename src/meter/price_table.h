/*
 * price_table.h - how a table is kept: price_read.c fills it, price.c asks it
 */
#ifndef WEIR_METER_PRICE_TABLE_H
#define WEIR_METER_PRICE_TABLE_H

#include "base/arena.h"
#include "base/map.h"
#include "meter/rate.h"

#define PRICES_DIGEST 65 /* hex SHA-256 of the file, and a NUL */
#define PRICE_LONGS 8    /* thresholds of one entry */

/* As the file says it; -1: it does not. */
struct price_set {
	nano_per_mtok rate[TIER_N][RATE_N];
};

struct price {
	struct price_facts facts;
	struct str provider; /* whom the list says it is from */
	struct price_set base;
	int64_t max_tokens; /* what older entries call the most output */
	struct price_long {
		int64_t over; /* applies to prompts of more tokens than this */
		struct price_set set;
	} longer[PRICE_LONGS]; /* by `over` */
	size_t nlong;
	bool is_uncounted;    /* it costs by something that is no token */
	yyyymmdd from, until; /* 0: always */
	struct price *next;   /* the same model's prices from a later day on */
};

struct price_alias {
	struct str pattern;
	const struct price *price;
};

struct prices {
	struct arena arena;
	struct map entry;            /* name -> struct price */
	struct map alias;            /* name -> struct price */
	struct price_alias *pattern; /* in file order */
	size_t npattern;
	char digest[PRICES_DIGEST];
	yyyymmdd date;
};

#endif
