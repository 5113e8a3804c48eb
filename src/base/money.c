#include "base/money.h"

#include <stdio.h>

#define DECIMALS 9

/* Digits after the point, as if there were nine of them. */
static bool
read_fraction(struct str digits, usd_nano *out)
{
	usd_nano sum = 0;

	if (digits.n == 0 || digits.n > DECIMALS)
		return false;
	for (size_t i = 0; i < DECIMALS; i++) {
		if (i < digits.n && !ascii_is_digit(digits.p[i]))
			return false;
		sum = sum * 10 + (i < digits.n ? digits.p[i] - '0' : 0);
	}
	*out = sum;
	return true;
}

bool
usd_read(struct str decimal, usd_nano *out)
{
	struct str whole = decimal;
	usd_nano fraction = 0, sum;
	uint64_t dollars;
	size_t point;

	if (str_find(decimal, '.', &point)) {
		whole = str_sub(decimal, 0, point);
		if (!read_fraction(str_sub(decimal, point + 1, decimal.n), &fraction))
			return false;
	}
	if (!str_decimal(whole, &dollars) || dollars > INT64_MAX / USD_NANO)
		return false;
	if (!money_add((usd_nano)dollars * USD_NANO, fraction, &sum))
		return false;
	*out = sum;
	return true;
}

const char *
usd_print(usd_nano amount, char out[static USD_TEXT])
{
	uint64_t size = amount < 0 ? -(uint64_t)amount : (uint64_t)amount;
	int n = snprintf(out, USD_TEXT, "%s%llu.%09llu", amount < 0 ? "-" : "",
	    (unsigned long long)(size / USD_NANO), (unsigned long long)(size % USD_NANO));

	while (out[n - 1] == '0')
		n--;
	if (out[n - 1] == '.')
		n--;
	out[n] = '\0';
	return out;
}

bool
money_add(usd_nano a, usd_nano b, usd_nano *out)
{
	usd_nano sum;

	if (__builtin_add_overflow(a, b, &sum))
		return false;
	*out = sum;
	return true;
}
