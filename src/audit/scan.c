/*
 * scan.c - finds secrets in one piece of text
 */
#include "audit/scan.h"

#include <string.h>

#include "audit/mark.h"
#include "audit/name.h"

#define NAME_MAX_BYTES 64
#define BLANKS_MAX 64
#define HARMLESS_MAX 256 /* a longer value is masked, whatever it looks like */
#define USERINFO_MAX 1024

/* One piece of text on its way through. */
struct piece {
	struct scan *scan;
	struct str text;
	size_t base;
	enum scan_as as;
};

/* A value behind a key: [from, to) is the secret, the walk goes on at `next`. */
struct value {
	size_t from, to, next;
	enum span_code code;
};

void
scan_init(struct scan *s, const struct shapes *shapes, const struct prefilter *filter,
    struct spans *spans, size_t input)
{
	*s = (struct scan){ shapes, filter, spans, 0, 8 * input + ((size_t)64 << 10) };
}

static void
add(const struct piece *p, const char *kind, size_t from, size_t to, enum span_code code)
{
	struct str raw = str_sub(p->text, from, to - from);

	if (!mark_is(raw))
		spans_add(p->scan->spans,
		    (struct span){ p->base + from, p->base + to, kind, code, false });
}

static bool
has_byte(const char *set, char c)
{
	return c != '\0' && strchr(set, c) != NULL;
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

/* ---- what is no secret though its key says so */

static const char *const harmless_words[] = { "null", "true", "false", "none", "nil",
	"undefined", "[redacted]", "<redacted>", "(redacted)", "[filtered]", "[masked]",
	"redacted" };

static bool
is_stars(struct str v)
{
	for (size_t i = 0; i < v.n; i++)
		if (v.p[i] != '*')
			return false;
	return v.n > 0;
}

/* ${NAME}, $NAME, %NAME%, {{ .Values.x }}, $(command): where the value comes from. */
static bool
is_reference(struct str v)
{
	if (str_starts(v, STR("$(")) || str_starts(v, STR("{{")))
		return true;
	if (str_starts(v, STR("${")))
		return v.p[v.n - 1] == '}';

	size_t from = 1;
	size_t to = v.n;
	if (v.n < 3 || (v.p[0] != '$' && v.p[0] != '%'))
		return false;
	if (v.p[0] == '%' && v.p[--to] != '%')
		return false;
	for (size_t i = from; i < to; i++)
		if (!(v.p[i] >= 'A' && v.p[i] <= 'Z') && v.p[i] != '_')
			return false;
	return to > from;
}

/* os.environ["X"], get_token(user): code, when it has no digit and closes what it opens.
 */
static bool
is_code(struct str v)
{
	size_t i = 0;

	while (i < v.n && (ascii_is_alnum(v.p[i]) || has_byte("_.", v.p[i])) &&
	       !ascii_is_digit(v.p[i]))
		i++;
	if (i == 0 || i == v.n || !has_byte("[(", v.p[i]))
		return false;
	if (i + 1 == v.n)
		return true; /* a quote follows, which ends an unquoted value */
	for (size_t k = i + 1; k + 1 < v.n; k++)
		if (ascii_is_digit(v.p[k]) ||
		    !(ascii_is_alnum(v.p[k]) || has_byte("_., ", v.p[k])))
			return false;
	return has_byte("])", v.p[v.n - 1]);
}

/* Says that there is a secret without giving it away: "", null, ***, ${NAME}, a mark. */
static bool
value_is_harmless(struct str v)
{
	if (v.n == 0 || mark_is(v))
		return true;
	if (v.n > HARMLESS_MAX)
		return false;
	for (size_t i = 0; i < sizeof(harmless_words) / sizeof(*harmless_words); i++)
		if (str_eq_nocase(v, str_of(harmless_words[i])))
			return true;
	return is_stars(v) || is_reference(v) || is_code(v);
}

/* ---- Authorization: the scheme stays, since it tells what was tried */

static const struct {
	const char *name;
	bool has_parameters; /* a list with blanks in it */
} schemes[] = {
	{ "bearer", false },
	{ "basic", false },
	{ "token", false },
	{ "apikey", false },
	{ "api-key", false },
	{ "key", false },
	{ "ssws", false },
	{ "dpop", false },
	{ "negotiate", false },
	{ "ntlm", false },
	{ "digest", true },
	{ "hawk", true },
	{ "oauth", true },
	{ "signature", true },
	{ "aws4-hmac-sha256", true },
	{ "goog4-rsa-sha256", true },
};

/* Where the credential begins that `v` holds; 0 when no scheme stands before it. */
static size_t
skip_scheme(struct str v, bool *has_parameters)
{
	size_t word = 0;

	while (word < v.n && !is_space(v.p[word]))
		word++;
	size_t at = skip_blanks(v, word);
	if (at == word || at == v.n)
		return 0;
	for (size_t i = 0; i < sizeof(schemes) / sizeof(*schemes); i++)
		if (str_eq_nocase(str_sub(v, 0, word), str_of(schemes[i].name))) {
			*has_parameters = schemes[i].has_parameters;
			return at;
		}
	return 0;
}

void
scan_value(
    struct scan *s, const char *kind, struct str value, size_t base, enum span_code code)
{
	struct piece p = { s, value, base, SCAN_TEXT };
	bool has_parameters;
	size_t from = 0;

	if (strcmp(kind, "authorization") == 0)
		from = skip_scheme(value, &has_parameters);
	if (!value_is_harmless(str_sub(value, from, value.n)))
		add(&p, kind, from, value.n, code);
}

/* ---- a key before = or : */

struct key {
	struct str name;
	char before; /* the byte before it (its quote, a ? or &), or 0 */
	bool is_quoted;
};

static bool
is_name_byte(char c)
{
	return ascii_is_alnum(c) || has_byte("_-.%", c);
}

/* Back over the quote that closes a name, with the backslashes before it. */
static size_t
skip_quote_back(struct str text, size_t at)
{
	if (at == 0 || !has_byte("\"'", text.p[at - 1]))
		return at;
	at--;
	for (size_t n = 0; n < 8 && at > 0 && text.p[at - 1] == '\\'; n++)
		at--;
	return at;
}

static bool
key_before(struct str text, size_t at, struct key *key)
{
	size_t to = at;

	for (size_t n = 0; n < 8 && to > 0 && is_blank(text.p[to - 1]); n++)
		to--;
	to = skip_colour_back(text, to);
	if (to > 0 && text.p[to - 1] == ']') /* config["password"] = */
		to--;
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

static const char *
key_kind(const struct piece *p, const struct key *key)
{
	enum name_place place = NAME_IN_TEXT;
	char room[NAME_MAX_BYTES + 1];
	struct buf plain;

	if (has_byte(p->as == SCAN_URL ? "?&#;" : "?&#", key->before))
		place = NAME_IN_QUERY;
	else if (key->is_quoted)
		place = NAME_IN_JSON;
	if (memchr(key->name.p, '%', key->name.n) == NULL)
		return name_kind(key->name, place);

	buf_init(&plain, sizeof(room));
	span_decode(key->name, SPAN_PERCENT, &plain);
	const char *kind = name_kind(buf_view(&plain), place);
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
	if (at >= text.n || !has_byte("\"'", text.p[at]) || (level & (level + 1)) != 0)
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
value_step(const struct piece *p, size_t at, const char *ends)
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

static void
unquoted_value(const struct piece *p, size_t at, const char *ends, struct value *v)
{
	size_t step;

	v->from = at;
	v->code = p->as == SCAN_TEXT ? SPAN_PLAIN : SPAN_JSON;
	while (at < p->text.n && (step = value_step(p, at, ends)) != 0)
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
ends_of(const struct piece *p, const struct key *key, bool is_line)
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

static void
authorization_value(
    const struct piece *p, const struct key *key, size_t at, struct value *v)
{
	bool is_line = false;
	size_t skip = skip_scheme(str_sub(p->text, at, p->text.n), &is_line);

	unquoted_value(p, at + skip, ends_of(p, key, is_line), v);
}

static void
find_value(const struct piece *p, const struct key *key, const char *kind, size_t at,
    struct value *v)
{
	at = skip_brackets(p->text, value_begin(p->text, at));
	if (p->as != SCAN_URL && quoted_value(p->text, at, v))
		return;
	if (strcmp(kind, "authorization") == 0)
		authorization_value(p, key, at, v);
	else
		unquoted_value(p, at, ends_of(p, key, strcmp(kind, "cookie") == 0), v);
	if (p->as == SCAN_URL || has_byte("?&", key->before))
		v->code = SPAN_PERCENT;
}

static struct str
value_text(const struct piece *p, const struct value *v)
{
	return str_sub(p->text, v->from, v->to - v->from);
}

static void
scan_span(const struct piece *p, const char *kind, const struct value *v)
{
	scan_value(p->scan, kind, value_text(p, v), p->base + v->from, v->code);
}

static size_t
look_key(const struct piece *p, size_t at)
{
	struct key key;
	struct value v;

	if (!key_before(p->text, at, &key))
		return 0;
	const char *kind = key_kind(p, &key);
	if (kind == NULL)
		return 0;
	find_value(p, &key, kind, at, &v);
	if (value_is_harmless(value_text(p, &v)))
		return v.next;
	if (v.next == v.to)
		trim_end(p->text, &v);
	if (!value_is_harmless(value_text(p, &v)))
		scan_span(p, kind, &v);
	return v.next;
}

/* ---- scheme://user:password@host */

static bool
ends_authority(char c)
{
	return is_space(c) || has_byte("/?#\"'<>\\`", c);
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
	       !has_byte("\"'<>`", text.p[end]))
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
mask_userinfo(const struct piece *p, size_t scheme_end, size_t from, size_t to)
{
	struct str info = str_sub(p->text, from, to - from);
	struct str user = info;
	struct str password = STR_NONE;
	size_t colon;

	if (str_find(info, ':', &colon)) {
		user = str_sub(info, 0, colon);
		password = str_sub(info, colon + 1, info.n);
	}
	if (!value_is_harmless(password))
		add(p, "password", to - password.n, to, SPAN_PERCENT);
	/* without a password, or with a filler for one, the user's name is the token */
	bool is_token =
	    password.n == 0 || str_eq(password, STR("x-oauth-basic")) || user.n >= 16;
	if (is_token && !is_harmless_user(p->text, scheme_end, user) &&
	    !value_is_harmless(user))
		add(p, "userinfo", from, from + user.n, SPAN_PERCENT);
}

static size_t
look_userinfo(const struct piece *p, size_t at)
{
	size_t from = at + 3;
	size_t last;

	if (!str_starts(str_sub(p->text, at, 3), STR("://")))
		return 0;
	size_t end = authority_end(p->text, from);
	if (end == from)
		return from;
	if (!str_rfind(str_sub(p->text, from, end - from), '@', &last)) {
		end = broken_authority_end(p->text, from, end);
		if (!str_rfind(str_sub(p->text, from, end - from), '@', &last))
			return from;
	}
	mask_userinfo(p, at, from, from + last);
	return from + last;
}

/* ---- --password VALUE */

static size_t
look_option(const struct piece *p, size_t at)
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
	size_t from = skip_blanks(p->text, to);
	if (from == to || from >= p->text.n || has_byte("-", p->text.p[from]))
		return 0;
	const char *kind = key_kind(p, &key);
	if (kind == NULL)
		return 0;
	if (!quoted_value(p->text, from, &v))
		unquoted_value(p, from, ends_of(p, &key, false), &v);
	scan_span(p, kind, &v);
	return v.next;
}

/* ---- PEM */

static bool
is_pem_byte(char c)
{
	return ascii_is_alnum(c) || has_byte("+/=:,.-_\\ \t\r\n", c);
}

/* Behind "-----END ...-----" when it stands at `at`, else 0. */
static size_t
pem_end(struct str text, size_t at)
{
	size_t to = at + 8;

	if (!str_starts(str_sub(text, at, 8), STR("-----END")))
		return 0;
	while (to < text.n && to - at < 80 && text.p[to] != '-' &&
	       is_pem_byte(text.p[to]) && text.p[to] != '\n')
		to++;
	for (size_t n = 0; n < 5 && to < text.n && text.p[to] == '-'; n++)
		to++;
	return to;
}

/* Up to END, or, when the log was cut, as far as it can be a key. */
static size_t
look_pem(const struct piece *p, size_t at)
{
	struct str text = p->text;
	size_t end, label;

	if (!str_starts(str_sub(text, at, 11), STR("-----BEGIN ")))
		return 0;
	struct str rest = str_sub(text, at + 11, 64);
	if (!str_find(rest, '-', &label) ||
	    memmem(rest.p, label, "PRIVATE KEY", 11) == NULL)
		return at + 11;
	size_t to = at + 11 + label;
	while (to < text.n && is_pem_byte(text.p[to])) {
		if (text.p[to] == '-' && (end = pem_end(text, to)) != 0) {
			to = end;
			break;
		}
		to++;
	}
	while (to > at && (has_byte(" \t\r\n\\", text.p[to - 1])))
		to--; /* an escape or a line's end that the key does not need */
	add(p, "pem", at, to, p->as == SCAN_JSON ? SPAN_JSON : SPAN_PLAIN);
	return to;
}

/* ---- one walk */

static const struct {
	const char *literal;
	size_t (*look)(
	    const struct piece *p, size_t at); /* where to go on, or 0: not here */
} looks[] = {
	{ "-----BEGIN ", look_pem },
	{ "--", look_option },
	{ "://", look_userinfo },
	{ "=", look_key },
	{ ":", look_key },
};

void
scan_prefilter(struct prefilter *f)
{
	prefilter_add(f, STR("~r"));
	for (size_t i = 0; i < sizeof(looks) / sizeof(*looks); i++)
		prefilter_add(f, str_of(looks[i].literal));
}

static size_t
look_shape(const struct piece *p, size_t at)
{
	struct shape_hit hit;

	if (!shapes_match(p->scan->shapes, p->text, at, &hit, &p->scan->work))
		return 0;
	for (size_t i = 0; i < hit.n; i++)
		if (!value_is_harmless(str_sub(
			p->text, hit.part[i].from, hit.part[i].to - hit.part[i].from)))
			add(p, hit.kind, hit.part[i].from, hit.part[i].to,
			    p->as == SCAN_URL ? SPAN_PERCENT : SPAN_PLAIN);
	return hit.end;
}

/* What stands at `at`, and where to go on. */
static size_t
look(const struct piece *p, size_t at)
{
	struct str rest = str_sub(p->text, at, p->text.n);
	size_t next = mark_length(rest);

	if (next != 0)
		return at + next;
	if ((next = look_shape(p, at)) > at)
		return next;
	for (size_t i = 0; i < sizeof(looks) / sizeof(*looks); i++)
		if (rest.p[0] == looks[i].literal[0] &&
		    (next = looks[i].look(p, at)) > at)
			return next;
	return at + 1;
}

void
scan_text(struct scan *s, struct str text, size_t base, enum scan_as as)
{
	struct piece p = { s, text, base, as };
	size_t at = 0;

	while (at < text.n) {
		if (!prefilter_has(s->filter, text, at)) {
			at++;
			continue;
		}
		if (s->work > s->work_max) {
			add(&p, "doubt", at, text.n, SPAN_PLAIN);
			return;
		}
		at = look(&p, at);
	}
}
