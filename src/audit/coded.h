/*
 * coded.h - text in a run of base64, base32 or hex digits
 *
 * A run is looked at from each place of its first digits, since it may be glued to
 * something else (one of base32 must begin as it does: what is before it is none), and
 * only text in it counts: stretches of printable bytes, which chance does not make.
 * Pure; any thread.
 */
#ifndef WEIR_AUDIT_CODED_H
#define WEIR_AUDIT_CODED_H

#include "base/str.h"

#define CODED_MIN 24  /* digits: less holds no secret */
#define CODED_TEXT 12 /* printable bytes in a row that are no chance */
#define CODED_MORE 128

enum coded { CODED_BASE64, CODED_HEX, CODED_BASE32, CODED_BASE32_SMALL };

/* A digit of base64 or base64url, which those of all others are, too. */
static inline bool
coded_is_digit(char c)
{
	/* + - / 0-9, and A-Z _ a-z: a bit for each character of ASCII */
	static const uint64_t digits[2] = { 0x03ffa80000000000, 0x07fffffe87fffffe };
	unsigned char b = (unsigned char)c;

	return b < 128 && (digits[b >> 6] >> (b & 63) & 1) != 0;
}

size_t coded_shifts(enum coded code); /* the places to begin at */
/*
 * The next CODED_MIN digits or more at or behind *from that are all of `code`, which is
 * not base64: [*from, *to).  False: there are none before `end`.
 */
bool coded_stretch(
    enum coded code, struct str text, size_t end, size_t *from, size_t *to) MUST_CHECK;

/*
 * Appends the texts in `run` when its digits are read from the `shift`-th on, a
 * newline behind each.  False: there is none.  Needs room for as many bytes as there are
 * digits, and CODED_MORE.
 */
bool coded_texts(enum coded code, struct str run, size_t shift, struct buf *out);

#endif
