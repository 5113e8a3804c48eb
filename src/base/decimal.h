/*
 * decimal.h - decimal numbers -> integers, and sums too wide for 64 bits
 *
 * Prices and reported costs are JSON numbers, often in scientific notation.  They are
 * scaled from their digits, never through a binary fraction.  Products are 128 bits
 * wide and checked: what does not fit is an error, never a smaller sum.  Pure; any
 * thread.
 */
#ifndef WEIR_BASE_DECIMAL_H
#define WEIR_BASE_DECIMAL_H

#include "base/money.h"

typedef int64_t nano_per_mtok; /* a rate: n$ for 1 000 000 tokens, 1e-15 USD for one */
__extension__ typedef unsigned __int128 wide;

/*
 * number * 10^places, rounded down.  *has_more: a fraction was left behind.  False: no
 * JSON number, negative, or of more than 30 digits.
 */
bool decimal_read(
    struct str number, unsigned places, wide *out, bool *has_more) MUST_CHECK;
/* A cost that somebody reports ("2.8e-07" USD), rounded up to whole nano-USD. */
bool usd_round_up(struct str number, usd_nano *out) MUST_CHECK;

/* False: it does not fit. */
bool wide_add(wide *sum, wide n) MUST_CHECK;
bool wide_mul(wide *product, wide n) MUST_CHECK;
bool wide_usd(wide n, wide divisor, usd_nano *out) MUST_CHECK; /* rounded up */

#endif
