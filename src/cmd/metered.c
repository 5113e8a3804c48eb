/*
 * metered.c - one recorded model call through the meter
 */
#include "cmd/metered.h"

#include <string.h>

#include "ledger/scope.h"
#include "meter/answer.h"
#include "meter/estimate.h"
#include "meter/hosted.h"
#include "proxy/misread.h"
#include "wire/coding.h"

#define DECODED_MAX ((uint64_t)1 << 30)
#define PPM 1000000

const char *
shape_name(enum shape s)
{
	static const char *const names[] = { [SHAPE_ANTHROPIC] = "anthropic",
		[SHAPE_OPENAI] = "openai",
		[SHAPE_GOOGLE] = "google",
		[SHAPE_AWS] = "aws" };

	return names[s];
}

const char *
basis_name(enum basis b)
{
	static const char *const names[] = { [BASIS_TABLE] = "table",
		[BASIS_REPORTED] = "reported",
		[BASIS_ESTIMATE] = "estimate" };

	return names[b];
}

/* ---- may it run? */

static void
deny(struct metered *m, const struct recorded *r, enum reason reason)
{
	const struct reason_row *row = reason_row(reason);
	bool is_codex = refusal_is_codex(r->request.head);

	m->action = METERED_DENY;
	m->reason = reason;
	m->status = is_codex ? row->codex_status : row->status;
}

/* A record may be of what weir never forwards; a question may not. */
static bool
read_request(struct metered *m, const struct recorded *r, struct arena *a)
{
	bool is_read = call_read(&m->call, &r->request, a);
	bool is_foreign = r->has_response || r->model.p != NULL;

	if (!is_read && m->call.error == CALL_NOT_METERED && r->family != NULL &&
	    is_foreign)
		is_read = call_read_as(&m->call, r->family, &r->request, r->model, a);
	m->shape = m->call.api != NULL ? m->call.api->shape : shape_of(r->request.kind);
	return is_read;
}

static bool
allows_hosted(struct metered *m, const struct terms *t)
{
	struct hosted_allowed allowed = { .all = t->hosted == TERMS_ALLOW };
	const struct hosted *which;

	if (hosted_judge(&m->call, &allowed, t->hosted == TERMS_STRIP, &which))
		return true;
	m->tool = which->type;
	return false;
}

static enum reason
refusal_of(struct metered *m, const struct terms *t)
{
	bool has_tools = allows_hosted(m, t); /* first: some models go with theirs */

	if (t->limits_models && call_beyond(&m->call, t->model, t->nmodel) != NULL)
		return REASON_MODEL_NOT_ALLOWED;
	return has_tools ? REASON_NONE : REASON_HOSTED_TOOL_DENIED;
}

/* ---- is there money? */

static enum reason
spent_reason(enum purse_of of)
{
	static const enum reason reasons[] = { [OF_TURN] = REASON_TURN_BUDGET_EXHAUSTED,
		[OF_SESSION] = REASON_SESSION_BUDGET_EXHAUSTED,
		[OF_TENANT] = REASON_TENANT_BUDGET_EXHAUSTED };

	return reasons[of];
}

/* The ledger's own rule on purses that are given. */
static struct ruling
ask_ledger(
    const struct terms *t, const struct purse *purse, usd_nano want, usd_nano floor)
{
	struct ledger_op op = { .nscope = t->npurse,
		.want = want,
		.floor = floor,
		.share_ppm = t->is_strict || t->has_hold ? PPM : t->share_ppm };
	struct row_scope rows[PURSES];
	usd_nano caps[PURSES];

	for (size_t i = 0; i < t->npurse; i++) {
		rows[i] = SCOPE_NEW;
		rows[i].spent = purse[i].spent;
		rows[i].reserved = purse[i].reserved;
		caps[i] = purse[i].cap;
	}
	return scope_rule(&op, rows, caps);
}

/* Where clamping is of no use any more the purse counts as empty; what only did not fit
 * leaves room for a smaller call. */
static void
deny_money(struct metered *m, const struct recorded *r, const struct terms *t,
    const struct bound *b, const struct purse *refusing)
{
	usd_nano left = refusing->cap - refusing->spent - refusing->reserved;
	bool is_empty = left <= 0 || (!t->is_strict && b->can_clamp);

	deny(m, r,
	    is_empty ? spent_reason(refusing->of)
		     : REASON_BUDGET_INSUFFICIENT_FOR_REQUEST);
}

/* As the gateway does: to what was granted, and never above what the table covers. */
static void
clamp(struct metered *m, const struct bound *b, usd_nano want)
{
	uint64_t limit = m->reserve < want ? bound_limit(b, m->reserve) : b->limit;
	bool is_beyond_table = m->call.has_limit && m->call.limit > b->limit;

	if (!b->can_clamp || (limit >= b->limit && !is_beyond_table))
		return;
	m->is_clamped = true;
	m->limit = limit;
	m->asked = m->call.has_limit ? m->call.limit : b->limit;
	call_clamp(&m->call, limit);
}

static void
reserve(struct metered *m, const struct recorded *r, const struct terms *t,
    const struct bound *b)
{
	usd_nano want = t->has_hold ? t->hold : b->want, floor = want;
	struct purse purse[PURSES];
	uint64_t calls = t->parallel > 0 ? t->parallel : 1;

	memcpy(purse, t->purse, sizeof(purse));
	if (!t->is_strict && !t->has_hold && !bound_floor(b, &floor))
		floor = want;
	for (; m->admitted < calls; m->admitted++) {
		struct ruling ruling = ask_ledger(t, purse, want, floor);

		if (ruling.answer != LEDGER_OK) {
			m->is_in_flight = ruling.is_in_flight;
			if (m->admitted == 0)
				deny_money(m, r, t, b, &purse[ruling.refused]);
			break;
		}
		m->reserve = ruling.granted;
		for (size_t i = 0; i < t->npurse; i++)
			purse[i].reserved += ruling.granted;
	}
	if (m->admitted == 0)
		return;
	m->action = t->parallel > 1 ? METERED_MIXED : METERED_ALLOW;
	clamp(m, b, want);
}

static enum reason
price(struct metered *m, const struct terms *t, struct bound *b)
{
	struct bound_input in = { .prices = t->prices, .day = t->day, .floor = t->floor };
	struct str which;

	switch (bound_call(b, &m->call, &in, &which)) {
	case BOUND_OK:
		return REASON_NONE;
	case BOUND_TOO_LARGE:
		return REASON_BUDGET_INSUFFICIENT_FOR_REQUEST;
	case BOUND_UNPRICED:
	case BOUND_ENDLESS:
		break;
	}
	return REASON_MODEL_UNPRICED;
}

/* What may not run is judged before what it could cost: tools that are taken out of the
 * request cost nothing. */
static void
admit(struct metered *m, const struct recorded *r, const struct terms *t)
{
	enum reason reason = refusal_of(m, t);
	struct bound bound;

	if (reason == REASON_NONE && !m->call.is_free)
		reason = price(m, t, &bound);
	if (reason != REASON_NONE) {
		deny(m, r, reason);
		return;
	}
	if (m->call.is_free) {
		m->action = METERED_ALLOW;
		return;
	}
	m->has_reserve = true;
	m->reserve = bound.want;
	reserve(m, r, t, &bound);
}

/* ---- what did it cost? */

static bool
coding_of(const struct http_head *head, enum coding *out)
{
	const struct http_field *f = http_field(head, STR("content-encoding"));

	*out = CODING_IDENTITY;
	return f == NULL || coding_read(f->value, out);
}

/* False: something is missing or damaged. */
static bool
feed(struct answer *a, const struct recorded *r)
{
	enum coding_result result = CODING_DONE;
	enum coding coding;
	struct decoder *d;
	bool is_whole;

	if (!coding_of(&r->response, &coding))
		return false;
	d = decoder_new(coding, DECODED_MAX);
	for (size_t i = 0; i < r->npiece; i++) {
		struct str in = r->piece[i], text;

		while ((result = decoder_next(d, &in, &text)) == CODING_DATA)
			answer_feed(a, text, NULL);
		if (result == CODING_BAD || result == CODING_OVER)
			break;
	}
	is_whole = decoder_is_whole(d);
	decoder_free(d);
	return is_whole;
}

static void
note_bill(struct metered *m, const struct bill *bill)
{
	m->cost = bill->cost;
	m->basis = bill->basis;
	if (bill->reported_zero)
		m->flags |= METERED_REPORTED_ZERO;
	if (bill->reported_off)
		m->flags |= METERED_REPORTED_OFF;
	if (bill->is_unpriced)
		m->flags |= METERED_UNPRICED;
}

static void
settle_at_ceiling(
    struct metered *m, struct usage *u, const struct terms *t, const struct bound *b)
{
	struct estimate_input in = { .prices = t->prices,
		.day = t->day,
		.bound = b,
		.reserved = t->has_hold ? t->hold : b->want };

	m->cost = estimate(u, &m->call, &in);
	m->basis = BASIS_ESTIMATE;
	if (bill_says_more(u, m->cost, t->trusts_reported)) {
		m->cost = u->reported;
		m->basis = BASIS_REPORTED;
	}
	m->flags |= METERED_ESTIMATED;
}

static void
settle(struct metered *m, const struct recorded *r, const struct terms *t,
    const struct bound *b)
{
	struct answer *a = answer_new(&m->call, &r->response);
	bool is_whole = feed(a, r);
	struct usage u = *answer_end(a, is_whole);
	struct bill bill;

	answer_free(a);
	if (u.state == USAGE_LATER) {
		m->action = METERED_HOLD;
		return;
	}
	m->action = METERED_SETTLE;
	if (u.is_absurd || u.is_cost_absurd)
		m->flags |= METERED_ABSURD;
	if (u.state == USAGE_ALL &&
	    bill_of(&bill, t->prices, &u, t->day, t->trusts_reported))
		note_bill(m, &bill);
	else
		settle_at_ceiling(m, &u, t, b);
	m->tokens = usage_total(&u);
	if (t->has_hold && m->cost > t->hold)
		m->flags |= METERED_OVER_HOLD;
}

bool
metered_is_spent(const struct metered *m, const struct terms *t)
{
	for (size_t i = 0; i < t->npurse; i++)
		if (t->purse[i].cap - t->purse[i].spent - t->purse[i].reserved <= m->cost)
			return true;
	return false;
}

void
metered(
    struct metered *m, const struct recorded *r, const struct terms *t, struct arena *a)
{
	bool is_question = r->has_response && str_eq(r->request.method, STR("GET"));
	struct bound bound = { .nrun = 0 };

	*m = (struct metered){ .action = METERED_DENY };
	if (!read_request(m, r, a) && !is_question) {
		deny(m, r, misread(m->call.error));
		return;
	}
	if (!r->has_response) {
		admit(m, r, t);
		return;
	}
	/* without a bound there is no ceiling, and only the provider's word counts */
	if (!m->call.is_free && m->call.nmodel > 0 && price(m, t, &bound) != REASON_NONE)
		bound = (struct bound){ .nrun = 0 };
	settle(m, r, t, &bound);
}
