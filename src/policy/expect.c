/*
 * expect.c - a policy's own tests, run at every load
 */
#include "policy/expect.h"

#include "policy/explain.h"

/* A layer that only reports is tested as if it enforced. */
static void
check(const struct expectation *e, const struct verdict *v, const struct tree *t,
    struct report *rep)
{
	bool allow = v->allow && !v->would.is_set;
	enum reason reason = v->would.is_set ? v->would.reason : v->reason;
	const char *got = reason_row(reason)->name;

	if (allow && !e->allow)
		node_error(t, e->node, rep, "expect_failed", NULL,
		    "this policy allows what it says it denies");
	else if (!allow && e->allow)
		node_error(t, e->node, rep, "expect_failed", v->why,
		    "this policy denies what it says it allows: %s", got);
	else if (!allow && e->reason != REASON_NONE && e->reason != reason)
		node_error(t, e->node, rep, "expect_failed", v->why,
		    "this policy denies it with another reason: %s", got);
}

void
expect_run(
    const struct ruleset *rs, size_t layer, const struct tree *t, struct report *rep)
{
	const struct model *m = rs->layer[layer]->model;
	struct place nowhere = { .is_loopback_own_ok = !rs->terms.is_production };
	struct ruleset alone = *rs;
	struct arena a;

	alone.layer = &rs->layer[layer];
	alone.nlayer = 1;
	arena_init(&a, (size_t)1 << 20);
	for (size_t i = 0; i < m->nexpect; i++) {
		const struct expectation *x = &m->expect[i];
		struct explain_ask ask;
		struct explained e;

		explain_ask_init(&ask, x->method, x->target);
		ask.answer = x->answer;
		ask.nanswer = x->nanswer;
		ask.has_answers = x->has_answers;
		ask.dns_error = x->dns_error;
		explain(&e, &alone, &nowhere, &ask, &a);
		check(x, &e.verdict, t, rep);
		arena_reset(&a);
	}
	arena_fini(&a);
}
