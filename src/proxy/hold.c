/*
 * hold.c - what a call can cost, held in every scope before a byte goes upstream
 */
#include "proxy/hold.h"

#include <assert.h>
#include <string.h>

#include "proxy/identity.h"

/* Two renewals may be lost before a call that still runs is charged in full; one of a
 * weir that was killed is so much later. */
#define LEASE ((msec)900000)
#define RENEW ((msec)300000)
#define PPM 1000000

static void
on_lease(void *arg)
{
	struct spend *s = arg;
	struct ledger_renew renew = { .call = { str_of(s->x->id), 1 },
		.lease_ms = LEASE };

	(void)ledger_renew_start(s->e->ledger, s->e->loop, &renew, NULL, NULL);
	timer_set(s->e->loop, &s->lease, RENEW);
}

static enum reason
spent_reason(enum ledger_scope_kind kind)
{
	switch (kind) {
	case LEDGER_TURN:
		return REASON_TURN_BUDGET_EXHAUSTED;
	case LEDGER_SESSION:
		return REASON_SESSION_BUDGET_EXHAUSTED;
	case LEDGER_ANCESTOR:
	case LEDGER_TENANT:
	case LEDGER_PUBLIC:
	case LEDGER_TOTAL:
		break;
	}
	return REASON_TENANT_BUDGET_EXHAUSTED;
}

/* Where clamping is of no use any more a scope counts as empty; what only did not fit
 * leaves room for a smaller call. */
static enum reason
exhausted(const struct spend *s, const struct ledger_reply *r)
{
	bool is_strict = s->x->snapshot->settings->budget_mode == BUDGET_STRICT;
	bool is_empty =
	    ledger_left(&r->room[r->refused]) <= 0 || (!is_strict && s->bound.can_clamp);

	return is_empty ? spent_reason(s->scopes.of[r->refused].kind)
			: REASON_BUDGET_INSUFFICIENT_FOR_REQUEST;
}

static enum reason
refusal_of(const struct spend *s, const struct ledger_reply *r)
{
	return r->answer == LEDGER_EXHAUSTED ? exhausted(s, r)
					     : identity_refusal(r->answer);
}

/* The money covers what the table says the model makes at most.  A larger limit is not
 * sent on: a header may raise what the model makes. */
static void
clamp(struct spend *s)
{
	uint64_t limit = s->granted < s->bound.want ? bound_limit(&s->bound, s->granted)
						    : s->bound.limit;
	bool is_beyond_table = s->call.has_limit && s->call.limit > s->bound.limit;

	if (!s->bound.can_clamp || (limit >= s->bound.limit && !is_beyond_table))
		return;
	s->is_clamped = true;
	s->asked = s->call.has_limit ? s->call.limit : s->bound.limit;
	call_clamp(&s->call, limit);
	bound_clamp(&s->bound, limit);
}

static void
on_reserved(void *arg, const struct ledger_reply *r)
{
	struct spend *s = arg;

	s->op = NULL;
	spend_note_room(s, r);
	s->is_short = r->answer == LEDGER_EXHAUSTED;
	if (r->answer != LEDGER_OK) {
		s->short_of = s->is_short ? ledger_left(&r->room[r->refused]) : 0;
		s->x->reason = refusal_of(s, r);
		s->x->error = ledger_answer_text(r->answer);
		spend_tell(s, false);
		return;
	}
	s->is_held = true;
	s->granted = r->granted;
	timer_init(&s->lease, on_lease, s);
	timer_set(s->e->loop, &s->lease, RENEW);
	clamp(s);
	spend_tell(s, true);
}

/* False: it could not even be asked. */
static bool
asked(struct spend *s, struct ledger_op *op)
{
	s->op = op;
	return op != NULL || spend_refuse(s, REASON_LEDGER_UNAVAILABLE, NULL);
}

bool
hold_reserve(struct spend *s, void (*done)(void *arg, bool is_fine), void *arg)
{
	const struct settings *set = s->x->snapshot->settings;
	bool is_strict = set->budget_mode == BUDGET_STRICT;
	struct ledger_reserve r = { .call = { str_of(s->x->id), 1 },
		.who = identity_ledger_who(s->x->snapshot, s->grant),
		.nscope = s->scopes.n,
		.want = s->bound.want,
		.floor = s->bound.want,
		.share_ppm = is_strict ? PPM : set->budget_share,
		.lease_ms = LEASE,
		.provider = str_of(s->route->row->name),
		.model = s->call.nmodel > 0 ? s->call.model[0].name : STR_NONE,
		.prices = str_of(prices_digest(s->x->snapshot->prices)) };

	if (s->scopes.has_no_room)
		return spend_refuse(
		    s, REASON_TURN_LIMIT_REACHED, "a limit of its is nothing");
	assert(s->nreferred == s->call.nreference);
	memcpy(r.scope, s->scopes.of, s->scopes.n * sizeof(s->scopes.of[0]));
	if (!is_strict && (!bound_floor(&s->bound, &r.floor) || r.floor > r.want))
		r.floor = r.want;
	s->done = done;
	s->arg = arg;
	return asked(
	    s, ledger_reserve_start(s->e->ledger, s->e->loop, &r, on_reserved, s));
}

static void
on_looked(void *arg, const struct ledger_reply *r)
{
	struct spend *s = arg;

	s->op = NULL;
	s->nroom = r->nroom;
	memcpy(s->room, r->room, r->nroom * sizeof(r->room[0]));
	s->x->reason = refusal_of(s, r);
	spend_tell(s, r->answer == LEDGER_OK);
}

bool
hold_look(struct spend *s, void (*done)(void *arg, bool is_fine), void *arg)
{
	struct ledger_look look = { .nscope = s->scopes.n, .scope = s->scopes.of };

	s->done = done;
	s->arg = arg;
	return asked(s, ledger_look_start(s->e->ledger, s->e->loop, &look, on_looked, s));
}
