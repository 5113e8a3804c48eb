/*
 * triple.c - three texts as one key
 */
#include "state/triple.h"

#include <string.h>

#define PART_MAX ((size_t)129)

_Static_assert(TRIPLE_MAX == 3 * (PART_MAX + 1), "room for a length and a text each");

static size_t
put(char *to, size_t at, struct str s)
{
	size_t n = s.n > PART_MAX ? PART_MAX : s.n;

	to[at] = (char)(unsigned char)n;
	if (n > 0)
		memcpy(to + at + 1, s.p, n);
	return at + 1 + n;
}

struct str
triple_make(char out[static TRIPLE_MAX], struct str a, struct str b, struct str c)
{
	return (struct str){ out, put(out, put(out, put(out, 0, a), b), c) };
}

struct str
triple_take(struct str *rest)
{
	size_t n = rest->n > 0 ? (unsigned char)rest->p[0] : 0;
	struct str part = str_sub(*rest, 1, n);

	*rest = str_sub(*rest, 1 + n, rest->n);
	return part;
}
