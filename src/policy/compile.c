/*
 * compile.c - rules -> an immutable, indexed ruleset
 */
#include "policy/compile.h"

struct ruleset *
ruleset_load(const char *const *path, size_t n, const struct ruleset_terms *terms,
    struct report *rep)
{
	(void)path;
	(void)n;
	(void)terms;
	(void)rep;
	return NULL;
}

struct ruleset *
ruleset_build(const struct ruleset_source *source, size_t n,
    const struct ruleset_terms *terms, struct report *rep)
{
	(void)source;
	(void)n;
	(void)terms;
	(void)rep;
	return NULL;
}
