/*
 * costs.h - what looking at a text cost, line by line
 *
 * A text is walked more than once, each time from left to right: each walk notes what it
 * cost in a lane of its own, and whoever has to pay reads all lanes as one, in the order
 * in which the lines end.  No thread of its own: its owner's.
 */
#ifndef WEIR_AUDIT_COSTS_H
#define WEIR_AUDIT_COSTS_H

#include <stdbool.h>
#include <stddef.h>

enum cost_lane {
	COST_WALK,      /* what stands in it */
	COST_RUNS,      /* runs of digits in it */
	COST_WIDE,      /* the same in UTF-16 */
	COST_WIDE_RUNS, /* both in this order: one behind the other */
	COST_DIGITS,    /* digits that were cut in lines */
	COST_JOINS,     /* whether they belong together */
	COST_LANES
};

struct cost {
	size_t from, to; /* the line, as far as it was looked at at once */
	size_t work;     /* in units of about two nanoseconds */
};

struct costs {
	struct cost_row {
		struct cost *p;
		size_t n, cap;
		size_t at;    /* how many were read */
		size_t asked; /* how many lie before what was asked for */
	} lane[COST_LANES];
};

void costs_add(struct costs *c, enum cost_lane lane, struct cost cost);
/* The next one, when it ends at or before `end`; it counts as read then. */
bool costs_take(struct costs *c, size_t end, struct cost *cost);
/* Of the line at `from` in one lane, or 0: asked for one behind the other. */
size_t costs_of(struct costs *c, enum cost_lane lane, size_t from);
void costs_reset(struct costs *c); /* none, the memory kept */
void costs_fini(struct costs *c);

#endif
