/*
 * model.h - one policy file -> named rules, checked, each with its place
 *
 * Keys, the short form, and what a file says by itself.  Rules and expectations
 * live in the model's arena; their `node`s are borrowed from the tree.
 */
#ifndef WEIR_POLICY_MODEL_H
#define WEIR_POLICY_MODEL_H

#include "policy/rule.h"
#include "policy/verdict.h"

/* One of the policy's own tests. */
struct expectation {
	bool allow;
	struct str method, target;
	enum reason reason; /* of a denial; REASON_NONE: any */
	struct addr *answer;
	size_t nanswer;
	bool has_answers; /* neither this nor a dns_error: addresses are not evaluated */
	enum reason dns_error;
	const struct node *node;
};

struct model {
	struct arena arena;
	const char *name;
	bool is_report;
	struct rule *allow,
	    *deny; /* in decision order of the file; short forms are among them */
	size_t nallow, ndeny;
	struct expectation *expect;
	size_t nexpect;
};

/*
 * Never NULL: with errors in rep it holds what could be understood.
 * is_inline: places say "NAME:allow[0]", since lines would mean nothing.
 */
struct model *model_build(const struct tree *t, const char *name, bool is_inline,
    const struct ruleset_terms *terms, struct report *rep);
void model_free(struct model *m);

#endif
