/*
 * card.c - numbers of payment cards
 */
#include "audit/card.h"

#define DIGITS_MIN 13
#define DIGITS_MAX 19
#define GROUP_MIN 4
#define GROUP_MAX 6

const char card_kind[] = "card";

/* By the first six digits. */
static const struct {
	unsigned from, to;
	size_t least, most;
} issuers[] = {
	{ 222100, 272099, 16, 16 },
	{ 300000, 305999, 14, 19 },
	{ 340000, 349999, 15, 15 },
	{ 352800, 358999, 16, 19 },
	{ 360000, 369999, 14, 19 },
	{ 370000, 379999, 15, 15 },
	{ 380000, 399999, 14, 19 },
	{ 400000, 499999, 13, 19 },
	{ 510000, 559999, 16, 16 },
	{ 601100, 601199, 16, 19 },
	{ 620000, 629999, 16, 19 },
	{ 644000, 659999, 16, 19 },
};

static bool
has_issuer(const char *digits, size_t n)
{
	unsigned first = 0;

	for (size_t i = 0; i < 6; i++)
		first = 10 * first + (unsigned)(digits[i] - '0');
	for (size_t i = 0; i < sizeof(issuers) / sizeof(*issuers); i++)
		if (first >= issuers[i].from && first <= issuers[i].to)
			return n >= issuers[i].least && n <= issuers[i].most;
	return false;
}

static bool
ends_with_luhn(const char *digits, size_t n)
{
	unsigned sum = 0;

	for (size_t i = 0; i < n; i++) {
		unsigned digit = (unsigned)(digits[n - 1 - i] - '0');

		if (i % 2 == 1)
			digit = digit > 4 ? 2 * digit - 9 : 2 * digit;
		sum += digit;
	}
	return sum % 10 == 0;
}

static bool
is_card(const char *digits, size_t n)
{
	return n >= DIGITS_MIN && has_issuer(digits, n) && ends_with_luhn(digits, n);
}

static bool
is_word(char c)
{
	return ascii_is_alnum(c) || c == '_';
}

/* No part of a longer number, a version, an id. */
static bool
begins_number(struct str text, size_t at)
{
	if (!ascii_is_digit(text.p[at]))
		return false;
	if (at == 0)
		return true;
	char c = text.p[at - 1];
	return !is_word(c) && c != '.' &&
	       (c != '-' || at == 1 || !is_word(text.p[at - 2]));
}

static bool
ends_number(struct str text, size_t at)
{
	if (at == text.n)
		return true;
	return !is_word(text.p[at]) &&
	       (text.p[at] != '.' || at + 1 == text.n || !ascii_is_digit(text.p[at + 1]));
}

/* "4111 1111", "4111-1111", all groups with the same between them. */
static bool
goes_on(struct str text, size_t at, char mark, size_t group)
{
	return at + 1 < text.n && (text.p[at] == ' ' || text.p[at] == '-') &&
	       (mark == '\0' || mark == text.p[at]) && group >= GROUP_MIN &&
	       group <= GROUP_MAX && ascii_is_digit(text.p[at + 1]);
}

/* The end of the longest that begins at `from`; 0: there is none. */
static size_t
card_end(struct str text, size_t from)
{
	char digits[DIGITS_MAX], mark = '\0';
	size_t n = 0, group = 0, end = 0;

	for (size_t at = from;; at++) {
		if (at < text.n && ascii_is_digit(text.p[at])) {
			if (n == DIGITS_MAX)
				return end;
			digits[n++] = text.p[at];
			group++;
			continue;
		}
		if (ends_number(text, at) && is_card(digits, n))
			end = at;
		if (!goes_on(text, at, mark, group))
			return end;
		mark = text.p[at];
		group = 0;
	}
}

void
card_find(struct str text, struct hits *hits)
{
	size_t at = 0;

	while (at < text.n) {
		size_t end = begins_number(text, at) ? card_end(text, at) : 0;

		if (end > 0)
			hits_add(hits,
			    (struct hit){ .from = at, .to = end, .kind = card_kind });
		at = end > 0 ? end : at + 1;
	}
}
