/*
 * span.h - which bytes of a text are to be masked
 *
 * Found by several eyes in any order; spans_merge() sorts them and joins those
 * that overlap, so that printing is one walk.
 */
#ifndef WEIR_AUDIT_SPAN_H
#define WEIR_AUDIT_SPAN_H

#include "base/str.h"

/* How the secret is written, so that its mark is made over the secret itself. */
enum span_code { SPAN_PLAIN, SPAN_PERCENT, SPAN_JSON };

struct span {
	size_t from, to;
	const char *kind; /* static */
	enum span_code code;
	bool is_bare; /* a number in JSON: its mark needs quotes */
};

struct spans {
	struct span *span;
	size_t n, cap;
};

void spans_add(struct spans *s, struct span span); /* empty ones are left out */
void spans_merge(struct spans *s);
void spans_fini(struct spans *s);

/* Appends what `raw` says when it is not written as `code`. */
void span_decode(struct str raw, enum span_code code, struct buf *out);

#endif
