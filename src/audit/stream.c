/*
 * stream.c - redacting what comes in pieces and may never end
 */
#include "audit/stream.h"

#include <string.h>

#define QUOTE '"'

void
redact_stream_init(struct redact_stream *s, const struct redactor *r, enum redact_as as)
{
	*s = (struct redact_stream){ .redactor = r, .as = as };
	buf_init(&s->held, 2 * STREAM_UNIT_MAX);
}

void
redact_stream_fini(struct redact_stream *s)
{
	buf_fini(&s->held);
}

static struct str
unseen(const struct redact_stream *s)
{
	return str_sub(buf_view(&s->held), s->seen, s->held.n);
}

static bool
holds(struct str line, const char *word)
{
	return memmem(line.p, line.n, word, strlen(word)) != NULL;
}

/* Each says whether the unit that begins at s->begin has ended; s->seen is its end then.
 */

static bool
line_ended(struct redact_stream *s)
{
	size_t at;

	if (!str_find(unseen(s), '\n', &at)) {
		s->seen = s->held.n;
		return false;
	}
	s->seen += at + 1;
	return true;
}

/* A key in PEM is many lines; whoever begins one and ends it never holds only his own log
 * back. */
static bool
text_ended(struct redact_stream *s)
{
	for (;;) {
		size_t from = s->seen;
		struct str rest = unseen(s);
		size_t at;

		if (!str_find(rest, '\n', &at))
			return false;
		struct str line = str_sub(rest, 0, at + 1);
		s->seen = from + line.n;
		if (holds(line, "-----BEGIN ") && holds(line, "PRIVATE KEY"))
			s->is_in_pem = true;
		if (s->is_in_pem && holds(line, "-----END"))
			s->is_in_pem = false;
		if (!s->is_in_pem)
			return true;
	}
}

static bool
header_ended(struct redact_stream *s)
{
	for (;;) {
		struct str rest = unseen(s);
		size_t at;

		if (!str_find(rest, '\n', &at) || at + 1 == rest.n)
			return false;
		s->seen += at + 1;
		if (rest.p[at + 1] != ' ' && rest.p[at + 1] != '\t')
			return true;
	}
}

/* One byte of JSON; true when a document, or a line that is none, ends with it. */
static bool
json_step(struct redact_stream *s, char c)
{
	if (c == '\n' && (s->is_in_string || s->depth == 0)) {
		s->is_in_string = s->is_escaped = false;
		s->depth = 0; /* a raw newline in a string: this is no JSON */
		return true;
	}
	if (s->is_in_string) {
		s->is_in_string = c != QUOTE || s->is_escaped;
		s->is_escaped = c == '\\' && !s->is_escaped;
		return false;
	}
	if (c == QUOTE)
		s->is_in_string = true;
	if (c == '{' || c == '[')
		s->depth++;
	if ((c != '}' && c != ']') || s->depth == 0)
		return false;
	return --s->depth == 0;
}

static bool
json_ended(struct redact_stream *s)
{
	while (s->seen < s->held.n)
		if (json_step(s, s->held.p[s->seen++]))
			return true;
	return false;
}

static bool
has_ended(struct redact_stream *s)
{
	switch (s->as) {
	case REDACT_TEXT:
		return text_ended(s);
	case REDACT_JSON:
		return json_ended(s);
	case REDACT_HEADER:
		return header_ended(s);
	case REDACT_URL:
		return line_ended(s);
	}
	return line_ended(s);
}

/* What is too large to be judged as one piece is not judged at all. */
static void
give_up(struct redact_stream *s, struct str unit, struct buf *out)
{
	redact_mark(s->redactor, "doubt", unit, out);
	s->is_skipping = true;
	s->is_in_string = s->is_escaped = s->is_in_pem = false;
	s->depth = 0;
	s->begin = s->seen = s->held.n;
}

static void
give_out(struct redact_stream *s, struct buf *out)
{
	struct str unit = str_sub(buf_view(&s->held), s->begin, s->seen - s->begin);

	redact(s->redactor, s->as, unit, out);
	s->begin = s->seen;
}

static void
skip_line(struct redact_stream *s)
{
	size_t at;

	s->is_skipping = !str_find(unseen(s), '\n', &at);
	s->begin = s->seen = s->is_skipping ? s->held.n : s->seen + at;
}

static void
take(struct redact_stream *s, struct str in, struct buf *out)
{
	buf_str(&s->held, in);
	if (s->is_skipping)
		skip_line(s);
	while (has_ended(s))
		give_out(s, out);
	if (s->held.n - s->begin > STREAM_UNIT_MAX)
		give_up(s, str_sub(buf_view(&s->held), s->begin, s->held.n), out);
	buf_drop(&s->held, s->begin);
	s->seen -= s->begin;
	s->begin = 0;
}

void
redact_stream_feed(struct redact_stream *s, struct str in, struct buf *out)
{
	for (size_t at = 0; at < in.n; at += STREAM_UNIT_MAX / 2)
		take(s, str_sub(in, at, STREAM_UNIT_MAX / 2), out);
}

void
redact_stream_end(struct redact_stream *s, struct buf *out)
{
	s->seen = s->held.n;
	give_out(s, out);
}
