/*
 * shape.h - secrets that are known by what they look like
 *
 * A table of rules (shapes.def): a literal that stands in every such secret,
 * and a pattern that says whether this is one.  The prefilter is a look at four
 * bytes; only where it says yes are literals compared, and only where one
 * of them stands is a pattern run, on a bounded window, with a match limit.
 * Bytes, not characters: text that is no UTF-8 is searched like any other.
 *
 * A `struct shapes` is immutable; any thread may use it.
 */
#ifndef WEIR_AUDIT_SHAPE_H
#define WEIR_AUDIT_SHAPE_H

#include <string.h>

#include "audit/name.h"

/*
 * For each pair of bytes the groups of texts that begin with it (low byte, a bit each)
 * and that go on with it (high byte): a text of a group may begin where one of its pairs
 * stands before another.  What is one byte long has a group of its own.
 * `even` is the same for who looks at every other pair only: a text may begin there or
 * one byte before.
 */
#define PREFILTER_ONE 0x80U
#define PREFILTER_TWO 0x40U
#define PREFILTER_THREE 0x20U
#define PREFILTER_GROUPS 5 /* of what is longer */

struct prefilter_pairs {
	uint16_t groups[65536];
	uint16_t always; /* groups that all of them have */
};

struct prefilter {
	struct prefilter_pairs pair, even;
	uint32_t looks[256];           /* the scan's: what may begin with a byte */
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

#define PREFILTER_READS 4

/* The groups of what may begin with the four bytes at p. */
static inline unsigned
prefilter_four(const struct prefilter *f, const char *p)
{
	return f->pair.groups[prefilter_pair(p)] &
	       f->pair.groups[prefilter_pair(p + 2)] >> 8;
}

/* The same at any place of a text; near its end less is known. */
static inline unsigned
prefilter_groups(const struct prefilter *f, struct str text, size_t at)
{
	if (at + 4 <= text.n)
		return prefilter_four(f, text.p + at);
	if (at + 2 <= text.n)
		return f->pair.groups[prefilter_pair(text.p + at)] & 0xff;
	return f->pair.groups[prefilter_pair((const char[2]){ text.p[at], '\0' })] &
	       PREFILTER_ONE;
}

/*
 * How many of the eight bytes at p begin nothing, and the one before p neither; behind
 * them something may.  Ten are read.
 */
static inline size_t
prefilter_skip(const struct prefilter *f, const char *p)
{
	unsigned a = f->even.groups[prefilter_pair(p)],
		 b = f->even.groups[prefilter_pair(p + 2)],
		 c = f->even.groups[prefilter_pair(p + 4)],
		 d = f->even.groups[prefilter_pair(p + 6)],
		 e = f->even.groups[prefilter_pair(p + 8)];

	if (((a & b >> 8) | (b & c >> 8) | (c & d >> 8) | (d & e >> 8)) == 0)
		return 8; /* most */
	if ((a & b >> 8) != 0)
		return 0;
	if ((b & c >> 8) != 0)
		return 2;
	return (c & d >> 8) != 0 ? 4 : 6;
}

/* The first place at or behind `at` where something may begin, or the text's end. */
static inline size_t
prefilter_next(const struct prefilter *f, struct str text, size_t at)
{
	size_t done = at; /* what is before it need not be looked at */

	while (at + 10 <= text.n) {
		size_t skip = prefilter_skip(f, text.p + at);

		at += skip;
		if (skip == 8)
			continue;
		if (at > done && prefilter_four(f, text.p + at - 1) != 0)
			return at - 1;
		if (prefilter_four(f, text.p + at) != 0)
			return at;
		done = ++at;
	}
	at -= at > done;
	while (at < text.n && prefilter_groups(f, text, at) == 0)
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
/* The same at a label of a host's name, in small letters (folded.def). */
bool shapes_match_folded(
    const struct shapes *s, struct str host, size_t at, struct shape_hit *hit);
/* The kind of a value that is wholly one secret, or NULL. */
const char *shapes_kind(const struct shapes *s, struct str value);
bool shape_kind_exists(struct str kind);

/*
 * Tries every rule on its own vector, through the prefilter, compiled and interpreted.
 * What compiled code misses is interpreted from then on, and logged; what the
 * interpreter misses is returned: that kind would go by unseen.  NULL: all is well.
 */
const char *shapes_prove(struct shapes *s, const struct prefilter *f) MUST_CHECK;
bool shapes_are_compiled(const struct shapes *s); /* else the JIT is away; tests ask */

#endif
