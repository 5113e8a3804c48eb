/*
 * redact.c - secrets out of text
 */
#include "audit/redact.h"

#include <openssl/crypto.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "audit/doubt.h"
#include "audit/form.h"
#include "audit/join.h"
#include "audit/mark.h"
#include "audit/scan.h"
#include "audit/wide.h"
#include "base/count.h"
#include "base/exit.h"

#define MARK_ROOM 48 /* most marks are shorter */
#define PASSES 4 /* by the second nothing is left, unless the text was made to be odd */

struct redactor {
	struct marker *marker;
	struct shapes *shapes;
	struct prefilter filter;
	struct rules *rules; /* NULL: none */
	struct known *known; /* NULL: weir holds none that is only its own */
};

/* A rule that misses what it was written for: nothing may run that relies on it. */
static void
refuse_blindness(struct redactor *r)
{
	const char *missed = shapes_prove(r->shapes, &r->filter);

	if (missed == NULL)
		return;
	fprintf(stderr, "weir: the redactor does not find what this pattern is for: %s\n",
	    missed);
	_exit(EXIT_SOFTWARE);
}

struct redactor *
redactor_new(struct str key, const char *id)
{
	struct redactor *r = mem_zalloc(sizeof(*r));

	r->marker = marker_new(key, id);
	r->shapes = shapes_new();
	shapes_prefilter(r->shapes, &r->filter);
	scan_prefilter(&r->filter);
	refuse_blindness(r);
	return r;
}

void
redactor_free(struct redactor *r)
{
	if (r == NULL)
		return;
	marker_free(r->marker);
	shapes_free(r->shapes);
	known_free(r->known);
	rules_free(r->rules);
	free(r);
}

void
redactor_hold(struct redactor *r, struct known *known)
{
	r->known = known;
	known_share(known);
}

void
redactor_obey(struct redactor *r, struct rules *rules)
{
	r->rules = rules;
}

/* A key's name says less than the value's own shape: the kind is the shape's then. */
static const char *
better_kind(const struct redactor *r, const struct span *span, struct str secret)
{
	const char *kind =
	    name_kind_exists(str_of(span->kind)) ? shapes_kind(r->shapes, secret) : NULL;

	return kind != NULL ? kind : span->kind;
}

/* In UTF-16, whichever way round: a NUL between the mark's bytes, and behind the last
 * one when the secret had one there. */
static void
widen(struct str mark, bool has_last, struct buf *out)
{
	for (size_t i = 0; i < mark.n; i++) {
		buf_char(out, mark.p[i]);
		if (i + 1 < mark.n || has_last)
			buf_char(out, '\0');
	}
}

static void
put_quoted(const struct redactor *r, const char *kind, struct str secret,
    const char *quote, struct buf *out)
{
	buf_text(out, quote);
	marker_print(r->marker, kind, secret, out);
	buf_text(out, quote);
}

/* As the secret was written: in UTF-16, when `raw` is. */
static void
put_mark(const struct redactor *r, const char *kind, struct str secret, const char *quote,
    struct str raw, struct buf *out)
{
	struct buf mark;

	if (!mark_is_wide(raw)) {
		put_quoted(r, kind, secret, quote, out);
		return;
	}
	buf_init(&mark, 256);
	put_quoted(r, kind, secret, quote, &mark);
	widen(buf_view(&mark), raw.p[raw.n - 1] == '\0', out);
	buf_fini(&mark);
}

static void
print_mark(
    const struct redactor *r, struct str text, const struct span *span, struct buf *out)
{
	struct str raw = str_sub(text, span->from, span->to - span->from);
	struct str secret = span->secret.p != NULL ? span->secret : raw;
	struct buf plain;

	const char *kind = "held";

	buf_init(&plain, 4 * raw.n + 16);
	plain.is_secret = true;
	if (known_plain(r->known, raw, &plain)) {
		secret = buf_view(&plain);
	} else {
		if (secret.p == raw.p && span->code != SPAN_PLAIN) {
			span_decode(raw, span->code, &plain);
			secret = buf_view(&plain);
		}
		kind = better_kind(r, span, secret);
	}
	put_mark(r, kind, secret, span->quote, raw, out);
	buf_fini(&plain);
}

/* Ends with what passes `most` bytes. */
static void
print(const struct redactor *r, struct str text, const struct spans *spans, size_t most,
    struct buf *out)
{
	size_t at = 0;

	for (size_t i = 0; i < spans->n && out->n < most; i++) {
		buf_str(out, str_sub(text, at, spans->span[i].from - at));
		print_mark(r, text, &spans->span[i], out);
		at = spans->span[i].to;
	}
	if (out->n < most)
		buf_str(out, str_sub(text, at, text.n));
}

/* What a look at a text brings. */
struct findings {
	struct spans spans;
	struct joins joins; /* lines that are judged together */
	size_t work;
};

static void
findings_fini(struct findings *f)
{
	spans_fini(&f->spans);
	joins_fini(&f->joins);
}

static void
find(const struct redactor *r, enum redact_as as, struct str text, struct findings *f)
{
	struct spans *spans = &f->spans;
	struct scan scan;

	f->work = f->joins.n = 0;
	spans_reset(spans);
	scan_init(&scan, r->shapes, &r->filter, spans);
	scan.document = form_document;
	switch (as) {
	case REDACT_TEXT:
		scan_text(&scan, text, 0, SCAN_TEXT);
		f->work = join_find(text, spans, &f->joins);
		wide_find(&scan, r->known, text);
		break;
	case REDACT_JSON:
		form_json(&scan, text);
		break;
	case REDACT_HEADER:
		form_header(&scan, text);
		break;
	case REDACT_URL:
		scan_text(&scan, text, 0, SCAN_URL);
		break;
	}
	rules_find(r->rules, text, spans);
	known_find(r->known, as == REDACT_JSON, text, spans);
	spans_merge(spans);
	f->work += scan.spent + scan.work;
}

/* Text that looks different after each pass was made to confuse us: none of it passes. */
static void
mask_all(const struct redactor *r, struct str text, struct buf *out)
{
	struct span all = { .to = text.n, .kind = "doubt" };
	struct spans spans = { .span = &all, .n = 1 };

	doubt_count(DOUBT_PASSES);
	buf_reset(out);
	print(r, text, &spans, SIZE_MAX, out);
}

/*
 * What is given out is a text in which one more pass finds nothing, so that
 * redacting twice is redacting once whatever the input.
 */
static size_t
settle(const struct redactor *r, enum redact_as as, struct str in, size_t most,
    const struct spans *spans, struct buf *out)
{
	size_t max =
	    64 * in.n + 4096; /* a mark for each byte, far more than there can be */
	size_t masked = spans->n, left = spans->n;
	struct findings f = { 0 };
	struct buf now, next;

	buf_init(&now, max);
	buf_init(&next, max);
	(void)buf_room(&now, in.n + spans->n * MARK_ROOM); /* nearly always enough */
	print(r, in, spans, most, &now);
	for (int pass = 1; left > 0 && pass < PASSES; pass++) {
		find(r, as, buf_view(&now), &f);
		if ((left = f.spans.n) == 0)
			break;
		masked += left;
		buf_reset(&next);
		print(r, buf_view(&now), &f.spans, most, &next);
		struct buf swap = now;
		now = next;
		next = swap;
	}
	if (left > 0 || now.is_over)
		mask_all(r, in, &now);
	buf_str(out, buf_view(&now));
	findings_fini(&f);
	buf_fini(&now);
	buf_fini(&next);
	return masked;
}

static bool
is_blank(char c)
{
	return c == ' ' || c == '\t';
}

/* The lines that are looked at again together: [from, to), without the last newline. */
struct lines {
	size_t from, to;
};

/* The lines that [from, to) stands in; of header fields, those that they go on in, too.
 */
static void
take_lines(struct lines *l, struct str text, enum redact_as as, size_t from, size_t to)
{
	size_t begin = 0, end = text.n, n;

	if (str_rfind(str_sub(text, 0, from), '\n', &n))
		begin = n + 1;
	while (as == REDACT_HEADER && begin > 0 && is_blank(text.p[begin]))
		begin = str_rfind(str_sub(text, 0, begin - 1), '\n', &n) ? n + 1 : 0;
	if (str_find(str_sub(text, to, text.n), '\n', &n))
		end = to + n;
	while (as == REDACT_HEADER && end + 1 < text.n && is_blank(text.p[end + 1]))
		end = str_find(str_sub(text, end + 1, text.n), '\n', &n) ? end + 1 + n
									 : text.n;
	if (begin < l->from)
		l->from = begin;
	if (end > l->to)
		l->to = end;
}

/* With those that the next joins put them together with; *next moves along. */
static void
take_joined(struct lines *l, struct str text, const struct joins *joins, size_t *next)
{
	for (; *next < joins->n && joins->p[*next].from <= l->to; ++*next) {
		const struct joined *j = &joins->p[*next];
		bool has_newline = j->to > 0 && text.p[j->to - 1] == '\n';

		if (j->to <= l->from)
			continue;
		if (j->from < l->from)
			l->from = j->from;
		if (j->to - has_newline > l->to)
			l->to = j->to - has_newline;
	}
}

/*
 * The lines around the span `first`, and whatever must be seen with them; *next_join
 * moves along.
 */
static struct lines
lines_of(const struct findings *f, size_t first, struct str text, enum redact_as as,
    size_t *next_join)
{
	const struct spans *spans = &f->spans;
	struct lines l = { SIZE_MAX, 0 };

	for (size_t i = first; i < spans->n && (i == first || spans->span[i].from < l.to);
	     i++) {
		if (spans->span[i].to > l.to) /* most are in a line that was taken */
			take_lines(&l, text, as, spans->span[i].from, spans->span[i].to);
		take_joined(&l, text, &f->joins, next_join);
	}
	return l;
}

/* The spans from `first` on that are in the lines, counted from their begin; borrowed. */
static struct spans
spans_in(struct spans *all, size_t first, struct lines l)
{
	struct spans in = { .span = all->span + first };

	for (; first + in.n < all->n && in.span[in.n].from < l.to; in.n++) {
		in.span[in.n].from -= l.from;
		in.span[in.n].to -= l.from;
	}
	return in;
}

/*
 * Lines and header fields are judged one by one, and only those in which something was
 * found are looked at again; what `most` cuts off is not looked at at all.
 */
static size_t
settle_lines(const struct redactor *r, enum redact_as as, struct str in, size_t most,
    struct findings *f, struct buf *out)
{
	size_t masked = 0, at = 0, begun = out->n, join = 0;

	for (size_t i = 0; i < f->spans.n && out->n - begun < most;) {
		struct lines l = lines_of(f, i, in, as, &join);
		struct str lines = str_sub(in, l.from, l.to - l.from);
		const struct spans some = spans_in(&f->spans, i, l);

		i += some.n;
		buf_str(out, str_sub(in, at, l.from - at));
		masked += settle(r, as, lines, most - (out->n - begun), &some, out);
		at = l.to;
	}
	if (out->n - begun < most)
		buf_str(out, str_sub(in, at, in.n));
	return masked;
}

size_t
redact_part(const struct redactor *r, enum redact_as as, struct str in, size_t most,
    struct buf *out)
{
	struct findings f = { 0 };
	size_t masked = 0;

	find(r, as, in, &f);
	if (f.spans.n == 0)
		buf_str(out, in);
	else if (as != REDACT_JSON)
		masked = settle_lines(r, as, in, most, &f, out);
	else
		masked = settle(r, as, in, most, &f.spans, out);
	if (masked > 0)
		count_add(COUNT_REDACTED, (int64_t)masked);
	findings_fini(&f);
	return masked;
}

void
redact_explain(const struct redactor *r, enum redact_as as, struct str in,
    redact_told *told, void *arg)
{
	struct findings f = { 0 };

	find(r, as, in, &f);
	for (size_t i = 0; i < f.spans.n; i++) {
		const struct span *s = &f.spans.span[i];

		told(arg, s->from, s->to,
		    better_kind(r, s, str_sub(in, s->from, s->to - s->from)), s->why);
	}
	findings_fini(&f);
}

size_t
redact_work(const struct redactor *r, enum redact_as as, struct str in)
{
	struct findings f = { 0 };

	find(r, as, in, &f);
	findings_fini(&f);
	return f.work;
}

size_t
redact(const struct redactor *r, enum redact_as as, struct str in, struct buf *out)
{
	return redact_part(r, as, in, SIZE_MAX, out);
}

void
redact_mark(
    const struct redactor *r, const char *kind, struct str secret, struct buf *out)
{
	marker_print(r->marker, kind, secret, out);
}

const char *
redact_kind(const struct redactor *r, struct str secret)
{
	struct buf plain;
	const char *kind;

	buf_init(&plain, 2 * secret.n + 16);
	plain.is_secret = true;
	kind = known_plain(r->known, secret, &plain) ? "held"
						     : shapes_kind(r->shapes, secret);
	buf_fini(&plain);
	return kind != NULL ? kind : "secret";
}
