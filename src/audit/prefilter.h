/*
 * prefilter.h - where in a text something may begin that is looked for
 *
 * A look at four bytes, for many literals at once: for each pair of bytes the groups of
 * literals that begin with it (low byte, a bit each) and that go on with it (high byte).
 * A literal of a group may begin where one of its pairs stands before another; what is
 * shorter than four bytes has groups of its own, since its pairs say little.  It lets
 * through what is no literal, but stops nothing that is one, and whether it stops at a
 * place depends on the four bytes there alone.
 *
 * Immutable once all is added; then any thread may use it, each with walks of its own.
 */
#ifndef WEIR_AUDIT_PREFILTER_H
#define WEIR_AUDIT_PREFILTER_H

#include <string.h>

#include "audit/name.h"

#define PREFILTER_ONE 0x80U
#define PREFILTER_TWO 0x40U
#define PREFILTER_THREE 0x20U
#define PREFILTER_GROUPS 5 /* of what is longer */

struct prefilter {
	uint16_t groups[65536];
	uint16_t always;               /* groups that all pairs have */
	uint32_t looks[256];           /* the scan's: what may begin with a byte */
	uint32_t name_ends[NAME_ENDS]; /* how a key's name ends that says something */
};

/* is_folded: in small letters or capitals. */
void prefilter_add(struct prefilter *f, struct str literal, bool is_folded);

/* Two bytes as one number, whichever way round the machine has them. */
static inline uint16_t
prefilter_pair(const char *p)
{
	uint16_t pair;

	memcpy(&pair, p, sizeof(pair));
	return pair;
}

#define PREFILTER_READS 4

/* The groups of what may begin at `at` of a text; near its end less is known. */
static inline unsigned
prefilter_groups(const struct prefilter *f, struct str text, size_t at)
{
	const char *p = text.p + at;

	if (at + 4 <= text.n)
		return f->groups[prefilter_pair(p)] &
		       f->groups[prefilter_pair(p + 2)] >> 8;
	if (at + 2 <= text.n)
		return f->groups[prefilter_pair(p)] & 0xff;
	return f->groups[prefilter_pair((const char[2]){ *p, '\0' })] & PREFILTER_ONE;
}

/* From place to place through a text, which must stay as it is. */
#define PREFILTER_BLOCK 64

struct prefilter_walk {
	const struct prefilter *filter;
	struct str text;
	size_t block;  /* the places that were looked at last ... */
	uint64_t bits; /* ... and at which of them something may begin */
};

struct prefilter_walk prefilter_walk(const struct prefilter *f, struct str text);
size_t prefilter_seek(struct prefilter_walk *w, size_t at); /* behind the block */

/* The next place at or behind `at`, which never goes back, or the text's end. */
static inline size_t
prefilter_next(struct prefilter_walk *w, size_t at)
{
	size_t in = at - w->block;
	uint64_t bits = in < PREFILTER_BLOCK ? w->bits & ~(uint64_t)0 << in : 0;

	return bits != 0 ? w->block + (size_t)__builtin_ctzll(bits)
			 : prefilter_seek(w, at);
}

#endif
