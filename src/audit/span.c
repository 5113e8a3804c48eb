/*
 * span.c - which bytes of a text are to be masked
 */
#include "audit/span.h"

#include <stdlib.h>
#include <string.h>

void
spans_add(struct spans *s, struct span span)
{
	if (span.from >= span.to)
		return;
	if (s->n == s->cap) {
		s->cap = s->cap == 0 ? 16 : 2 * s->cap;
		s->span = mem_resize(s->span, s->cap * sizeof(*s->span));
	}
	s->span[s->n++] = span;
}

/* The longer first, so that it names the kind when one covers another. */
static int
by_place(const void *a, const void *b)
{
	const struct span *x = a;
	const struct span *y = b;

	if (x->from != y->from)
		return x->from < y->from ? -1 : 1;
	if (x->to != y->to)
		return x->to > y->to ? -1 : 1;
	return 0;
}

void
spans_merge(struct spans *s)
{
	size_t n = 0;

	if (s->n < 2)
		return;
	qsort(s->span, s->n, sizeof(*s->span), by_place);
	for (size_t i = 1; i < s->n; i++) {
		struct span *last = &s->span[n];
		const struct span *next = &s->span[i];

		if (next->from >= last->to)
			s->span[++n] = *next;
		else if (next->to > last->to)
			last->to = next->to;
	}
	s->n = n + 1;
}

void
spans_fini(struct spans *s)
{
	free(s->span);
	*s = (struct spans){ 0 };
}

static bool
hex_value(struct str s, unsigned *out)
{
	*out = 0;
	for (size_t i = 0; i < s.n; i++) {
		if (!ascii_is_hex(s.p[i]))
			return false;
		*out = *out * 16 + (unsigned)ascii_hex_value(s.p[i]);
	}
	return s.n > 0;
}

static void
add_utf8(struct buf *out, unsigned c)
{
	if (c < 0x80) {
		buf_char(out, (char)c);
	} else if (c < 0x800) {
		buf_char(out, (char)(0xc0 | c >> 6));
		buf_char(out, (char)(0x80 | (c & 0x3f)));
	} else {
		buf_char(out, (char)(0xe0 | c >> 12));
		buf_char(out, (char)(0x80 | (c >> 6 & 0x3f)));
		buf_char(out, (char)(0x80 | (c & 0x3f)));
	}
}

/* Each takes what it understands at `at` and says how many bytes that was. */
static size_t
take_percent(struct str raw, size_t at, struct buf *out)
{
	unsigned c;

	if (raw.p[at] != '%' || at + 2 >= raw.n ||
	    !hex_value(str_sub(raw, at + 1, 2), &c))
		return 0;
	buf_char(out, (char)c);
	return 3;
}

static size_t
take_escape(struct str raw, size_t at, struct buf *out)
{
	static const char letters[] = "nrtbf";
	static const char meanings[] = "\n\r\t\b\f";
	unsigned c;

	if (raw.p[at] != '\\' || at + 1 >= raw.n)
		return 0;
	if (raw.p[at + 1] == 'u' && at + 5 < raw.n &&
	    hex_value(str_sub(raw, at + 2, 4), &c)) {
		add_utf8(out, c);
		return 6;
	}
	const char *letter = memchr(letters, raw.p[at + 1], sizeof(letters) - 1);
	buf_char(out, letter == NULL ? raw.p[at + 1] : meanings[letter - letters]);
	return 2;
}

void
span_decode(struct str raw, enum span_code code, struct buf *out)
{
	for (size_t at = 0; at < raw.n;) {
		size_t taken = 0;

		if (code == SPAN_PERCENT)
			taken = take_percent(raw, at, out);
		else if (code == SPAN_JSON)
			taken = take_escape(raw, at, out);
		if (taken == 0)
			buf_char(out, raw.p[at++]);
		else
			at += taken;
	}
}
