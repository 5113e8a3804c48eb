/*
 * behind.c - where the value is that stands behind a key
 */
#include "audit/behind.h"

#include <string.h>

#include "audit/value.h"

bool
behind_quote(struct str text, size_t at, struct value *v)
{
	size_t level = 0;

	while (level < 8 && at + level < text.n && text.p[at + level] == '\\')
		level++;
	at += level;
	if (at >= text.n || !has_byte("\"'`", text.p[at]) || (level & (level + 1)) != 0)
		return false;

	char quote = text.p[at++];
	size_t run = 0;
	v->from = at;
	v->code = quote == '"' ? SPAN_JSON : SPAN_PLAIN;
	for (; at < text.n; at++) {
		if (text.p[at] == '\n')
			break;
		if (text.p[at] == quote && run % (2 * level + 2) == level) {
			v->to = at - level;
			v->next = at + 1;
			return true;
		}
		run = text.p[at] == '\\' ? run + 1 : 0;
	}
	v->to = v->next = at; /* cut off: it runs to the end */
	return true;
}

/* How many bytes of an unquoted value stand at `at`: 0 ends it. */
static size_t
value_step(struct piece *p, size_t at, const char *ends)
{
	char c = p->text.p[at];
	char next = at + 1 < p->text.n ? p->text.p[at + 1] : '\0';

	if (has_byte(ends, c) || ((unsigned char)c < ' ' && c != '\t') || c == 0x7f)
		return 0;
	if (c == ',' && has_byte(ends, ' ') &&
	    (next == '\0' || is_space(next) || next == '"'))
		return 0;
	if (c != '\\')
		return 1;
	if (next == '"' || (p->as == SCAN_JSON && has_byte("nrt", next)))
		return 0;
	return next == '\0' ? 1 : 2;
}

/* Most of a value's bytes, and all of a mark's, end it nowhere. */
static size_t
skip_plain(struct str text, size_t at)
{
	while (at < text.n && (ascii_is_alnum(text.p[at]) || text.p[at] == '.' ||
				  text.p[at] == '-' || text.p[at] == '~'))
		at++;
	return at;
}

void
behind_word(struct piece *p, size_t at, const char *ends, struct value *v)
{
	size_t step;

	v->from = at;
	v->code = p->as == SCAN_TEXT ? SPAN_PLAIN : SPAN_JSON;
	while ((at = skip_plain(p->text, at)) < p->text.n &&
	       (step = value_step(p, at, ends)) != 0)
		at += step;
	v->to = v->next = at < p->text.n ? at : p->text.n;
}

void
behind_trim(struct str text, struct value *v)
{
	while (v->to > v->from && has_byte(")]}>.", text.p[v->to - 1]))
		v->to--;
}

const char *
behind_ends(struct piece *p, const struct key *key, bool is_line)
{
	if (is_line)
		return key->before == '\'' || key->before == '"' ? "\"'" : "";
	return p->as == SCAN_URL ? " \t&#\"<>" : " \t;&\"'`<>";
}

size_t
behind_begin(struct str text, size_t at)
{
	at++;
	while (at < text.n && has_byte("=>", text.p[at]))
		at++;
	at = skip_blanks(text, at);
	return key_skip_colour(text, at);
}

/* [ "a", ... or { "a": ...: what is inside is judged, not the bracket. */
static size_t
skip_brackets(struct str text, size_t at)
{
	size_t from = at;

	while (at < text.n && at - from < 8 && has_byte("[{ ", text.p[at]))
		at++;
	return at < text.n && has_byte("\"'\\", text.p[at]) ? at : from;
}

/* "Splunk 3f2a...": a scheme that nobody told us of, when what follows is no word. */
static bool
is_behind_scheme(struct str first, struct str second)
{
	bool is_long = second.n >= 16;

	for (size_t i = 0; i < first.n; i++)
		if (!ascii_is_alnum(first.p[i]) && !has_byte("-_", first.p[i]))
			return false;
	for (size_t i = 0; i < second.n && !is_long; i++)
		is_long = !(second.p[i] >= 'a' && second.p[i] <= 'z') &&
			  !(second.p[i] >= 'A' && second.p[i] <= 'Z') &&
			  !has_byte(".,;:!?-", second.p[i]);
	return first.n > 0 && second.n > 0 && is_long;
}

/* With the word behind a scheme's name, when it looks like what it is the scheme of. */
static void
take_behind_scheme(struct piece *p, const char *ends, struct value *v)
{
	struct value next;

	if (v->to == p->text.n || !is_blank(p->text.p[v->to]))
		return;
	behind_word(p, skip_blanks(p->text, v->to), ends, &next);
	if (is_behind_scheme(str_sub(p->text, v->from, v->to - v->from),
		str_sub(p->text, next.from, next.to - next.from))) {
		v->to = next.to;
		v->next = next.next;
	}
}

static void
authorization_value(struct piece *p, const struct key *key, size_t at, struct value *v)
{
	bool is_line = false;
	size_t skip = value_skip_scheme(str_sub(p->text, at, p->text.n), &is_line);
	const char *ends = behind_ends(p, key, is_line);

	behind_word(p, at + skip, ends, v);
	if (skip == 0)
		take_behind_scheme(p, ends, v);
}

/* token= Bearer VALUE: a scheme's name is no secret alone. */
static void
other_value(struct piece *p, const char *ends, size_t at, struct value *v)
{
	behind_word(p, at, ends, v);
	if (value_skip_scheme(str_sub(p->text, v->from, p->text.n), &(bool){ false }) > 0)
		take_behind_scheme(p, ends, v);
}

void
behind_key(
    struct piece *p, const struct key *key, const char *kind, size_t at, struct value *v)
{
	at = skip_brackets(p->text, behind_begin(p->text, at));
	if (p->as != SCAN_URL && behind_quote(p->text, at, v))
		return;
	if (strcmp(kind, "authorization") == 0)
		authorization_value(p, key, at, v);
	else
		other_value(p, behind_ends(p, key, strcmp(kind, "cookie") == 0), at, v);
	if (p->as == SCAN_URL || has_byte("?&", key->before))
		v->code = SPAN_PERCENT;
}

struct str
behind_text(const struct piece *p, const struct value *v)
{
	return str_sub(p->text, v->from, v->to - v->from);
}

bool
behind_mask(struct piece *p, const char *kind, const char *why, const struct value *v)
{
	struct str text = behind_text(p, v);
	bool has_parameters;
	size_t skip = 0;

	if (strcmp(kind, "authorization") == 0)
		skip = value_skip_scheme(text, &has_parameters);
	if (value_is_harmless(str_sub(text, skip, text.n)))
		return false;
	piece_mask(p, kind, why, v->from + skip, v->to, v->code);
	return true;
}
