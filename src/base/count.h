/*
 * count.h - counters for graphs
 *
 * One row in count.def is one Prometheus metric `weir_...`.  Adding is one
 * relaxed atomic on a cache line of this thread's; reading sums the threads.
 * A row with labels > 1 is a family over a closed set (an enum): the renderer
 * knows the set's names.  Any thread.
 */
#ifndef WEIR_BASE_COUNT_H
#define WEIR_BASE_COUNT_H

#include <stddef.h>
#include <stdint.h>

enum count_type { COUNT_COUNTER, COUNT_GAUGE };

enum count_id {
#define COUNT(id, name, type, labels, help) COUNT_##id,
#include "base/count.def"
#undef COUNT
	COUNT_N
};

struct count_row {
	const char *name; /* with its weir_ prefix and unit suffix */
	const char *help;
	enum count_type type;
	size_t labels; /* how many values its label has; 1: no label */
};

const struct count_row *count_row(enum count_id id);
void count_add(enum count_id id, int64_t n); /* gauges go down with a negative n */
void count_add_at(enum count_id id, size_t label, int64_t n);
int64_t count_get(enum count_id id, size_t label);

#endif
