/*
 * shape.h - secrets that are known by what they look like
 *
 * A table of rules (shapes.def): a literal that stands in every such secret,
 * and a pattern that says whether this is one.  Only where the prefilter says yes are
 * literals compared, and only where one of them stands is a pattern run, on a bounded
 * window, with a match limit.
 * Bytes, not characters: text that is no UTF-8 is searched like any other.
 *
 * A `struct shapes` is immutable; any thread may use it.
 */
#ifndef WEIR_AUDIT_SHAPE_H
#define WEIR_AUDIT_SHAPE_H

#include "audit/prefilter.h"

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
/* Of a row, NULL behind the last: some kinds have more than one. */
const char *shape_kind_at(size_t row);

/*
 * Tries every rule on its own vector, through the prefilter, compiled and interpreted.
 * What compiled code misses is interpreted from then on, and logged; what the
 * interpreter misses is returned: that kind would go by unseen.  NULL: all is well.
 */
const char *shapes_prove(struct shapes *s, const struct prefilter *f) MUST_CHECK;
bool shapes_are_compiled(const struct shapes *s); /* else the JIT is away; tests ask */

#endif
