/*
 * value.c - is it a secret, what stands behind a key that says so
 */
#include "audit/value.h"

#include <string.h>

#include "audit/mark.h"

#define HARMLESS_MAX 256 /* a longer value is masked, whatever it looks like */
#define BLANKS_MAX 64

/* A set is short: a call of strchr() would cost more. */
static inline bool
has_byte(const char *set, char c)
{
	while (*set != '\0' && *set != c)
		set++;
	return *set != '\0';
}

#define W(literal) \
	{ \
		literal, sizeof(literal) - 1 \
	}

static const struct str nothings[] = { W("null"), W("true"), W("false"), W("none"),
	W("nil"), W("undefined") };

static const struct str harmless_words[] = { W("[redacted]"), W("<redacted>"),
	W("(redacted)"), W("[filtered]"), W("[masked]"), W("redacted"), W("\\") };

static bool
is_one_of(const struct str *words, size_t n, struct str v)
{
	for (size_t i = 0; i < n; i++)
		if (v.n == words[i].n && str_eq_nocase(v, words[i]))
			return true;
	return false;
}

#define IS_ONE_OF(words, v) is_one_of(words, sizeof(words) / sizeof(*(words)), v)

bool
value_is_nothing(struct str v)
{
	return IS_ONE_OF(nothings, v);
}

bool
value_is_prose(struct str v)
{
	static const struct str words[] = { W("a"), W("an"), W("the"), W("its"), W("it"),
		W("is"), W("was"), W("are"), W("this"), W("that"), W("these"), W("those"),
		W("there"), W("they"), W("their"), W("we"), W("you"), W("your"), W("our"),
		W("he"), W("she"), W("his"), W("her"), W("of"), W("for"), W("from"),
		W("to"), W("in"), W("on"), W("at"), W("by"), W("with"), W("without"),
		W("and"), W("or"), W("but"), W("if"), W("when"), W("where"), W("which"),
		W("who"), W("what"), W("how"), W("why"), W("as"), W("not"), W("no"),
		W("must"), W("should"), W("may"), W("can"), W("cannot"), W("could"),
		W("would"), W("will"), W("has"), W("have"), W("had"), W("does"), W("did"),
		W("be"), W("been"), W("see"), W("then"), W("than"), W("each"), W("every"),
		W("any"), W("all"), W("some"), W("use") };

	return IS_ONE_OF(words, v);
}

bool
value_is_verdict(struct str v)
{
	static const struct str words[] = { W("expired"), W("required"), W("missing"),
		W("invalid"), W("revoked"), W("redacted"), W("hidden"), W("unset"),
		W("empty"), W("blank"), W("absent"), W("unknown"), W("incorrect"),
		W("wrong"), W("mismatch"), W("rejected"), W("denied"), W("yes"), W("no"),
		W("ok"), W("not set"), W("not found"), W("not given"), W("not provided"),
		W("too short"), W("too long"), W("too weak") };

	return IS_ONE_OF(words, v);
}

static bool
is_stars(struct str v)
{
	for (size_t i = 0; i < v.n; i++)
		if (v.p[i] != '*')
			return false;
	return v.n > 0;
}

static bool
has_digit(struct str v)
{
	for (size_t i = 0; i < v.n; i++)
		if (ascii_is_digit(v.p[i]))
			return true;
	return false;
}

/* $(cat, cut off at a blank, is the begin of one all the same; $(hunter2 is none. */
static bool
is_enclosed(struct str v, struct str open, struct str close)
{
	return str_starts(v, open) && (str_ends(v, close) || !has_digit(v));
}

/* ${NAME:-hunter2}: a reference, and what holds when it leads nowhere. */
static bool
has_default(struct str v)
{
	return memmem(v.p, v.n, ":-", 2) != NULL || memmem(v.p, v.n, ":=", 2) != NULL ||
	       memmem(v.p, v.n, ":+", 2) != NULL;
}

/* ${NAME}, $NAME, %NAME%, {{ .Values.x }}, $(command): where the value comes from. */
static bool
is_reference(struct str v)
{
	if (is_enclosed(v, STR("$("), STR(")")) || is_enclosed(v, STR("{{"), STR("}}")))
		return true;
	if (str_starts(v, STR("${")))
		return v.p[v.n - 1] == '}' && !has_default(v);

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

size_t
value_skip_tags(struct str v)
{
	size_t at = 0;

	while (at < v.n && has_byte("!&", v.p[at])) {
		while (at < v.n && !has_byte(" \t", v.p[at]))
			at++;
		while (at < v.n && has_byte(" \t", v.p[at]))
			at++;
	}
	return at;
}

bool
value_is_comment(struct str v)
{
	return v.n > 0 && v.p[0] == '#' && (v.n == 1 || has_byte(" \t", v.p[1]));
}

bool
value_is_block_sign(struct str v)
{
	size_t at = 1;

	if (v.n == 0 || !has_byte("|>", v.p[0]))
		return false;
	while (at < v.n && at < 3 && (ascii_is_digit(v.p[at]) || has_byte("+-", v.p[at])))
		at++;
	if (at == v.n)
		return true;
	return has_byte(" \t", v.p[at]) &&
	       value_is_comment(str_trim(str_sub(v, at, v.n)));
}

/* The value is in the lines below (join.h). */
static bool
is_below(struct str v)
{
	struct str rest = str_sub(v, value_skip_tags(v), v.n);

	return value_is_comment(v) || value_is_block_sign(rest);
}

/* {, ({: it goes on in the lines below. */
static bool
is_opened(struct str v)
{
	for (size_t i = 0; i < v.n; i++)
		if (!has_byte("[{(", v.p[i]))
			return false;
	return v.n > 0;
}

/* How what is harmless begins, if it is not code, which begins like a secret. */
static const char harmless_begins[] = "nNtTfFuUrR[<({*$%!&#|>\\";

bool
value_is_harmless(struct str v)
{
	if (v.n == 0 || mark_is(v))
		return true;
	if (v.n > HARMLESS_MAX)
		return false;
	if (is_code(v))
		return true;
	if (!has_byte(harmless_begins, v.p[0]))
		return false;
	return IS_ONE_OF(nothings, v) || IS_ONE_OF(harmless_words, v) || is_stars(v) ||
	       is_reference(v) || is_below(v) || is_opened(v);
}

/* ---- behind a name that says little */

#define PIN_MIN 4
#define PIN_MAX 12
#define CODE_MIN 6
#define MIX_MIN 5
#define SIGNS_MIN 8
#define LONG_MIN 10

/* What of it are letters and digits; a byte that no secret has here makes it a text. */
struct mix {
	size_t letters, digits, special;
	bool is_text;
};

enum { OTHER, LETTER, DIGIT, SPECIAL, OF_TEXT, BYTE_CLASSES };

static const unsigned char byte_classes[256] = {
	[0 ... ' '] = OF_TEXT,
	['0' ... '9'] = DIGIT,
	['A' ... 'Z'] = LETTER,
	['a' ... 'z'] = LETTER,
	['!'] = SPECIAL,
	['#'] = SPECIAL,
	['$'] = SPECIAL,
	['*'] = SPECIAL,
	['@'] = SPECIAL,
	['^'] = SPECIAL,
	['~'] = SPECIAL,
	['\\'] = OF_TEXT,
};

static struct mix
mix_of(struct str v)
{
	size_t n[BYTE_CLASSES] = { 0 };

	for (size_t i = 0; i < v.n; i++)
		n[byte_classes[(unsigned char)v.p[i]]]++;
	return (struct mix){ n[LETTER], n[DIGIT], n[SPECIAL], n[OF_TEXT] > 0 };
}

/* 12ms, 3/4, 99.5%, 0x1f: a number, or how much of something. */
static bool
is_amount(struct str v, const struct mix *m)
{
	size_t n = 0;

	while (n < v.n && (ascii_is_digit(v.p[n]) || has_byte(".,:/%+-", v.p[n])))
		n++;
	return m->letters == 0 || (n > 0 && v.n - n <= 3) || str_starts(v, STR("0x"));
}

/* letters alone, or with what joins words: is_ok, not-run, Pass. */
static bool
is_words(const struct mix *m)
{
	return m->digits == 0 && m->special == 0;
}

/* bob@db.example, argon@2.1: whose or which, with no sign of a password. */
static bool
is_address(struct str v)
{
	size_t host;

	return str_find(v, '@', &host) &&
	       (memchr(v.p + host, '.', v.n - host) != NULL ||
		   (host + 1 < v.n && ascii_is_digit(v.p[host + 1])));
}

enum { SIGN_NONE, SIGN_OF_CODE, SIGN };

static const unsigned char sign_of[256] = { ['/'] = SIGN_OF_CODE,
	['~'] = SIGN_OF_CODE,
	['('] = SIGN_OF_CODE,
	[')'] = SIGN_OF_CODE,
	['<'] = SIGN_OF_CODE,
	['='] = SIGN_OF_CODE,
	['>'] = SIGN_OF_CODE,
	['!'] = SIGN,
	['#'] = SIGN,
	['$'] = SIGN,
	['*'] = SIGN,
	['@'] = SIGN,
	['^'] = SIGN,
	['+'] = SIGN,
	['|'] = SIGN };

/* Not $HOME2 nor #17ab, not a/b2!, f(x2)! nor what has a mark in it. */
static bool
has_signs(struct str v, const struct mix *m)
{
	size_t signs = 0;

	for (size_t i = 0; i < v.n; i++) {
		unsigned char sign = sign_of[(unsigned char)v.p[i]];

		if (sign == SIGN_OF_CODE)
			return false;
		signs += i > 0 && sign == SIGN;
	}
	return signs > 0 && m->letters > 0 && m->digits > 0 && !is_address(v);
}

bool
value_proves(struct str v, enum name_proof proof)
{
	const struct mix m = mix_of(v);

	if (m.is_text)
		return false;
	switch (proof) {
	case NAME_WANTS_DIGITS:
		return m.digits == v.n && v.n >= PIN_MIN && v.n <= PIN_MAX;
	case NAME_WANTS_CODE:
		return v.n >= CODE_MIN && m.digits > 0 && m.digits + m.letters == v.n;
	case NAME_WANTS_MIX:
		return v.n >= MIX_MIN && !is_words(&m) && !is_amount(v, &m);
	case NAME_WANTS_SIGNS:
		return v.n >= SIGNS_MIN && has_signs(v, &m);
	case NAME_WANTS_LONG:
		return v.n >= LONG_MIN && !is_words(&m) && m.digits < v.n;
	}
	return false;
}

/* ---- Authorization: the scheme stays, since it tells what was tried */

#define SCHEME_MAX 16 /* no scheme's name is longer */

static const struct {
	struct str name;
	bool has_parameters; /* a list with blanks in it */
} schemes[] = {
	{ W("bearer"), false },
	{ W("basic"), false },
	{ W("token"), false },
	{ W("apikey"), false },
	{ W("api-key"), false },
	{ W("key"), false },
	{ W("ssws"), false },
	{ W("dpop"), false },
	{ W("negotiate"), false },
	{ W("ntlm"), false },
	{ W("digest"), true },
	{ W("hawk"), true },
	{ W("oauth"), true },
	{ W("signature"), true },
	{ W("aws4-hmac-sha256"), true },
	{ W("goog4-rsa-sha256"), true },
};

/* token="abc", id=7: a list, whatever the scheme's name. */
static bool
begins_parameter(struct str v)
{
	size_t n = 0;

	while (n < v.n && n < 32 && (ascii_is_alnum(v.p[n]) || has_byte("_-", v.p[n])))
		n++;
	return n > 0 && n + 1 < v.n && v.p[n] == '=' && has_byte("\"'\\", v.p[n + 1]);
}

size_t
value_skip_scheme(struct str v, bool *has_parameters)
{
	size_t word = 0;

	while (word < v.n && word <= SCHEME_MAX && (unsigned char)v.p[word] > ' ')
		word++;
	size_t at = word;
	while (at < v.n && at - word < BLANKS_MAX && has_byte(" \t", v.p[at]))
		at++;
	if (at == word || at == v.n)
		return 0;
	for (size_t i = 0; i < sizeof(schemes) / sizeof(*schemes); i++)
		if (word == schemes[i].name.n &&
		    str_eq_nocase(str_sub(v, 0, word), schemes[i].name)) {
			*has_parameters = schemes[i].has_parameters ||
					  begins_parameter(str_sub(v, at, v.n));
			return at;
		}
	return 0;
}
