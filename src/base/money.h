/*
 * money.h - US dollars as whole nano-dollars, read and printed exactly
 *
 * No double anywhere: text becomes an integer by its digits, or it is refused, and
 * every sum and product is checked.
 */
#ifndef WEIR_BASE_MONEY_H
#define WEIR_BASE_MONEY_H

#include "base/str.h"

typedef int64_t usd_nano; /* 10^-9 USD */

#define USD_NANO INT64_C(1000000000) /* one dollar */
#define USD_TEXT 24                  /* bytes that every amount fits in, with its NUL */

/* "12", "0.5", "0.50": no sign, no exponent, no needless zero in front, ≤ 9 decimals. */
bool usd_read(struct str decimal, usd_nano *out);
/* The shortest decimal: "0.412", "-3"; returns out. */
const char *usd_print(usd_nano amount, char out[static USD_TEXT]);

/* False, and *out as it was: the result does not fit. */
bool money_add(usd_nano a, usd_nano b, usd_nano *out);

#endif
