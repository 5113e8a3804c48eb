/*
 * match.c - ruleset + facts -> verdict
 */
#include "policy/match.h"

bool
match_admit(const struct ruleset *rs, const struct facts *f, struct arena *a,
    struct admitted *out, struct verdict *v, struct trace *trace)
{
	(void)rs;
	(void)f;
	(void)a;
	(void)out;
	(void)trace;
	*v = (struct verdict){ .reason = REASON_HOST_NOT_ALLOWED, .max_body = -1 };
	return false;
}

bool
match_address(const struct ruleset *rs, const struct facts *f, const struct admitted *in,
    const struct addr *found, size_t n, const struct place *place, struct vetted *out,
    struct verdict *v, struct trace *trace)
{
	(void)rs;
	(void)f;
	(void)in;
	(void)found;
	(void)n;
	(void)place;
	(void)out;
	(void)trace;
	*v = (struct verdict){ .reason = REASON_ADDRESS_DENIED, .max_body = -1 };
	return false;
}

void
match_judge(const struct ruleset *rs, const struct facts *f, struct arena *a,
    const struct addr *dialled, const struct place *place, struct verdict *v,
    struct trace *trace)
{
	(void)rs;
	(void)f;
	(void)a;
	(void)dialled;
	(void)place;
	(void)trace;
	*v = (struct verdict){ .reason = REASON_HOST_NOT_ALLOWED, .max_body = -1 };
}
