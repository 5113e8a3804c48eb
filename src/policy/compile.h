/*
 * compile.h - policy files -> an immutable, indexed ruleset
 *
 * Reads, checks each file by itself and the rules against each other, compiles,
 * and runs each policy's own `expect` tests.  Built once by a loader, then shared
 * and never changed.
 */
#ifndef WEIR_POLICY_COMPILE_H
#define WEIR_POLICY_COMPILE_H

#include "conf/settings.h"
#include "policy/ruleset.h"

/* What a configuration lets its policies say. */
struct ruleset_terms ruleset_terms_of(const struct settings *s);

/*
 * Outermost first.  All findings of all files go to rep; NULL when any of them is
 * an error.  No file at all makes a ruleset that allows nothing.
 */
struct ruleset *ruleset_load(const char *const *path, size_t n,
    const struct ruleset_terms *terms, struct report *rep) MUST_CHECK;

/* The same from texts already in memory; `name` stands in for the path. */
struct ruleset_source {
	const char *name;
	struct str text;
	bool is_inline; /* part of a larger text: places say "NAME:allow[0]", not lines */
};
struct ruleset *ruleset_build(const struct ruleset_source *source, size_t n,
    const struct ruleset_terms *terms, struct report *rep) MUST_CHECK;

#endif
