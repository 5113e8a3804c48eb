#include "base/decimal.h"

#define USD_PLACES 9
#define DECIMAL_DIGITS 30 /* 10^30 * 10^8 still fits 128 bits */

bool
wide_add(wide *sum, wide n)
{
	return !__builtin_add_overflow(*sum, n, sum);
}

bool
wide_mul(wide *product, wide n)
{
	return !__builtin_mul_overflow(*product, n, product);
}

bool
wide_usd(wide n, wide divisor, usd_nano *out)
{
	wide whole = n / divisor + (n % divisor != 0);

	if (whole > (wide)INT64_MAX)
		return false;
	*out = (usd_nano)whole;
	return true;
}

/* --- numbers --- */

struct decimal {
	struct str whole, fraction; /* digits */
	int64_t exponent;
};

static struct str
take_digits(struct str *s)
{
	size_t n = 0;

	while (n < s->n && ascii_is_digit(s->p[n]))
		n++;
	struct str digits = str_sub(*s, 0, n);

	*s = str_sub(*s, n, s->n);
	return digits;
}

static bool
take_char(struct str *s, char c)
{
	if (s->n == 0 || ascii_lower(s->p[0]) != c)
		return false;
	*s = str_sub(*s, 1, s->n);
	return true;
}

static bool
take_exponent(struct str *s, int64_t *exponent)
{
	bool is_negative = take_char(s, '-');
	int64_t n = 0;

	if (!is_negative)
		take_char(s, '+');
	struct str digits = take_digits(s);

	if (digits.n == 0)
		return false;
	for (size_t i = 0; i < digits.n; i++)
		if (n < 100000) /* beyond it the number is nothing or everything */
			n = n * 10 + (digits.p[i] - '0');
	*exponent = is_negative ? -n : n;
	return true;
}

static bool
decimal_split(struct str s, struct decimal *d)
{
	*d = (struct decimal){ .whole = take_digits(&s) };
	if (d->whole.n == 0 || (d->whole.n > 1 && d->whole.p[0] == '0'))
		return false;
	if (take_char(&s, '.')) {
		d->fraction = take_digits(&s);
		if (d->fraction.n == 0)
			return false;
	}
	if (take_char(&s, 'e') && !take_exponent(&s, &d->exponent))
		return false;
	return s.n == 0;
}

static unsigned
digit_at(const struct decimal *d, int64_t at)
{
	if (at < 0 || (size_t)at >= d->whole.n + d->fraction.n)
		return 0;
	char c = (size_t)at < d->whole.n ? d->whole.p[at]
					 : d->fraction.p[(size_t)at - d->whole.n];

	return (unsigned)(c - '0');
}

/* Digits up to `end`, zeros behind the last one written; false: too many. */
static bool
digits_until(const struct decimal *d, int64_t end, wide *out)
{
	unsigned n = 0; /* digits from the first that is not 0 */

	*out = 0;
	for (int64_t i = 0; i < end; i++) {
		unsigned digit = digit_at(d, i);

		if ((n > 0 || digit != 0) && ++n > DECIMAL_DIGITS)
			return false;
		*out = *out * 10 + digit;
		if (n == 0 && (size_t)i >= d->whole.n + d->fraction.n)
			return true; /* nothing but zeros */
	}
	return true;
}

bool
decimal_read(struct str number, unsigned places, wide *out, bool *has_more)
{
	struct decimal d;
	bool more = false;
	wide n;

	if (!decimal_split(number, &d))
		return false;
	int64_t end = (int64_t)d.whole.n + d.exponent + places;
	int64_t last = (int64_t)(d.whole.n + d.fraction.n);

	if (!digits_until(&d, end, &n))
		return false;
	for (int64_t i = end > 0 ? end : 0; i < last && !more; i++)
		more = digit_at(&d, i) != 0;
	*out = n;
	*has_more = more;
	return true;
}

bool
usd_round_up(struct str number, usd_nano *out)
{
	bool has_more;
	wide n;

	if (!decimal_read(number, USD_PLACES, &n, &has_more))
		return false;
	return wide_usd(n + has_more, 1, out);
}
