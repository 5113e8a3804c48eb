/*
 * scopes.c - the purses that one model call is paid from, and their ceilings
 */
#include "proxy/scopes.h"

#include <string.h>

static struct ledger_scope *
add_scope(struct scopes *s, enum ledger_scope_kind kind, const struct grant *g)
{
	struct ledger_scope *scope = &s->of[s->n];

	if (s->n == LEDGER_SCOPES)
		return NULL;
	s->n++;
	*scope = (struct ledger_scope){ .kind = kind,
		.issuer = g->issuer,
		.tenant = g->tenant,
		.sid = g->sid,
		.cap = LEDGER_MONEY_MAX,
		.claim = LEDGER_NO_CLAIM,
		.gen = g->gen };
	return scope;
}

static void
set_ceiling(struct ledger_scope *scope, const struct ceiling *c)
{
	if (c->cap != GRANT_UNSAID)
		scope->cap = c->cap;
	if (c->claim != GRANT_UNSAID)
		scope->claim = c->claim;
}

/* The store counts up to a limit; one of nothing is refused without asking it. */
static int64_t
limit_of(struct scopes *s, int64_t said, int64_t newest)
{
	int64_t limit = newest >= 0 && (said < 0 || newest < said) ? newest : said;

	s->has_no_room |= limit == 0;
	return limit < 0 ? 0 : limit;
}

static void
add_turn(struct scopes *s, const struct grant *g, const struct session_limits *newest)
{
	struct ledger_scope *scope;

	if (g->turn.n == 0 || (scope = add_scope(s, LEDGER_TURN, g)) == NULL)
		return;
	scope->turn = g->turn;
	set_ceiling(scope, &g->turn_usd);
	scope->max_calls = limit_of(s, g->turn_calls, newest->turn_calls);
	scope->max_tokens = limit_of(s, g->turn_tokens, newest->turn_tokens);
}

static void
add_session(
    struct scopes *s, const struct grant *g, enum ledger_scope_kind kind, int64_t newest)
{
	struct ledger_scope *scope = add_scope(s, kind, g);

	if (scope == NULL)
		return;
	set_ceiling(scope, &g->session_usd);
	scope->max_tokens = limit_of(s, g->session_tokens, newest);
}

static enum ledger_window
window_of(int per)
{
	switch ((enum per)per) {
	case PER_EVER:
		return LEDGER_EVER;
	case PER_DAY:
		return LEDGER_DAY;
	case PER_MONTH:
		return LEDGER_MONTH;
	}
	return LEDGER_EVER;
}

static const struct tenant_budget *
budget_of(const struct tenant_budgets *all, struct str tenant)
{
	const struct tenant_budget *other = NULL;

	for (size_t i = 0; i < all->n; i++) {
		if (str_eq(tenant, str_of(all->p[i].name)))
			return &all->p[i];
		if (strcmp(all->p[i].name, "*") == 0)
			other = &all->p[i];
	}
	return other;
}

static void
add_pool(struct scopes *s, const struct grant *g, enum ledger_scope_kind kind,
    const struct pool *pool)
{
	struct ledger_scope *scope;

	if (pool->usd == UNWRITTEN || (scope = add_scope(s, kind, g)) == NULL)
		return;
	scope->issuer = scope->tenant = scope->sid = STR_NONE;
	scope->cap = pool->usd;
	scope->window = window_of(pool->per);
}

static void
add_tenant(struct scopes *s, const struct grant *g, const struct settings *set)
{
	const struct tenant_budget *b = budget_of(&set->budget_tenants, g->tenant);
	struct ledger_scope *scope;

	if (g->tenant.n == 0 || b == NULL ||
	    (scope = add_scope(s, LEDGER_TENANT, g)) == NULL)
		return;
	scope->issuer = scope->sid = STR_NONE;
	scope->cap = b->usd;
	scope->window = window_of(b->per);
}

void
scopes_gather(struct scopes *s, const struct exchange *x, const struct grant *g)
{
	const struct settings *set = x->snapshot->settings;
	const struct caller *who = x->who;
	const struct session_limits newest =
	    who != NULL ? session_limits(who->session, g->turn)
			: (struct session_limits){ .turn_calls = -1,
				  .turn_tokens = -1,
				  .session_tokens = -1,
				  .upload = -1 };

	*s = (struct scopes){ .n = 0 };
	add_turn(s, g, &newest);
	add_session(s, g, LEDGER_SESSION, newest.session_tokens);
	for (size_t i = 0; who != NULL && i < who->nkin; i++)
		add_session(s, who->kin[i], LEDGER_ANCESTOR, GRANT_UNSAID);
	add_tenant(s, g, set);
	if (g->is_public)
		add_pool(s, g, LEDGER_PUBLIC, &set->budget_public);
	add_pool(s, g, LEDGER_TOTAL, &set->budget_total);
}
