/*
 * metrics.c - count.def as Prometheus text
 */
#include "daemon/metrics.h"

#include "base/count.h"
#include "policy/verdict.h"

/* Every reason has its line from the start, so that a rate has something to rise from. */
static void
print_reasons(struct buf *to, enum count_id id, const struct count_row *row)
{
	for (unsigned r = REASON_NONE + 1; r < REASON_N; r++)
		buf_fmt(to, "%s{reason=\"%s\"} %lld\n", row->name,
		    reason_row((enum reason)r)->name, (long long)count_get(id, r));
}

void
metrics_print(struct buf *to)
{
	for (unsigned id = 0; id < COUNT_N; id++) {
		const struct count_row *row = count_row((enum count_id)id);
		buf_fmt(to, "# HELP %s %s\n# TYPE %s %s\n", row->name, row->help,
		    row->name, row->type == COUNT_GAUGE ? "gauge" : "counter");
		if (row->labels > 1)
			print_reasons(to, (enum count_id)id, row);
		else
			buf_fmt(to, "%s %lld\n", row->name,
			    (long long)count_get((enum count_id)id, 0));
	}
}
