/*
 * form.c - finds secrets in what has a form of its own: JSON and header fields
 */
#include "audit/form.h"

#include <openssl/evp.h>
#include <string.h>

#include "audit/doubt.h"
#include "audit/key.h"
#include "audit/look.h"
#include "audit/scan.h"
#include "wire/json.h"

/* ---- JSON */

/* "auth" is a word for many things, "auth": "c3ZjOl..." is a login */
#define AUTH_MIN 16
#define JWK_MIN 22       /* 128 bits in base64url */
#define SCHEMA_HEAD 1024 /* of an object, in which it must show that it is a schema */
#define KEY_SCANNED 8    /* no secret is so short that nothing says it is one */
#define PASSWORD_MIN 6   /* behind an option that may be another's */
#define TOKEN_COST 7     /* to read it, in bytes looked at */
#define OPEN_COST 4      /* an object or array more */
#define STRING_COST 9    /* more: it is searched, whatever its length */
#define FIELD_COST 18    /* a header field, whatever its length */
#define VALUES_HELD 4    /* of one object; more than that were never meant well */

/* A value whose name may come behind it. */
struct held {
	size_t from, to;
	bool is_string;
};

/* One object or array on the way down; its kind is that of the key above it. */
struct level {
	bool is_array;
	bool is_names;    /* its keys name properties (JSON Schema), not values */
	bool is_schema;   /* describes a secret: its type and its limits are none */
	const char *kind; /* all that is inside is a secret */
	/* {"name": "token", "value": ...}, ["token", ...]: of the value to come */
	const char *pair;
	bool is_option;                /* it is an option's: words are values, too */
	bool is_login;                 /* that is "user:password" (-u) */
	bool has_user, is_bare;        /* arguments: a user was named; -p is before it */
	const struct command *command; /* whose arguments the array is, or NULL */
	const char *example;           /* the kind of what is_schema describes */
	size_t n;                      /* values so far */
	size_t begin;                  /* where it begins in the document */
	bool is_value; /* it is the value of a pair whose name has not come */
	size_t nheld;
};

struct walk {
	struct scan *scan;
	struct str text; /* the document */
	size_t base;     /* where it begins in the whole */
	struct level level[JSON_DEPTH + 1];
	struct held held[JSON_DEPTH + 1]
			[VALUES_HELD]; /* apart: levels are copied often */
	size_t depth;
	struct str key; /* of the value to come; p is NULL in an array */
};

static struct level *
top(struct walk *w)
{
	return &w->level[w->depth];
}

static const char why_name[] = "its name in JSON";
static const char why_pair[] = "the name beside it";
static const char why_above[] = "the name of what it is in";
static const char why_field[] = "the header field it is in";
static const char why_unread[] = "it is in what is secret, and cannot be read";
static const char why_cookie[] = "it is a cookie's value";
static const char why_costly[] = "the field costs too much to be judged";
static const char why_dense[] = "the document has too many secrets to be judged";

/* {"kty": "RSA", "d": "..."}: the private members of a JWK (RFC 7518 6.2.2, 6.3.2, 6.4).
 */
static bool
is_jwk_member(struct str key, struct str text)
{
	static const char *const members[] = { "d", "p", "q", "dp", "dq", "qi", "k",
		NULL };

	if (text.n < JWK_MIN || !str_is_any(key, members))
		return false;
	for (size_t i = 0; i < text.n; i++)
		if (!ascii_is_alnum(text.p[i]) && text.p[i] != '-' && text.p[i] != '_')
			return false;
	return true;
}

static const char *
kind_by_name(const struct walk *w, struct str name)
{
	if (!name_may_be_kind(w->scan->filter->name_ends, name) ||
	    !name_ends_like_kind(name))
		return NULL;
	w->scan->work += WORDS_COST;
	return name_kind(name, NAME_IN_JSON);
}

/* What JSON Schema says of a value; anything else beside it may be the value itself. */
static bool
describes(struct str key)
{
	static const char *const words[] = { "type", "$ref", "$id", "$comment", "$schema",
		"title", "description", "format", "pattern", "minLength", "maxLength",
		"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum",
		"multipleOf", "minItems", "maxItems", "uniqueItems", "properties",
		"patternProperties", "additionalProperties", "required", "items",
		"prefixItems", "contains", "oneOf", "anyOf", "allOf", "not", "if", "then",
		"else", "$defs", "definitions", "nullable", "readOnly", "writeOnly",
		"deprecated", "contentEncoding", "contentMediaType", "discriminator",
		NULL };

	return str_is_any(key, words);
}

static const char *
kind_of_value(struct walk *w, const char **why)
{
	struct level *l = top(w);
	const char *kind = NULL;

	*why = why_above;
	if (l->kind != NULL)
		return l->kind;
	*why = why_name;
	if (l->is_schema)
		return describes(w->key) ? NULL : l->example;
	if (w->key.p != NULL)
		kind = kind_by_name(w, w->key);
	if (kind == NULL && l->pair != NULL &&
	    (l->is_array || name_role(w->key) == NAME_IS_VALUE)) {
		*why = why_pair;
		kind = l->pair;
	}
	return kind;
}

static bool
mask_held(struct walk *w, const char *kind, const struct held *h)
{
	if (h->is_string)
		return look_value(w->scan, kind, why_pair,
		    str_sub(w->text, h->from, h->to - h->from), w->base + h->from,
		    SPAN_JSON);
	spans_add(w->scan->spans, (struct span){ .from = w->base + h->from,
				      .to = w->base + h->to,
				      .kind = kind,
				      .why = why_pair,
				      .quote = "\"" });
	return true;
}

/* {"value": ..., "name": "token"}: what it is the value of is said later. */
static void
hold_value(struct walk *w, size_t from, size_t to, bool is_string)
{
	struct level *l = top(w);
	const struct held h = { from, to, is_string };

	if (l->nheld < VALUES_HELD)
		w->held[w->depth][l->nheld++] = h;
	else
		mask_held(w, "doubt", &h);
}

static bool
may_be_held(struct walk *w)
{
	return !top(w)->is_array && top(w)->kind == NULL && top(w)->pair == NULL &&
	       name_role(w->key) == NAME_IS_VALUE;
}

/* Said once, it holds: a second name in the same object takes nothing back. */
static void
note_name(struct walk *w, struct str text)
{
	struct level *l = top(w);
	const char *kind = kind_by_name(w, text);

	if (kind == NULL)
		return;
	l->pair = kind;
	for (size_t i = 0; i < l->nheld; i++)
		mask_held(w, kind, &w->held[w->depth][i]);
	l->nheld = 0;
}

/* Options of one letter that are a password's for some commands only. */
static const struct command {
	const char *name;
	const char *option;
	bool is_glued; /* -pVALUE */
	bool is_apart; /* -p VALUE */
} commands[] = {
	{ "mysql", "-p", true, false },
	{ "mysqldump", "-p", true, false },
	{ "mysqladmin", "-p", true, false },
	{ "mariadb", "-p", true, false },
	{ "mariadb-dump", "-p", true, false },
	{ "mariadb-admin", "-p", true, false },
	{ "sshpass", "-p", true, true },
	{ "login", "-p", false, true }, /* docker's, and others' */
	{ "redis-cli", "-a", false, true },
};

static void
note_command(struct level *l, struct str text)
{
	size_t slash;

	if (str_rfind(text, '/', &slash))
		text = str_sub(text, slash + 1, text.n);
	for (size_t i = 0; i < sizeof(commands) / sizeof(*commands); i++)
		if (text.n > 0 && text.p[0] == commands[i].name[0] &&
		    str_eq(text, str_of(commands[i].name)))
			l->command = &commands[i];
}

/* ["mysql", "-phunter2"] */
static bool
on_glued(struct walk *w, struct str raw, size_t at)
{
	const struct command *c = top(w)->command;

	return c != NULL && c->is_glued && str_starts(raw, str_of(c->option)) &&
	       look_value(w->scan, "password", why_pair, str_sub(raw, 2, raw.n),
		   w->base + at + 2, SPAN_JSON);
}

/* What no name, number, path or package is; behind a user's name words are none. */
static bool
speaks_for_itself(struct str v, bool has_user)
{
	size_t letters = 0, digits = 0, specials = 0;

	for (size_t i = 0; i < v.n; i++) {
		digits += ascii_is_digit(v.p[i]);
		letters += ascii_is_alnum(v.p[i]);
		specials += v.p[i] != '\0' && strchr("!#$%&*?^~", v.p[i]) != NULL;
	}
	return v.n >= PASSWORD_MIN && letters + specials == v.n && digits > 0 &&
	       digits < letters && (specials > 0 || has_user);
}

/* ["-u", "svc", "-p", "hunter2"]: no command says what -p is, so its value must. */
static bool
on_bare(struct walk *w, struct str raw, size_t at)
{
	return top(w)->is_bare && speaks_for_itself(raw, top(w)->has_user) &&
	       look_value(w->scan, "password", why_pair, raw, w->base + at, SPAN_JSON);
}

/* ["curl", "-u", "svc:hunter2"], but not ["-u", "1000:1000"] */
static bool
on_login(struct walk *w, struct str raw, size_t at)
{
	struct str digits = raw;
	size_t colon;

	if (!top(w)->is_login || !str_find(raw, ':', &colon))
		return false;
	while (digits.n > 0 && (ascii_is_digit(digits.p[0]) || digits.p[0] == ':'))
		digits = str_sub(digits, 1, digits.n);
	if (digits.n == 0)
		return false;
	return look_value(w->scan, "password", why_pair, str_sub(raw, colon + 1, raw.n),
	    w->base + at + colon + 1, SPAN_JSON);
}

/* "X-Api-Key", "Password:", and neither "PASSWORD=" nor "X-Api-Key: ". */
static bool
may_be_name(struct str text)
{
	for (size_t i = 0; i < text.n; i++)
		if (text.p[i] == '=' || (text.p[i] == ':' && i + 1 < text.n))
			return false;
	return true;
}

/* --password, -Password */
static bool
is_long_option(struct str text)
{
	return text.n > 3 && text.p[0] == '-' &&
	       (text.p[1] == '-' || ascii_is_alnum(text.p[1]));
}

/* In an array a name is every other one, or what can only be an option's. */
static void
note_argument(struct walk *w, struct str text)
{
	static const char *const logins[] = { "-u", "-U", "--user", "--proxy-user",
		NULL };
	struct level *l = top(w);
	const struct command *c = l->command;

	l->is_option = is_long_option(text);
	l->pair = (l->n % 2 == 0 || l->is_option) && may_be_name(text)
		      ? kind_by_name(w, text)
		      : NULL;
	if (c != NULL && c->is_apart && str_eq(text, str_of(c->option))) {
		l->pair = "password";
		l->command = NULL; /* sshpass -p VALUE ssh -p 22 */
	}
	l->is_login = str_is_any(text, logins);
	l->has_user = l->has_user || l->is_login || str_eq(text, STR("--username"));
	l->is_bare = str_eq(text, STR("-p"));
	note_command(l, text);
}

/* A name may say that a pair begins. */
static void
note_pair(struct walk *w, struct str text)
{
	if (top(w)->is_array)
		note_argument(w, text);
	else if (name_role(w->key) == NAME_NAMES)
		note_name(w, text);
}

/* ["authorization", "x-api-key"] is a list of names, ["authorization", "hunter2"] none.
 */
static bool
is_name_like(const struct walk *w, struct str s)
{
	bool has_digit = false;

	for (size_t i = 0; i < s.n; i++) {
		has_digit = has_digit || ascii_is_digit(s.p[i]);
		if (!ascii_is_alnum(s.p[i]) && s.p[i] != '-' && s.p[i] != '_')
			return false;
	}
	return s.n < 32 && (!has_digit || kind_by_name(w, s) != NULL);
}

/*
 * "DB_PASSWORD=two words", as an environment is listed: all behind the first =.  What is
 * before it is searched like any text: a name stays, but a token may stand in it.
 */
static bool
on_assignment(struct walk *w, struct str raw, size_t at)
{
	const char *kind;
	size_t equals;

	if (!str_find(str_sub(raw, 0, 128), '=', &equals) || equals == 0)
		return false;
	for (size_t i = 0; i < equals; i++)
		if (!ascii_is_alnum(raw.p[i]) && raw.p[i] != '_')
			return false;
	if ((kind = kind_by_name(w, str_sub(raw, 0, equals))) == NULL)
		return false;
	if (!look_value(w->scan, kind, why_pair, str_sub(raw, equals + 1, raw.n),
		w->base + at + equals + 1, SPAN_JSON))
		return false;
	scan_text(w->scan, str_sub(raw, 0, equals), w->base + at, SCAN_JSON);
	return true;
}

/* In base64: a name, a colon and a password. */
static bool
says_login(struct str text)
{
	unsigned char plain[AUTH_MIN];
	int n;

	if (text.n < 4 || text.n >= AUTH_MIN || text.n % 4 != 0)
		return false;
	n = EVP_DecodeBlock(plain, (const unsigned char *)text.p, (int)text.n);
	return n > 0 && memchr(plain, ':', (size_t)n) != NULL;
}

static bool
is_login(struct str text)
{
	if (text.n >= AUTH_MIN)
		return !str_find(text, ' ', &(size_t){ 0 });
	return says_login(text);
}

static void
on_string(struct walk *w, struct str raw, size_t at, struct str text)
{
	const char *why;
	const char *kind = kind_of_value(w, &why);
	bool is_free = top(w)->is_array && top(w)->kind == NULL;

	w->scan->work += STRING_COST;
	if (is_free &&
	    (top(w)->is_option ? str_starts(text, STR("-")) : is_name_like(w, text)))
		kind = NULL;
	if (kind == NULL && str_eq_nocase(w->key, STR("auth")) && is_login(text))
		kind = "token";
	if (kind == NULL && w->key.n > 0 && w->key.n <= 2 && is_jwk_member(w->key, text))
		kind = "private-key";
	bool is_masked =
	    kind != NULL
		? look_value(w->scan, kind, why, raw, w->base + at, SPAN_JSON)
		: is_free && (on_assignment(w, raw, at) || on_login(w, raw, at) ||
				 on_glued(w, raw, at) || on_bare(w, raw, at));
	if (!is_masked)
		scan_text(w->scan, raw, w->base + at, SCAN_JSON);
	if (may_be_held(w))
		hold_value(w, at, at + raw.n, true);
	note_pair(w, text);
}

static void
on_number(struct walk *w, size_t from, size_t to)
{
	const char *why;
	const char *kind = kind_of_value(w, &why);

	if (kind != NULL)
		spans_add(w->scan->spans, (struct span){ .from = w->base + from,
					      .to = w->base + to,
					      .kind = kind,
					      .why = why,
					      .quote = "\"" });
	else if (may_be_held(w))
		hold_value(w, from, to, false);
}

/* "type": "string": the types of JSON Schema, with the quotes. */
static bool
names_type(struct str rest)
{
	static const char *const types[] = { "\"string\"", "\"number\"", "\"integer\"",
		"\"boolean\"", "\"array\"", "\"object\"", "\"null\"", "[", NULL };

	for (const char *const *t = types; *t != NULL; t++)
		if (str_starts(rest, str_of(*t)))
			return true;
	return false;
}

/* Where the value of a member begins whose key is `quoted`, in an object's first bytes.
 */
static bool
has_member(struct str head, const char *quoted, struct str *value)
{
	const char *p = memmem(head.p, head.n, quoted, strlen(quoted));

	if (p == NULL)
		return false;
	struct str rest = str_sub(head, (size_t)(p - head.p) + strlen(quoted), head.n);
	while (rest.n > 0 && memchr(" \t\r\n:", rest.p[0], 5) != NULL)
		rest = str_sub(rest, 1, rest.n);
	*value = rest;
	return true;
}

/* "password": {"type": "string"}: what is behind the name describes the value. */
static bool
is_schema(struct str text, size_t at)
{
	struct str head = str_sub(text, at, SCHEMA_HEAD);
	struct str value;
	size_t close;

	if (str_find(head, '}', &close))
		head = str_sub(head, 0, close);
	if (has_member(head, "\"value\"", &value))
		return false;
	return (has_member(head, "\"type\"", &value) && names_type(value)) ||
	       has_member(head, "\"$ref\"", &value) ||
	       has_member(head, "\"properties\"", &value) ||
	       has_member(head, "\"description\"", &value);
}

static void
on_open(struct walk *w, bool is_array, size_t at)
{
	static const char *const schema_keys[] = { "properties", "patternProperties",
		"$defs", NULL };
	const char *why;
	const char *kind = kind_of_value(w, &why);
	struct level below = {
		.is_array = is_array,
		.is_names = !is_array && str_is_any(w->key, schema_keys),
		.kind = kind,
		.begin = at - 1,
		.is_value = may_be_held(w),
	};

	if (kind != NULL && !is_array && top(w)->kind == NULL &&
	    (top(w)->is_names || is_schema(w->text, at))) {
		below.kind = NULL;
		below.example = kind;
		below.is_schema = true;
	}
	w->scan->work += OPEN_COST;
	w->depth++;
	*top(w) = below;
	w->key = STR_NONE;
}

/* A value is done: the next one has a key of its own. */
static void
end_value(struct walk *w)
{
	top(w)->n++;
	w->key = STR_NONE;
}

static void
on_close(struct walk *w, size_t end)
{
	const struct level below = *top(w);

	w->depth--;
	if (below.is_value)
		hold_value(w, below.begin, end, false);
	end_value(w);
}

static inline bool
is_between(char c)
{
	return c == ' ' || c == ',' || c == ':' || c == '\n' || c == '\r' || c == '\t';
}

/* Where the token begins that ends at `end`: behind blanks, commas and colons. */
static size_t
token_begin(struct str text, size_t at)
{
	while (at < text.n && is_between(text.p[at]))
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
		on_open(w, token == JSON_ARRAY, in->at);
		return true;
	case JSON_OBJECT_END:
	case JSON_ARRAY_END:
		on_close(w, in->at);
		return true;
	case JSON_KEY:
		raw = between_quotes(w->text, from, in->at);
		if (raw.n >= KEY_SCANNED)
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

/*
 * What cannot be read stands where all is a secret (it is nested too deep, or no JSON):
 * who knows where it ends.
 */
static void
mask_unread(struct walk *w, size_t from, bool is_key_outside)
{
	struct str rest = str_trim(str_sub(w->text, from, w->text.n));
	bool is_too_deep = w->depth == JSON_DEPTH;

	if (top(w)->kind != NULL && rest.n > 0 && (is_too_deep || !is_key_outside))
		look_value(w->scan, "doubt", why_unread, rest,
		    w->base + (size_t)(rest.p - w->text.p), SPAN_PLAIN);
}

/* Where nobody writes so many secrets: all that follows is masked. */
static void
give_up(struct walk *w, size_t at)
{
	doubt_count(DOUBT_BUDGET);
	spans_add(w->scan->spans, (struct span){ .from = w->base + at,
				      .to = w->base + w->text.n,
				      .kind = "doubt",
				      .why = why_dense });
}

bool
form_document(
    struct scan *s, struct str text, size_t base, const char *kind, size_t *used)
{
	struct walk w; /* its levels are many, and each is set when it begins */
	size_t marks = s->spans->n;
	struct arena arena;
	struct json_in in;
	bool is_json, is_dense, was_bound = s->is_bound;
	bool is_within = was_bound || s->depth > 0; /* something that is masked whole */

	w.scan = s;
	w.text = text;
	w.base = base;
	w.key = STR_NONE;
	w.depth = 0;
	w.level[0] = (struct level){ .kind = kind };
	piece_budget(s, base, text.n);
	s->is_bound = true;
	arena_init(&arena, 4 * text.n + ((size_t)64 << 10));
	json_in_init(&in, text, &arena);
	do {
		size_t from = token_begin(text, in.at);
		enum json_token token = json_next(&in);

		s->work += TOKEN_COST;
		is_json = on_token(&w, token, &in, from);
		if (token == JSON_BAD)
			mask_unread(&w, from, kind != NULL);
		is_dense = scan_is_dense(s->spans->n - marks, text.n);
	} while (
	    is_json && !is_dense && w.depth > 0 && !(is_within && piece_is_costly(s)));
	s->is_bound = was_bound;
	*used = in.at;
	if (is_dense) {
		give_up(&w, in.at);
		*used = text.n;
	}
	arena_fini(&arena);
	return is_json || is_dense;
}

bool
form_json(struct scan *s, struct str text)
{
	size_t at = 0;

	piece_bound(s, text.n);
	for (;;) {
		at = token_begin(text, at);
		if (at == text.n || s->is_over)
			return true;
		struct str rest = str_sub(text, at, text.n);
		size_t used;
		if (memchr("{[", rest.p[0], 2) == NULL ||
		    !form_document(s, rest, at, NULL, &used))
			break;
		at += used;
	}
	/* no JSON from here on: keys are still known by the = or : behind them */
	scan_text(s, str_sub(text, at, text.n), at, SCAN_TEXT);
	return false;
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

/*
 * name=value; name=value: names stay, they say what the cookie is for, unless something
 * else is a secret in them.
 */
static void
mask_cookies(struct scan *s, struct str value, size_t base, bool is_set)
{
	struct str rest = value;
	struct str pair;

	while (str_split(&rest, ';', &pair)) {
		size_t at;

		if (str_find(pair, '=', &at))
			scan_text(s, str_sub(pair, 0, at),
			    base + (size_t)(pair.p - value.p), SCAN_TEXT);
		else
			at = (size_t)-1; /* no name: all of it is the value */
		struct str secret = str_trim(str_sub(pair, at + 1, pair.n));
		size_t begin = base + (size_t)(secret.p - value.p);
		if (!look_value(s, "cookie", why_cookie, secret, begin, SPAN_PLAIN))
			scan_text(s, secret, begin, SCAN_TEXT);
		if (is_set)
			break; /* attributes follow */
	}
	if (rest.n > 0)
		scan_text(s, rest, base + (size_t)(rest.p - value.p), SCAN_TEXT);
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

	if (kind == NULL) {
		scan_text(s, field, base, SCAN_TEXT);
		return;
	}
	scan_text(s, name, base, SCAN_TEXT); /* it stays, a token in it does not */
	if (strcmp(kind, "cookie") == 0)
		mask_cookies(s, value, at, str_eq_nocase(name, STR("set-cookie")));
	else if (!look_value(s, kind, why_field, value, at, SPAN_PLAIN))
		scan_text(s, value, at, SCAN_TEXT);
}

/* A field of many lines may cost no more than one line that is as long. */
static void
bound_field(struct scan *s, size_t at, size_t end)
{
	piece_done(s);
	if (s->spent > s->spent_max) {
		doubt_count(DOUBT_BUDGET);
		spans_add(s->spans,
		    (struct span){
			.from = at, .to = end, .kind = "doubt", .why = why_costly });
	}
	s->spent_max = SIZE_MAX;
	s->is_over = false;
}

void
form_header(struct scan *s, struct str text)
{
	size_t at = 0;

	while (at < text.n) {
		size_t next;
		size_t line = line_end(text, at, &next) - at;
		size_t end = field_end(text, at, &next);

		if (end > at) {
			piece_bound(s, end - at);
			piece_budget(s, at, line);
			s->work += FIELD_COST;
			look_field(s, str_sub(text, at, end - at), at);
			bound_field(s, at, end);
		}
		at = next;
	}
}
