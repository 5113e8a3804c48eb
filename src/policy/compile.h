/*
 * compile.h - rules -> an immutable, indexed ruleset
 *
 * Layers are outermost first; each can only narrow the one before.  Built once
 * by a loader, then shared and never changed: any thread may match against it.
 */
#ifndef WEIR_POLICY_COMPILE_H
#define WEIR_POLICY_COMPILE_H

#include "conf/report.h"
#include "policy/ruleset.h"

/* What a policy may say depends on where it runs. */
struct ruleset_terms {
	bool is_production; /* private over loopback or link-local is an error */
	bool is_report_ok; /* mode: report is allowed (production: false, or allow_report)
			    */
	bool can_see_tls;  /* tls.intercept is there: https rules may need sight */
};

/*
 * Load every file (outermost first), check, compile, and run their `expect`
 * tests.  All findings of all files go to rep.  NULL when anything is an error.
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
