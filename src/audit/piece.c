/*
 * piece.c - one piece of text on its way through a scan
 */
#include "audit/piece.h"

#include "audit/mark.h"

#define WORK_TIMES 24 /* its length */
#define WORK_MORE 512
#define DOCUMENT_COST 56 /* that is begun */
#define LONG ((size_t)64 << 10)
#define WORK_TIMES_LONG 4 /* what is beyond that */

static size_t
budget_of(size_t n)
{
	size_t beyond = n < LONG ? 0 : n - LONG;

	return WORK_TIMES * (n - beyond) + WORK_TIMES_LONG * beyond + WORK_MORE;
}

void
piece_done(struct scan *s)
{
	size_t from = s->offset + s->stride * s->line;

	if (s->work > 0 && (s->is_paid || s->line_n > LONG))
		costs_add(s->costs, s->lane,
		    (struct cost){ from, from + s->stride * s->line_n, s->work });
	s->spent += s->work;
	s->work = 0;
}

/* A long line has one budget for both walks. */
static void
bound_runs(struct scan *s)
{
	size_t spent = costs_of(s->costs, s->lane - 1, s->offset + s->stride * s->line);

	s->work_max -= spent < s->work_max ? spent : s->work_max;
}

void
piece_budget(struct scan *s, size_t at, size_t n)
{
	if (s->depth > 0 || s->is_bound)
		return;
	piece_done(s);
	s->line = at;
	s->line_n = n;
	s->work_max = budget_of(n);
	if (n > LONG && (s->lane == COST_RUNS || s->lane == COST_WIDE_RUNS))
		bound_runs(s);
	s->is_over = s->spent > s->spent_max;
}

void
piece_bound(struct scan *s, size_t n)
{
	s->spent_max = s->spent + budget_of(n);
}

void
piece_mask(const struct piece *p, const char *kind, const char *why, size_t from,
    size_t to, enum span_code code)
{
	if (mark_is(str_sub(p->whole, from, to - from)))
		return;
	spans_add(p->scan->spans, (struct span){ .from = p->base + from,
				      .to = p->base + to,
				      .kind = kind,
				      .why = why,
				      .code = code });
}

size_t
piece_document(struct piece *p, size_t at, const char *kind)
{
	/* a line is judged alone, unless nothing cut it */
	struct str text = p->scan->depth > 0 ? p->whole : p->text;
	bool was_bound = p->scan->is_bound;
	size_t used;

	if (at < p->read) /* it was found to be none before */
		return 0;
	p->scan->is_bound = true;
	bool is_json = p->scan->document(
	    p->scan, str_sub(text, at, text.n), p->base + at, kind, &used);
	p->scan->is_bound = was_bound;
	p->scan->work += used / 4 + DOCUMENT_COST;
	if (is_json)
		return at + used;
	p->read = at + used;
	return 0;
}
