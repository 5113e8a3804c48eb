/*
 * charge.c - what a call has cost, by what its answer said or what passed
 */
#include "proxy/charge.h"

#include <stdlib.h>
#include <string.h>

#include "meter/api.h"
#include "meter/estimate.h"

static usd_nano
least_of(const struct spend *s, const struct usage *u)
{
	usd_nano least;

	return estimate_least(u, &s->call, s->x->snapshot->prices, s->day, &least) ? least
										   : 0;
}

/* What runs in the background goes on, whoever reads. */
bool
charge_is_passed(const struct spend *s, struct answer *a)
{
	struct usage *u;
	bool is_passed;

	if (!s->is_held || s->call.is_background)
		return false;
	u = mem_alloc(sizeof(*u));
	is_passed = answer_so_far(a, u) && least_of(s, u) > s->granted;
	free(u);
	return is_passed;
}

static usd_nano
ceiling_of(struct spend *s, struct usage *u)
{
	const struct settings *set = s->x->snapshot->settings;
	struct estimate_input in = { .prices = s->x->snapshot->prices,
		.day = s->day,
		.bound = &s->bound,
		.reserved = s->granted,
		.least = least_of(s, u),
		.ms = loop_now(s->e->loop) - s->sent_at,
		.max_tokens_per_second = (uint64_t)set->gateway_max_tokens_per_second,
		.runs_on = s->call.api->shape == SHAPE_GOOGLE || s->call.is_background };
	usd_nano cost = estimate(u, &s->call, &in);
	bool is_less = bill_says_more(u, cost, s->route->row->settle == SETTLE_REPORTED);

	s->basis = is_less ? BASIS_REPORTED : BASIS_ESTIMATE;
	return is_less ? u->reported : cost;
}

static void
note_bill(struct exchange *x, const struct bill *bill)
{
	if (bill->reported_zero)
		x->flags |= FLAG_REPORTED_ZERO;
	if (bill->reported_off)
		x->flags |= FLAG_REPORTED_OFF;
	if (bill->is_unpriced)
		x->flags |= FLAG_MODEL_UNPRICED;
}

usd_nano
charge_of(struct spend *s, struct usage *u)
{
	bool trusts = s->route->row->settle == SETTLE_REPORTED;
	struct bill bill = { .cost = 0 };
	bool is_billed;

	if (u->is_absurd || u->is_cost_absurd)
		s->x->flags |= FLAG_USAGE_ABSURD;
	if (u->state != USAGE_ALL)
		return ceiling_of(s, u);
	is_billed = bill_of(&bill, s->x->snapshot->prices, u, s->day, trusts);
	note_bill(s->x, &bill);
	if (!is_billed)
		return ceiling_of(s, u);
	s->basis = bill.basis;
	return bill.cost;
}

static const char *
answered_by(const struct spend *s, const struct usage *u)
{
	const struct run *first = &u->run[0];

	if (u->model[0] != '\0')
		return u->model;
	return u->nrun > 0 && first->model[0] != '\0' ? first->model : s->model;
}

void
charge_note(struct spend *s, const struct usage *u)
{
	char model[USAGE_MODEL];

	if (s->call.nmodel > 0)
		usage_name(s->model, s->call.model[0].name);
	memcpy(model, answered_by(s, u), sizeof(model));
	memcpy(s->model, model, sizeof(model));
	s->tokens = usage_total(u);
	if (s->is_held && s->charged > s->granted)
		s->x->flags |= FLAG_OVER_HOLD;
	if (s->x->who != NULL)
		session_used(
		    s->x->who->session, s->tokens.input_total + s->tokens.output);
}
