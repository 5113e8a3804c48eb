/*
 * settle.c - how the account of a call is closed
 */
#include "proxy/settle.h"

#include <assert.h>
#include <stdlib.h>

#include "base/count.h"
#include "meter/api.h"
#include "meter/usage_json.h"
#include "proxy/charge.h"
#include "proxy/own.h"

#define BACKGROUND_LEASE ((msec)(8 * 3600 + 900) * 1000) /* they end within 8 h */
#define USAGE_TEXT ((size_t)4096)                        /* of a row */

static bool
keeps(const struct usage *u, struct str id)
{
	for (size_t i = 0; i < u->nobject; i++)
		if (str_eq(id, str_of(u->object[i].id)))
			return true;
	return false;
}

static bool
keeps_response(const struct usage *u)
{
	for (size_t i = 0; i < u->nobject; i++)
		if (u->object[i].kind == REFERENCE_RESPONSE)
			return true;
	return false;
}

/* All that is needed to compute the cost again. */
static void
put_usage(struct buf *to, const struct spend *s, const struct usage *u)
{
	const struct usage_kept kept = { .usage = *u,
		.day = s->day,
		.api = str_of(s->call.api->name),
		.id = str_of(s->provider_id) };

	usage_print(to, &kept);
}

static unsigned
flags_of(const struct spend *s)
{
	return (s->basis == BASIS_ESTIMATE ? LEDGER_ESTIMATED : 0u) |
	       (s->basis == BASIS_REPORTED ? LEDGER_REPORTED : 0u) |
	       ((s->x->flags & FLAG_USAGE_ABSURD) != 0 ? LEDGER_MALFORMED : 0u) |
	       ((s->x->flags & FLAG_STREAM_CUT) != 0 ? LEDGER_CUT : 0u);
}

static void
on_settled(void *arg, const struct ledger_reply *r)
{
	struct spend *s = arg;

	s->op = NULL;
	if (r->answer == LEDGER_OK)
		spend_note_room(s, r);
	if (r->is_repeat &&
	    spend_ran_on(s) != NULL) /* by another exchange, a moment ago */
		s->charged = 0;
	spend_tell(s, true);
}

static void
count(const struct spend *s)
{
	count_add(COUNT_MODEL_CALLS, 1);
	count_add(COUNT_MODEL_CALLS_ESTIMATED, s->basis == BASIS_ESTIMATE);
	count_add(COUNT_MODEL_CALLS_OVER_HOLD, (s->x->flags & FLAG_OVER_HOLD) != 0);
	count_add(COUNT_MODEL_TOKENS_IN, (int64_t)s->tokens.input_total);
	count_add(COUNT_MODEL_TOKENS_OUT, (int64_t)s->tokens.output);
	count_add(COUNT_MODEL_NANO_USD, s->charged);
}

/* The one place where what is held ends.  `waits`: done() is wanted. */
static void
settle(struct spend *s, const struct usage *u, bool waits)
{
	const struct object_note *ran = spend_ran_on(s);
	struct ledger_settle row = { .call = { ran != NULL ? ran->call : str_of(s->x->id),
					 1 },
		.cost = s->charged,
		.input = s->tokens.input_total,
		.cached = s->tokens.cache_read,
		.output = s->tokens.output,
		.prices = str_of(prices_digest(s->x->snapshot->prices)),
		.model = str_of(s->model),
		.flags = flags_of(s),
		.nscope = s->scopes.n,
		.scope = s->scopes.of };
	struct buf text;

	buf_init(&text, USAGE_TEXT);
	if (u != NULL)
		put_usage(&text, s, u);
	if (!text.is_over)
		row.usage = buf_view(&text);
	s->is_held = false;
	s->is_settled = true;
	count(s);
	timer_clear(&s->lease);
	s->op = ledger_settle_start(
	    s->e->ledger, s->e->loop, &row, waits ? on_settled : NULL, s);
	if (!waits)
		s->op = NULL; /* the ledger's own from here on */
	buf_fini(&text);
}

static bool
is_free_of_charge(const struct spend *s, const struct answer *a)
{
	return !s->is_sent || (a != NULL && a->form == ANSWER_EMPTY);
}

static void
on_left_open(void *arg, const struct ledger_reply *r)
{
	struct spend *s = arg;

	(void)r; /* when it was not renewed it is charged in full so much earlier */
	s->op = NULL;
	spend_tell(s, true);
}

/* It runs on, and what is held with it. */
static void
leave_open(struct spend *s, bool waits)
{
	struct ledger_renew renew = { .call = { str_of(s->x->id), 1 },
		.lease_ms = BACKGROUND_LEASE };

	s->is_held = false;
	timer_clear(&s->lease);
	s->op = ledger_renew_start(
	    s->e->ledger, s->e->loop, &renew, waits ? on_left_open : NULL, s);
	if (!waits)
		s->op = NULL;
}

static void
close_account(struct spend *s, const struct answer *a, struct usage *u, bool waits)
{
	if (is_free_of_charge(s, a)) {
		settle(s, NULL, waits);
		return;
	}
	own_keep_all(s, u);
	if (s->call.is_background && u->state == USAGE_LATER && keeps_response(u)) {
		leave_open(s, waits);
		return;
	}
	s->charged = charge_of(s, u);
	charge_note(s, u);
	settle(s, u, waits);
}

/* What it held before is settled by what it is said to have used, or not at all: a GET
 * that breaks off is no end, and there will be another. */
static bool
close_earlier(struct spend *s, struct usage *u)
{
	bool trusts = s->route->row->settle == SETTLE_REPORTED;
	struct bill bill;

	if (u->state != USAGE_ALL || u->is_absurd || !keeps(u, s->call.reference[0].id) ||
	    !bill_of(&bill, s->x->snapshot->prices, u, s->day, trusts))
		return false;
	s->charged = bill.cost;
	s->basis = bill.basis;
	charge_note(s, u);
	settle(s, u, true);
	own_keep_all(s, u);
	return true;
}

bool
settle_call(struct spend *s, const struct answer *a, struct usage *u,
    void (*done)(void *arg, bool is_fine), void *arg)
{
	assert(s->op == NULL);
	s->done = done;
	s->arg = arg;
	if (s->is_held)
		close_account(s, a, u, true);
	else if (spend_ran_on(s) == NULL || s->is_settled || !close_earlier(s, u))
		return false;
	return true;
}

void
settle_end(struct spend *s)
{
	struct usage *u;

	if (s == NULL)
		return;
	s->done = NULL;
	if (s->op != NULL)
		ledger_cancel(s->op); /* a reserve is given back, a settle happens */
	s->op = NULL;
	if (!s->is_held)
		return;
	u = mem_zalloc(sizeof(*u));
	close_account(s, NULL, u, false);
	free(u);
}
