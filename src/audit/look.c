/*
 * look.c - is a secret here, by what stands around it
 */
#include "audit/look.h"

#include <string.h>

#include "audit/mark.h"
#include "audit/name.h"
#include "audit/pem.h"
#include "audit/value.h"

#define NAME_MAX_BYTES 64
#define BLANKS_MAX 64
#define USERINFO_MAX 1024
#define HOST_MAX 255
#define GLANCE (NAME_NUMBER_MAX + 2) /* of a name, before it is read */
#define KEY_COST 16                  /* a name that is judged, in bytes looked at */

static const char why_key[] = "the key before it";
static const char why_option[] = "the option before it";
static const char why_userinfo[] = "it is a URL's userinfo";
static const char why_line[] = "its place in a line of a password file";
static const char why_pem[] = "it is a private key's block";

/* A value behind a key: [from, to) is the secret, the walk goes on at `next`. */
struct value {
	size_t from, to, next;
	enum span_code code;
};

/* A set is short: a call of strchr() would cost more. */
static inline bool
has_byte(const char *set, char c)
{
	while (*set != '\0' && *set != c)
		set++;
	return *set != '\0';
}

static bool
is_blank(char c)
{
	return c == ' ' || c == '\t';
}

static bool
is_space(char c)
{
	return (unsigned char)c <= ' ' || c == 0x7f;
}

static size_t
skip_blanks(struct str text, size_t at)
{
	for (size_t n = 0; at < text.n && n < BLANKS_MAX && is_blank(text.p[at]); n++)
		at++;
	return at;
}

/* Behind an ESC [ ... m that begins at `at`, else `at`. */
static size_t
skip_colour(struct str text, size_t at)
{
	size_t end = at + 2;

	if (at + 2 >= text.n || text.p[at] != '\033' || text.p[at + 1] != '[')
		return at;
	while (end < text.n && end - at < 16 &&
	       (ascii_is_digit(text.p[end]) || text.p[end] == ';'))
		end++;
	return end < text.n && text.p[end] == 'm' ? end + 1 : at;
}

static size_t
skip_colour_back(struct str text, size_t at)
{
	if (at == 0 || text.p[at - 1] != 'm')
		return at;
	for (size_t back = 3; back <= at && back <= 16; back++)
		if (text.p[at - back] == '\033')
			return skip_colour(text, at - back) == at ? at - back : at;
	return at;
}

/* ---- a key before = or : */

struct key {
	struct str name;
	char before; /* the byte before it (its quote, a ? or &), or 0 */
	bool is_quoted;
	bool is_doubtful; /* what its value must look like is said by: */
	enum name_proof proof;
};

static bool
is_name_byte(char c)
{
	return ascii_is_alnum(c) || c == '_' || c == '-' || c == '.' || c == '%';
}

/* Back over the quote that closes a name, with the backslashes before it. */
static size_t
skip_quote_back(struct str text, size_t at)
{
	if (at == 0 || !has_byte("\"'`", text.p[at - 1]))
		return at;
	at--;
	for (size_t n = 0; n < 8 && at > 0 && text.p[at - 1] == '\\'; n++)
		at--;
	return at;
}

/* Back over [] and [0], as forms number their fields, and the ] of config["password"]. */
static size_t
skip_index_back(struct str text, size_t at)
{
	for (int n = 0; n < 4 && at > 0 && text.p[at - 1] == ']'; n++) {
		size_t from = at - 1;

		while (at - from <= NAME_NUMBER_MAX && from > 0 &&
		       ascii_is_digit(text.p[from - 1]))
			from--;
		if (from == 0 || text.p[from - 1] != '[')
			return at - 1;
		at = from - 1;
	}
	return at;
}

static bool
key_before(struct str text, size_t at, struct key *key)
{
	size_t to = at;

	if (to > 0 && has_byte("*+?", text.p[to - 1])) /* +=, ?=, *= */
		to--;
	for (size_t n = 0; n < 8 && to > 0 && is_blank(text.p[to - 1]); n++)
		to--;
	to = skip_colour_back(text, to);
	to = skip_index_back(text, to);
	size_t unquoted = skip_quote_back(text, to);
	key->is_quoted = unquoted != to;

	size_t from = unquoted;
	while (from > 0 && unquoted - from < NAME_MAX_BYTES &&
	       is_name_byte(text.p[from - 1]))
		from--;
	/* "...\napi_key=": the n is no part of the name */
	if (from > 0 && from < unquoted && text.p[from - 1] == '\\' &&
	    has_byte("bfnrt", text.p[from]))
		from++;
	key->before = from > 0 ? text.p[from - 1] : '\0';
	key->name = str_sub(text, from, unquoted - from);
	return key->name.n > 0;
}

/* The kind that a name says which is written without a code. */
static const char *
plain_kind(struct str name, enum name_place place, struct key *key)
{
	const char *kind = name_kind(name, place);

	if (kind != NULL || place != NAME_IN_TEXT)
		return kind;
	kind = name_kind_in_doubt(name, &key->proof);
	key->is_doubtful = kind != NULL;
	return kind;
}

static const char *
key_kind(struct piece *p, struct key *key)
{
	enum name_place place = NAME_IN_TEXT;
	char room[NAME_MAX_BYTES + 1];
	struct buf plain;

	key->is_doubtful = false;
	if (has_byte(p->as == SCAN_URL ? "?&#;" : "?&#", key->before))
		place = NAME_IN_QUERY;
	else if (key->is_quoted)
		place = NAME_IN_JSON;
	p->scan->work += KEY_COST;
	if (memchr(key->name.p, '%', key->name.n) == NULL)
		return name_may_be_kind(p->scan->filter->name_ends, key->name)
			   ? plain_kind(key->name, place, key)
			   : NULL;

	buf_init(&plain, sizeof(room));
	span_decode(key->name, SPAN_PERCENT, &plain);
	const char *kind = plain_kind(buf_view(&plain), place, key);
	buf_fini(&plain);
	return kind;
}

/* ---- the value behind it */

/*
 * A quote at escape level k (k backslashes before it) closes at the next quote
 * of the same level; one with more backslashes belongs to the value.
 */
static bool
quoted_value(struct str text, size_t at, struct value *v)
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

static void
unquoted_value(struct piece *p, size_t at, const char *ends, struct value *v)
{
	size_t step;

	v->from = at;
	v->code = p->as == SCAN_TEXT ? SPAN_PLAIN : SPAN_JSON;
	while ((at = skip_plain(p->text, at)) < p->text.n &&
	       (step = value_step(p, at, ends)) != 0)
		at += step;
	v->to = v->next = at < p->text.n ? at : p->text.n;
}

/* Brackets that close around the value, and a sentence's end, are not the value's. */
static void
trim_end(struct str text, struct value *v)
{
	while (v->to > v->from && has_byte(")]}>.", text.p[v->to - 1]))
		v->to--;
}

static const char *
ends_of(struct piece *p, const struct key *key, bool is_line)
{
	if (is_line)
		return key->before == '\'' || key->before == '"' ? "\"'" : "";
	return p->as == SCAN_URL ? " \t&#\"<>" : " \t;&\"'`<>";
}

/* Behind the separator at `at`: =>, :=, blanks, colours. */
static size_t
value_begin(struct str text, size_t at)
{
	at++;
	while (at < text.n && has_byte("=>", text.p[at]))
		at++;
	at = skip_blanks(text, at);
	return skip_colour(text, at);
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
	unquoted_value(p, skip_blanks(p->text, v->to), ends, &next);
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
	const char *ends = ends_of(p, key, is_line);

	unquoted_value(p, at + skip, ends, v);
	if (skip == 0)
		take_behind_scheme(p, ends, v);
}

/* token= Bearer VALUE: a scheme's name is no secret alone. */
static void
other_value(struct piece *p, const char *ends, size_t at, struct value *v)
{
	unquoted_value(p, at, ends, v);
	if (value_skip_scheme(str_sub(p->text, v->from, p->text.n), &(bool){ false }) > 0)
		take_behind_scheme(p, ends, v);
}

static void
find_value(
    struct piece *p, const struct key *key, const char *kind, size_t at, struct value *v)
{
	at = skip_brackets(p->text, value_begin(p->text, at));
	if (p->as != SCAN_URL && quoted_value(p->text, at, v))
		return;
	if (strcmp(kind, "authorization") == 0)
		authorization_value(p, key, at, v);
	else
		other_value(p, ends_of(p, key, strcmp(kind, "cookie") == 0), at, v);
	if (p->as == SCAN_URL || has_byte("?&", key->before))
		v->code = SPAN_PERCENT;
}

static struct str
value_text(const struct piece *p, const struct value *v)
{
	return str_sub(p->text, v->from, v->to - v->from);
}

/* False: it is harmless, or a mark. */
static bool
mask_value(struct piece *p, const char *kind, const char *why, const struct value *v)
{
	struct str text = value_text(p, v);
	bool has_parameters;
	size_t skip = 0;

	if (strcmp(kind, "authorization") == 0)
		skip = value_skip_scheme(text, &has_parameters);
	if (value_is_harmless(str_sub(text, skip, text.n)))
		return false;
	piece_mask(p, kind, why, v->from + skip, v->to, v->code);
	return true;
}

/* The n of "\n" before a name is no letter of it, nor is what a name cannot end with. */
static bool
may_be_key(const struct piece *p, size_t at)
{
	const char *c = p->text.p + at;

	if (at < 3 || !ascii_is_alnum(c[-1]) || !ascii_is_alnum(c[-2]) || c[-3] == '%' ||
	    c[-1] == 'm') /* quotes, blanks, colours, codes: not in a hurry */
		return at > 0 && (is_name_byte(c[-1]) || has_byte("\"'` \t]*+?", c[-1]));
	size_t seen = at < GLANCE ? at : GLANCE;
	return name_may_be_kind(
	    p->scan->filter->name_ends, (struct str){ c - seen, seen });
}

/* password={"a": "b"}: all that is inside. */
static size_t
document_behind(struct piece *p, size_t at, const char *kind)
{
	size_t from = value_begin(p->text, at);

	if (from >= p->text.n || !has_byte("{[", p->text.p[from]))
		return 0;
	return piece_document(p, from, kind);
}

/* "pass: step2 went well", and no "pass: hunter2" nor "pass: hunter2 user: svc". */
static bool
goes_on_in_words(struct str text, size_t at)
{
	size_t end = at = skip_blanks(text, at);

	while (
	    end < text.n && (ascii_is_alnum(text.p[end]) || has_byte("-_", text.p[end])))
		end++;
	return end > at && (end == text.n || !has_byte("=:", text.p[end]));
}

/* A name that says little is believed when its value looks like a secret. */
static bool
is_proven(const struct piece *p, const struct key *key, size_t at, const struct value *v)
{
	struct value bare = *v;

	if (!key->is_doubtful)
		return true;
	if (v->next == v->to)
		trim_end(p->text, &bare);
	if (!value_proves(value_text(p, &bare), key->proof))
		return false;
	return p->text.p[at] != ':' || v->to == p->text.n ||
	       !is_blank(p->text.p[v->to]) || !goes_on_in_words(p->text, v->to);
}

size_t
look_key(struct piece *p, size_t at)
{
	struct key key;
	struct value v;
	size_t end;

	if (!may_be_key(p, at) || !key_before(p->text, at, &key))
		return 0;
	const char *kind = key_kind(p, &key);
	if (kind == NULL)
		return 0;
	if (!key.is_doubtful && (end = document_behind(p, at, kind)) != 0)
		return end;
	find_value(p, &key, kind, at, &v);
	p->scan->work += v.next - at;
	if (value_is_harmless(value_text(p, &v)) || !is_proven(p, &key, at, &v))
		return v.from; /* what only looks like a reference may hold a token */
	if (v.next == v.to)
		trim_end(p->text, &v);
	return mask_value(p, kind, why_key, &v) ? v.next : v.from;
}

/* ---- <password>VALUE<, <property name="password">VALUE<, <add key="password"
 * value="VALUE"/>
 */

#define TAG_MAX 1024 /* each byte is in one tag, and looked at once */

static const char why_element[] = "the element it is in";
static const char why_attribute[] = "the attribute beside it";
static const char why_sibling[] = "the element before it";

/* Where the tag begins, in this line, that ends at `at`: behind its <. */
static bool
tag_begin(const struct piece *p, size_t at, size_t *from)
{
	const char *text = p->text.p;

	for (size_t i = at; i > p->line && at - i < TAG_MAX; i--) {
		if (text[i - 1] == '>')
			return false;
		if (text[i - 1] == '<') {
			*from = i;
			return true;
		}
	}
	return false;
}

/* Up to the quote that closes it, which may be escaped as the one that opened it. */
static struct str
attribute_value(struct str tag, size_t *at)
{
	while (*at < tag.n && tag.p[*at] == '\\')
		++*at;
	if (*at == tag.n || !has_byte("\"'", tag.p[*at]))
		return STR_NONE;

	char quote = tag.p[(*at)++];
	size_t from = *at;
	while (*at < tag.n && tag.p[*at] != quote)
		++*at;
	size_t to = *at;
	while (to > from && *at < tag.n && tag.p[to - 1] == '\\')
		to--;
	return str_sub(tag, from, to - from);
}

/* The next name="value" at or behind *at; false: there is no more. */
static bool
next_attribute(struct str tag, size_t *at, struct str *name, struct str *value)
{
	while (*at < tag.n) {
		size_t from = *at;

		while (*at < tag.n && is_name_byte(tag.p[*at]))
			++*at;
		*name = str_sub(tag, from, *at - from);
		if (name->n == 0) {
			++*at;
			continue;
		}
		while (*at < tag.n && is_space(tag.p[*at]))
			++*at;
		if (*at == tag.n || tag.p[*at] != '=')
			continue;
		++*at;
		while (*at < tag.n && is_space(tag.p[*at]))
			++*at;
		*value = attribute_value(tag, at);
		return true;
	}
	return false;
}

struct tag {
	const char *kind; /* of what is in the element, by its name or an attribute */
	struct str value; /* of its value="..." */
	bool is_button;   /* its value is what is written on it */
};

static const char *
element_kind(struct str tag, size_t *end)
{
	size_t n = 0, colon;

	while (n < tag.n && !is_space(tag.p[n]) && tag.p[n] != '/')
		n++;
	*end = n;
	struct str name = str_sub(tag, 0, n);
	if (str_rfind(name, ':', &colon))
		name = str_sub(name, colon + 1, name.n);
	return name_kind(name, NAME_IN_TEXT);
}

static void
read_tag(struct piece *p, struct str text, struct tag *tag)
{
	static const char *const names[] = { "name", "key", "property", NULL };
	static const char *const values[] = { "value", "content", NULL };
	static const char *const buttons[] = { "submit", "button", "reset", "image",
		"checkbox", "radio", NULL };
	struct str name, value;
	size_t at;

	p->scan->work += KEY_COST + text.n;
	*tag = (struct tag){ .kind = element_kind(text, &at) };
	while (next_attribute(text, &at, &name, &value)) {
		if (tag->kind == NULL && str_is_any(name, names))
			tag->kind = name_kind(value, NAME_IN_TEXT);
		if (str_is_any(name, values))
			tag->value = value;
		if (str_eq_nocase(name, STR("type")) && str_is_any(value, buttons))
			tag->is_button = true;
	}
}

/* name="password" value="VALUE", either way round. */
static void
mask_attribute(struct piece *p, const struct tag *tag)
{
	size_t from = (size_t)(tag->value.p - p->text.p);
	struct value v = { from, from + tag->value.n, 0, SPAN_HTML };

	if (tag->kind != NULL && tag->value.n > 0 && !tag->is_button)
		mask_value(p, tag->kind, why_attribute, &v);
}

/* <key>password</key><string>VALUE: by the element before the one whose < is at `at`. */
static const char *
sibling_kind(struct piece *p, struct str tag, size_t at)
{
	static const struct {
		struct str tag, open, close;
	} pairs[] = {
		{ { "string", 6 }, { "<key>", 5 }, { "</key>", 6 } },
		{ { "value", 5 }, { "<name>", 6 }, { "</name>", 7 } },
		{ { "value", 5 }, { "<key>", 5 }, { "</key>", 6 } },
	};

	struct str before = str_sub(p->text, p->line, at - p->line);

	for (size_t n = 0;
	     n < BLANKS_MAX && before.n > 0 && is_blank(before.p[before.n - 1]); n++)
		before.n--;
	for (size_t i = 0; i < sizeof(pairs) / sizeof(*pairs); i++) {
		size_t from;

		if (!str_eq_nocase(tag, pairs[i].tag) ||
		    !str_ends(before, pairs[i].close))
			continue;
		struct str name = str_sub(before, 0, before.n - pairs[i].close.n);
		for (from = name.n; from > 0 && name.n - from < NAME_MAX_BYTES &&
				    is_name_byte(name.p[from - 1]);
		     from--)
			;
		p->scan->work += KEY_COST;
		if (str_ends(str_sub(name, 0, from), pairs[i].open))
			return name_kind(
			    str_sub(name, from, name.n - from), NAME_IN_TEXT);
	}
	return NULL;
}

/* What is between the > at `at` and the next <. */
static void
element_value(struct piece *p, size_t at, struct value *v)
{
	static const char cdata[] = "<![CDATA[";
	const char *close = "<";
	size_t n;

	*v = (struct value){ .from = at + 1, .code = SPAN_HTML };
	if (str_starts(str_sub(p->text, v->from, sizeof(cdata)), STR(cdata))) {
		v->from += sizeof(cdata) - 1;
		close = "]";
	}
	struct str rest = str_sub(p->text, v->from, p->text.n);
	v->to = v->next = str_find(rest, close[0], &n) ? v->from + n : p->text.n;
	p->scan->work += v->next - at;
}

/* Not the > of a->b, a=>b and a > b. */
static bool
may_end_tag(struct str text, size_t at)
{
	if (at < 2 || has_byte("-=", text.p[at - 1]))
		return false;
	return text.p[at - 1] != ' ' || has_byte("\"'", text.p[at - 2]);
}

size_t
look_element(struct piece *p, size_t at)
{
	const char *why = why_element;
	struct value v;
	struct tag tag;
	size_t from;

	if (!may_end_tag(p->text, at) || !tag_begin(p, at, &from) ||
	    has_byte("/!?", p->text.p[from]))
		return 0;
	struct str text = str_sub(p->text, from, at - from);
	read_tag(p, text, &tag);
	mask_attribute(p, &tag);
	if (p->text.p[at - 1] == '/')
		return 0; /* it is empty */
	if (tag.kind == NULL) {
		tag.kind = sibling_kind(p, text, from - 1);
		why = why_sibling;
	}
	if (tag.kind == NULL)
		return 0;
	element_value(p, at, &v);
	return mask_value(p, tag.kind, why, &v) ? v.next : v.from;
}

/* ---- scheme://user:password@host */

#define SLASH_ESCAPE_MAX 8 /* JSON in JSON in JSON has seven */

/* Behind the :// at `at`, or the :\/\/ that some write in JSON; 0: there is none. */
static size_t
authority_begin(struct str text, size_t at)
{
	at++;
	for (int slash = 0; slash < 2; slash++) {
		for (int n = 0; n < SLASH_ESCAPE_MAX && at < text.n; n++, at++)
			if (text.p[at] != '\\')
				break;
		if (at == text.n || text.p[at++] != '/')
			return 0;
	}
	return at;
}

/* Beside white space and control characters: what ends an authority, and what none that
 * somebody's password is in. */
static const unsigned char no_authority[256] = {
	['/'] = 1,
	['?'] = 1,
	['#'] = 1,
	['\\'] = 1,
	['"'] = 2,
	['\''] = 2,
	['<'] = 2,
	['>'] = 2,
	['`'] = 2,
};

static bool
ends_authority(char c)
{
	return is_space(c) || no_authority[(unsigned char)c] > 0;
}

/* RFC 3986 3.2: up to / ? # or what no URL has. */
static size_t
authority_end(struct str text, size_t at)
{
	size_t end = at;

	while (end < text.n && end - at < USERINFO_MAX && !ends_authority(text.p[end]))
		end++;
	return end;
}

/* user:pa/ss@host is no URL, but somebody's password all the same. */
static size_t
broken_authority_end(struct str text, size_t at, size_t end)
{
	struct str authority = str_sub(text, at, end - at);
	size_t colon;

	if (!str_find(authority, ':', &colon) || authority.p[0] == '[')
		return end;
	size_t digits = colon + 1;
	while (digits < authority.n && ascii_is_digit(authority.p[digits]))
		digits++;
	if (digits == authority.n)
		return end; /* host:port */
	while (end < text.n && end - at < USERINFO_MAX && !is_space(text.p[end]) &&
	       no_authority[(unsigned char)text.p[end]] < 2)
		end++;
	return end;
}

static bool
is_harmless_user(struct str text, size_t scheme_end, struct str user)
{
	size_t from = scheme_end;

	while (from > 0 && ascii_is_alnum(text.p[from - 1]) && scheme_end - from < 8)
		from--;
	struct str scheme = str_sub(text, from, scheme_end - from);
	return user.n == 0 || str_eq(user, STR("git")) || mark_is(user) ||
	       str_eq_nocase(scheme, STR("ssh")) || str_eq_nocase(scheme, STR("sftp"));
}

static void
mask_userinfo(struct piece *p, size_t scheme_end, size_t from, size_t to)
{
	struct str info = str_sub(p->text, from, to - from);
	struct str user = info;
	struct str password = STR_NONE;
	size_t colon;
	/* p\/w is JSON's, and a URL has no backslash of its own */
	enum span_code code =
	    info.n > 0 && memchr(info.p, '\\', info.n) != NULL ? SPAN_JSON : SPAN_PERCENT;

	if (str_find(info, ':', &colon)) {
		user = str_sub(info, 0, colon);
		password = str_sub(info, colon + 1, info.n);
	}
	if (!value_is_harmless(password))
		piece_mask(p, "password", why_userinfo, to - password.n, to, code);
	/* without a password, or with a filler for one, the user's name is the token */
	bool is_token =
	    password.n == 0 || str_eq(password, STR("x-oauth-basic")) || user.n >= 16;
	if (is_token && !is_harmless_user(p->text, scheme_end, user) &&
	    !value_is_harmless(user))
		piece_mask(p, "userinfo", why_userinfo, from, from + user.n, code);
}

size_t
look_userinfo(struct piece *p, size_t at)
{
	size_t from = authority_begin(p->text, at);
	size_t last;

	if (from == 0)
		return 0;
	size_t end = authority_end(p->text, from);
	p->scan->work += end - from;
	if (end == from)
		return from;
	if (!str_rfind(str_sub(p->text, from, end - from), '@', &last)) {
		end = broken_authority_end(p->text, from, end);
		p->scan->work += end - from;
		if (!str_rfind(str_sub(p->text, from, end - from), '@', &last))
			return from;
	}
	mask_userinfo(p, at, from, from + last);
	return from; /* a name that is no secret by its place may be a token */
}

size_t
look_escaped_userinfo(struct piece *p, size_t at)
{
	size_t colon = at;

	for (size_t n = 0; n < SLASH_ESCAPE_MAX && colon > p->line; n++)
		if (p->text.p[--colon] != '\\')
			break;
	return p->text.p[colon] == ':' ? look_userinfo(p, colon) : 0;
}

/* ---- --password VALUE */

/*
 * Behind the name that ends at `at`: blanks, or, where `quote` opened before it, what
 * stands between two strings of a list: ['--password', 'VALUE'].
 */
static size_t
option_value(struct str text, size_t at, char quote)
{
	if (quote == '\0' || at + 1 >= text.n || text.p[at] != quote ||
	    text.p[at + 1] != ',')
		return skip_blanks(text, at);
	at = skip_blanks(text, at + 2);
	return at + 1 < text.n && text.p[at] == quote && text.p[at + 1] != '-' ? at : 0;
}

size_t
look_option(struct piece *p, size_t at)
{
	size_t name = at + 2;
	size_t to = name;
	struct key key = { .before = ' ' };
	struct value v;

	if (!str_starts(str_sub(p->text, at, 2), STR("--")))
		return 0;
	if (at > 0 && !is_space(p->text.p[at - 1]) &&
	    !has_byte("\"'`", p->text.p[at - 1]))
		return 0;
	while (
	    to < p->text.n && to - name < NAME_MAX_BYTES && is_name_byte(p->text.p[to]))
		to++;
	key.name = str_sub(p->text, name, to - name);
	char quote =
	    at > 0 && has_byte("\"'", p->text.p[at - 1]) ? p->text.p[at - 1] : '\0';
	size_t from = option_value(p->text, to, quote);
	if (from <= to || from >= p->text.n || has_byte("-", p->text.p[from]))
		return 0;
	const char *kind = key_kind(p, &key);
	if (kind == NULL)
		return 0;
	if (!quoted_value(p->text, from, &v))
		unquoted_value(p, from, ends_of(p, &key, false), &v);
	p->scan->work += v.next - at;
	if (key.is_doubtful && !value_proves(value_text(p, &v), key.proof))
		return 0;
	return mask_value(p, kind, why_option, &v) ? v.next : v.from;
}

/* ---- lines of password files */

/* Up to the next colon that no backslash takes away, at most HOST_MAX bytes. */
static size_t
field_end(struct str text, size_t at)
{
	size_t end = at;

	while (end < text.n && end - at < HOST_MAX && text.p[end] != ':' &&
	       !is_space(text.p[end]))
		end += text.p[end] == '\\' && end + 1 < text.n ? 2 : 1;
	return end < text.n ? end : text.n;
}

/* The first colon of a line, with a port or a star behind it. */
static bool
begins_pgpass(const struct piece *p, size_t at)
{
	size_t port = at + 1;

	if (at == p->line || at - p->line > HOST_MAX || port + 1 >= p->text.n)
		return false;
	if (p->text.p[port] == '*')
		return p->text.p[port + 1] == ':';
	while (port < p->text.n && port - at < 7 && ascii_is_digit(p->text.p[port]))
		port++;
	return port - at > 3 && port < p->text.n && p->text.p[port] == ':';
}

/* A host's name, an address, a star; no blank, and no colon before this one. */
static bool
is_host(struct str s)
{
	for (size_t i = 0; i < s.n; i++)
		if (!ascii_is_alnum(s.p[i]) && !has_byte("._-*/", s.p[i]))
			return false;
	return true;
}

size_t
look_pgpass(struct piece *p, size_t at)
{
	if (!begins_pgpass(p, at) || !is_host(str_sub(p->text, p->line, at - p->line)))
		return 0;
	for (int field = 0; field < 3; field++) { /* port, database, user */
		size_t end = field_end(p->text, at + 1);

		p->scan->work += end - at;
		if (end == p->text.n || p->text.p[end] != ':' || end == at + 1)
			return 0;
		at = end;
	}
	size_t end = p->text.n;
	while (end > at + 1 && is_space(p->text.p[end - 1]))
		end--;
	if (memchr(p->text.p + at + 1, ' ', end - at - 1) != NULL)
		return 0;
	if (!value_is_harmless(str_sub(p->text, at + 1, end - at - 1)))
		piece_mask(p, "password", why_line, at + 1, end, SPAN_PLAIN);
	return end;
}

/* Prose has words there: "password reset". */
static bool
is_word(struct str s)
{
	for (size_t i = 0; i < s.n; i++)
		if (!(s.p[i] >= 'a' && s.p[i] <= 'z') && !has_byte(".,;:!?", s.p[i]))
			return false;
	return true;
}

size_t
look_netrc(struct piece *p, size_t at)
{
	size_t from = at + strlen("password");
	size_t begin = skip_blanks(p->text, p->line);

	if (begin != at || !str_starts(str_sub(p->text, at, 9), STR("password")) ||
	    from >= p->text.n || !is_blank(p->text.p[from]))
		return 0;
	from = skip_blanks(p->text, from);
	size_t end = from;
	while (end < p->text.n && !is_space(p->text.p[end]))
		end++;
	size_t rest = skip_blanks(p->text, end);
	p->scan->work += rest - at;
	if (rest < p->text.n && p->text.p[rest] != '\r')
		return 0;
	struct str value = str_sub(p->text, from, end - from);
	if (is_word(value) || value_is_harmless(value))
		return 0;
	piece_mask(p, "password", why_line, from, end, SPAN_PLAIN);
	return end;
}

/* ---- private keys */

size_t
look_pem(struct piece *p, size_t at)
{
	/* who reads line by line has one line */
	struct str text = p->as == SCAN_URL ? p->text : p->whole;

	if (!pem_begins(text, at))
		return 0;
	size_t end = pem_end(text, at, p->text.n);
	p->scan->work += end > p->text.n ? 0 : end - at;
	piece_mask(
	    p, "pem", why_pem, at, end, p->as == SCAN_JSON ? SPAN_JSON : SPAN_PLAIN);
	return end;
}

bool
look_value(struct scan *s, const char *kind, const char *why, struct str value,
    size_t base, enum span_code code)
{
	struct piece p = { .scan = s, .whole = value, .text = value, .base = base };
	struct value v = { 0, value.n, value.n, code };

	return mask_value(&p, kind, why, &v);
}
