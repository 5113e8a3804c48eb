/*
 * shape.h - secrets that are known by what they look like
 *
 * A table of rules (shapes.def): a literal that stands in every such secret,
 * and a pattern that says whether this is one.  shapes_may_begin() is a look at
 * two bytes; only where it says yes are literals compared, and only where one
 * of them stands is a pattern run, on a bounded window, with a match limit.
 * Bytes, not characters: text that is no UTF-8 is searched like any other.
 *
 * A `struct shapes` is immutable; any thread may use it.
 */
#ifndef WEIR_AUDIT_SHAPE_H
#define WEIR_AUDIT_SHAPE_H

#include <string.h>

#include "audit/name.h"

/* A bit for each pair of bytes at which something may begin. */
struct prefilter {
	uint64_t bit[65536 / 64];
	uint16_t looks[256];           /* the scan's: what may begin with a byte */
	uint32_t name_ends[NAME_ENDS]; /* how a key's name ends that says something */
};

void prefilter_add(struct prefilter *f, struct str literal);

/* Two bytes as one number, whichever way round the machine has them. */
static inline uint16_t
prefilter_pair(const char *p)
{
	uint16_t pair;

	memcpy(&pair, p, sizeof(pair));
	return pair;
}

static inline bool
prefilter_has(const struct prefilter *f, const char *p)
{
	unsigned pair = prefilter_pair(p);

	return (f->bit[pair / 64] >> (pair % 64) & 1) != 0;
}

/* The first place at or behind `at` where something may begin, or the text's end. */
static inline size_t
prefilter_next(const struct prefilter *f, struct str text, size_t at)
{
	const char *p = text.p;

	for (; at + 5 < text.n; at += 4) { /* four at once: most bytes begin nothing */
		if (prefilter_has(f, p + at))
			return at;
		if (prefilter_has(f, p + at + 1))
			return at + 1;
		if (prefilter_has(f, p + at + 2))
			return at + 2;
		if (prefilter_has(f, p + at + 3))
			return at + 3;
	}
	for (; at + 1 < text.n; at++)
		if (prefilter_has(f, p + at))
			return at;
	if (at < text.n && !prefilter_has(f, (const char[2]){ p[at], '\0' }))
		at++;
	return at;
}

struct shapes;

struct shapes *shapes_new(void); /* a pattern that does not compile is our bug */
void shapes_free(struct shapes *s);
void shapes_prefilter(
    const struct shapes *s, struct prefilter *f); /* adds all literals */

#define SHAPE_PARTS 2

struct shape_hit {
	const char *kind; /* static */
	size_t end;       /* of the whole match */
	size_t n;         /* its parts that are secret, in order */
	struct {
		size_t from, to;
	} part[SHAPE_PARTS];
};

/*
 * The secret whose literal stands at `at`; *work grows by what it cost.  A
 * pattern that cannot be run to its end is a hit of kind "doubt".
 */
bool shapes_match(const struct shapes *s, struct str text, size_t at,
    struct shape_hit *hit, size_t *work);
/* The kind of a value that is wholly one secret, or NULL. */
const char *shapes_kind(const struct shapes *s, struct str value);
bool shape_kind_exists(struct str kind);

/*
 * Tries every rule on its own vector, through the prefilter, compiled and interpreted.
 * What compiled code misses is interpreted from then on, and logged; what the
 * interpreter misses is returned: that kind would go by unseen.  NULL: all is well.
 */
const char *shapes_prove(struct shapes *s, const struct prefilter *f) MUST_CHECK;
bool shapes_are_compiled(const struct shapes *s); /* else the JIT is away */

#endif
