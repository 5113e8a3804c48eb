/*
 * spread.h - how long most of them took: percentiles in bounded memory
 *
 * A percentile is never below what it should be, and at most a sixteenth above.  Pure;
 * one thread.
 */
#ifndef WEIR_CMD_SPREAD_H
#define WEIR_CMD_SPREAD_H

#include <stdint.h>

#define SPREAD_SLOTS 608 /* to 2^40, sixteen for each power of two */

struct spread {
	uint64_t n, most;
	uint32_t slot[SPREAD_SLOTS];
};

void spread_add(struct spread *s, uint64_t value);
void spread_merge(struct spread *to, const struct spread *from);
uint64_t spread_percentile(
    const struct spread *s, unsigned percent); /* 0: there is none */

#endif
