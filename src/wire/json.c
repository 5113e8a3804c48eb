#include "wire/json.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "wire/chars.h"

/* --- writing --- */

void
json_out_init(struct json_out *j, struct buf *to)
{
	*j = (struct json_out){ .to = to };
}

static void
begin_value(struct json_out *j)
{
	if (j->needs_comma)
		buf_char(j->to, ',');
	j->needs_comma = true;
}

void
json_open(struct json_out *j, char bracket)
{
	begin_value(j);
	buf_char(j->to, bracket);
	j->needs_comma = false;
}

void
json_close(struct json_out *j, char bracket)
{
	buf_char(j->to, bracket);
	j->needs_comma = true;
}

/* One character that cannot stand as it is; returns how many bytes of s it was. */
static size_t
put_escaped(struct buf *to, struct str s)
{
	uint32_t code;
	size_t length = utf8_char(s, &code);

	if (length > 1)
		buf_add(to, s.p, length);
	else if (length == 0)
		buf_str(to, STR("\xef\xbf\xbd")); /* U+FFFD */
	else if (code == '"' || code == '\\')
		buf_fmt(to, "\\%c", (int)code);
	else
		buf_fmt(to, "\\u%04x", code);
	return length > 0 ? length : 1;
}

/* Nothing to escape is the rule; true: it is written. */
static bool
put_plain(struct buf *to, struct str s)
{
	char *p;

	if (chars_span(s.p, s.n, CHAR_PLAIN) < s.n || (p = buf_room(to, s.n + 2)) == NULL)
		return false;
	p[0] = p[s.n + 1] = '"';
	if (s.n > 0)
		memcpy(p + 1, s.p, s.n);
	buf_grew(to, s.n + 2);
	return true;
}

static void
put_string(struct buf *to, struct str s)
{
	if (put_plain(to, s))
		return;
	buf_char(to, '"');
	for (size_t i = 0; i < s.n;) {
		size_t plain = chars_span(s.p + i, s.n - i, CHAR_PLAIN);

		buf_add(to, s.p + i, plain);
		i += plain;
		if (i < s.n)
			i += put_escaped(to, str_sub(s, i, s.n));
	}
	buf_char(to, '"');
}

void
json_key(struct json_out *j, const char *key)
{
	begin_value(j);
	put_string(j->to, str_of(key));
	buf_char(j->to, ':');
	j->needs_comma = false;
}

void
json_str(struct json_out *j, struct str s)
{
	begin_value(j);
	put_string(j->to, s);
}

void
json_raw(struct json_out *j, struct str json)
{
	begin_value(j);
	buf_str(j->to, json);
}

void
json_text(struct json_out *j, const char *s)
{
	if (s == NULL)
		json_raw(j, STR("null"));
	else
		json_str(j, str_of(s));
}

void
json_int(struct json_out *j, int64_t n)
{
	begin_value(j);
	buf_fmt(j->to, "%" PRId64, n);
}

void
json_bool(struct json_out *j, bool b)
{
	json_raw(j, b ? STR("true") : STR("false"));
}

/* --- reading --- */

enum state {
	VALUE,      /* must come */
	FIRST_ITEM, /* or ']' */
	FIRST_KEY,  /* or '}' */
	AFTER,      /* a value: ',' or the end of what holds it */
	BROKEN,
};

void
json_in_init(struct json_in *j, struct str in, struct arena *a)
{
	*j = (struct json_in){ .in = in, .arena = a, .state = VALUE };
}

static enum json_token
fail(struct json_in *j, const char *error)
{
	j->state = BROKEN;
	j->error = error;
	return JSON_BAD;
}

static char
peek(const struct json_in *j) /* NUL at the end; a NUL inside fits nowhere either */
{
	return j->at < j->in.n ? j->in.p[j->at] : '\0';
}

static bool
is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static void
skip_space(struct json_in *j)
{
	while (is_space(peek(j)))
		j->at++;
}

static bool
is_in_object(const struct json_in *j)
{
	return (j->in_object >> (j->depth - 1) & 1) != 0;
}

static enum json_token
open_value(struct json_in *j, bool is_object)
{
	if (j->depth == JSON_DEPTH)
		return fail(j, "nested too deeply");
	j->at++;
	j->in_object &= ~((uint64_t)1 << j->depth);
	j->in_object |= (uint64_t)is_object << j->depth;
	j->depth++;
	j->state = is_object ? FIRST_KEY : FIRST_ITEM;
	return is_object ? JSON_OBJECT : JSON_ARRAY;
}

static enum json_token
close_value(struct json_in *j)
{
	bool was_object = is_in_object(j);

	j->at++;
	j->depth--;
	j->state = AFTER;
	return was_object ? JSON_OBJECT_END : JSON_ARRAY_END;
}

/* Moves to the closing quote; false when the text ends or holds what must be escaped. */
static bool
scan_string(struct json_in *j, bool *has_escape)
{
	*has_escape = false;
	for (;;) {
		uint32_t code;
		size_t length;

		j->at += chars_span(j->in.p + j->at, j->in.n - j->at, CHAR_PLAIN);
		if (peek(j) == '"')
			return true;
		if (peek(j) == '\\') {
			*has_escape = true;
			j->at +=
			    j->at + 1 < j->in.n && char_is(j->in.p[j->at + 1], CHAR_VALUE)
				? 2
				: 1;
			continue;
		}
		length = utf8_char(str_sub(j->in, j->at, j->in.n), &code);
		if (length < 2)
			return false;
		j->at += length;
	}
}

static bool
read_hex4(struct str s, uint32_t *out)
{
	*out = 0;
	for (size_t i = 0; i < 4; i++) {
		if (i >= s.n || !ascii_is_hex(s.p[i]))
			return false;
		*out = *out << 4 | (uint32_t)ascii_hex_value(s.p[i]);
	}
	return true;
}

/* After "\u": a pair of surrogates is one character, half a pair is none. */
static size_t
read_unicode(struct str s, uint32_t *code)
{
	uint32_t low;

	if (!read_hex4(s, code) || (*code >= 0xdc00 && *code <= 0xdfff))
		return 0;
	if (*code < 0xd800 || *code > 0xdbff)
		return 4;
	if (!str_starts(str_sub(s, 4, 2), STR("\\u")) ||
	    !read_hex4(str_sub(s, 6, 4), &low) || low < 0xdc00 || low > 0xdfff)
		return 0;
	*code = 0x10000 + ((*code - 0xd800) << 10) + (low - 0xdc00);
	return 10;
}

/* After the backslash; returns how much of s the escape took, 0 when it is none. */
static size_t
unescape(struct str s, char out[static 4], size_t *nout)
{
	static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
	const char *found;
	uint32_t code;
	size_t n;

	if (s.n == 0)
		return 0;
	if (s.p[0] == 'u') {
		if ((n = read_unicode(str_sub(s, 1, s.n), &code)) == 0)
			return 0;
		*nout = utf8_put(out, code);
		return n + 1;
	}
	if ((found = memchr(from, s.p[0], sizeof(from) - 1)) == NULL)
		return 0;
	out[0] = to[found - from];
	*nout = 1;
	return 1;
}

static char *
append(char *to, struct str s)
{
	if (s.n > 0)
		memcpy(to, s.p, s.n);
	return to + s.n;
}

/* An escape is never shorter than what it stands for: the raw length is room enough. */
static const char *
unescape_all(struct str raw, struct arena *a, struct str *out)
{
	char *p = arena_alloc(a, raw.n), *to = p;
	size_t at;

	if (p == NULL)
		return "text is too large";
	while (str_find(raw, '\\', &at)) {
		char character[4];
		size_t length, used;

		to = append(to, str_sub(raw, 0, at));
		raw = str_sub(raw, at + 1, raw.n);
		if ((used = unescape(raw, character, &length)) == 0)
			return "escape is none of JSON's, or half a surrogate pair";
		to = append(to, (struct str){ character, length });
		raw = str_sub(raw, used, raw.n);
	}
	*out = (struct str){ p, (size_t)(append(to, raw) - p) };
	return NULL;
}

static bool
read_string(struct json_in *j)
{
	size_t begin = j->at + 1;
	const char *error = NULL;
	bool has_escape;

	j->at = begin;
	if (!scan_string(j, &has_escape)) {
		fail(j, "string is not closed, or holds a control character or no UTF-8");
		return false;
	}
	j->text = str_sub(j->in, begin, j->at - begin);
	if (has_escape)
		error = unescape_all(j->text, j->arena, &j->text);
	if (error != NULL) {
		j->at = begin;
		fail(j, error);
		return false;
	}
	j->at++;
	return true;
}

static size_t
skip_digits(struct json_in *j)
{
	size_t begin = j->at;

	while (ascii_is_digit(peek(j)))
		j->at++;
	return j->at - begin;
}

static bool
is_number(struct json_in *j)
{
	if (peek(j) == '-')
		j->at++;
	if (peek(j) == '0')
		j->at++;
	else if (skip_digits(j) == 0)
		return false;
	if (peek(j) == '.') {
		j->at++;
		if (skip_digits(j) == 0)
			return false;
	}
	if (peek(j) == 'e' || peek(j) == 'E') {
		j->at++;
		if (peek(j) == '+' || peek(j) == '-')
			j->at++;
		if (skip_digits(j) == 0)
			return false;
	}
	return true;
}

static enum json_token
read_word(struct json_in *j)
{
	static const struct {
		struct str text;
		enum json_token token;
	} words[] = {
		{ { "true", 4 }, JSON_TRUE },
		{ { "false", 5 }, JSON_FALSE },
		{ { "null", 4 }, JSON_NULL },
	};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (str_starts(str_sub(j->in, j->at, j->in.n), words[i].text)) {
			j->at += words[i].text.n;
			j->state = AFTER;
			return words[i].token;
		}
	return fail(j,
	    j->at < j->in.n ? "no JSON value begins like this" : "text ends too early");
}

static enum json_token
read_value(struct json_in *j)
{
	size_t begin = j->at;
	char c = peek(j);

	if (c == '{' || c == '[')
		return open_value(j, c == '{');
	if (c == '"') {
		if (!read_string(j))
			return JSON_BAD;
		j->state = AFTER;
		return JSON_STRING;
	}
	if (c != '-' && !ascii_is_digit(c))
		return read_word(j);
	if (!is_number(j))
		return fail(j, "number is not written as JSON wants it");
	j->text = str_sub(j->in, begin, j->at - begin);
	j->state = AFTER;
	return JSON_NUMBER;
}

static enum json_token
read_key(struct json_in *j)
{
	if (peek(j) != '"')
		return fail(j, "a key in quotes must stand here");
	if (!read_string(j))
		return JSON_BAD;
	skip_space(j);
	if (peek(j) != ':')
		return fail(j, "a colon must follow the key");
	j->at++;
	j->state = VALUE;
	return JSON_KEY;
}

static enum json_token
read_after(struct json_in *j)
{
	if (j->depth == 0)
		return j->at == j->in.n ? JSON_END
					: fail(j, "something follows the value");
	if (peek(j) == (is_in_object(j) ? '}' : ']'))
		return close_value(j);
	if (peek(j) != ',')
		return fail(j, "a comma or the closing bracket must stand here");
	j->at++;
	skip_space(j);
	return is_in_object(j) ? read_key(j) : read_value(j);
}

enum json_token
json_next(struct json_in *j)
{
	skip_space(j);
	switch ((enum state)j->state) {
	case VALUE:
		return read_value(j);
	case FIRST_ITEM:
		return peek(j) == ']' ? close_value(j) : read_value(j);
	case FIRST_KEY:
		return peek(j) == '}' ? close_value(j) : read_key(j);
	case AFTER:
		return read_after(j);
	case BROKEN:
		break;
	}
	return JSON_BAD;
}

static bool
is_scalar(enum json_token t)
{
	return t == JSON_STRING || t == JSON_NUMBER || t == JSON_TRUE ||
	       t == JSON_FALSE || t == JSON_NULL;
}

bool
json_skip(struct json_in *j)
{
	unsigned depth = j->depth;
	enum json_token t = json_next(j);

	if (is_scalar(t))
		return true;
	if (t != JSON_OBJECT && t != JSON_ARRAY)
		return false;
	while (j->depth > depth)
		if (json_next(j) == JSON_BAD)
			return false;
	return true;
}

/* --- a tree --- */

struct builder {
	struct json_in in;
	struct json_value *open[JSON_DEPTH]; /* what holds what comes next */
	struct json_value *
	    *place[JSON_DEPTH + 1]; /* where the next value of each level goes */
	struct str key;
};

static int
compare_keys(const void *a, const void *b)
{
	const struct str x = (*(struct json_value *const *)a)->key;
	const struct str y = (*(struct json_value *const *)b)->key;
	int order = memcmp(x.p, y.p, x.n < y.n ? x.n : y.n);

	return order != 0 ? order : (x.n > y.n) - (x.n < y.n);
}

/* By sorting: a text full of keys must not cost the square of its length. */
static const char *
key_error(const struct json_value *object, struct arena *a)
{
	struct json_value **all;
	size_t n = 0;

	if (object->n < 2)
		return NULL;
	if ((all = arena_alloc(a, object->n * sizeof(struct json_value *))) == NULL)
		return "text is too large";
	for (struct json_value *v = object->child; v != NULL; v = v->next)
		all[n++] = v;
	qsort(all, n, sizeof(struct json_value *), compare_keys);
	for (size_t i = 1; i < n; i++)
		if (compare_keys(&all[i - 1], &all[i]) == 0)
			return "a key stands twice";
	return NULL;
}

/* Hangs a new value below the innermost open one; `depth` is that one's, before the value
 * opens. */
static const char *
add_value(struct builder *b, enum json_token t, unsigned depth)
{
	struct json_value *v = arena_zalloc(b->in.arena, sizeof(*v));

	if (v == NULL)
		return "text is too large";
	v->type = t;
	if (t == JSON_STRING || t == JSON_NUMBER)
		v->text = b->in.text;
	v->key = b->key;
	b->key = STR_NONE;
	*b->place[depth] = v;
	b->place[depth] = &v->next;
	if (depth > 0)
		b->open[depth - 1]->n++;
	if (t == JSON_OBJECT || t == JSON_ARRAY) {
		b->open[depth] = v;
		b->place[depth + 1] = &v->child;
	}
	return NULL;
}

static const char *
on_token(struct builder *b, enum json_token t, unsigned depth)
{
	switch (t) {
	case JSON_KEY:
		b->key = b->in.text;
		return NULL;
	case JSON_OBJECT_END:
		return key_error(b->open[depth - 1], b->in.arena);
	case JSON_ARRAY_END:
	case JSON_END:
		return NULL;
	case JSON_BAD:
		return b->in.error;
	case JSON_OBJECT:
	case JSON_ARRAY:
	case JSON_STRING:
	case JSON_NUMBER:
	case JSON_TRUE:
	case JSON_FALSE:
	case JSON_NULL:
		break;
	}
	return add_value(b, t, depth);
}

struct json_value *
json_parse(struct str in, struct arena *a, const char **error)
{
	struct builder b = { .key = STR_NONE };
	struct json_value *root = NULL;
	enum json_token t;

	json_in_init(&b.in, in, a);
	b.place[0] = &root;
	do {
		unsigned depth = b.in.depth;

		t = json_next(&b.in);
		if ((*error = on_token(&b, t, depth)) != NULL)
			return NULL;
	} while (t != JSON_END);
	return root;
}

const struct json_value *
json_get(const struct json_value *object, const char *key)
{
	struct str wanted = str_of(key);

	if (object == NULL || object->type != JSON_OBJECT)
		return NULL;
	for (const struct json_value *v = object->child; v != NULL; v = v->next)
		if (str_eq(v->key, wanted))
			return v;
	return NULL;
}

static void
write_key(struct json_out *j, struct str key)
{
	json_str(j, key);
	buf_char(j->to, ':');
	j->needs_comma = false;
}

void
json_value(struct json_out *j, const struct json_value *v)
{
	switch (v->type) {
	case JSON_OBJECT:
	case JSON_ARRAY:
		json_open(j, v->type == JSON_OBJECT ? '{' : '[');
		for (const struct json_value *at = v->child; at != NULL; at = at->next) {
			if (v->type == JSON_OBJECT)
				write_key(j, at->key);
			json_value(j, at);
		}
		json_close(j, v->type == JSON_OBJECT ? '}' : ']');
		break;
	case JSON_STRING:
		json_str(j, v->text);
		break;
	case JSON_NUMBER:
		json_raw(j, v->text);
		break;
	case JSON_TRUE:
	case JSON_FALSE:
		json_bool(j, v->type == JSON_TRUE);
		break;
	case JSON_NULL:
	case JSON_OBJECT_END:
	case JSON_ARRAY_END:
	case JSON_KEY:
	case JSON_END:
	case JSON_BAD:
		json_null(j);
		break;
	}
}
