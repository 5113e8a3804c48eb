/*
 * totals.c - numbers by name, that several may add to
 */
#include "ledger/totals.h"

#include <stdio.h>

#include "ledger/key.h"

void
totals_put(struct buf *to, struct str name, int64_t n)
{
	char text[24];

	snprintf(text, sizeof(text), "%lld", (long long)n);
	key_put(to, name);
	key_put(to, str_of(text));
}

static bool
read_number(struct str text, int64_t *out)
{
	bool is_negative = str_starts(text, STR("-"));
	uint64_t n;

	if (!str_decimal(str_sub(text, is_negative, text.n), &n) || n > INT64_MAX)
		return false;
	*out = is_negative ? -(int64_t)n : (int64_t)n;
	return true;
}

bool
totals_next(struct str *rest, struct str *name, int64_t *n)
{
	struct str text;

	return key_next(rest, name) && key_next(rest, &text) && read_number(text, n);
}

struct total {
	struct str name;
	int64_t n;
};

/* Of that name, a new one, or that of all others. */
static struct total *
find(struct total *all, size_t *n, struct str name)
{
	for (size_t i = 0; i < *n; i++)
		if (str_eq(all[i].name, name))
			return &all[i];
	if (*n >= TOTALS_MOST && !str_eq(name, STR(TOTALS_OTHER)))
		return find(all, n, STR(TOTALS_OTHER));
	all[*n] = (struct total){ .name = name };
	return &all[(*n)++];
}

static void
add(struct total *all, size_t *n, struct str text)
{
	struct str name;
	int64_t more;

	while (totals_next(&text, &name, &more)) {
		struct total *t = find(all, n, name);

		if (__builtin_add_overflow(t->n, more, &t->n))
			t->n = INT64_MAX;
	}
}

void
totals_add(struct str now, struct str more, struct buf *out)
{
	struct total all[TOTALS_MOST + 1];
	size_t n = 0;

	add(all, &n, now);
	add(all, &n, more);
	for (size_t i = 0; i < n; i++)
		totals_put(out, all[i].name, all[i].n);
}
