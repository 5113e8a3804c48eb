/*
 * punycode.c - a Unicode name -> the ASCII name policy must say instead
 */
#include "policy/punycode.h"

#include <libpsl.h>
#include <stdlib.h>

#include "base/utf8.h"

#define LABEL_MAX 63

/* RFC 3492 5 */
enum { BASE = 36, T_MIN = 1, T_MAX = 26, SKEW = 38, DAMP = 700, BIAS = 72, FIRST = 0x80 };

static uint32_t
adapt(uint32_t delta, uint32_t points, bool is_first)
{
	uint32_t k = 0;

	delta /= is_first ? DAMP : 2;
	delta += delta / points;
	for (; delta > ((BASE - T_MIN) * T_MAX) / 2; k += BASE)
		delta /= BASE - T_MIN;
	return k + (BASE - T_MIN + 1) * delta / (delta + SKEW);
}

static char
digit(uint32_t d)
{
	return (char)(d < 26 ? 'a' + d : '0' + (d - 26));
}

/* One delta as a generalised variable-length integer. */
static void
put_delta(struct buf *out, uint32_t q, uint32_t bias)
{
	for (uint32_t k = BASE;; k += BASE) {
		uint32_t t = k <= bias ? T_MIN : k >= bias + T_MAX ? T_MAX : k - bias;
		if (q < t)
			break;
		buf_char(out, digit(t + (q - t) % (BASE - t)));
		q = (q - t) / (BASE - t);
	}
	buf_char(out, digit(q));
}

static uint32_t
smallest_from(const uint32_t *point, size_t n, uint32_t least)
{
	uint32_t found = UINT32_MAX;

	for (size_t i = 0; i < n; i++)
		if (point[i] >= least && point[i] < found)
			found = point[i];
	return found;
}

static void
encode(struct buf *out, const uint32_t *point, size_t n)
{
	uint32_t delta = 0, bias = BIAS, next = FIRST;
	size_t basic = 0, done;

	for (size_t i = 0; i < n; i++)
		if (point[i] < FIRST) {
			buf_char(out, (char)point[i]);
			basic++;
		}
	if (basic > 0)
		buf_char(out, '-');
	for (done = basic; done < n; delta++, next++) {
		uint32_t m = smallest_from(point, n, next);
		delta += (m - next) * (uint32_t)(done + 1); /* 63 points: fits */
		next = m;
		for (size_t i = 0; i < n; i++) {
			if (point[i] < next)
				delta++;
			if (point[i] != next)
				continue;
			put_delta(out, delta, bias);
			bias = adapt(delta, (uint32_t)(done + 1), done == basic);
			delta = 0;
			done++;
		}
	}
}

static bool
put_label(struct buf *out, struct str label)
{
	uint32_t point[LABEL_MAX];
	size_t n = 0, start = out->n;
	bool is_ascii = true;

	for (struct str rest = label; rest.n > 0;) {
		size_t used = n == LABEL_MAX ? 0 : utf8_char(rest, &point[n]);
		if (used == 0)
			return false;
		is_ascii &= point[n++] < FIRST;
		rest = str_sub(rest, used, rest.n);
	}
	if (is_ascii) {
		buf_str(out, label);
		return true;
	}
	buf_text(out, "xn--");
	encode(out, point, n);
	return out->n - start <= LABEL_MAX;
}

bool
punycode_name(struct buf *out, struct str name)
{
	char *text = str_dup(name), *lower = NULL;
	struct str rest, label;
	bool is_ok = psl_str_to_utf8lower(text, "utf-8", NULL, &lower) == PSL_SUCCESS;

	free(text);
	if (!is_ok)
		return false;
	rest = str_of(lower);
	for (bool is_first = true; is_ok && str_split(&rest, '.', &label);
	     is_first = false) {
		if (!is_first)
			buf_char(out, '.');
		is_ok = put_label(out, label);
	}
	psl_free_string(lower);
	return is_ok && !out->is_over;
}
