/*
 * form.c - finds secrets in what has a form of its own: JSON and header fields
 */
#include "audit/form.h"

#include <string.h>

#include "audit/name.h"
#include "wire/json.h"

/* ---- JSON */

#define AUTH_MIN \
	16 /* "auth" is a word for many things, "auth": "c3ZjOl..." is a login \
	    */

/* One object or array on the way down; its kind is that of the key above it. */
struct level {
	bool is_array;
	bool is_names;    /* its keys name properties (JSON Schema), not values */
	const char *kind; /* all that is inside is a secret */
	/* {"name": "token", "value": ...}, ["token", ...]: of the value to come */
	const char *pair;
	size_t n; /* values so far */
};

struct walk {
	struct scan *scan;
	struct str text; /* the document */
	size_t base;     /* where it begins in the whole */
	struct level level[JSON_DEPTH + 1];
	size_t depth;
	struct str key; /* of the value to come; p is NULL in an array */
};

static struct level *
top(struct walk *w)
{
	return &w->level[w->depth];
}

static bool
is_any(struct str s, const char *const *words)
{
	for (; *words != NULL; words++)
		if (str_eq_nocase(s, str_of(*words)))
			return true;
	return false;
}

static const char *
kind_of_value(struct walk *w)
{
	static const char *const value_keys[] = { "value", "val", NULL };
	struct level *l = top(w);
	const char *kind = NULL;

	if (l->kind != NULL)
		return l->kind;
	if (w->key.p != NULL && !l->is_names)
		kind = name_kind(w->key, NAME_IN_JSON);
	if (kind == NULL && l->pair != NULL &&
	    (l->is_array || is_any(w->key, value_keys)))
		kind = l->pair;
	return kind;
}

/* A name may say that a pair begins; in an array it is the first of two. */
static void
note_pair(struct walk *w, struct str text)
{
	static const char *const name_keys[] = { "name", "key", "header", NULL };
	struct level *l = top(w);

	if (l->is_array ? l->n == 0 : is_any(w->key, name_keys))
		l->pair = name_kind(text, NAME_IN_JSON);
}

/* ["authorization", "x-api-key"] is a list of names. */
static bool
is_name_like(struct str s)
{
	for (size_t i = 0; i < s.n; i++)
		if (!ascii_is_alnum(s.p[i]) && s.p[i] != '-' && s.p[i] != '_')
			return false;
	return s.n < 32;
}

static void
on_string(struct walk *w, struct str raw, size_t at, struct str text)
{
	const char *kind = kind_of_value(w);

	if (top(w)->is_array && top(w)->kind == NULL && is_name_like(text))
		kind = NULL;
	if (kind == NULL && str_eq_nocase(w->key, STR("auth")) && text.n >= AUTH_MIN &&
	    !str_find(text, ' ', &(size_t){ 0 }))
		kind = "token";
	if (kind != NULL)
		scan_value(w->scan, kind, raw, w->base + at, SPAN_JSON);
	else
		scan_text(w->scan, raw, w->base + at, SCAN_JSON);
	note_pair(w, text);
}

static void
on_number(struct walk *w, size_t from, size_t to)
{
	const char *kind = kind_of_value(w);

	if (kind != NULL)
		spans_add(w->scan->spans, (struct span){ .from = w->base + from,
					      .to = w->base + to,
					      .kind = kind,
					      .is_bare = true });
}

static void
on_open(struct walk *w, bool is_array)
{
	static const char *const schema_keys[] = { "properties", "patternProperties",
		"$defs", NULL };
	const char *kind = kind_of_value(w);
	bool is_names = !is_array && is_any(w->key, schema_keys);

	w->depth++;
	*top(w) =
	    (struct level){ .is_array = is_array, .is_names = is_names, .kind = kind };
	w->key = STR_NONE;
}

/* A value is done: the next one has a key of its own. */
static void
end_value(struct walk *w)
{
	top(w)->n++;
	w->key = STR_NONE;
}

/* Where the token begins that ends at `end`: behind blanks, commas and colons. */
static size_t
token_begin(struct str text, size_t at)
{
	while (
	    at < text.n && strchr(" \t\r\n,:", text.p[at]) != NULL && text.p[at] != '\0')
		at++;
	return at;
}

/* What stands between the quotes, escapes and all; behind a key its colon was read too.
 */
static struct str
between_quotes(struct str text, size_t from, size_t to)
{
	while (to > from + 2 && text.p[to - 1] != '"')
		to--;
	return str_sub(text, from + 1, to - from - 2);
}

/* False: what follows `from` is no JSON. */
static bool
on_token(struct walk *w, enum json_token token, const struct json_in *in, size_t from)
{
	struct str raw;

	switch (token) {
	case JSON_OBJECT:
	case JSON_ARRAY:
		on_open(w, token == JSON_ARRAY);
		return true;
	case JSON_OBJECT_END:
	case JSON_ARRAY_END:
		w->depth--;
		end_value(w);
		return true;
	case JSON_KEY:
		raw = between_quotes(w->text, from, in->at);
		scan_text(w->scan, raw, w->base + from + 1, SCAN_JSON);
		w->key = in->text;
		return true;
	case JSON_STRING:
		raw = between_quotes(w->text, from, in->at);
		on_string(w, raw, from + 1, in->text);
		end_value(w);
		return true;
	case JSON_NUMBER:
		on_number(w, from, in->at);
		end_value(w);
		return true;
	case JSON_TRUE:
	case JSON_FALSE:
	case JSON_NULL:
		end_value(w);
		return true;
	case JSON_END:
	case JSON_BAD:
		return false;
	}
	return false;
}

/* One object or array; how many bytes it has, or 0 when it is no JSON. */
static size_t
walk_document(struct scan *s, struct str text, size_t base)
{
	struct walk w = { .scan = s, .text = text, .base = base };
	struct arena arena;
	struct json_in in;
	bool is_json;

	arena_init(&arena, 4 * text.n + ((size_t)64 << 10));
	json_in_init(&in, text, &arena);
	do {
		size_t from = token_begin(text, in.at);
		enum json_token token = json_next(&in);

		is_json = on_token(&w, token, &in, from);
	} while (is_json && w.depth > 0);
	arena_fini(&arena);
	return is_json ? in.at : 0;
}

void
form_json(struct scan *s, struct str text)
{
	size_t at = 0;

	for (;;) {
		at = token_begin(text, at);
		if (at == text.n)
			return;
		struct str rest = str_sub(text, at, text.n);
		size_t used = 0;
		if (memchr("{[", rest.p[0], 2) != NULL)
			used = walk_document(s, rest, at);
		if (used == 0)
			break;
		at += used;
	}
	/* no JSON from here on: keys are still known by the = or : behind them */
	scan_text(s, str_sub(text, at, text.n), at, SCAN_TEXT);
}

/* ---- header fields */

/* The end of the line at `at`, before its CRLF or LF; *next is the next line. */
static size_t
line_end(struct str text, size_t at, size_t *next)
{
	size_t n;
	size_t end = text.n;

	*next = text.n;
	if (str_find(str_sub(text, at, text.n), '\n', &n)) {
		end = at + n;
		*next = end + 1;
	}
	return end > at && text.p[end - 1] == '\r' ? end - 1 : end;
}

/* With its continuation lines (obs-fold, RFC 9112 5.2): they are the value's too. */
static size_t
field_end(struct str text, size_t at, size_t *next)
{
	size_t end = line_end(text, at, next);

	while (
	    *next < text.n && end > at && (text.p[*next] == ' ' || text.p[*next] == '\t'))
		end = line_end(text, *next, next);
	return end;
}

/* name=value; name=value: names stay, they say what the cookie is for. */
static void
mask_cookies(struct scan *s, struct str value, size_t base, bool is_set)
{
	struct str rest = value;
	struct str pair;

	while (str_split(&rest, ';', &pair)) {
		size_t at;

		if (!str_find(pair, '=', &at))
			at = (size_t)-1; /* no name: all of it is the value */
		struct str secret = str_trim(str_sub(pair, at + 1, pair.n));
		scan_value(
		    s, "cookie", secret, base + (size_t)(secret.p - value.p), SPAN_PLAIN);
		if (is_set)
			return; /* attributes follow */
	}
}

static void
look_field(struct scan *s, struct str field, size_t base)
{
	size_t colon;

	if (!str_find(field, ':', &colon) || colon == 0) {
		scan_text(s, field, base, SCAN_TEXT);
		return;
	}
	struct str name = str_sub(field, 0, colon);
	struct str value = str_trim(str_sub(field, colon + 1, field.n));
	const char *kind =
	    str_find(name, ' ', &(size_t){ 0 }) ? NULL : name_kind(name, NAME_IN_TEXT);
	size_t at = base + (size_t)(value.p - field.p);

	if (kind == NULL)
		scan_text(s, field, base, SCAN_TEXT);
	else if (strcmp(kind, "cookie") == 0)
		mask_cookies(s, value, at, str_eq_nocase(name, STR("set-cookie")));
	else
		scan_value(s, kind, value, at, SPAN_PLAIN);
}

void
form_header(struct scan *s, struct str text)
{
	size_t at = 0;

	while (at < text.n) {
		size_t next;
		size_t end = field_end(text, at, &next);

		look_field(s, str_sub(text, at, end - at), at);
		at = next;
	}
}
