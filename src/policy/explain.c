/*
 * explain.c - what would happen to a request, and why, offline
 */
#include "policy/explain.h"

void
explain(struct explained *out, const struct ruleset *rs, const struct place *place,
    const struct explain_ask *ask, struct arena *a)
{
	(void)rs;
	(void)place;
	(void)ask;
	(void)a;
	*out = (struct explained){ .verdict = { .reason = REASON_HOST_NOT_ALLOWED } };
}

void
explain_print_json(
    const struct explained *e, const struct ruleset *rs, struct str id, struct buf *to)
{
	(void)e;
	(void)rs;
	(void)id;
	(void)to;
}

void
explain_print_text(const struct explained *e, const struct ruleset *rs, struct buf *to)
{
	(void)e;
	(void)rs;
	(void)to;
}

void
explain_fix_yaml(const struct explained *e, struct buf *to)
{
	(void)e;
	(void)to;
}
