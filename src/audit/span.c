/*
 * span.c - which bytes of a text are to be masked
 */
#include "audit/span.h"

#include <openssl/crypto.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SPANS_FIRST 8 /* most texts have fewer, and malloc() has such blocks at hand */
#define SORT_FEW 16

static void
forget(struct span *span)
{
	void *p =
	    (void *)(uintptr_t)span->secret.p; /* its own, though it shows it const */

	if (p == NULL)
		return;
	OPENSSL_cleanse(p, span->secret.n);
	free(p);
	span->secret = STR_NONE;
}

void
span_says(struct span *span, struct str secret)
{
	span->secret.n = secret.n;
	span->secret.p = memcpy(mem_alloc(secret.n), secret.p, secret.n);
}

void
spans_add(struct spans *s, struct span span)
{
	if (span.from >= span.to) {
		forget(&span);
		return;
	}
	if (s->n == s->cap) {
		s->cap = s->cap == 0 ? SPANS_FIRST : 2 * s->cap;
		s->span = mem_resize(s->span, s->cap * sizeof(*s->span));
	}
	s->span[s->n++] = span;
}

static bool
is_number_byte(char c)
{
	return ascii_is_digit(c) || (c != '\0' && strchr("+-.eE", c) != NULL);
}

static bool
is_in_string(struct span_place *place, struct str json, size_t at)
{
	if (at < place->at)
		*place = (struct span_place){ 0 };
	for (; place->at < at; place->at++)
		if (place->is_in_string && json.p[place->at] == '\\')
			place->at++;
		else if (json.p[place->at] == '"')
			place->is_in_string = !place->is_in_string;
	return place->is_in_string;
}

void
span_take_number(struct str json, struct span_place *place, struct span *s)
{
	for (size_t i = s->from; i < s->to; i++)
		if (!is_number_byte(json.p[i]))
			return;
	if (is_in_string(place, json, s->from))
		return;
	while (s->from > 0 && is_number_byte(json.p[s->from - 1]))
		s->from--;
	while (s->to < json.n && is_number_byte(json.p[s->to]))
		s->to++;
	memcpy(s->quote, "\"", 2);
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

/* Few are nearly in order, and qsort() would cost more than all the rest. */
static void
sort(struct spans *s)
{
	if (s->n > SORT_FEW) {
		qsort(s->span, s->n, sizeof(*s->span), by_place);
		return;
	}
	for (size_t i = 1; i < s->n; i++) {
		struct span span = s->span[i];
		size_t to = i;

		for (; to > 0 && by_place(&s->span[to - 1], &span) > 0; to--)
			s->span[to] = s->span[to - 1];
		s->span[to] = span;
	}
}

/* As they are when one eye alone found them. */
static bool
are_apart(const struct spans *s)
{
	for (size_t i = 1; i < s->n; i++)
		if (s->span[i].from < s->span[i - 1].to)
			return false;
	return true;
}

void
spans_merge(struct spans *s)
{
	size_t n = 0;

	if (are_apart(s))
		return;
	sort(s);
	for (size_t i = 1; i < s->n; i++) {
		struct span *last = &s->span[n];
		const struct span *next = &s->span[i];

		if (next->from >= last->to) {
			s->span[++n] = *next;
			continue;
		}
		if (next->to > last->to) {
			last->to = next->to;
			forget(last); /* it says more now */
		}
		forget(&s->span[i]);
	}
	s->n = n + 1;
}

void
spans_reset(struct spans *s)
{
	for (size_t i = 0; i < s->n; i++)
		forget(&s->span[i]);
	s->n = 0;
}

void
spans_fini(struct spans *s)
{
	spans_reset(s);
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

/* At most four bytes of UTF-8. */
static size_t
put_utf8(char *to, unsigned c)
{
	if (c < 0x80) {
		to[0] = (char)c;
		return 1;
	}
	if (c < 0x800) {
		to[0] = (char)(0xc0 | c >> 6);
		to[1] = (char)(0x80 | (c & 0x3f));
		return 2;
	}
	if (c < 0x10000) {
		to[0] = (char)(0xe0 | c >> 12);
		to[1] = (char)(0x80 | (c >> 6 & 0x3f));
		to[2] = (char)(0x80 | (c & 0x3f));
		return 3;
	}
	to[0] = (char)(0xf0 | (c >> 18 & 7));
	to[1] = (char)(0x80 | (c >> 12 & 0x3f));
	to[2] = (char)(0x80 | (c >> 6 & 0x3f));
	to[3] = (char)(0x80 | (c & 0x3f));
	return 4;
}

/* What stands at one place: how many bytes it takes, and what it says. */
struct step {
	size_t taken, n;
	char says[4];
};

static bool
step_percent(struct str rest, struct step *step)
{
	unsigned c;

	if (rest.p[0] == '%' && rest.n >= 6 && rest.p[1] == 'u' &&
	    hex_value(str_sub(rest, 2, 4), &c)) {
		step->taken = 6;
		step->n = put_utf8(step->says, c);
		return true;
	}
	if (rest.p[0] != '%' || rest.n < 3 || !hex_value(str_sub(rest, 1, 2), &c))
		return false;
	*step = (struct step){ 3, 1, { (char)c } };
	return true;
}

/* \u{41}, and \x41 below: no JSON, but what programs write for people and programs. */
static bool
step_braces(struct str rest, struct step *step)
{
	struct str in = str_sub(rest, 3, 7);
	size_t end;
	unsigned c;

	if (rest.n < 5 || rest.p[2] != '{' || !str_find(in, '}', &end) || end > 6 ||
	    !hex_value(str_sub(in, 0, end), &c) || c > 0x10ffff)
		return false;
	step->taken = end + 4;
	step->n = put_utf8(step->says, c);
	return true;
}

/* \101, of three digits: ASCII, as shells and C write it. */
static bool
step_octal(struct str rest, struct step *step)
{
	unsigned c = 0;

	if (rest.n < 4 || rest.p[1] > '1')
		return false;
	for (size_t i = 1; i < 4; i++) {
		if (rest.p[i] < '0' || rest.p[i] > '7')
			return false;
		c = 8 * c + (unsigned)(rest.p[i] - '0');
	}
	*step = (struct step){ 4, 1, { (char)c } };
	return true;
}

static bool
step_json(struct str rest, struct step *step)
{
	static const char letters[] = "nrtbf";
	static const char meanings[] = "\n\r\t\b\f";
	unsigned c;

	if (rest.p[0] != '\\' || rest.n < 2)
		return false;
	if (rest.p[1] == 'u' && rest.n >= 6 && hex_value(str_sub(rest, 2, 4), &c)) {
		step->taken = 6;
		step->n = put_utf8(step->says, c);
		return true;
	}
	if (rest.p[1] == 'u' && step_braces(rest, step))
		return true;
	if (step_octal(rest, step))
		return true;
	if (rest.p[1] == 'x' && rest.n >= 4 && hex_value(str_sub(rest, 2, 2), &c)) {
		*step = (struct step){ 4, 1, { (char)c } };
		return true;
	}
	const char *letter = memchr(letters, rest.p[1], sizeof(letters) - 1);
	*step = (struct step){ 2, 1,
		{ letter == NULL ? rest.p[1] : meanings[letter - letters] } };
	return true;
}

static const struct {
	struct str name;
	char says;
} entities[] = {
	{ { "amp", 3 }, '&' },
	{ { "quot", 4 }, '"' },
	{ { "apos", 4 }, '\'' },
	{ { "lt", 2 }, '<' },
	{ { "gt", 2 }, '>' },
	{ { "nbsp", 4 }, ' ' },
	{ { "equals", 6 }, '=' },
	{ { "colon", 5 }, ':' },
};

/* #34 or #x22, at most 0x10ffff. */
static bool
numeric_entity(struct str name, unsigned *out)
{
	unsigned c = 0;

	if (name.n < 2 || name.n > 8 || name.p[0] != '#')
		return false;
	if (ascii_lower(name.p[1]) == 'x')
		return hex_value(str_sub(name, 2, 6), out) && *out <= 0x10ffff;
	for (size_t i = 1; i < name.n; i++) {
		if (!ascii_is_digit(name.p[i]))
			return false;
		c = c * 10 + (unsigned)(name.p[i] - '0');
	}
	*out = c;
	return c <= 0x10ffff;
}

static bool
step_html(struct str rest, struct step *step)
{
	size_t end;
	unsigned c;

	if (rest.p[0] != '&' || !str_find(str_sub(rest, 0, 12), ';', &end))
		return false;
	struct str name = str_sub(rest, 1, end - 1);
	if (numeric_entity(name, &c)) {
		step->taken = end + 1;
		step->n = put_utf8(step->says, c);
		return true;
	}
	for (size_t i = 0; i < sizeof(entities) / sizeof(*entities); i++)
		if (str_eq(name, entities[i].name)) {
			*step = (struct step){ end + 1, 1, { entities[i].says } };
			return true;
		}
	return false;
}

/* A character of UTF-16 that ASCII has, too; the last one may lack its NUL. */
static bool
step_wide(struct str rest, struct step *step)
{
	*step =
	    (struct step){ rest.n > 1 && rest.p[1] == '\0' ? 2 : 1, 1, { rest.p[0] } };
	return true;
}

static bool (*const steps[])(struct str, struct step *) = {
	[SPAN_PERCENT] = step_percent,
	[SPAN_JSON] = step_json,
	[SPAN_HTML] = step_html,
	[SPAN_WIDE] = step_wide,
};

bool
span_begins(struct str rest, enum span_code code)
{
	struct step step;

	return rest.n > 0 && code != SPAN_PLAIN && steps[code](rest, &step);
}

static struct step
step_at(struct str raw, size_t at, enum span_code code)
{
	struct step step;

	if (code != SPAN_PLAIN && steps[code](str_sub(raw, at, raw.n), &step))
		return step;
	return (struct step){ 1, 1, { raw.p[at] } };
}

size_t
span_take(struct str raw, size_t at, enum span_code code, struct buf *out)
{
	struct step step;

	if (code == SPAN_PLAIN || !steps[code](str_sub(raw, at, raw.n), &step))
		return 0;
	buf_add(out, step.says, step.n);
	return step.taken;
}

/* How many bytes `text` begins with that say themselves. */
static size_t
plain_length(struct str text, enum span_code code)
{
	static const char begins[] = {
		[SPAN_PERCENT] = '%',
		[SPAN_JSON] = '\\',
		[SPAN_HTML] = '&',
	};
	size_t n = text.n;

	if (code == SPAN_WIDE)
		return 0;
	if (code != SPAN_PLAIN)
		(void)str_find(text, begins[code], &n);
	return n;
}

bool
span_is_plain(struct str raw, enum span_code code)
{
	return plain_length(raw, code) == raw.n;
}

size_t
span_decode(struct str raw, enum span_code code, struct buf *out)
{
	size_t taken = 0;

	for (size_t at = 0; at < raw.n; taken++) {
		size_t n = plain_length(str_sub(raw, at, raw.n), code);

		buf_add(out, raw.p + at, n);
		if ((at += n) == raw.n)
			break;
		struct step step = step_at(raw, at, code);
		buf_add(out, step.says, step.n);
		at += step.taken;
	}
	return taken;
}

/* ---- from a decoded text back to what it was decoded from */

/* The secret itself, kept when the text it was found in is gone. */
static void
own_secret(struct span *span, struct str plain)
{
	struct buf b;

	if (span->secret.p != NULL)
		return;
	buf_init(&b, 4 * (span->to - span->from) + 16);
	b.is_secret = true;
	span_decode(str_sub(plain, span->from, span->to - span->from), span->code, &b);
	span_says(span, buf_view(&b));
	buf_fini(&b);
}

/* A quote as it is written one level further out. */
static void
requote(char quote[static SPAN_QUOTE_MAX], enum span_code code)
{
	char inner[SPAN_QUOTE_MAX];
	size_t n = 0;

	memcpy(inner, quote, sizeof(inner));
	if (quote[0] == '\0' || code == SPAN_PLAIN || code == SPAN_WIDE)
		return;
	if (code != SPAN_JSON) {
		snprintf(
		    quote, SPAN_QUOTE_MAX, "%s", code == SPAN_PERCENT ? "%22" : "&quot;");
		return;
	}
	for (const char *c = inner; *c != '\0' && n + 3 < SPAN_QUOTE_MAX; c++) {
		if (*c == '"' || *c == '\\')
			quote[n++] = '\\';
		quote[n++] = *c;
	}
	quote[n] = '\0';
}

/* Where byte `to` of the decoded text is in `raw`; *raw_at and *at are behind the last.
 */
static size_t
raw_place(struct str raw, enum span_code code, size_t to, size_t *raw_at, size_t *at)
{
	while (*at < to && *raw_at < raw.n) {
		size_t n = plain_length(str_sub(raw, *raw_at, to - *at), code);

		*at += n;
		*raw_at += n;
		if (*at == to || *raw_at == raw.n)
			break;
		struct step step = step_at(raw, *raw_at, code);

		if (*at + step.n > to)
			break; /* within a character: its escape goes as a whole */
		*at += step.n;
		*raw_at += step.taken;
	}
	return *raw_at;
}

void
spans_map(struct spans *to, struct spans *found, struct str plain, struct str raw,
    size_t base, enum span_code code)
{
	size_t raw_at = 0, at = 0;

	spans_merge(found);
	for (size_t i = 0; i < found->n; i++) {
		struct span span = found->span[i];

		own_secret(&span, plain);
		size_t from = raw_place(raw, code, span.from, &raw_at, &at);
		size_t end = raw_place(raw, code, span.to, &raw_at, &at);

		if (at < span.to && end < raw.n)
			end += step_at(raw, end, code).taken;
		requote(span.quote, code);
		span.from = base + from;
		span.to = base + end;
		span.code = SPAN_PLAIN;
		spans_add(to, span);
	}
	found->n = 0; /* their secrets are `to`'s now */
}

void
spans_cover(struct spans *to, struct spans *found, struct str plain, struct span whole)
{
	if (found->n == 0)
		return;
	spans_merge(found);
	own_secret(&found->span[0], plain);
	whole.kind = found->span[0].kind;
	whole.secret = found->span[0].secret;
	found->span[0].secret = STR_NONE;
	spans_reset(found);
	spans_add(to, whole);
}
