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

#define MARK_ROOM 48  /* most marks are shorter */
#define TEXT_LEAST 3  /* of a rule of redact.rules; nothing else is found in so little */
#define MARK_COST 80  /* in units of work: a secret is digested, its mark written */
#define UNIT_COST 80  /* a document, whatever its length */
#define AGAIN_COST 24 /* what was found is looked at again, whatever its length */
#define PASSES 4 /* by the second nothing is left, unless the text was made to be odd */

static const char why_costly[] = "the document costs too much to be judged";

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
		if (secret.p == raw.p && !span_is_plain(raw, span->code)) {
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
	bool is_json; /* all of it, when it was looked at as such */
	bool is_paid; /* ... and `costs` is what each line did */
	struct costs costs;
};

static void
findings_fini(struct findings *f)
{
	if (f->spans.span != NULL)
		spans_fini(&f->spans);
	if (f->joins.p != NULL)
		joins_fini(&f->joins);
	costs_fini(&f->costs);
}

/* Memory that serves for each line of a text. */
struct desk {
	const struct redactor *redactor;
	enum redact_as as;
	struct findings first, again;
	struct buf now, next;        /* a line before a pass, and behind it */
	struct buf said[SCAN_DEPTH]; /* by codes in it */
	struct purse *purse;         /* pays for all; NULL: nobody does */
	size_t earned;               /* up to where the text's bytes were put into it */
	size_t line, left;           /* where a line begins, and what was in it there */
	redact_told *told;
	void *told_arg;
};

static void
desk_init(struct desk *d, const struct redactor *r, enum redact_as as)
{
	*d = (struct desk){ .redactor = r, .as = as };
	for (size_t i = 0; i < SCAN_DEPTH; i++)
		d->said[i].is_secret = true;
}

/* Nearly all texts are short and have no secret: then there is nothing to free. */
static void
buf_free(struct buf *b)
{
	if (b->p != NULL)
		buf_fini(b);
}

static void
desk_fini(struct desk *d)
{
	findings_fini(&d->first);
	findings_fini(&d->again);
	buf_free(&d->now);
	buf_free(&d->next);
	for (size_t i = 0; i < SCAN_DEPTH; i++)
		buf_free(&d->said[i]);
}

static void
find_in_digits(struct scan *s, struct str text, const struct joins *joins)
{
	for (size_t i = 0; i < joins->n; i++)
		if (joins->p[i].digits_from < joins->p[i].digits_to)
			scan_digits(
			    s, text, joins->p[i].digits_from, joins->p[i].digits_to);
}

static bool
is_label_byte(char c)
{
	return ascii_is_alnum(c) || c == '-' || c == '_';
}

/* From the begin of each label. */
static void
find_folded(const struct redactor *r, struct str host, struct spans *spans)
{
	struct shape_hit hit;

	for (size_t at = 0; at < host.n; at++)
		if (is_label_byte(host.p[at]) &&
		    (at == 0 || !is_label_byte(host.p[at - 1])) &&
		    shapes_match_folded(r->shapes, host, at, &hit))
			spans_add(spans, (struct span){ .from = at,
					     .to = hit.end,
					     .kind = hit.kind,
					     .why = "its own shape, in small letters" });
}

static void
find_in_host(const struct redactor *r, struct str text, struct spans *spans)
{
	struct buf small;

	buf_init(&small, text.n);
	small.is_secret = true;
	for (size_t i = 0; i < text.n; i++)
		buf_char(&small, ascii_lower(text.p[i]));
	find_folded(r, buf_view(&small), spans);
	known_find(r->known, KNOWN_IN_HOST, buf_view(&small), spans);
	buf_fini(&small);
}

/* A document that was made to cost much: it is not looked at to its end. */
static void
take_all(struct str text, struct spans *spans)
{
	doubt_count(DOUBT_BUDGET);
	spans_reset(spans);
	spans_add(
	    spans, (struct span){ .to = text.n, .kind = "doubt", .why = why_costly });
}

static void
find(struct desk *d, struct str text, struct findings *f)
{
	const struct redactor *r = d->redactor;
	struct spans *spans = &f->spans;
	struct scan scan;

	f->joins.n = 0;
	spans_reset(spans);
	costs_reset(&f->costs);
	scan_init(&scan, r->shapes, &r->filter, d->said, spans);
	scan.document = form_document;
	scan.costs = &f->costs;
	scan.is_paid = f->is_paid;
	switch (d->as) {
	case REDACT_TEXT:
		scan_text(&scan, text, 0, SCAN_TEXT);
		scan.spent +=
		    join_find(text, spans, &f->joins, f->is_paid ? &f->costs : NULL);
		scan.lane = COST_DIGITS;
		find_in_digits(&scan, text, &f->joins);
		wide_find(&scan, r->known, text);
		break;
	case REDACT_JSON:
		f->is_json = form_json(&scan, text);
		break;
	case REDACT_HEADER:
		form_header(&scan, text);
		break;
	case REDACT_URL:
		scan_text(&scan, text, 0, SCAN_URL);
		break;
	case REDACT_HOST:
		scan_text(&scan, text, 0, SCAN_TEXT);
		find_in_host(r, text, spans);
		break;
	}
	piece_done(&scan);
	f->work = scan.spent;
	if (scan.spent > scan.spent_max) {
		take_all(text, spans);
		return;
	}
	rules_find(r->rules, d->as == REDACT_JSON, text, spans);
	known_find(
	    r->known, d->as == REDACT_JSON ? KNOWN_IN_JSON : KNOWN_IN_TEXT, text, spans);
	spans_merge(spans);
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

static void
clear(struct buf *b, size_t max)
{
	buf_reset(b);
	b->max = max;
}

/*
 * What is given out is a text in which one more pass finds nothing, so that
 * redacting twice is redacting once whatever the input.  Good until the next one; *masked
 * and *looked grow.
 */
static struct str
settle(struct desk *d, struct str in, size_t most, const struct spans *spans,
    size_t *masked, size_t *looked)
{
	size_t max =
	    64 * in.n + 4096; /* a mark for each byte, far more than there can be */
	size_t left = spans->n;
	struct buf *now = &d->now, *next = &d->next;

	*masked += left;
	clear(now, max);
	(void)buf_room(now, in.n + spans->n * MARK_ROOM); /* nearly always enough */
	print(d->redactor, in, spans, most, now);
	for (int pass = 1; left > 0 && pass < PASSES; pass++) {
		find(d, buf_view(now), &d->again);
		*looked += d->again.work;
		if ((left = d->again.spans.n) == 0)
			break;
		*masked += left;
		clear(next, max);
		print(d->redactor, buf_view(now), &d->again.spans, most, next);
		struct buf *swap = now;
		now = next;
		next = swap;
	}
	if (left > 0 || now->is_over)
		mask_all(d->redactor, in, now);
	return buf_view(now);
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

/* `spans` count from `base` on; nobody may ask. */
static void
tell(const struct desk *d, struct str in, size_t base, const struct spans *spans)
{
	for (size_t i = 0; i < spans->n && d->told != NULL; i++) {
		const struct span *s = &spans->span[i];
		struct str raw = str_sub(in, base + s->from, s->to - s->from);

		d->told(d->told_arg, base + s->from, base + s->to,
		    better_kind(d->redactor, s, raw), s->why);
	}
}

/* ---- paid from a purse */

static void
earn(struct desk *d, size_t to)
{
	if (to <= d->earned)
		return;
	purse_earn(d->purse, to - d->earned);
	d->earned = to;
}

/* A line, or more of them, begins here: what is before it is out. */
static void
begin_line(struct desk *d, size_t from)
{
	if (from < d->earned)
		return;
	earn(d, from);
	purse_close(d->purse);
	d->line = from;
	d->left = d->purse->left;
}

/*
 * Lines up to `end` in which nothing was found.  False: one cannot be paid, and *stop is
 * where it begins.
 */
static bool
pay_lines(struct desk *d, size_t end, size_t *stop)
{
	struct cost c;

	while (costs_take(&d->first.costs, end, &c)) {
		begin_line(d, c.from);
		earn(d, c.to);
		if (purse_pay(d->purse, c.work))
			continue;
		purse_spend(d->purse, c.work);
		*stop = c.from;
		return false;
	}
	return true;
}

static bool
is_one_line(struct str s)
{
	return memchr(s.p, '\n', s.n) == NULL;
}

/* What is left of `n` bytes when marks stand in them. */
static size_t
marked_length(size_t n, const struct spans *spans)
{
	for (size_t i = 0; i < spans->n; i++)
		n -= spans->span[i].to - spans->span[i].from;
	return n + spans->n * MARK_ROOM;
}

/* Of text that is looked at again, and was `looked` at for so much, with its marks. */
static size_t
cost_of(size_t looked, size_t again, size_t n, size_t marks)
{
	return looked + again + n / 2 + marks * MARK_COST + AGAIN_COST;
}

/*
 * What was found in `text`, which was looked at for `looked`, goes out when it can be
 * paid.  So that a second pass, which finds the same text with marks in it, can pay it,
 * too, it is never less than that will cost, nor is more earned; and lines that belong
 * together earn nothing, since there they are paid one by one.
 */
static bool
settle_paid(struct desk *d, struct str text, const struct spans *found, size_t looked,
    struct buf *out, size_t *masked)
{
	size_t again = 0, marks = 0, left = d->purse->left;
	size_t n = marked_length(text.n, found);
	size_t cost = cost_of(looked, text.n > 0 ? looked * n / text.n : 0, n, found->n);
	bool is_unit = d->as == REDACT_JSON || is_one_line(text);

	if (n > text.n)
		n = text.n;
	purse_earn(d->purse, is_unit ? n : 0);
	bool is_payable = cost <= d->purse->left;
	d->purse->left = left;
	if (is_payable) {
		struct str settled = settle(d, text, SIZE_MAX, found, &marks, &again);

		n = settled.n < text.n ? settled.n : text.n;
		cost = cost_of(looked, again, settled.n, marks);
		purse_earn(d->purse, is_unit ? n : 0);
		if (purse_pay(d->purse, cost)) {
			buf_str(out, settled);
			*masked += marks;
			return true;
		}
		d->purse->left = left;
	}
	purse_spend(d->purse, cost);
	return false;
}

/* The lines of [from, to), in which `some` was found. */
static bool
pay_found(struct desk *d, struct str in, struct lines l, const struct spans *some,
    struct buf *out, size_t *masked, size_t *stop)
{
	size_t looked = 0;
	struct cost c;

	if (!pay_lines(d, l.from, stop))
		return false;
	while (costs_take(&d->first.costs, l.to, &c))
		looked += c.work;
	begin_line(d, l.from);
	*stop = l.from;
	d->earned = l.to;
	return settle_paid(
	    d, str_sub(in, l.from, l.to - l.from), some, looked, out, masked);
}

/*
 * Where the lines, behind those up to `done`, begin that belong together with the one at
 * `stop`.  The purse is as it was there, or empty, when that is not known any more.
 */
static size_t
stop_at(struct desk *d, struct str in, size_t done, size_t stop)
{
	const struct joins *joins = &d->first.joins;
	struct lines l = { SIZE_MAX, 0 };

	take_lines(&l, in, d->as, stop, stop);
	for (size_t i = joins->n; i > 0; i--) {
		const struct joined *j = &joins->p[i - 1];

		if (j->from > l.from || j->next <= l.from)
			continue;
		l.from = j->from;
		purse_waste(d->purse, j->next - j->from);
	}
	if (l.from < done)
		l.from = done + 1; /* behind its newline */
	d->purse->left = l.from == d->line ? d->left : 0;
	return l.from;
}

/* ---- lines and documents */

/*
 * Lines and header fields are judged one by one, and only those in which something was
 * found are looked at again; what `most` cuts off is not looked at at all.
 */
static size_t
settle_lines(struct desk *d, struct str in, size_t most, struct buf *out)
{
	struct findings *f = &d->first;
	size_t masked = 0, at = 0, begun = out->n, join = 0, looked = 0;

	for (size_t i = 0; i < f->spans.n && out->n - begun < most;) {
		struct lines l = lines_of(f, i, in, d->as, &join);
		struct str lines = str_sub(in, l.from, l.to - l.from);
		const struct spans some = spans_in(&f->spans, i, l);

		i += some.n;
		buf_str(out, str_sub(in, at, l.from - at));
		buf_str(out,
		    settle(d, lines, most - (out->n - begun), &some, &masked, &looked));
		at = l.to;
	}
	if (out->n - begun < most)
		buf_str(out, str_sub(in, at, in.n));
	return masked;
}

/* The same, paid from the purse.  Up to where it was. */
static size_t
pay_all(struct desk *d, struct str in, struct buf *out, size_t *masked)
{
	struct findings *f = &d->first;
	size_t at = 0, join = 0, stop;

	for (size_t i = 0; i < f->spans.n;) {
		struct lines l = lines_of(f, i, in, d->as, &join);
		const struct spans some = spans_in(&f->spans, i, l);
		size_t begun = out->n, n = 0;

		buf_str(out, str_sub(in, at, l.from - at));
		if (!pay_found(d, in, l, &some, out, &n, &stop)) {
			out->n = begun;
			stop = stop_at(d, in, at, stop);
			buf_str(out, str_sub(in, at, stop - at));
			return stop;
		}
		tell(d, in, l.from, &some);
		*masked += n;
		i += some.n;
		at = l.to;
	}
	bool is_paid = pay_lines(d, in.n, &stop);
	size_t end = is_paid ? in.n : stop_at(d, in, at, stop);
	if (is_paid)
		earn(d, in.n);
	buf_str(out, str_sub(in, at, end - at));
	return end;
}

/* All of it is one document, or more of them: up to where it was paid, all or nothing. */
static size_t
pay_document(struct desk *d, struct str in, struct buf *out, size_t *masked)
{
	const struct findings *f = &d->first;
	size_t left = d->purse->left;

	if (f->spans.n > 0) {
		if (!settle_paid(d, in, &f->spans, f->work + UNIT_COST, out, masked))
			return 0;
		tell(d, in, 0, &f->spans);
		return in.n;
	}
	purse_earn(d->purse, in.n);
	if (!purse_pay(d->purse, f->work + UNIT_COST)) {
		d->purse->left = left;
		purse_spend(d->purse, f->work + UNIT_COST);
		return 0;
	}
	buf_str(out, in);
	return in.n;
}

static size_t
pay_json(struct desk *d, struct str in, bool *is_none, struct buf *out, size_t *masked)
{
	if (is_none == NULL || d->first.is_json)
		return pay_document(d, in, out, masked);
	*is_none = true;
	purse_owe(d->purse, d->first.work);
	return 0;
}

size_t
redact_part(const struct redactor *r, enum redact_as as, struct str in, size_t most,
    struct buf *out)
{
	struct desk d;
	size_t masked = 0, looked = 0;

	if (in.n < TEXT_LEAST) {
		buf_str(out, in);
		return 0;
	}
	desk_init(&d, r, as);
	find(&d, in, &d.first);
	if (d.first.spans.n == 0)
		buf_str(out, in);
	else if (as != REDACT_JSON)
		masked = settle_lines(&d, in, most, out);
	else
		buf_str(out, settle(&d, in, most, &d.first.spans, &masked, &looked));
	if (masked > 0)
		count_add(COUNT_REDACTED, (int64_t)masked);
	desk_fini(&d);
	return masked;
}

size_t
redact_paid(const struct redactor *r, enum redact_as as, struct str in,
    struct purse *purse, redact_told *told, void *arg, bool *is_none, struct buf *out)
{
	struct desk d;
	size_t masked = 0, n;

	purse_close(purse);
	if (is_none != NULL)
		*is_none = false;
	if (in.n < TEXT_LEAST) {
		purse_earn(purse, in.n);
		buf_str(out, in);
		return in.n;
	}
	desk_init(&d, r, as);
	d.first.is_paid = as != REDACT_JSON;
	d.purse = purse;
	d.told = told;
	d.told_arg = arg;
	find(&d, in, &d.first);
	n = as == REDACT_JSON ? pay_json(&d, in, is_none, out, &masked)
			      : pay_all(&d, in, out, &masked);
	if (masked > 0)
		count_add(COUNT_REDACTED, (int64_t)masked);
	desk_fini(&d);
	return n;
}

void
redact_explain(const struct redactor *r, enum redact_as as, struct str in,
    redact_told *told, void *arg)
{
	struct desk d;

	desk_init(&d, r, as);
	d.told = told;
	d.told_arg = arg;
	find(&d, in, &d.first);
	tell(&d, in, 0, &d.first.spans);
	desk_fini(&d);
}

size_t
redact_work(const struct redactor *r, enum redact_as as, struct str in)
{
	struct desk d;

	desk_init(&d, r, as);
	find(&d, in, &d.first);
	size_t work = d.first.work;
	desk_fini(&d);
	return work;
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
