/*
 * look.c - is a secret here, by what stands around it
 */
#include "audit/look.h"

#include <string.h>

#include "audit/behind.h"
#include "audit/join.h"
#include "audit/mark.h"
#include "audit/pem.h"
#include "audit/value.h"

#define USERINFO_MAX 1024
#define BEFORE_COST 10   /* in units of work: a key is read back to its begin */
#define DOUBTFUL_TIMES 2 /* its length: a value that must prove what it is */
#define FILE_COST 6      /* a line of a password file may begin */
#define HOST_MAX 255
#define BLOCK_COST 80 /* where a private key may begin */
#define OPTION_COST 16

static const char why_key[] = "the key before it";
static const char why_option[] = "the option before it";
static const char why_beside[] = "the string before it";
static const char why_told[] = "the sentence says that it is one";
static const char why_userinfo[] = "it is a URL's userinfo";
static const char why_line[] = "its place in a line of a password file";
static const char why_pem[] = "it is a private key's block";

bool
look_may_be_key_in_doubt(const struct piece *p, size_t at)
{
	char last = at > 0 ? p->text.p[at - 1] : '\0';

	return is_name_byte(last) || (last != '\0' && has_byte("\"'` \t]*+?", last));
}

/* password={"a": "b"}: all that is inside. */
static size_t
document_behind(struct piece *p, size_t at, const char *kind)
{
	size_t from = behind_begin(p->text, at);

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
		behind_trim(p->text, &bare);
	if (!value_proves(behind_text(p, &bare), key->proof))
		return false;
	return p->text.p[at] != ':' || v->to == p->text.n ||
	       !is_blank(p->text.p[v->to]) || !goes_on_in_words(p->text, v->to);
}

/* "its address is unknown" */
static bool
is_prose(const struct piece *p, const struct value *v)
{
	return v->to < p->text.n && is_blank(p->text.p[v->to]) &&
	       value_is_prose(behind_text(p, v)) && goes_on_in_words(p->text, v->to);
}

/* "no token: its address is unknown" */
static bool
is_sentence(const struct piece *p, size_t at, const struct value *v)
{
	return p->text.p[at] == ':' && is_blank(p->text.p[at + 1]) && is_prose(p, v);
}

/* tokens: [a1, b2], and no tokens: 5 nor secrets: [a, b], which are names. */
static const char *
list_kind(struct piece *p, const struct key *key, size_t at)
{
	size_t from = behind_begin(p->text, at);
	const char *kind;

	if (key->is_quoted || from >= p->text.n || !has_byte("[{", p->text.p[from]))
		return NULL;
	kind = name_kind(key->name, NAME_IN_LIST);
	return kind != NULL && (strcmp(kind, "password") == 0 || behind_is_list(p, from))
		   ? kind
		   : NULL;
}

/* token: expired, and no token: expired-7 nor expired=..., which is what it is. */
static bool
is_verdict(const struct piece *p, const struct key *key, size_t at, struct value v)
{
	if (p->as != SCAN_TEXT || key->is_quoted || v.next != v.to ||
	    p->text.p[at] != ':' || at + 1 == p->text.n || !is_blank(p->text.p[at + 1]))
		return false;
	behind_trim(p->text, &v);
	size_t next = skip_blanks(p->text, v.to);
	return value_is_verdict(behind_text(p, &v)) &&
	       (next == p->text.n || has_byte(",;.)]}\r\n", p->text.p[next]));
}

size_t
look_key(struct piece *p, size_t at)
{
	struct key key;
	struct value v;
	size_t end;

	p->scan->work += BEFORE_COST;
	if (!key_before(p->text, at, &key))
		return 0;
	const char *kind = key_kind(p, &key);
	if (kind == NULL && (kind = list_kind(p, &key, at)) == NULL)
		return 0;
	if (!key.is_doubtful && (end = document_behind(p, at, kind)) != 0)
		return end;
	behind_key(p, &key, kind, at, &v);
	p->scan->work +=
	    VALUE_COST + (key.is_doubtful ? DOUBTFUL_TIMES : 1) * (v.next - at);
	if (value_is_harmless(behind_text(p, &v)) || !is_proven(p, &key, at, &v) ||
	    is_sentence(p, at, &v) || is_verdict(p, &key, at, v))
		return v.from; /* what only looks like a reference may hold a token */
	if (v.next == v.to)
		behind_trim(p->text, &v);
	return behind_mask(p, kind, why_key, &v) ? behind_next(p, &v) : v.from;
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
	p->scan->work += (end - from) / 2;
	if (end == from)
		return from;
	if (!str_rfind(str_sub(p->text, from, end - from), '@', &last)) {
		end = broken_authority_end(p->text, from, end);
		p->scan->work += (end - from) / 2;
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

/* The option whose name begins at `name`, behind its dashes. */
static size_t
option_at(struct piece *p, size_t name)
{
	size_t to = name;
	struct key key = { .before = ' ' };
	struct value v;

	while (to < p->text.n && to - name < KEY_NAME_MAX && is_name_byte(p->text.p[to]))
		to++;
	key.name = str_sub(p->text, name, to - name);
	size_t dash = name - 1 - (p->text.p[name - 2] == '-');
	char quote =
	    dash > 0 && has_byte("\"'", p->text.p[dash - 1]) ? p->text.p[dash - 1] : '\0';
	p->scan->work += OPTION_COST;
	size_t from = option_value(p->text, to, quote);
	if (from <= to || from >= p->text.n || has_byte("-", p->text.p[from]))
		return 0;
	const char *kind = key_kind(p, &key);
	if (kind == NULL)
		return 0;
	behind_option(p, &key, from, &v);
	p->scan->work += v.next - name;
	if (key.is_doubtful && !value_proves(behind_text(p, &v), key.proof))
		return 0;
	return behind_mask(p, kind, why_option, &v) ? behind_next(p, &v) : v.from;
}

size_t
look_option(struct piece *p, size_t at)
{
	if (!str_starts(str_sub(p->text, at, 2), STR("--")))
		return 0;
	if (at > 0 && !is_space(p->text.p[at - 1]) &&
	    !has_byte("\"'`", p->text.p[at - 1]))
		return 0;
	return option_at(p, at + 2);
}

/* At the blank before it. */
size_t
look_long_option(struct piece *p, size_t at)
{
	size_t name = at + 2;

	if (name + 3 >= p->text.n || !ascii_is_alnum(p->text.p[name]) ||
	    !ascii_is_alnum(p->text.p[name + 1]) || !ascii_is_alnum(p->text.p[name + 2]))
		return 0;
	return option_at(p, name);
}

/* ---- ("name", "value") */

/* set("password", "a"): it is no list of names. */
static bool
is_call_that_sets(struct str before)
{
	static const char *const verbs[] = { "set", "put", "define", "add", "append",
		"insert", "header", "export", "with", NULL };
	size_t from;

	if (before.n == 0 || before.p[before.n - 1] != '(')
		return false;
	before.n--;
	for (from = before.n;
	     from > 0 && before.n - from < KEY_NAME_MAX &&
	     (ascii_is_alnum(before.p[from - 1]) || before.p[from - 1] == '_');)
		from--;
	struct str name = str_sub(before, from, before.n - from);
	for (const char *const *v = verbs; *v != NULL; v++)
		if (str_eq_nocase(str_sub(name, 0, strlen(*v)), str_of(*v)))
			return true;
	return false;
}

/* Behind the b of b"..." at `at`. */
static size_t
skip_string_prefix(struct str text, size_t at)
{
	for (int n = 0; n < 2 && at < text.n && has_byte("bBrRuUN@", text.p[at]); n++)
		at++;
	return at;
}

/* Of a list of names the next one is no value, of a pair it is. */
static bool
is_pair(const struct piece *p, const struct key *key, const struct value *v)
{
	struct str value = behind_text(p, v);
	size_t from = (size_t)(key->name.p - p->text.p) - 1;
	size_t behind = skip_blanks(p->text, v->next);

	while (from > p->line && has_byte("bBrRuUN@", p->text.p[from - 1]))
		from--;
	bool is_closed = behind < p->text.n && has_byte(")]}", p->text.p[behind]);
	bool is_opened = from > p->line && has_byte("([{", p->text.p[from - 1]);
	if (name_kind(value, NAME_IN_JSON) != NULL)
		return false;
	if (is_closed && is_call_that_sets(str_sub(p->text, p->line, from - p->line)))
		return true;
	return value_proves(
	    value, is_closed && is_opened ? NAME_WANTS_MIX : NAME_WANTS_LONG);
}

size_t
look_pair(struct piece *p, size_t at)
{
	struct key key;
	struct value v;

	size_t seen = at - p->line < LOOK_GLANCE ? at - p->line : LOOK_GLANCE;

	if (!name_may_be_kind(
		p->scan->filter->name_ends, str_sub(p->text, at - seen, seen)) ||
	    !key_before(p->text, at + 1, &key) || key.before != p->text.p[at])
		return 0;
	size_t from = skip_string_prefix(p->text, skip_blanks(p->text, at + 2));
	key.is_quoted =
	    false; /* in a list words are names more often than in an object */
	const char *kind = key_kind(p, &key);
	if (kind == NULL || from >= p->text.n || !behind_quote(p->text, from, &v))
		return 0;
	p->scan->work += v.next - at;
	if (!is_pair(p, &key, &v) ||
	    (key.is_doubtful && !value_proves(behind_text(p, &v), key.proof)))
		return 0;
	return behind_mask(p, kind, why_beside, &v) ? behind_next(p, &v) : v.from;
}

/* ---- the password for the db is VALUE, using password VALUE */

#define WORD_MAX 24   /* bytes of a word of the sentence */
#define TOLD_WORDS 10 /* between what is told of and the value */
#define TOLD_COST 12  /* in units of work: a word that may tell of one */
#define PROOF_TIMES 4 /* its length: a value that is asked for two proofs */

/* What a word does there. */
enum part {
	PART_NONE,
	PART_OF,   /* "for" the db: whose it is */
	PART_TO,   /* "to" the db, or what it was set to */
	PART_IS,   /* what follows is told */
	PART_MUST, /* what follows may be what is wanted of one: "8 characters" */
	PART_WAS,  /* it needs more: "set", "been" */
	PART_NOW,  /* it changes nothing: "is now" */
};

#define PART(literal, part) \
	{ \
		{ literal, sizeof(literal) - 1 }, part \
	}

static enum part
part_of(struct str word)
{
	static const struct {
		struct str word;
		enum part part;
	} parts[] = { PART("for", PART_OF), PART("of", PART_OF), PART("on", PART_OF),
		PART("in", PART_OF), PART("at", PART_OF), PART("to", PART_TO),
		PART("is", PART_IS), PART("was", PART_IS), PART("should", PART_MUST),
		PART("must", PART_MUST), PART("will", PART_MUST), PART("be", PART_WAS),
		PART("been", PART_WAS), PART("has", PART_WAS), PART("had", PART_WAS),
		PART("set", PART_WAS), PART("changed", PART_WAS), PART("reset", PART_WAS),
		PART("updated", PART_WAS), PART("now", PART_NOW),
		PART("actually", PART_NOW), PART("currently", PART_NOW),
		PART("still", PART_NOW) };

	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++)
		if (str_eq(word, parts[i].word))
			return parts[i].part;
	return PART_NONE;
}

/* What stands between "password" and what may be one. */
struct telling {
	size_t at;       /* behind it */
	bool is_of;      /* whose it is is said ... */
	bool is_said;    /* ... and a verb was there, ... */
	bool is_doubted; /* ... one that does not tell what it is */
	bool is_told;    /* the last word does, ... */
	bool is_marked;  /* ... and a : or = is behind it */
};

/* False: the word is no part of it. */
static bool
telling_word(struct telling *t, enum part part, bool is_first)
{
	bool is_whose = part == PART_OF || part == PART_NONE || part == PART_NOW ||
			(part == PART_TO && is_first);

	if (!t->is_said && is_whose) {
		t->is_of |= is_first && (part == PART_OF || part == PART_TO);
		return t->is_of;
	}
	if (part == PART_NONE || part == PART_OF)
		return false;
	t->is_doubted |= part == PART_MUST || (part == PART_TO && !t->is_said);
	t->is_told =
	    part == PART_IS || part == PART_TO || (part == PART_NOW && t->is_told);
	t->is_said = true;
	return true;
}

static struct telling
telling_behind(struct str text, size_t at)
{
	struct telling t = { .at = at };

	for (int n = 0; n < TOLD_WORDS && !t.is_marked; n++) {
		size_t from = skip_blanks(text, t.at), end = from;

		while (end < text.n && end - from < WORD_MAX &&
		       (ascii_is_alnum(text.p[end]) || has_byte("_-.'\"", text.p[end])))
			end++;
		if (from == t.at || end == from || end == text.n)
			break;
		bool is_marked = has_byte(":=", text.p[end]);
		enum part part = part_of(str_sub(text, from, end - from));
		if ((is_marked && part != PART_IS && part != PART_TO &&
			part != PART_NOW) ||
		    (!is_marked && !is_blank(text.p[end])) ||
		    !telling_word(&t, part, n == 0))
			break;
		t.is_marked = is_marked && t.is_told;
		t.at = end + t.is_marked;
	}
	return t;
}

/* What is told of, and how much is believed. */
static const struct topic {
	struct str word;
	const char *kind;
	bool is_clear; /* "is" tells it */
	bool is_alone; /* a protocol's word: no sentence is about it */
} topics[] = {
	{ { "password", 8 }, "password", true, false },
	{ { "passphrase", 10 }, "password", true, false },
	{ { "passcode", 8 }, "password", true, false },
	{ { "secret", 6 }, "secret", false, false },
	{ { "PASS", 4 }, "password", false, true },
};

/* The topic that begins at `at`, with a blank behind it; NULL: none does. */
static const struct topic *
topic_at(struct str text, size_t at)
{
	for (size_t i = 0; i < sizeof(topics) / sizeof(*topics); i++) {
		const struct topic *t = &topics[i];
		size_t end = at + t->word.n;
		struct str word = str_sub(text, at, t->word.n);

		if (end >= text.n || !is_blank(text.p[end]))
			continue;
		if (t->is_alone ? str_eq(word, t->word) &&
				      (at == 0 || !is_name_byte(text.p[at - 1]))
				: str_eq_nocase(word, t->word))
			return t;
	}
	return NULL;
}

/* "PASS FooTest#bar2" is what a test says. */
static bool
is_told(const struct piece *p, const struct topic *topic, const struct telling *t,
    const struct value *v, bool is_quoted)
{
	struct str value = behind_text(p, v);

	if (value_proves(value, NAME_WANTS_SIGNS))
		return !topic->is_alone || memchr(value.p, '#', value.n) == NULL;
	if (!topic->is_clear || t->is_doubted || !(t->is_told || is_quoted))
		return false;
	return value_proves(value, NAME_WANTS_MIX) ||
	       (t->is_told && (t->is_marked || is_quoted) && !is_prose(p, v));
}

size_t
look_told(struct piece *p, size_t at)
{
	const struct key key = { .before = ' ' };
	const struct topic *topic = topic_at(p->text, at);
	struct telling t = { 0 };
	struct value v;

	if (topic == NULL)
		return 0;
	size_t behind = at + topic->word.n;
	if (topic->is_alone)
		t.at = behind;
	else
		t = telling_behind(p->text, behind);
	size_t from = skip_blanks(p->text, t.at);
	p->scan->work += TOLD_COST + from - at;
	if (from == p->text.n || (from == t.at && !t.is_marked) ||
	    (t.is_of && !t.is_said))
		return 0;
	bool is_quoted = has_byte("\"'`", p->text.p[from]);
	behind_option(p, &key, from, &v);
	p->scan->work += PROOF_TIMES * (v.next - from);
	if (v.next == v.to)
		behind_trim(p->text, &v);
	if (!is_told(p, topic, &t, &v, is_quoted))
		return 0;
	bool is_masked = behind_mask(p, topic->kind, why_told, &v);
	if (t.is_of)
		return behind; /* whose it is may be a secret, too */
	return is_masked ? behind_next(p, &v) : v.from;
}

/* ---- token_type=Bearer expires_in=3600 */

#define PARAMETER_MAX 32 /* bytes of its name */

/* expires_in=3600, and no credential, which has a = at its end only (RFC 6750 2.1). */
static bool
begins_parameter(struct str text, size_t at)
{
	size_t end = at;

	while (end < text.n && end - at < PARAMETER_MAX &&
	       ((text.p[end] >= 'a' && text.p[end] <= 'z') || text.p[end] == '_'))
		end++;
	return end > at + 1 && end + 1 < text.n && text.p[end] == '=' &&
	       text.p[end + 1] != '=' && !is_space(text.p[end + 1]);
}

bool
look_is_scheme_alone(struct piece *p, size_t at, size_t behind)
{
	static const struct str ends[] = { { "type", 4 }, { "scheme", 6 } };
	size_t sign = at;
	struct key key;

	if (sign > p->line && p->text.p[sign - 1] == ' ')
		sign--;
	if (sign == p->line || !has_byte("=:", p->text.p[sign - 1]) ||
	    !begins_parameter(p->text, behind))
		return false;
	if (!key_before(p->text, --sign, &key))
		return false;
	p->scan->work += KEY_COST + (size_t)(p->text.p + sign - key.name.p);
	for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++)
		if (key.name.n >= ends[i].n &&
		    str_eq_nocase(
			str_sub(key.name, key.name.n - ends[i].n, ends[i].n), ends[i]))
			return true;
	return false;
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
	p->scan->work += FILE_COST;
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

/* "password reset-link-2": what about it, and which. */
static bool
is_about(struct str s)
{
	static const char *const words[] = { "reset", "change", "update", "policy",
		"field", "form", "link", "hint", "check", "expiry", "history", "recovery",
		"rotation", NULL };
	size_t word = 0, end = s.n;

	while (word < s.n && s.p[word] != '-' && s.p[word] != '_')
		word++;
	while (end > word && s.n - end < 2 && ascii_is_digit(s.p[end - 1]))
		end--;
	for (size_t i = word; i < end; i++)
		if (!(s.p[i] >= 'a' && s.p[i] <= 'z') && s.p[i] != '-' && s.p[i] != '_')
			return false;
	return str_is_any(str_sub(s, 0, word), words);
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
	if (is_word(value) || is_about(value) || value_is_harmless(value))
		return 0;
	piece_mask(p, "password", why_line, from, end, SPAN_PLAIN);
	return end;
}

/* ---- private keys */

/*
 * Where a block ends in a later line than it began, its mark makes one line of both: what
 * stands behind it there goes with it, if that were a head with the block's first line.
 */
static size_t
whole_end(struct str text, size_t end, size_t line_end)
{
	struct str rest = str_sub(text, end, text.n);
	size_t n;

	if (end <= line_end)
		return end;
	if (str_find(rest, '\n', &n))
		rest.n = n;
	return join_may_head(rest) ? end + rest.n : end;
}

size_t
look_pem(struct piece *p, size_t at)
{
	/* who reads line by line has one line */
	struct str text = p->as == SCAN_URL ? p->text : p->whole;

	if (!pem_begins(text, at))
		return 0;
	size_t end = whole_end(text, pem_end(text, at, p->text.n), p->text.n);
	p->scan->work += BLOCK_COST + (end > p->text.n ? 0 : end - at);
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

	return behind_mask(&p, kind, why, &v);
}
