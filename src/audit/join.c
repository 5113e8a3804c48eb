/*
 * join.c - a key in one line, its value in the next ones; digits in many
 */
#include "audit/join.h"

#include <stdlib.h>
#include <string.h>

#include "audit/coded.h"
#include "audit/element.h"
#include "audit/mark.h"
#include "audit/name.h"
#include "audit/value.h"

#define NAME_MAX_BYTES 64
#define PAIR_NAME_MAX 24 /* "ParameterName" */
#define HEAD_COST 20     /* a line that may begin something, in units of work */
#define NAME_COST 40     /* ... and has a name */
#define LINE_COST 12     /* one below it */

static const char why_below[] = "the key in the line above it";

enum form {
	FORM_NONE,
	FORM_PLAIN,   /* the next line, when it is a value and nothing else, or a list */
	FORM_BLOCK,   /* all that is indented further (YAML 1.2, 8.1) */
	FORM_GOES_ON, /* to the first line that does not end with a backslash */
	FORM_ELEMENT, /* to the next tag */
	FORM_PAIR,    /* what the next line says is the value */
	FORM_DIGITS,  /* up to a line that is shorter, or no digits */
};

/* A line without its newline and blanks behind. */
struct line {
	struct str text;
	size_t begin, next; /* in the whole */
	size_t indent;
	size_t work; /* what it cost to read it */
};

/* What a line begins. */
struct head {
	enum form form;
	const char *kind;
	bool is_quoted; /* the key is, as in JSON */
	bool is_many;   /* it says so: only a list can be its value */
	size_t value;   /* where it begins in the line, when it goes on */
};

static bool
is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

static bool
is_quote(char c)
{
	return c == '"' || c == '\'';
}

static bool
is_name_byte(char c)
{
	return ascii_is_alnum(c) || c == '_' || c == '-' || c == '.';
}

static size_t
skip_blanks(struct str s, size_t at)
{
	while (at < s.n && is_blank(s.p[at]))
		at++;
	return at;
}

static struct line
line_at(struct str text, size_t begin)
{
	struct line l = { .begin = begin, .next = text.n };
	size_t n;

	l.text = str_sub(text, begin, text.n);
	if (str_find(l.text, '\n', &n)) {
		l.text.n = n;
		l.next = begin + n + 1;
	}
	while (l.text.n > 0 && is_blank(l.text.p[l.text.n - 1]))
		l.text.n--;
	return l;
}

static void
measure(struct line *l)
{
	l->indent = skip_blanks(l->text, 0);
}

/* An odd number of backslashes: the last one is for the newline. */
static bool
goes_on(struct str line)
{
	size_t n = 0;

	while (n < line.n && line.p[line.n - 1 - n] == '\\')
		n++;
	return n % 2 == 1;
}

/* As base64(1), openssl(1) and MIME cut base64, and xxd(1) hex. */
static bool
is_width(size_t n)
{
	return n == 60 || n == 64 || n == 76;
}

static size_t
digits_in(struct str line, bool is_hex)
{
	size_t n = 0;

	while (
	    n < line.n && (is_hex ? ascii_is_hex(line.p[n]) : coded_is_digit(line.p[n])))
		n++;
	return n;
}

static bool
is_full_of_digits(struct str line)
{
	return is_width(line.n) && digits_in(line, false) == line.n;
}

/* ---- the first line */

/* Blanks, "- " or "export ", a name, quoted or not, and its = or :. */
static bool
read_key(const struct line *l, struct str *name, bool *is_quoted, size_t *behind)
{
	struct str s = l->text;
	size_t at = l->indent;

	if (str_starts(str_sub(s, at, 2), STR("- ")))
		at = skip_blanks(s, at + 2);
	if (str_starts(str_sub(s, at, 7), STR("export ")))
		at += 7;
	*is_quoted = at < s.n && is_quote(s.p[at]);
	at += *is_quoted;
	size_t from = at;
	while (at < s.n && at - from < NAME_MAX_BYTES && is_name_byte(s.p[at]))
		at++;
	*name = str_sub(s, from, at - from);
	if (*is_quoted && (at == s.n || s.p[at++] != s.p[from - 1]))
		return false;
	at = skip_blanks(s, at);
	if (name->n == 0 || at == s.n || (s.p[at] != ':' && s.p[at] != '='))
		return false;
	*behind = skip_blanks(s, at + 1);
	return true;
}

/* DB_PASSWORD, "DB_PASSWORD",: all of it a name. */
static const char *
kind_of_text(struct str rest)
{
	if (rest.n > 0 && rest.p[rest.n - 1] == ',')
		rest.n--;
	if (rest.n > 2 && is_quote(rest.p[0]) && rest.p[rest.n - 1] == rest.p[0])
		rest = str_sub(rest, 1, rest.n - 2);
	for (size_t i = 0; i < rest.n; i++)
		if (!is_name_byte(rest.p[i]))
			return NULL;
	return rest.n > 0 && rest.n <= NAME_MAX_BYTES ? name_kind(rest, NAME_IN_JSON)
						      : NULL;
}

static enum form
form_of(const struct line *l, struct str rest)
{
	rest = str_sub(rest, value_skip_tags(rest), rest.n);
	if (rest.n == 0 || value_is_comment(rest))
		return FORM_PLAIN;
	if (value_is_block_sign(rest))
		return FORM_BLOCK;
	return goes_on(l->text) && !is_quote(rest.p[0]) ? FORM_GOES_ON : FORM_NONE;
}

/* How a line may end that begins a group of one of the forms, but for a pair's. */
static const unsigned char ends_head[256] = {
	[':'] = 1,
	['='] = 1,
	['|'] = 1,
	['>'] = 1,
	['\\'] = 1,
	['-'] = 1,
	['+'] = 1,
	/* how far a block is indented, behind one of those */
	['1'] = 2,
	['2'] = 2,
	['3'] = 2,
	['4'] = 2,
	['5'] = 2,
	['6'] = 2,
	['7'] = 2,
	['8'] = 2,
	['9'] = 2,
};

/* How one may begin that is a pair's first: name: or key:, in quotes or behind a dash. */
static const unsigned char begins_pair[256] = {
	[' '] = 1,
	['\t'] = 1,
	['-'] = 1,
	['"'] = 1,
	['\''] = 1,
	['n'] = 1,
	['k'] = 1,
};

static bool
may_be_pair(struct str line)
{
	size_t at = 0;

	while (at < line.n &&
	       (is_blank(line.p[at]) || is_quote(line.p[at]) || line.p[at] == '-'))
		at++;
	size_t from = at;
	while (at < line.n && at - from < PAIR_NAME_MAX && is_name_byte(line.p[at]))
		at++;
	return name_role(str_sub(line, from, at - from)) == NAME_NAMES;
}

/* key:, key: | or key: |2 */
static inline bool
ends_as_head(const char *p, size_t n)
{
	unsigned char may = ends_head[(unsigned char)p[n - 1]];

	return may == 1 || (may == 2 && n > 1 && ends_head[(unsigned char)p[n - 2]] == 1);
}

/* The same with a comment behind it, which begins at `hash`. */
static bool
is_head_before(const char *p, size_t hash)
{
	size_t n = hash;

	while (n > 0 && is_blank(p[n - 1]))
		n--;
	return n > 0 && n < hash && ends_as_head(p, n);
}

/* A glance at a line, since nearly all are no heads. */
static bool
may_be_head(struct str line)
{
	size_t hash;

	return line.n > 0 &&
	       (ends_as_head(line.p, line.n) ||
		   (str_find(line, '#', &hash) && is_head_before(line.p, hash)) ||
		   (begins_pair[(unsigned char)line.p[0]] != 0 && may_be_pair(line)) ||
		   is_full_of_digits(line));
}

bool
join_may_head(struct str end)
{
	size_t hash;

	while (end.n > 0 && is_blank(end.p[end.n - 1]))
		end.n--;
	return end.n > 0 && (ends_as_head(end.p, end.n) || str_find(end, '#', &hash));
}

/* <password>, alone in its line */
static struct head
head_of_element(const struct line *l)
{
	struct str tag = str_sub(l->text, l->indent + 1, l->text.n);
	struct head h = { 0 };

	if (tag.n < 2 || tag.p[tag.n - 1] != '>' || tag.p[tag.n - 2] == '/' ||
	    memchr("/!?", tag.p[0], 3) != NULL)
		return h;
	tag.n--;
	if (memchr(tag.p, '>', tag.n) == NULL && memchr(tag.p, '<', tag.n) == NULL)
		h.kind = element_kind(tag);
	h.form = h.kind != NULL ? FORM_ELEMENT : FORM_NONE;
	return h;
}

static struct head
head_of(struct line *l)
{
	struct head h = { 0 };
	struct str name;
	bool is_pair;

	if (!may_be_head(l->text))
		return h;
	if (is_full_of_digits(l->text))
		return (struct head){ .form = FORM_DIGITS };
	measure(l);
	l->work += NAME_COST;
	if (l->indent < l->text.n && l->text.p[l->indent] == '<')
		return head_of_element(l);
	if (!read_key(l, &name, &h.is_quoted, &h.value))
		return h;
	struct str rest = str_sub(l->text, h.value, l->text.n);
	is_pair = name_role(name) == NAME_NAMES;
	if (is_pair && (h.kind = kind_of_text(rest)) != NULL) {
		h.form = FORM_PAIR;
		return h;
	}
	h.kind = name_kind(name, h.is_quoted ? NAME_IN_JSON : NAME_IN_TEXT);
	if (h.kind == NULL && (h.kind = name_kind(name, NAME_IN_LIST)) != NULL)
		h.is_many = true;
	if (h.kind != NULL)
		h.form = form_of(l, rest);
	if (h.is_many && h.form != FORM_PLAIN)
		h.form = FORM_NONE;
	return h;
}

/* ---- the lines below it */

/* Of a group: [from, to) is its value, none when they are equal. */
struct group {
	size_t from, to, next;
	struct costs *costs; /* what its lines cost is noted there, or NULL ... */
	size_t work;         /* ... and all of it here */
	bool is_open;        /* the text ended before it did */
	bool is_between;     /* a line behind it had to be seen to know that it ended */
	enum span_code code;
	bool is_number; /* in JSON: its mark needs quotes */
};

/* The next line, when it is near enough to count; else the group ends here. */
static bool
next_line(struct str text, size_t first, size_t at, struct line *l, struct group *g)
{
	g->is_between = at < text.n;
	if (at >= text.n) {
		g->is_open = text.n - first < JOIN_BYTES;
		return false;
	}
	*l = line_at(text, at);
	measure(l);
	return l->begin + l->text.n - first <= JOIN_BYTES;
}

static void
note_work(struct group *g, const struct line *l, size_t work)
{
	g->work += work;
	if (g->costs != NULL)
		costs_add(g->costs, COST_JOINS,
		    (struct cost){ l->begin, l->begin + l->text.n, work });
}

/* A line below the first; of one that is only seen to be none nothing is noted, since it
 * may be in another piece of the text. */
static void
take(struct group *g, const struct line *l)
{
	g->next = l->next;
	g->is_between = false;
	note_work(g, l, LINE_COST + l->text.n / 4);
}

/* "VALUE", or VALUE up to the line's end; [from, to) is in the line. */
static bool
is_value(struct str s, size_t *from, size_t *to)
{
	*to = s.n;
	if (*from < *to && s.p[*to - 1] == ',')
		--*to;
	if (*to < *from + 2 || !is_quote(s.p[*from]))
		return false;
	if (s.p[*to - 1] != s.p[*from])
		return false;
	++*from;
	--*to;
	return true;
}

static bool
has_blank(struct str s)
{
	for (size_t i = 0; i < s.n; i++)
		if (is_blank(s.p[i]))
			return true;
	return false;
}

/* What is masked in part was judged by itself: it looks like a secret only now. */
static bool
holds_mark(struct str s)
{
	size_t at;

	while (str_find(s, '~', &at)) {
		s = str_sub(s, at, s.n);
		if (mark_length(s) > 0)
			return true;
		s = str_sub(s, 1, s.n);
	}
	return false;
}

/* "- ", in YAML */
static bool
begins_item(struct str line, size_t at)
{
	return at + 1 < line.n && line.p[at] == '-' && is_blank(line.p[at + 1]);
}

/* One of a list: a word, or in quotes; [from, to) is in the line.  *is_proven: it can
 * only be a secret. */
static bool
read_item(
    const struct line *l, const struct head *h, size_t *from, size_t *to, bool *is_proven)
{
	if (!begins_item(l->text, l->indent))
		return false;
	*from = skip_blanks(l->text, l->indent + 1);
	bool is_quoted = is_value(l->text, from, to);
	struct str item = str_sub(l->text, *from, *to - *from);
	if (item.n == 0 || holds_mark(item) || item.p[item.n - 1] == ':' ||
	    (!is_quoted && has_blank(item)))
		return false;
	*is_proven = is_quoted && !h->is_many ? true
					      : value_proves(item, NAME_WANTS_MIX) &&
						    name_kind(item, NAME_IN_JSON) == NULL;
	return true;
}

/* All of them are, if one is. */
static void
read_items(
    struct str text, const struct line *first, const struct head *h, struct group *g)
{
	struct line l;
	size_t from = 0, to = 0, begin = 0, end = 0;
	bool is_one = false, is_any = false;

	for (int n = 0; n < JOIN_LINES; n++) {
		if (!next_line(text, first->next, g->next, &l, g) ||
		    !read_item(&l, h, &from, &to, &is_one))
			break;
		begin = n == 0 ? l.begin + from : begin;
		end = l.begin + to;
		is_any = is_any || is_one;
		take(g, &l);
	}
	if (is_any) {
		g->from = begin;
		g->to = end;
	}
}

/* A value alone in its line: in quotes, or one word that is none of a language's. */
static void
read_plain(
    struct str text, const struct line *first, const struct head *h, struct group *g)
{
	struct line l;

	if (!next_line(text, first->next, first->next, &l, g))
		return;
	if (begins_item(l.text, l.indent) && l.indent >= first->indent) {
		read_items(text, first, h, g);
		return;
	}
	if (h->is_many)
		return;
	size_t from = l.indent, to;
	bool is_quoted = is_value(l.text, &from, &to);
	struct str value = str_sub(l.text, from, to - from);
	if (!is_quoted &&
	    (has_blank(value) || holds_mark(value) || l.indent <= first->indent ||
		!value_proves(value, NAME_WANTS_MIX)))
		return;
	if (is_quoted && !h->is_quoted && l.indent <= first->indent)
		return;
	if (!is_quoted && value.n > 0 &&
	    (value.p[value.n - 1] == ':' || value.p[0] == '#'))
		return;
	take(g, &l);
	g->from = l.begin + from;
	g->to = l.begin + to;
	g->code = is_quoted ? SPAN_JSON : SPAN_PLAIN;
}

static void
read_block(struct str text, const struct line *first, struct group *g)
{
	struct line l;

	for (int n = 0; n < JOIN_LINES; n++) {
		if (!next_line(text, first->next, g->next, &l, g))
			return;
		if (l.text.n > 0 && l.indent <= first->indent)
			return;
		if (l.text.n > 0) {
			if (g->from == g->to)
				g->from = l.begin + l.indent;
			g->to = l.begin + l.text.n;
		}
		take(g, &l);
	}
}

/* Up to the next tag: the line below, and where it is indented those that are, too. */
static void
read_element(struct str text, const struct line *first, struct group *g)
{
	struct line l;

	g->code = SPAN_HTML;
	for (int n = 0; n < JOIN_LINES; n++) {
		if (!next_line(text, first->next, g->next, &l, g))
			return;
		size_t tag = l.text.n;
		bool has_tag = str_find(l.text, '<', &tag);
		size_t from = g->from == g->to ? l.begin + l.indent : g->from;
		if (tag <= l.indent || (n > 0 && l.indent == 0))
			return;
		g->from = from;
		g->to = l.begin + tag;
		take(g, &l);
		if (has_tag || l.indent == 0)
			return;
	}
}

static void
read_on(struct str text, const struct line *first, const struct head *h, struct group *g)
{
	struct line l;
	struct str last = first->text;

	for (int n = 0; n < JOIN_LINES && goes_on(last); n++) {
		if (!next_line(text, first->next, g->next, &l, g) || l.text.n == 0 ||
		    mark_is(l.text))
			return;
		if (n == 0) /* in code what follows is told from a secret by itself */
			g->from = h->value + 1 == first->text.n ? l.begin + l.indent
								: first->begin + h->value;
		g->to = l.begin + l.text.n;
		take(g, &l);
		last = l.text;
	}
}

static void
read_pair(struct str text, const struct line *first, struct group *g)
{
	struct line l;
	struct str name;
	bool is_quoted;
	size_t from, to;

	if (!next_line(text, first->next, first->next, &l, g) ||
	    !read_key(&l, &name, &is_quoted, &from) || name_role(name) != NAME_IS_VALUE)
		return;
	bool is_text = is_value(l.text, &from, &to);
	take(g, &l);
	g->from = l.begin + from;
	g->to = l.begin + to;
	g->code = is_text ? SPAN_JSON : SPAN_PLAIN;
	g->is_number = is_quoted && !is_text;
	if (!is_text && from < l.text.n && strchr("{[|>", l.text.p[from]) != NULL)
		g->to = g->from;
}

/* The last one may be filled up.  A word below hex digits is none of them. */
static void
read_digits(struct str text, const struct line *first, struct group *g)
{
	size_t width = first->text.n;
	bool is_hex = digits_in(first->text, true) == width;
	struct line l;

	for (int n = 0; n < JOIN_LINES; n++) {
		if (!next_line(text, first->next, g->next, &l, g))
			return;
		size_t digits = digits_in(l.text, is_hex), fill = digits;

		while (fill < l.text.n && fill - digits < 2 && l.text.p[fill] == '=')
			fill++;
		if (digits == 0 || fill < l.text.n || fill > width)
			return;
		g->from = first->begin;
		g->to = l.begin + fill;
		take(g, &l);
		if (digits < width)
			return;
	}
}

static struct group
group_of(struct str text, struct line *first, const struct head *h, struct costs *costs)
{
	struct group g = { .next = first->next, .costs = costs };

	switch (h->form) {
	case FORM_NONE:
		break;
	case FORM_PLAIN:
		read_plain(text, first, h, &g);
		break;
	case FORM_BLOCK:
		read_block(text, first, &g);
		break;
	case FORM_GOES_ON:
		read_on(text, first, h, &g);
		break;
	case FORM_ELEMENT:
		read_element(text, first, &g);
		break;
	case FORM_PAIR:
		read_pair(text, first, &g);
		break;
	case FORM_DIGITS:
		read_digits(text, first, &g);
		break;
	}
	return g;
}

/* Where the next line begins that may be a head, at or behind the line at `at`; *hash is
 * where the next # is, so that all of the text is searched for it once. */
static size_t
next_candidate(struct str text, size_t at, size_t *hash)
{
	while (at < text.n) {
		const char *p = text.p + at;
		const char *newline = memchr(p, '\n', text.n - at);
		size_t n = newline != NULL ? (size_t)(newline - p) : text.n - at;
		size_t next = at + n + (newline != NULL), sign;

		if (*hash < at)
			*hash = str_find(str_sub(text, at, text.n), '#', &sign)
				    ? at + sign
				    : text.n;
		if (*hash < next && is_head_before(p, *hash - at))
			return at;
		while (n > 0 && is_blank(p[n - 1]))
			n--;
		if (n > 0 &&
		    (begins_pair[(unsigned char)p[0]] != 0 || ends_as_head(p, n) ||
			(is_width(n) && coded_is_digit(p[0]))))
			return at;
		at = next;
	}
	return text.n;
}

void
joins_fini(struct joins *j)
{
	free(j->p);
	*j = (struct joins){ 0 };
}

static void
joins_add(struct joins *j, struct joined one)
{
	if (j->n == j->cap) {
		j->cap = j->cap == 0 ? 8 : 2 * j->cap;
		j->p = mem_resize(j->p, j->cap * sizeof(*j->p));
	}
	/* a text may be cut where another group begins: the one before it has ended */
	if (j->n > 0 && j->p[j->n - 1].next == one.from)
		j->p[j->n - 1].to = one.from;
	j->p[j->n++] = one;
}

size_t
join_find(struct str text, struct spans *spans, struct joins *joins, struct costs *costs)
{
	size_t work = 0, hash = 0;

	if (!str_find(text, '#', &hash))
		hash = text.n;
	for (size_t at = next_candidate(text, 0, &hash); at < text.n;
	     at = next_candidate(text, at, &hash)) {
		struct line l = line_at(text, at);
		const struct head h = head_of(&l);
		struct group alone = { .costs = costs };

		note_work(&alone, &l, HEAD_COST + l.work);
		work += alone.work;
		at = l.next;
		if (h.form == FORM_NONE)
			continue;
		struct group g = group_of(text, &l, &h, costs);
		work += g.work;
		bool is_digits = h.form == FORM_DIGITS;
		/* with the line at which it was seen to end, if that was needed */
		size_t to = g.is_between ? line_at(text, g.next).next : g.next;
		joins_add(joins, (struct joined){ l.begin, g.next, to,
				     is_digits ? g.from : 0, is_digits ? g.to : 0 });
		at = g.next;
		if (!is_digits &&
		    !value_is_harmless(str_sub(text, g.from, g.to - g.from)))
			spans_add(spans, (struct span){ .from = g.from,
					     .to = g.to,
					     .kind = h.kind,
					     .why = why_below,
					     .code = g.code,
					     .quote = { g.is_number ? '"' : '\0' } });
	}
	return work;
}

/* Nothing that began before it goes on behind it: it is neither blank nor indented, nor
 * one of a list. */
static bool
ends_groups(struct str line)
{
	return line.n > 0 && !is_blank(line.p[0]) && !begins_item(line, 0) &&
	       !goes_on(line);
}

/* None of the last lines may begin a group that goes on behind them. */
static bool
is_between(struct str text)
{
	size_t end = text.n, at;

	for (int n = 0; n <= JOIN_LINES && end > 0 && text.n - end < JOIN_BYTES; n++) {
		size_t begin = 0;

		end -= text.p[end - 1] == '\n';
		if (str_rfind(str_sub(text, 0, end), '\n', &at))
			begin = at + 1;
		struct str line = line_at(text, begin).text;
		if (may_be_head(line))
			return false;
		if (ends_groups(line))
			return true;
		end = begin;
	}
	return true;
}

size_t
join_open(struct str text)
{
	if (is_between(text))
		return text.n;
	for (size_t at = 0; at < text.n;) {
		struct line l = line_at(text, at);
		const struct head h = head_of(&l);

		at = l.next;
		if (h.form == FORM_NONE)
			continue;
		struct group g = group_of(text, &l, &h, NULL);
		if (g.is_open)
			return l.begin;
		at = g.next;
	}
	return text.n;
}
