/*
 * metrics.c - count.def as Prometheus text
 */
#include "daemon/metrics.h"

#include "audit/doubt.h"
#include "base/count.h"
#include "policy/verdict.h"
#include "proxy/counter.h"

/* ---- families: each value of their label has its line from the start, so that a rate
 * has something to rise from */

static const char *
reason_label(size_t i)
{
	return i > REASON_NONE && i < REASON_N ? reason_row((enum reason)i)->name : NULL;
}

static const char *
doubt_label(size_t i)
{
	return i < DOUBT_N ? doubt_name((enum doubt)i) : NULL;
}

static const struct labelled {
	enum count_id id;
	const char *label;
	const char *(*value)(size_t i); /* NULL: no such one */
} families[] = {
	{ COUNT_REFUSED, "reason", reason_label },
	{ COUNT_REDACT_FAILCLOSED, "reason", doubt_label },
	{ COUNT_TOKEN_COUNTS, "result", counter_result },
};

static void
print_family(struct buf *to, const struct labelled *f)
{
	const struct count_row *row = count_row(f->id);

	for (size_t i = 0; i < row->labels; i++)
		if (f->value(i) != NULL)
			buf_fmt(to, "%s{%s=\"%s\"} %lld\n", row->name, f->label,
			    f->value(i), (long long)count_get(f->id, i));
}

static const struct labelled *
family_of(enum count_id id)
{
	for (size_t i = 0; i < sizeof(families) / sizeof(*families); i++)
		if (families[i].id == id)
			return &families[i];
	return NULL;
}

void
metrics_print(struct buf *to)
{
	for (unsigned id = 0; id < COUNT_N; id++) {
		const struct count_row *row = count_row((enum count_id)id);
		buf_fmt(to, "# HELP %s %s\n# TYPE %s %s\n", row->name, row->help,
		    row->name, row->type == COUNT_GAUGE ? "gauge" : "counter");
		const struct labelled *f = family_of((enum count_id)id);
		if (f != NULL)
			print_family(to, f);
		else
			buf_fmt(to, "%s %lld\n", row->name,
			    (long long)count_get((enum count_id)id, 0));
	}
}
