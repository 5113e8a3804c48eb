/*
 * piece.c - one piece of text on its way through a scan
 */
#include "audit/piece.h"

#include "audit/mark.h"

#define WORK_TIMES 14 /* its length */
#define WORK_MORE 512

void
piece_budget(struct scan *s, size_t n)
{
	if (s->depth > 0 || s->is_bound)
		return;
	s->spent += s->work;
	s->work = 0;
	s->work_max = WORK_TIMES * n + WORK_MORE;
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
	p->scan->work += used;
	if (is_json)
		return at + used;
	p->read = at + used;
	return 0;
}
