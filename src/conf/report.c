/*
 * report.c - collecting findings and showing them
 */
#include "conf/report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conf/text.h"

#define SHOWN_BEFORE 60 /* characters of a long line left of the caret */
#define SHOWN_MAX 120
#define TAB 8
#define TEXT_MAX 65536
#define SAID_MAX ((size_t)64 << 20) /* more than a whole report of the longest texts */
#define WORD_MAX 64                 /* longer words are no misspelt keys */

void
report_init(struct report *r)
{
	*r = (struct report){ .limit = REPORT_LIMIT };
}

void
report_fini(struct report *r)
{
	for (size_t i = 0; i < r->n; i++) {
		free(r->finding[i].file);
		free(r->finding[i].text);
		free(r->finding[i].hint);
		free(r->finding[i].source);
	}
	free(r->finding);
	report_init(r);
}

/* A copy that a terminal can be shown; names from a file may hold anything. */
static char *
shown(struct str text)
{
	struct buf b;
	uint32_t c;

	buf_init(&b, TEXT_ANY);
	while (text.n > 0) {
		struct str at = text;
		bool is_valid = text_next(&text, &c);
		text_show(&b, str_sub(at, 0, at.n - text.n), c, is_valid);
	}
	char *copy = str_dup(buf_view(&b));
	buf_fini(&b);
	return copy;
}

static char *
shown_fmt(const char *fmt, va_list ap)
{
	struct buf b;

	buf_init(&b, TEXT_MAX);
	buf_vfmt(&b, fmt, ap);
	char *copy = shown(b.is_over ? STR("(a text too long to show)") : buf_view(&b));
	buf_fini(&b);
	return copy;
}

/* The part of the line round the mark, with the cell its column is in. */
static void
finding_show_line(struct finding *f, struct str line)
{
	size_t target = f->mark.column > 0 ? f->mark.column - 1 : 0;
	size_t from = target > SHOWN_BEFORE * 3 / 2 ? target - SHOWN_BEFORE : 0;
	size_t at = 0, cells = 0;
	struct buf b;
	uint32_t c;

	buf_init(&b, TEXT_ANY);
	for (; line.n > 0 && at < from + SHOWN_MAX; at++) {
		struct str here = line;
		bool is_valid = text_next(&line, &c);
		if (at < from)
			continue;
		if (at == from && from > 0) {
			buf_text(&b, "...");
			cells = 3;
		}
		if (at == target)
			f->caret = cells;
		size_t spaces = TAB - cells % TAB;
		if (c == '\t')
			buf_fmt(&b, "%*s", (int)spaces, "");
		cells += c == '\t' ? spaces
				   : text_show(&b, str_sub(here, 0, here.n - line.n), c,
					 is_valid);
	}
	if (at <= target)
		f->caret = cells; /* just past the end */
	if (line.n > 0)
		buf_text(&b, "...");
	f->source = str_dup(buf_view(&b));
	buf_fini(&b);
}

void
report_vadd(struct report *r, enum severity severity, struct mark mark, struct str source,
    const char *code, const char *hint, const char *fmt, va_list ap)
{
	*(severity == SEVERITY_ERROR ? &r->errors : &r->warnings) += 1;
	if (r->n >= r->limit)
		return;
	if (r->n == r->cap) {
		r->cap = r->cap == 0 ? 8 : 2 * r->cap;
		r->finding = mem_resize(r->finding, r->cap * sizeof(*r->finding));
	}
	struct finding *f = &r->finding[r->n++];
	*f = (struct finding){ .severity = severity, .mark = mark, .code = code };
	if (mark.file != NULL)
		f->file = shown(str_of(mark.file));
	f->mark.file = f->file;
	f->text = shown_fmt(fmt, ap);
	if (hint != NULL)
		f->hint = shown(str_of(hint));
	if (source.p != NULL && mark.line > 0)
		finding_show_line(f, text_line(source, mark.line));
}

void
report_add(struct report *r, enum severity severity, struct mark mark, struct str source,
    const char *code, const char *hint, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	report_vadd(r, severity, mark, source, code, hint, fmt, ap);
	va_end(ap);
}

static const char *
severity_name(enum severity s)
{
	return s == SEVERITY_ERROR ? "error" : "warning";
}

static void
finding_print_text(const struct finding *f, struct buf *to)
{
	buf_text(to, f->file == NULL ? "weir" : f->file);
	if (f->mark.line > 0)
		buf_fmt(to, ":%zu:%zu", f->mark.line, f->mark.column);
	buf_fmt(to, ": %s: %s [%s]\n", severity_name(f->severity), f->text, f->code);
	if (f->source != NULL && f->source[0] != '\0')
		buf_fmt(to, "    %s\n    %*s^\n", f->source, (int)f->caret, "");
	if (f->hint != NULL)
		buf_fmt(to, "    hint: %s\n", f->hint);
}

bool
report_lacks(const struct report *r, const char *file)
{
	for (size_t i = 0; i < r->n; i++) {
		const struct finding *f = &r->finding[i];
		if ((strcmp(f->code, "missing_file") == 0 ||
			strcmp(f->code, "unreadable_file") == 0) &&
		    f->file != NULL && strcmp(f->file, file) == 0)
			return true;
	}
	return false;
}

void
report_print_text(const struct report *r, struct buf *to)
{
	for (size_t i = 0; i < r->n; i++)
		finding_print_text(&r->finding[i], to);
	if (r->errors + r->warnings > r->n)
		buf_fmt(to, "and %zu more\n", r->errors + r->warnings - r->n);
}

void
report_say(const struct report *r)
{
	struct buf text;

	buf_init(&text, SAID_MAX);
	report_print_text(r, &text);
	fputs(buf_cstr(&text), stderr);
	buf_fini(&text);
}

static void
json_text(struct buf *to, const char *key, const char *text)
{
	buf_fmt(to, ",\"%s\":", key);
	text_quote(to, text);
}

static void
json_place(struct buf *to, const char *key, size_t n)
{
	buf_fmt(to, ",\"%s\":", key);
	if (n == 0)
		buf_text(to, "null");
	else
		buf_fmt(to, "%zu", n);
}

void
report_print_json(const struct report *r, struct buf *to)
{
	buf_char(to, '[');
	for (size_t i = 0; i < r->n; i++) {
		const struct finding *f = &r->finding[i];
		buf_fmt(to, "%s{\"severity\":\"%s\"", i > 0 ? "," : "",
		    severity_name(f->severity));
		json_text(to, "file", f->file);
		json_place(to, "line", f->mark.line);
		json_place(to, "column", f->mark.column);
		json_text(to, "code", f->code);
		json_text(to, "message", f->text);
		json_text(to, "hint", f->hint);
		json_text(to, "source", f->source);
		buf_char(to, '}');
	}
	buf_char(to, ']');
}

/* Letter case and '-' for '_' are no difference: they are what people mix up first. */
static char
folded(char c)
{
	return c == '-' ? '_' : ascii_lower(c);
}

static size_t
least(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* Optimal string alignment: insert, delete, replace, or swap two neighbours. */
static size_t
distance(struct str a, struct str b)
{
	size_t row[3][WORD_MAX + 1] = { { 0 } };
	size_t *before = row[0], *last = row[1], *now = row[2];

	for (size_t j = 0; j <= b.n; j++)
		last[j] = j;
	for (size_t i = 1; i <= a.n; i++) {
		now[0] = i;
		for (size_t j = 1; j <= b.n; j++) {
			char ca = folded(a.p[i - 1]), cb = folded(b.p[j - 1]);
			now[j] = least(
			    least(now[j - 1], last[j]) + 1, last[j - 1] + (ca != cb));
			if (i > 1 && j > 1 && ca == folded(b.p[j - 2]) &&
			    cb == folded(a.p[i - 2]))
				now[j] = least(now[j], before[j - 2] + 1);
		}
		size_t *free_row = before;
		before = last;
		last = now;
		now = free_row;
	}
	return last[b.n];
}

const char *
report_suggest(struct str word, const char *const *candidate, size_t n)
{
	const char *best = NULL;
	size_t best_distance = SIZE_MAX;

	if (word.n == 0 || word.n > WORD_MAX)
		return NULL;
	for (size_t i = 0; i < n; i++) {
		struct str c = str_of(candidate[i]);
		if (c.n > WORD_MAX)
			continue;
		size_t d = distance(word, c);
		if (d < best_distance && d <= (least(word.n, c.n) + 1) / 3) {
			best = candidate[i];
			best_distance = d;
		}
	}
	return best;
}
