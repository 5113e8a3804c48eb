/*
 * literal.c - is the address that was asked for a model provider's?
 */
#include "proxy/literal.h"

#include <assert.h>

#include "base/err.h"

bool
literal_matters(const struct exchange *x)
{
	const struct metered *m;

	assert(x->rules != NULL); /* it was admitted by them */
	m = x->rules->metered;
	return x->ask.host.is_literal && x->route == NULL && m != NULL && m->n > 0;
}

static bool
refuse(struct exchange *x, const char *where)
{
	x->verdict = (struct verdict){
		.reason = REASON_METERED_HOST, .why = where, .max_body = -1
	};
	x->reason = REASON_METERED_HOST;
	x->error = where;
	return false;
}

/* What a NAT64 form leads to is the address. */
static struct addr
meant(const struct exchange *x, const struct addr *a)
{
	return guard_unwrap(a, &x->snapshot->place);
}

enum literal
literal_next(struct exchange *x, struct host *name)
{
	const struct metered *m = x->rules->metered;
	struct addr asked = meant(x, &x->ask.host.addr);

	if (!literal_matters(x))
		return LITERAL_FREE;
	while (x->nlooked < m->n) {
		const struct metered_host *h = &m->p[x->nlooked++];

		if (h->pattern.kind == PATTERN_NAME &&
		    host_parse(name, h->pattern.base) == HOST_OK)
			return LITERAL_ASK;
		if (h->pattern.kind == PATTERN_RANGE &&
		    prefix_has(&h->pattern.prefix, &asked)) {
			(void)refuse(x, h->where);
			return LITERAL_REFUSED;
		}
	}
	return LITERAL_FREE;
}

bool
literal_judge(struct exchange *x, const struct found *found)
{
	struct addr asked = meant(x, &x->ask.host.addr);
	const struct metered *m = x->rules->metered;

	assert(m != NULL && x->nlooked > 0 && x->nlooked <= m->n);
	for (size_t i = 0; i < found->count; i++) {
		struct addr a = meant(x, &found->addr[i]);

		if (addr_eq(&a, &asked))
			return refuse(x, m->p[x->nlooked - 1].where);
	}
	if (addr_is_v4(&asked) ? found->knows_v4 : found->knows_v6)
		return true;
	x->reason = reason_of_lookup(found->err);
	x->error = "a provider's host could not be looked up, and may be this address";
	return false;
}
