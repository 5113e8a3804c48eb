/*
 * coded.c - text in a run of base64, base32 or hex digits
 */
#include "audit/coded.h"

#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#define WINDOW 64 /* bytes that are looked at together */

/* What a digit counts.  Both alphabets of RFC 4648: + and -, / and _ are one digit each.
 */
static const unsigned char values[][128] = {
	[CODED_BASE64] = { ['A'] = 0,
	    1,
	    2,
	    3,
	    4,
	    5,
	    6,
	    7,
	    8,
	    9,
	    10,
	    11,
	    12,
	    13,
	    14,
	    15,
	    16,
	    17,
	    18,
	    19,
	    20,
	    21,
	    22,
	    23,
	    24,
	    25,
	    ['a'] = 26,
	    27,
	    28,
	    29,
	    30,
	    31,
	    32,
	    33,
	    34,
	    35,
	    36,
	    37,
	    38,
	    39,
	    40,
	    41,
	    42,
	    43,
	    44,
	    45,
	    46,
	    47,
	    48,
	    49,
	    50,
	    51,
	    ['0'] = 52,
	    53,
	    54,
	    55,
	    56,
	    57,
	    58,
	    59,
	    60,
	    61,
	    ['+'] = 62,
	    ['-'] = 62,
	    ['/'] = 63,
	    ['_'] = 63 },
	[CODED_HEX] = { ['0'] = 0,
	    1,
	    2,
	    3,
	    4,
	    5,
	    6,
	    7,
	    8,
	    9,
	    ['A'] = 10,
	    11,
	    12,
	    13,
	    14,
	    15,
	    ['a'] = 10,
	    11,
	    12,
	    13,
	    14,
	    15 },
};

static bool
is_digit(enum coded code, char c)
{
	switch (code) {
	case CODED_BASE64:
		return coded_is_digit(c);
	case CODED_HEX:
		return ascii_is_hex(c);
	case CODED_BASE32:
		return (c >= 'A' && c <= 'Z') || (c >= '2' && c <= '7');
	case CODED_BASE32_SMALL:
		return (c >= 'a' && c <= 'z') || (c >= '2' && c <= '7');
	}
	return false;
}

size_t
coded_shifts(enum coded code)
{
	static const size_t shifts[] = {
		[CODED_BASE64] = 4,
		[CODED_HEX] = 2,
		[CODED_BASE32] = 1,
		[CODED_BASE32_SMALL] = 1,
	};

	return shifts[code];
}

/* Most digits are not looked at: one that is of another code rules out all before it. */
bool
coded_stretch(enum coded code, struct str text, size_t end, size_t *from, size_t *to)
{
	size_t at = *from;

	while (end - at >= CODED_MIN) {
		size_t begin = at + CODED_MIN;

		while (begin > at && is_digit(code, text.p[begin - 1]))
			begin--;
		if (begin > at) {
			at = begin;
			continue;
		}
		*from = at;
		at += CODED_MIN;
		while (at < end && is_digit(code, text.p[at]))
			at++;
		*to = at;
		return true;
	}
	return false;
}

static unsigned
value_of(enum coded code, char digit)
{
	return values[code][(unsigned char)digit & 127];
}

/* The bytes that the digits say; how many there are. */
static size_t
decode_hex(struct str run, char *out)
{
	size_t n = 0;

	for (size_t at = 0; at + 2 <= run.n; at += 2)
		out[n++] = (char)(value_of(CODED_HEX, run.p[at]) << 4 |
				  value_of(CODED_HEX, run.p[at + 1]));
	return n;
}

static size_t
decode_base64(struct str run, char *out)
{
	size_t n = 0;

	for (size_t at = 0; at < run.n; at += 4) {
		unsigned group = 0;

		if (at + 4 <= run.n)
			group = value_of(CODED_BASE64, run.p[at]) << 18 |
				value_of(CODED_BASE64, run.p[at + 1]) << 12 |
				value_of(CODED_BASE64, run.p[at + 2]) << 6 |
				value_of(CODED_BASE64, run.p[at + 3]);
		else
			for (size_t i = at; i < at + 4; i++)
				group =
				    group << 6 |
				    (i < run.n ? value_of(CODED_BASE64, run.p[i]) : 0);
		out[n++] = (char)(group >> 16);
		out[n++] = (char)(group >> 8);
		out[n++] = (char)group;
	}
	return run.n * 6 / 8; /* without what the digits that are not there say */
}

/* RFC 4648 6, in either case of letters. */
static size_t
decode_base32(struct str run, char *out)
{
	unsigned group = 0, bits = 0;
	size_t n = 0;

	for (size_t at = 0; at < run.n; at++) {
		char c = run.p[at];

		group = group << 5 | (unsigned)(ascii_is_digit(c) ? c - '2' + 26
								  : ascii_lower(c) - 'a');
		bits += 5;
		if (bits < 8)
			continue;
		bits -= 8;
		out[n++] = (char)(group >> bits);
	}
	return n;
}

static size_t
decode(enum coded code, struct str digits, char *out)
{
	switch (code) {
	case CODED_BASE64:
		return decode_base64(digits, out);
	case CODED_HEX:
		return decode_hex(digits, out);
	case CODED_BASE32:
	case CODED_BASE32_SMALL:
		return decode_base32(digits, out);
	}
	return 0;
}

/* A bit for each of the WINDOW bytes at p: is it printable, or white space. */
#ifdef __SSE2__
static uint64_t
text_bytes(const char *p)
{
	uint64_t bits = 0;

	for (int i = 0; i < WINDOW; i += 16) {
		__m128i c = _mm_loadu_si128((const __m128i *)(const void *)(p + i));
		/* signed comparison: what is beyond ASCII is below all of it */
		__m128i is = _mm_andnot_si128(_mm_cmpeq_epi8(c, _mm_set1_epi8(0x7f)),
		    _mm_cmpgt_epi8(c, _mm_set1_epi8(' ' - 1)));
		is = _mm_or_si128(is, _mm_cmpeq_epi8(c, _mm_set1_epi8('\t')));
		is = _mm_or_si128(is, _mm_cmpeq_epi8(c, _mm_set1_epi8('\n')));
		is = _mm_or_si128(is, _mm_cmpeq_epi8(c, _mm_set1_epi8('\r')));
		bits |= (uint64_t)(unsigned)_mm_movemask_epi8(is) << i;
	}
	return bits;
}
#else
static uint64_t
text_bytes(const char *p)
{
	uint64_t bits = 0;

	for (size_t i = 0; i < WINDOW; i++) {
		bool is = (p[i] >= ' ' && p[i] < 0x7f) || p[i] == '\t' || p[i] == '\n' ||
			  p[i] == '\r';

		bits |= (uint64_t)is << i;
	}
	return bits;
}
#endif

/* A bit for each place where CODED_TEXT bits begin that are all set. */
static uint64_t
texts_in(uint64_t bits)
{
	_Static_assert(CODED_TEXT == 12, "eight and four");
	_Static_assert(CODED_MORE >= 2 * WINDOW, "the last group, and the bytes behind");

	bits &= bits >> 1;
	bits &= bits >> 2;
	bits &= bits >> 4;
	return bits & bits >> 4;
}

/* The first place at or behind `at` where CODED_TEXT bytes of text stand, or n; WINDOW
 * bytes that are no text stand behind the last. */
static size_t
next_text(const char *p, size_t n, size_t at)
{
	for (; at < n; at += WINDOW - CODED_TEXT + 1) {
		uint64_t texts = texts_in(text_bytes(p + at));

		if (texts != 0)
			return at + (size_t)__builtin_ctzll(texts);
	}
	return n;
}

static size_t
text_end(const char *p, size_t at)
{
	uint64_t others;

	while ((others = ~text_bytes(p + at)) == 0)
		at += WINDOW;
	return at + (size_t)__builtin_ctzll(others);
}

/* Only the texts of the n bytes at p, a newline behind each: there is room for it, since
 * at least one other byte was behind it. */
static size_t
keep_texts(char *p, size_t n)
{
	size_t kept = 0;

	for (size_t at = next_text(p, n, 0); at < n;) {
		size_t end = text_end(p, at);

		memmove(p + kept, p + at, end - at);
		kept += end - at;
		at = next_text(p, n, end);
		p[kept++] = '\n';
	}
	return kept;
}

bool
coded_texts(enum coded code, struct str run, size_t shift, struct buf *out)
{
	struct str digits = str_sub(run, shift, run.n);
	char *p = buf_room(out, digits.n + CODED_MORE);
	size_t n;

	if (p == NULL)
		return false;
	n = decode(code, digits, p);
	memset(p + n, 0, WINDOW);
	n = keep_texts(p, n);
	buf_grew(out, n);
	return n > 0;
}
