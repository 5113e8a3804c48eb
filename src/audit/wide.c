/*
 * wide.c - secrets in text of which each second byte is NUL
 */
#include "audit/wide.h"

#include <string.h>

#include "audit/scan.h"

#define CHARS_MIN 8 /* what is shorter holds no key and its value */

static bool
is_text(char c)
{
	return (c >= ' ' && c < 0x7f) || c == '\t';
}

/* Where the characters end that begin at `at`, each but the last before a NUL. */
static size_t
run_end(struct str text, size_t at)
{
	size_t end = at;

	while (end < text.n && is_text(text.p[end])) {
		end++;
		if (end == text.n || text.p[end] != '\0')
			break;
		end++;
	}
	return end;
}

static void
look_run(struct scan *s, const struct known *known, struct str raw, size_t base)
{
	struct spans found = { 0 }, *outer = s->spans;
	struct buf plain;

	buf_init(&plain, raw.n + 16);
	plain.is_secret = true;
	span_decode(raw, SPAN_WIDE, &plain);
	s->spans = &found;
	piece_done(s);
	s->lane = COST_WIDE;
	s->stride = 2;
	s->offset = base;
	scan_text(s, buf_view(&plain), 0, SCAN_TEXT);
	piece_done(s);
	s->stride = 1;
	s->offset = 0;
	s->spans = outer;
	known_find(known, KNOWN_IN_TEXT, buf_view(&plain), &found);
	spans_map(outer, &found, buf_view(&plain), raw, base, SPAN_WIDE);
	spans_fini(&found);
	buf_fini(&plain);
}

void
wide_find(struct scan *s, const struct known *known, struct str text)
{
	size_t at = 0, n;

	while (at < text.n && str_find(str_sub(text, at, text.n), '\0', &n)) {
		size_t from =
		    at + n; /* the first NUL: its character is before or behind */

		if (from > at && is_text(text.p[from - 1]))
			from--;
		else
			from++;
		size_t end = run_end(text, from);
		if (end - from >= 2 * CHARS_MIN)
			look_run(s, known, str_sub(text, from, end - from), from);
		at = end > at + n ? end : at + n + 1;
	}
}
