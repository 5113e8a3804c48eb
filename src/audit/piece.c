/*
 * piece.c - one piece of text on its way through a scan
 */
#include "audit/piece.h"

#include "audit/mark.h"

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
	size_t used;

	if (at < p->read) /* it was found to be none before */
		return 0;
	bool is_json = p->scan->document(
	    p->scan, str_sub(text, at, text.n), p->base + at, kind, &used);
	p->scan->work += used;
	if (is_json)
		return at + used;
	p->read = at + used;
	return 0;
}
