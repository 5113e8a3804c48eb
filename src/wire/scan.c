#include "wire/scan.h"

#include <string.h>

#include "base/utf8.h"
#include "wire/chars.h"

enum state {
	VALUE,      /* must come */
	FIRST_ITEM, /* or ']' */
	FIRST_KEY,  /* or '}' */
	KEY,
	KEY_COLON,
	AFTER, /* a value: ',' or the end of what holds it */
	WORD,
	STRING,
	CHARACTER, /* inside one of several bytes */
	ESCAPE,
	HEX,
	PAIR, /* half of one was read: "\u" must follow */
	PAIR_U,
	MINUS,
	ZERO,
	WHOLE,
	POINT,
	FRACTION,
	EXPONENT, /* its sign or first digit must come */
	EXPONENT_SIGN,
	EXPONENT_DIGITS,
	BROKEN,
};

/* --- paths --- */

static bool
is_item(const char *segment)
{
	return strcmp(segment, "[]") == 0;
}

static const char *
segment_at(const struct scan *s, size_t path, unsigned level)
{
	return level < SCAN_SEGMENTS ? s->paths[path].segment[level] : NULL;
}

/* Of the paths in `mask`, those that end after `level` segments. */
static uint64_t
ending(const struct scan *s, uint64_t mask, unsigned level)
{
	uint64_t found = 0;

	for (size_t i = 0; mask >> i != 0 && i < s->npaths; i++)
		if ((mask >> i & 1) != 0 && segment_at(s, i, level) == NULL)
			found |= (uint64_t)1 << i;
	return found;
}

static uint64_t
match_of(const struct scan *s)
{
	return s->depth <= SCAN_SEGMENTS ? s->match[s->depth] : 0;
}

/* Paths that go on from the innermost container by this key (NULL: to an item). */
static uint64_t
going_on(const struct scan *s, const struct str *key)
{
	uint64_t mask = match_of(s), found = 0;

	for (size_t i = 0; mask >> i != 0 && i < s->npaths; i++) {
		const char *segment = segment_at(s, i, s->depth - 1);

		if ((mask >> i & 1) == 0 || segment == NULL ||
		    is_item(segment) != (key == NULL))
			continue;
		if (key == NULL || str_eq(*key, str_of(segment)))
			found |= (uint64_t)1 << i;
		if (i == SCAN_PATHS - 1)
			break;
	}
	return found;
}

static void
call_back(struct scan *s, uint64_t mask, enum json_token type, uint64_t end)
{
	struct scan_value v = {
		.type = type,
		.text = { s->text, s->text_n },
		.is_cut = s->is_cut,
		.size = s->text_size,
		.key = s->key_at,
		.begin = s->begin,
		.end = end,
	};

	for (size_t i = 0; i < s->npaths; i++)
		if ((mask >> i & 1) != 0)
			s->on_value(s->arg, (unsigned)i, &v);
}

/* --- values --- */

static bool
in_object(const struct scan *s)
{
	return (s->is_object[(s->depth - 1) / 8] >> (s->depth - 1) % 8 & 1) != 0;
}

static void
add_text(struct scan *s, const char *p, size_t n)
{
	size_t room = SCAN_TEXT - s->text_n;

	if (!s->is_wanted)
		return;
	s->is_cut |= n > room;
	s->text_size += n;
	n = n < room ? n : room;
	memcpy(s->text + s->text_n, p, n);
	s->text_n += n;
}

static void
begin_text(struct scan *s, bool is_wanted)
{
	s->text_n = 0;
	s->text_size = 0;
	s->is_cut = false;
	s->is_wanted = is_wanted;
}

static void
begin_value(struct scan *s)
{
	s->begin = s->at;
	if (s->depth == 0 || !in_object(s))
		s->key_at = s->at;
	begin_text(s, s->now != 0 && ending(s, s->now, s->depth) != 0);
}

/* A scalar is over; its last byte is before `end`. */
static void
end_scalar(struct scan *s, enum json_token type, uint64_t end)
{
	s->state = AFTER;
	if (s->is_wanted)
		call_back(s, ending(s, s->now, s->depth), type, end);
}

static const char *
open_value(struct scan *s, bool is_object)
{
	uint8_t bit = (uint8_t)(1u << s->depth % 8);

	if (s->depth == SCAN_DEPTH)
		return "nested too deeply";
	if (s->is_wanted)
		call_back(s, ending(s, s->now, s->depth),
		    is_object ? JSON_OBJECT : JSON_ARRAY, s->at + 1);
	s->is_object[s->depth / 8] = (uint8_t)(s->is_object[s->depth / 8] & ~bit);
	if (is_object)
		s->is_object[s->depth / 8] |= bit;
	s->depth++;
	if (s->depth <= SCAN_SEGMENTS) {
		s->match[s->depth] = s->now;
		s->seen[s->depth] = 0;
	}
	s->state = is_object ? FIRST_KEY : FIRST_ITEM;
	return NULL;
}

static const char *
close_value(struct scan *s)
{
	uint64_t mask = match_of(s);
	bool was_object = in_object(s);

	s->depth--;
	s->state = AFTER;
	s->key_at = s->begin = s->at;
	begin_text(s, false);
	if (mask != 0)
		call_back(s, ending(s, mask, s->depth),
		    was_object ? JSON_OBJECT_END : JSON_ARRAY_END, s->at + 1);
	return NULL;
}

static bool
begin_word(struct scan *s, char c)
{
	static const struct {
		const char *text;
		enum json_token type;
	} words[] = {
		{ "true", JSON_TRUE },
		{ "false", JSON_FALSE },
		{ "null", JSON_NULL },
	};

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (words[i].text[0] == c) {
			s->rest = words[i].text + 1;
			s->word = words[i].type;
			s->state = WORD;
			return true;
		}
	return false;
}

static const char *
read_value(struct scan *s, char c)
{
	begin_value(s);
	if (c == '{' || c == '[')
		return open_value(s, c == '{');
	if (c == '"') {
		s->is_key = false;
		s->state = STRING;
		return NULL;
	}
	if (c == '-' || ascii_is_digit(c)) {
		add_text(s, &c, 1);
		s->state = c == '-' ? MINUS : c == '0' ? ZERO : WHOLE;
		return NULL;
	}
	return begin_word(s, c) ? NULL : "no JSON value begins like this";
}

static const char *
read_item(struct scan *s, char c)
{
	s->now = going_on(s, NULL);
	return read_value(s, c);
}

static const char *
read_key(struct scan *s, char c)
{
	if (c != '"')
		return "a key in quotes must stand here";
	s->key_at = s->at;
	s->is_key = true;
	begin_text(s, match_of(s) != 0);
	s->state = STRING;
	return NULL;
}

static const char *
read_after(struct scan *s, char c)
{
	if (s->depth == 0)
		return "something follows the value";
	if (c == (in_object(s) ? '}' : ']'))
		return close_value(s);
	if (c != ',')
		return "a comma or the closing bracket must stand here";
	if (in_object(s)) {
		s->state = KEY;
		return NULL;
	}
	s->now = going_on(s, NULL);
	s->state = VALUE;
	return NULL;
}

/* Between tokens: white space was skipped already. */
static const char *
read_between(struct scan *s, char c)
{
	switch ((enum state)s->state) {
	case FIRST_ITEM:
		return c == ']' ? close_value(s) : read_item(s, c);
	case FIRST_KEY:
		return c == '}' ? close_value(s) : read_key(s, c);
	case KEY:
		return read_key(s, c);
	case KEY_COLON:
		s->state = VALUE;
		return c == ':' ? NULL : "a colon must follow the key";
	case AFTER:
		return read_after(s, c);
	case VALUE:
	case WORD:
	case STRING:
	case CHARACTER:
	case ESCAPE:
	case HEX:
	case PAIR:
	case PAIR_U:
	case MINUS:
	case ZERO:
	case WHOLE:
	case POINT:
	case FRACTION:
	case EXPONENT:
	case EXPONENT_SIGN:
	case EXPONENT_DIGITS:
	case BROKEN:
		break;
	}
	return read_value(s, c);
}

static const char *
read_word(struct scan *s, char c)
{
	if (c != *s->rest)
		return "no JSON value is spelt like this";
	if (*++s->rest == '\0')
		end_scalar(s, s->word, s->at + 1);
	return NULL;
}

/* --- strings --- */

static void
end_key(struct scan *s)
{
	struct str key = { s->text, s->text_n };

	s->state = KEY_COLON;
	s->now = s->is_wanted && !s->is_cut ? going_on(s, &key) : 0;
	if (s->now == 0)
		return;
	s->has_duplicate |= (s->seen[s->depth] & s->now) != 0;
	s->seen[s->depth] |= s->now;
}

/* The first byte of a character that takes several (RFC 3629 4): what must follow. */
static bool
begin_character(struct scan *s, uint8_t c)
{
	static const struct {
		uint8_t first, last, left, least, most;
	} forms[] = {
		{ 0xc2, 0xdf, 1, 0x80, 0xbf }, { 0xe0, 0xe0, 2, 0xa0, 0xbf },
		{ 0xe1, 0xec, 2, 0x80, 0xbf },
		{ 0xed, 0xed, 2, 0x80, 0x9f }, /* no surrogates */
		{ 0xee, 0xef, 2, 0x80, 0xbf }, { 0xf0, 0xf0, 3, 0x90, 0xbf },
		{ 0xf1, 0xf3, 3, 0x80, 0xbf },
		{ 0xf4, 0xf4, 3, 0x80, 0x8f }, /* nothing above U+10FFFF */
	};

	for (size_t i = 0; i < sizeof(forms) / sizeof(*forms); i++)
		if (c >= forms[i].first && c <= forms[i].last) {
			s->utf8_left = forms[i].left;
			s->utf8_least = forms[i].least;
			s->utf8_most = forms[i].most;
			s->state = CHARACTER;
			return true;
		}
	return false;
}

static const char *
read_string(struct scan *s, char c)
{
	if (c == '"') {
		if (s->is_key)
			end_key(s);
		else
			end_scalar(s, JSON_STRING, s->at + 1);
		return NULL;
	}
	if (c == '\\') {
		s->state = ESCAPE;
		return NULL;
	}
	if (char_is(c, CHAR_PLAIN) || begin_character(s, (uint8_t)c)) {
		add_text(s, &c, 1);
		return NULL;
	}
	return "string holds a control character or no UTF-8";
}

static const char *
read_character(struct scan *s, char c)
{
	if ((uint8_t)c < s->utf8_least || (uint8_t)c > s->utf8_most)
		return "string holds no UTF-8";
	s->utf8_least = 0x80;
	s->utf8_most = 0xbf;
	add_text(s, &c, 1);
	if (--s->utf8_left == 0)
		s->state = STRING;
	return NULL;
}

static const char *
read_escape(struct scan *s, char c)
{
	static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
	const char *found;

	if (c == 'u') {
		s->code = s->high = 0;
		s->hex_left = 4;
		s->state = HEX;
		return NULL;
	}
	if (c == '\0' || (found = strchr(from, c)) == NULL)
		return "escape is none of JSON's";
	add_text(s, &to[found - from], 1);
	s->state = STRING;
	return NULL;
}

/* Four digits are read: a character, or half a pair. */
static const char *
end_hex(struct scan *s)
{
	bool is_low = s->code >= 0xdc00 && s->code <= 0xdfff;
	char character[4];

	if (is_low != (s->high != 0))
		return "half a surrogate pair";
	if (s->code >= 0xd800 && s->code <= 0xdbff) {
		s->high = s->code;
		s->state = PAIR;
		return NULL;
	}
	if (is_low)
		s->code = 0x10000 + ((s->high - 0xd800) << 10) + (s->code - 0xdc00);
	add_text(s, character, utf8_put(character, s->code));
	s->state = STRING;
	return NULL;
}

static const char *
read_hex(struct scan *s, char c)
{
	if (!ascii_is_hex(c))
		return "escape is none of JSON's";
	s->code = s->code << 4 | (uint32_t)ascii_hex_value(c);
	return --s->hex_left == 0 ? end_hex(s) : NULL;
}

static const char *
read_pair(struct scan *s, char c)
{
	if (c != (s->state == PAIR ? '\\' : 'u'))
		return "half a surrogate pair";
	s->code = 0;
	s->hex_left = 4;
	s->state = s->state == PAIR ? PAIR_U : HEX;
	return NULL;
}

/* --- numbers --- */

enum digit { NO_DIGIT, NOUGHT, DIGIT, DOT, E, SIGN };

static enum digit
digit_of(char c)
{
	if (ascii_is_digit(c))
		return c == '0' ? NOUGHT : DIGIT;
	if (c == '+' || c == '-')
		return SIGN;
	return c == '.' ? DOT : c == 'e' || c == 'E' ? E : NO_DIGIT;
}

/* Where a number stands after one more byte; 0 (VALUE): it does not go on like that. */
static const uint8_t goes_on[BROKEN][SIGN + 1] = {
	[MINUS] = { [NOUGHT] = ZERO, [DIGIT] = WHOLE },
	[ZERO] = { [DOT] = POINT, [E] = EXPONENT },
	[WHOLE] = { [NOUGHT] = WHOLE, [DIGIT] = WHOLE, [DOT] = POINT, [E] = EXPONENT },
	[POINT] = { [NOUGHT] = FRACTION, [DIGIT] = FRACTION },
	[FRACTION] = { [NOUGHT] = FRACTION, [DIGIT] = FRACTION, [E] = EXPONENT },
	[EXPONENT] = { [NOUGHT] = EXPONENT_DIGITS,
	    [DIGIT] = EXPONENT_DIGITS,
	    [SIGN] = EXPONENT_SIGN },
	[EXPONENT_SIGN] = { [NOUGHT] = EXPONENT_DIGITS, [DIGIT] = EXPONENT_DIGITS },
	[EXPONENT_DIGITS] = { [NOUGHT] = EXPONENT_DIGITS, [DIGIT] = EXPONENT_DIGITS },
};

static bool
is_whole_number(enum state state)
{
	return state == ZERO || state == WHOLE || state == FRACTION ||
	       state == EXPONENT_DIGITS;
}

/* --- feeding --- */

static const char *
read_byte(struct scan *s, char c)
{
	switch ((enum state)s->state) {
	case WORD:
		return read_word(s, c);
	case STRING:
		return read_string(s, c);
	case CHARACTER:
		return read_character(s, c);
	case ESCAPE:
		return read_escape(s, c);
	case HEX:
		return read_hex(s, c);
	case PAIR:
	case PAIR_U:
		return read_pair(s, c);
	case MINUS:
	case ZERO:
	case WHOLE:
	case POINT:
	case FRACTION:
	case EXPONENT:
	case EXPONENT_SIGN:
	case EXPONENT_DIGITS:
		return "number is not written as JSON wants it";
	case VALUE:
	case FIRST_ITEM:
	case FIRST_KEY:
	case KEY:
	case KEY_COLON:
	case AFTER:
	case BROKEN:
		break;
	}
	if (c == ' ' || c == '\t' || c == '\r' || c == '\n')
		return NULL;
	return read_between(s, c);
}

/* True: c belongs to the number that is being read. */
static bool
read_number(struct scan *s, char c)
{
	uint8_t next = goes_on[s->state][digit_of(c)];

	if (next == VALUE)
		return false;
	add_text(s, &c, 1);
	s->state = next;
	return true;
}

static enum scan_state
fail(struct scan *s, const char *error)
{
	s->state = BROKEN;
	s->error = error;
	return SCAN_BAD;
}

/* How much of the front of `bytes` is plain text of a string. */
static size_t
skip_plain(struct scan *s, struct str bytes)
{
	size_t n = chars_span(bytes.p, bytes.n, CHAR_PLAIN);

	add_text(s, bytes.p, n);
	s->at += n;
	return n;
}

enum scan_state
scan_feed(struct scan *s, struct str bytes)
{
	for (size_t i = 0; s->state != BROKEN && i < bytes.n;) {
		const char *error = NULL;

		if (s->state == STRING)
			i += skip_plain(s, str_sub(bytes, i, bytes.n));
		if (i == bytes.n)
			break;
		if (is_whole_number(s->state) &&
		    goes_on[s->state][digit_of(bytes.p[i])] == VALUE)
			end_scalar(s, JSON_NUMBER, s->at);
		if (!read_number(s, bytes.p[i]))
			error = read_byte(s, bytes.p[i]);
		if (error != NULL)
			return fail(s, error);
		s->at++;
		i++;
	}
	if (s->state == BROKEN)
		return SCAN_BAD;
	return s->depth == 0 && s->state == AFTER ? SCAN_DONE : SCAN_MORE;
}

enum scan_state
scan_end(struct scan *s)
{
	if (s->state == BROKEN)
		return SCAN_BAD;
	if (is_whole_number(s->state))
		end_scalar(s, JSON_NUMBER, s->at);
	if (s->depth > 0 || s->state != AFTER)
		return fail(s, "text ends too early");
	return SCAN_DONE;
}

void
scan_reset(struct scan *s)
{
	s->state = VALUE;
	s->at = 0;
	s->depth = 0;
	s->error = NULL;
	s->has_duplicate = false;
	s->now = s->npaths == SCAN_PATHS ? UINT64_MAX : ((uint64_t)1 << s->npaths) - 1;
}

void
scan_begin(struct scan *s, const struct scan_path *paths, size_t npaths,
    scan_fn *on_value, void *arg)
{
	*s = (struct scan){
		.paths = paths, .npaths = npaths, .on_value = on_value, .arg = arg
	};
	scan_reset(s);
}
