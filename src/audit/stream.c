/*
 * stream.c - redacting what comes in pieces and may never end
 */
#include "audit/stream.h"

#include "audit/doubt.h"
#include "audit/join.h"

#define QUOTE '"'

static const char why_spent[] = "what it begins with costs more than is left to pay";

void
redact_stream_init(struct redact_stream *s, const struct redactor *r, enum redact_as as)
{
	*s = (struct redact_stream){ .redactor = r, .as = as };
	buf_init(&s->held, 2 * STREAM_UNIT_MAX);
	purse_init(&s->purse);
}

void
redact_stream_explain(struct redact_stream *s, redact_told *told, void *arg)
{
	s->told = told;
	s->told_arg = arg;
}

void
redact_stream_fini(struct redact_stream *s)
{
	buf_fini(&s->held);
}

/* The held bytes from `from` up to `to`. */
static struct str
piece(const struct redact_stream *s, size_t from, size_t to)
{
	return str_sub(buf_view(&s->held), from, to - from);
}

/* Behind the last newline that came since the last look; 0: none came. */
static size_t
lines_end(struct redact_stream *s)
{
	size_t from = s->looked, at;

	s->looked = s->held.n;
	if (!str_rfind(piece(s, from, s->held.n), '\n', &at))
		return 0;
	return s->tail = from + at + 1;
}

/* The line that begins at `from`, without its newline, which is before `end`. */
static struct str
line_at(const struct redact_stream *s, size_t from, size_t end)
{
	struct str rest = piece(s, from, end);
	size_t n = rest.n;

	return str_find(rest, '\n', &n) ? str_sub(rest, 0, n) : rest;
}

/* ---- text: lines, and the blocks of private keys among them */

/* The line that a block at `at` begins in, with the block that ended in the same line. */
static void
begin_pem(struct redact_stream *s, size_t at)
{
	size_t line = s->begin, n;

	if (str_rfind(piece(s, s->begin, at), '\n', &n))
		line += n + 1;
	if (s->pem_end <= line)
		s->pem_line = line;
	s->is_in_pem = true;
}

/* From `from` on; a block that goes on in the next line is noted.  Behind what was read.
 */
static size_t
find_pem(struct redact_stream *s, size_t from, size_t end)
{
	struct str text = piece(s, 0, end);
	size_t at, n;

	while (pem_find(text, from, &at)) {
		struct str line = line_at(s, at, end);

		from = at + line.n + 1;
		if (pem_first(&s->pem, line, &n) == PEM_DONE) {
			from = at + (n > 0 ? n : 1);
			continue;
		}
		begin_pem(s, at);
		return from;
	}
	return end;
}

/* The next line of an open block; behind what was read of it. */
static size_t
read_pem(struct redact_stream *s, size_t from, size_t end)
{
	struct str line = line_at(s, from, end);
	size_t n;

	switch (pem_next(&s->pem, line, &n)) {
	case PEM_MORE:
		return from + line.n + 1;
	case PEM_DONE:
		s->is_in_pem = false;
		s->pem_end = from + n;
		return from + n;
	case PEM_NOT:
		s->is_in_pem = false;
		s->pem_end = from;
		return from;
	}
	return from;
}

/* Where the lines end that are whole, which begin at s->seen and end at `end`. */
static size_t
text_end(struct redact_stream *s, size_t end)
{
	while (s->seen < end) {
		s->seen =
		    s->is_in_pem ? read_pem(s, s->seen, end) : find_pem(s, s->seen, end);
		if (s->is_in_pem && s->seen - s->pem_line > STREAM_PEM_MAX) {
			s->is_dropping_pem = true;
			return s->seen;
		}
	}
	end = s->is_in_pem ? s->pem_line : end;
	size_t open = s->begin + join_open(piece(s, s->begin, end));
	/* a key in a block's last line: all stay together, unless that were for ever */
	if (open < s->pem_end && end - s->begin <= STREAM_PEM_MAX)
		return s->begin;
	return open;
}

/* The rest of a block whose mark is out; its newline stays, as behind any block. */
static void
drop_pem(struct redact_stream *s, size_t end)
{
	while (s->is_in_pem && s->seen < end)
		s->seen = read_pem(s, s->seen, end);
	s->begin = s->seen;
	s->is_dropping_pem = s->is_in_pem;
}

/* ---- header fields */

/*
 * Where the last field ends behind which another begins: until then it may go on.  What
 * was looked at before says nothing new, but for a newline at its end.
 */
static size_t
fields_end(struct redact_stream *s)
{
	size_t from = s->looked > s->begin ? s->looked - 1 : s->begin;
	struct str text = piece(s, from, s->held.n);
	size_t at;

	s->looked = s->held.n;
	while (str_rfind(text, '\n', &at)) {
		size_t next = from + at + 1;

		if (next < s->held.n && s->held.p[next] != ' ' && s->held.p[next] != '\t')
			return next;
		text.n = at;
	}
	return s->begin;
}

/*
 * ---- JSON
 *
 * One document after another.  What begins like none, or turns out to be none when it is
 * looked at, is a line: it goes up to a newline, whatever quotes and brackets are in it,
 * since some of them may be masked.
 */

#define STEP_OUTSIDE 1
#define STEP_INSIDE 2 /* a string */
#define STEP_OPENS 4
#define STEP_BETWEEN 8 /* documents */

/* What json_step() has to see, and what may stand before a document. */
static const unsigned char steps[256] = {
	['\n'] = STEP_INSIDE | STEP_BETWEEN,
	[QUOTE] = STEP_OUTSIDE | STEP_INSIDE,
	['\\'] = STEP_INSIDE,
	['{'] = STEP_OUTSIDE | STEP_OPENS,
	['}'] = STEP_OUTSIDE,
	['['] = STEP_OUTSIDE | STEP_OPENS,
	[']'] = STEP_OUTSIDE,
	[' '] = STEP_BETWEEN,
	['\t'] = STEP_BETWEEN,
	['\r'] = STEP_BETWEEN,
	[','] = STEP_BETWEEN,
	[':'] = STEP_BETWEEN,
};

static bool
is_step(unsigned char step, char c)
{
	return (steps[(unsigned char)c] & step) != 0;
}

/* One byte within a document; true when it ends, or cannot be one. */
static bool
json_step(struct redact_stream *s, char c)
{
	if (s->is_in_string) {
		if (c == '\n') {
			s->is_in_string = s->is_escaped = false;
			s->depth = 0;
			return true;
		}
		s->is_in_string = c != QUOTE || s->is_escaped;
		s->is_escaped = c == '\\' && !s->is_escaped;
		return false;
	}
	if (c == QUOTE)
		s->is_in_string = true;
	if (c == '{' || c == '[')
		s->depth++;
	return (c == '}' || c == ']') && --s->depth == 0;
}

/* The next byte before `end` of which json_step() must know. */
static void
skip_to_step(struct redact_stream *s, size_t end)
{
	unsigned char step = s->is_in_string ? STEP_INSIDE : STEP_OUTSIDE;

	while (!s->is_escaped && s->seen < end && !is_step(step, s->held.p[s->seen]))
		s->seen++;
}

static bool
line_ended(struct redact_stream *s, size_t end)
{
	size_t n;

	if (!str_find(piece(s, s->seen, end), '\n', &n)) {
		s->seen = end;
		return false;
	}
	s->seen += n + 1;
	s->is_line = false;
	return true;
}

/* Before a document, or a line; true: it is an empty line. */
static bool
begin_json(struct redact_stream *s)
{
	char c = s->held.p[s->seen];

	if (!is_step(STEP_OPENS | STEP_BETWEEN, c)) {
		s->is_line = true;
		return false;
	}
	s->depth += is_step(STEP_OPENS, c);
	s->seen++;
	return c == '\n';
}

static bool
json_ended(struct redact_stream *s)
{
	size_t end = s->begin + STREAM_UNIT_MAX;

	if (end > s->held.n)
		end = s->held.n;
	while (s->seen < end) {
		if (s->is_line)
			return line_ended(s, end);
		if (s->depth == 0) {
			if (begin_json(s))
				return true;
			continue;
		}
		skip_to_step(s, end);
		if (s->seen < end && json_step(s, s->held.p[s->seen++]))
			return true;
	}
	return false;
}

/* ---- out */

static void
tell(void *arg, size_t from, size_t to, const char *kind, const char *why)
{
	const struct redact_stream *s = arg;
	size_t base = s->gone + s->begin;

	s->told(s->told_arg, base + from, base + to, kind, why);
}

/* What was masked in JSON is no part of a document that follows it. */
static void
pay_newline(struct redact_stream *s, struct buf *out)
{
	if (s->owes_newline && s->held.p[s->begin] != '\n' && s->told == NULL)
		buf_char(out, '\n');
	s->owes_newline = false;
}

/* What can be paid; what cannot is the beginning of a stretch that will be masked.
 * is_none: as redact_paid() has it. */
static void
pay_out(struct redact_stream *s, size_t end, bool *is_none, struct buf *out)
{
	bool is_told = s->told != NULL;
	struct buf untold;

	if (end <= s->begin)
		return;
	pay_newline(s, out);
	buf_init(&untold, 4 * out->max);
	size_t n = redact_paid(s->redactor, s->as, piece(s, s->begin, end), &s->purse,
	    is_told ? tell : NULL, s, is_none, is_told ? &untold : out);
	s->begin += n;
	if (s->seen < s->begin)
		s->seen = s->begin;
	if (n > 0)
		s->owes_newline =
		    s->as == REDACT_JSON && out->n > 0 && out->p[out->n - 1] == '~';
	buf_fini(&untold);
}

static void
give_out(struct redact_stream *s, size_t end, struct buf *out)
{
	pay_out(s, end, NULL, out);
}

/* The newline that a text ends with. */
static struct str
newline_of(struct str text)
{
	size_t n = text.n;

	if (n > 0 && text.p[n - 1] == '\n')
		n--;
	if (n < text.n && n > 0 && text.p[n - 1] == '\r')
		n--;
	return str_sub(text, n, text.n);
}

/* The stretch ends here: all of it is one mark. */
static void
mask_stretch(struct redact_stream *s, size_t end, struct buf *out)
{
	struct str all = piece(s, s->begin, end);
	struct str newline = newline_of(all);

	doubt_count(DOUBT_BUDGET);
	all.n -= newline.n;
	pay_newline(s, out);
	if (s->told != NULL) {
		tell(s, 0, all.n, "doubt", why_spent);
	} else {
		redact_mark(s->redactor, "doubt", all, out);
		buf_str(out, newline);
	}
	s->owes_newline = s->as == REDACT_JSON && newline.n == 0;
	s->purse.stretch = 0;
	s->begin = end;
	if (s->seen < end)
		s->seen = end;
}

/* All up to `end`, where it would be cut whatever is in it. */
static void
give_rest(struct redact_stream *s, size_t end, struct buf *out)
{
	if (s->purse.stretch == 0)
		give_out(s, end, out);
	if (s->purse.stretch > 0)
		mask_stretch(s, end, out);
}

/*
 * Where to go to at once, before `end`: as far as the purse surely pays, or to where a
 * stretch may end; 0: that has not come yet.  *from is what it must lie behind.
 */
static bool
next_turn(const struct redact_stream *s, size_t held, size_t end, size_t *from)
{
	size_t reach = purse_reach(&s->purse);

	if (s->purse.stretch > 0)
		*from = s->begin + s->purse.stretch;
	else
		*from = s->begin + held + (held > reach ? held : reach);
	if (*from <= end)
		return true;
	*from = end;
	return s->purse.stretch == 0;
}

static void
skip_line(struct redact_stream *s)
{
	size_t at;

	s->is_skipping = !str_find(piece(s, s->begin, s->held.n), '\n', &at);
	s->begin = s->seen = s->is_skipping ? s->held.n : s->begin + at;
}

/* What is too large to be judged as one piece is not judged at all. */
static void
give_up(struct redact_stream *s, struct buf *out)
{
	doubt_count(DOUBT_SIZE);
	pay_newline(s, out);
	if (s->told != NULL)
		tell(s, 0, STREAM_UNIT_MAX, "doubt", "it is too large to be judged");
	else
		redact_mark(s->redactor, "doubt",
		    piece(s, s->begin, s->begin + STREAM_UNIT_MAX), out);
	s->purse.stretch = 0;
	s->is_in_string = s->is_escaped = s->is_in_pem = s->is_line = false;
	s->depth = 0;
	skip_line(s);
}

static bool
is_too_large(const struct redact_stream *s, size_t end)
{
	return end - s->begin > STREAM_UNIT_MAX;
}

/* Behind the first newline at or behind `from`; `end` is behind one. */
static size_t
newline_behind(const struct redact_stream *s, size_t from, size_t end)
{
	return from + line_at(s, from, end).n + 1;
}

/* Lines up to `to`, or what of them does not belong together with what follows. */
static void
give_text(struct redact_stream *s, size_t to, struct buf *out)
{
	size_t border = text_end(s, to);

	if (s->purse.stretch > 0) {
		if (s->is_dropping_pem || border - s->begin >= s->purse.stretch / 2)
			mask_stretch(s, border, out);
		else
			s->purse.stretch *= 2;
		return;
	}
	give_out(s, border, out);
	if (s->purse.stretch == 0)
		return;
	/* where the stretch ends does not depend on what was seen of it */
	s->seen = s->pem_end = s->begin;
	s->is_in_pem = s->is_dropping_pem = false;
}

static void
give_to(struct redact_stream *s, size_t to, struct buf *out)
{
	if (s->purse.stretch > 0)
		mask_stretch(s, to, out);
	else
		give_out(s, to, out);
}

static void
give_lines(struct redact_stream *s, size_t end, struct buf *out)
{
	size_t from;

	if (s->is_dropping_pem)
		drop_pem(s, end);
	while (s->seen < end && next_turn(s, s->seen - s->begin, end, &from)) {
		size_t to = newline_behind(s, from - 1, end);

		if (s->as != REDACT_URL) /* there a key's block is one line */
			give_text(s, to, out);
		else
			give_to(s, to, out);
		if (s->is_dropping_pem)
			drop_pem(s, end);
	}
}

/* The line that begins at `from` is too large: what is before it is whole with it. */
static void
give_up_line(struct redact_stream *s, size_t from, struct buf *out)
{
	s->is_in_pem = s->is_dropping_pem = false;
	give_rest(s, from, out);
	s->seen = from;
	give_up(s, out);
}

/* Line by line, where one of them may be too large. */
static void
give_large_lines(struct redact_stream *s, size_t end, struct buf *out)
{
	for (size_t from = s->seen; from < end;) {
		size_t n = line_at(s, from, end).n;

		if (n > STREAM_UNIT_MAX) {
			give_up_line(s, from, out);
			from = s->begin; /* at its newline */
		} else {
			from += n + 1;
			give_lines(s, from, out);
		}
	}
}

static void
take_lines(struct redact_stream *s, struct buf *out)
{
	size_t end = lines_end(s);

	if (end > 0 && is_too_large(s, end))
		give_large_lines(s, end, out);
	else if (end > 0)
		give_lines(s, end, out);
	if (s->held.n - s->tail > STREAM_UNIT_MAX) {
		give_up_line(s, s->tail, out);
		s->tail = s->begin;
	}
}

/* Behind the first field that ends at or behind `from`. */
static size_t
field_behind(const struct redact_stream *s, size_t from, size_t end)
{
	do
		from = newline_behind(s, from, end);
	while (from < end && (s->held.p[from] == ' ' || s->held.p[from] == '\t'));
	return from;
}

static void
take_fields(struct redact_stream *s, struct buf *out)
{
	size_t end = fields_end(s), from;

	while (s->begin < end && next_turn(s, 0, end, &from))
		give_to(s, field_behind(s, from - 1, end), out);
	if (is_too_large(s, s->held.n))
		give_up(s, out);
}

/* What ends at a bracket must be JSON, or it goes on to a newline. */
static void
give_document(struct redact_stream *s, struct buf *out)
{
	bool *is_none = s->held.p[s->seen - 1] != '\n' ? &s->is_line : NULL;

	if (s->purse.stretch == 0)
		pay_out(s, s->seen, is_none, out);
	if (s->purse.stretch > 0 && s->seen - s->begin >= s->purse.stretch)
		mask_stretch(s, s->seen, out);
}

/* Between documents, all there are at once: nothing is in them. */
static void
give_newlines(struct redact_stream *s, struct buf *out)
{
	size_t end = s->begin;

	if (s->seen != s->begin || s->purse.stretch > 0)
		return;
	while (end < s->held.n && s->held.p[end] == '\n')
		end++;
	if (end == s->begin)
		return;
	purse_earn(&s->purse, end - s->begin);
	if (s->told == NULL)
		buf_str(out, piece(s, s->begin, end));
	s->owes_newline = false;
	s->begin = s->seen = end;
}

static void
take_json(struct redact_stream *s, struct buf *out)
{
	for (;;) {
		give_newlines(s, out);
		if (json_ended(s))
			give_document(s, out);
		else if (s->seen - s->begin >= STREAM_UNIT_MAX)
			give_up(s, out);
		else
			return;
		if (s->is_skipping)
			return;
	}
}

static void
take(struct redact_stream *s, struct str in, struct buf *out)
{
	buf_str(&s->held, in);
	if (s->is_skipping) {
		skip_line(s);
		s->tail = s->begin;
	}
	switch (s->as) {
	case REDACT_TEXT:
	case REDACT_URL:
	case REDACT_HOST:
		take_lines(s, out);
		break;
	case REDACT_HEADER:
		take_fields(s, out);
		break;
	case REDACT_JSON:
		take_json(s, out);
		break;
	}
	buf_drop(&s->held, s->begin);
	s->gone += s->begin;
	s->seen -= s->begin;
	s->looked = s->looked > s->begin ? s->looked - s->begin : 0;
	s->tail = s->tail > s->begin ? s->tail - s->begin : 0;
	s->pem_line = s->pem_line > s->begin ? s->pem_line - s->begin : 0;
	s->pem_end = s->pem_end > s->begin ? s->pem_end - s->begin : 0;
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
	if (s->is_dropping_pem)
		drop_pem(s, s->held.n);
	give_rest(s, s->held.n, out);
}
