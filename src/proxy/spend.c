/*
 * spend.c - one model call's money: judged, bounded, reserved, settled
 */
#include "proxy/spend.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/count.h"
#include "base/utf8.h"
#include "meter/api.h"
#include "meter/estimate.h"
#include "meter/hosted.h"
#include "meter/usage_json.h"
#include "proxy/identity.h"
#include "proxy/misread.h"

#define CALL_MEMORY ((size_t)128 << 20) /* of a body of 32 MiB, read */
/* Two renewals may be lost before a call that still runs is charged in full; one of a
 * weir that was killed is so much later. */
#define LEASE ((msec)900000)
#define RENEW ((msec)300000)
#define PPM 1000000
#define NAME_READ ((size_t)4096)       /* of it, so that a secret in it is seen whole */
#define REDACTED_MAX ((size_t)1 << 16) /* marks are longer than what they stand for */
#define REFERRED_SLACK 256        /* markers around the parts of what is read again */
#define USAGE_TEXT ((size_t)4096) /* of a row */
#define NAME_TOLD ((size_t)128)   /* of a name that only the client knows */

/* ---- who pays */

static const struct grant *
payer(const struct exchange *x)
{
	return x->who != NULL ? x->who->grant : x->snapshot->keys->laptop;
}

/* ---- life */

static void
on_lease(void *arg)
{
	struct spend *s = arg;
	struct ledger_renew renew = { .call = { str_of(s->x->id), 1 },
		.lease_ms = LEASE };

	(void)ledger_renew_start(s->e->ledger, s->e->loop, &renew, NULL, NULL);
	timer_set(s->e->loop, &s->lease, RENEW);
}

static yyyymmdd
today(void)
{
	time_t now = (time_t)clock_wall_s();
	struct tm tm;

	gmtime_r(&now, &tm);
	return (
	    yyyymmdd)((tm.tm_year + 1900) * 10000 + (tm.tm_mon + 1) * 100 + tm.tm_mday);
}

struct spend *
spend_new(struct engine *e, struct exchange *x)
{
	struct spend *s = mem_zalloc(sizeof(*s));

	s->e = e;
	s->x = x;
	s->route = x->route;
	s->grant = payer(x);
	s->day = today();
	arena_init(&s->arena, CALL_MEMORY);
	buf_init(&s->body, CALL_BODY_MAX);
	timer_init(&s->lease, on_lease, s);
	if (s->grant != NULL)
		scopes_gather(&s->scopes, x, s->grant);
	return s;
}

void
spend_free(struct spend *s)
{
	if (s == NULL)
		return;
	assert(s->op == NULL && !s->is_held);
	timer_clear(&s->lease);
	buf_fini(&s->body);
	arena_fini(&s->arena);
	free(s);
}

/* ---- may it run? */

static bool
refuse(struct spend *s, enum reason reason, const char *why)
{
	s->x->reason = reason;
	s->x->error = why;
	return false;
}

/* The path below the provider's own, with its query, as the family reads it; the arena's.
 */
static struct str
path_of(struct spend *s)
{
	struct buf b;
	struct str out;

	buf_init(&b, s->x->head->target.n + 1);
	buf_str(&b, route_rest(s->route, s->x->ask.path));
	if (s->x->ask.query.p != NULL) {
		buf_char(&b, '?');
		buf_str(&b, s->x->ask.query);
	}
	out = arena_str(&s->arena, buf_view(&b));
	buf_fini(&b);
	return out;
}

/* What the session and each of its ancestors allow; the arena's. */
static struct hosted_allowed
allowed_tools(struct spend *s)
{
	const struct grant *g = s->grant;
	struct hosted_allowed out = { .all = g->hosted == HOSTED_ALL };
	const struct caller *who = s->x->who;
	struct str *name = arena_alloc(&s->arena, CLAIM_NAMES_MAX * sizeof(*name));

	for (size_t i = 0; who != NULL && i < who->nkin; i++)
		out.all = out.all && who->kin[i]->hosted == HOSTED_ALL;
	if (out.all || g->hosted != HOSTED_NAMED || name == NULL)
		return out;
	out.name = name;
	for (size_t i = 0; i < g->tools.n && out.n < CLAIM_NAMES_MAX; i++) {
		bool is_kept = true;
		for (size_t k = 0; who != NULL && k < who->nkin; k++)
			is_kept = is_kept && grant_has_tool(who->kin[k], g->tools.p[i]);
		if (is_kept)
			name[out.n++] = g->tools.p[i];
	}
	return out;
}

static bool
is_beyond(const struct spend *s, const struct grant *g)
{
	return g->has_models && call_beyond(&s->call, g->models.p, g->models.n) != NULL;
}

static bool
has_models(const struct spend *s)
{
	const struct caller *who = s->x->who;

	if (is_beyond(s, s->grant))
		return false;
	for (size_t i = 0; who != NULL && i < who->nkin; i++)
		if (is_beyond(s, who->kin[i]))
			return false;
	return true;
}

/* Only what can be asked after runs in the background, and what one model's price
 * settles: the exchange that does so knows nothing else of the request. */
static bool
may_run_on(const struct spend *s)
{
	return s->call.nmodel == 1 &&
	       api_shows((enum provider_kind)s->route->row->kind, s->call.path);
}

/* Tools first: some models go with theirs. */
static bool
may_run(struct spend *s)
{
	const struct settings *set = s->x->snapshot->settings;
	struct hosted_allowed allowed = allowed_tools(s);
	const struct hosted *which;

	if (!hosted_judge(
		&s->call, &allowed, set->gateway_hosted == HOSTED_STRIP, &which))
		return refuse(s, REASON_HOSTED_TOOL_DENIED, "a provider-hosted tool");
	if (!has_models(s))
		return refuse(s, REASON_MODEL_NOT_ALLOWED, NULL);
	if (s->call.is_background && !may_run_on(s))
		return refuse(s, REASON_ENDPOINT_NOT_METERED,
		    "a call in the background is not metered here");
	return true;
}

/*
 * What the provider will read again, by its own count when it made that: of the same
 * model, from calls that left nothing out and put nothing else in.  0: not known, so as
 * much as the model takes.
 */
static uint64_t
referred_tokens(const struct spend *s)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < s->nreferred; i++) {
		const struct object_note *o = &s->referred[i];
		uint64_t tokens = (uint64_t)o->tokens;

		if (o->tokens <= 0 || s->call.nmodel != 1 ||
		    !str_eq(o->model, s->call.model[0].name))
			return 0;
		sum += tokens + tokens / 50 + REFERRED_SLACK;
	}
	return sum;
}

/* As outside text stands in a record: without its secrets, and no longer than is read.
 * The exchange's; NULL: there is no name. */
static const char *
told_name(struct exchange *x, struct str name, const char *fault)
{
	struct buf clean, told;
	struct str out = STR_NONE;

	buf_init(&clean, REDACTED_MAX);
	buf_init(&told, 4 * NAME_TOLD);
	redact_part(x->snapshot->redactor, REDACT_TEXT, utf8_cut(name, NAME_READ),
	    NAME_TOLD, &clean);
	buf_str(&told, utf8_cut(buf_view(&clean), NAME_TOLD));
	if (clean.n > NAME_TOLD)
		buf_text(&told, "\xe2\x80\xa6"); /* U+2026 */
	if (fault != NULL)
		buf_fmt(&told, ": %s", fault);
	if (name.n > 0)
		out = arena_str(&x->arena, buf_view(&told));
	buf_fini(&told);
	buf_fini(&clean);
	return out.p;
}

static bool
refuse_price(struct spend *s, struct str model, const char *fault)
{
	return refuse(s, REASON_MODEL_UNPRICED, told_name(s->x, model, fault));
}

static bool
price(struct spend *s)
{
	struct bound_input in = { .prices = s->x->snapshot->prices,
		.day = s->day,
		.floor = (uint64_t)s->x->snapshot->settings->budget_floor,
		.referred = referred_tokens(s) };
	struct str which;

	switch (bound_call(&s->bound, &s->call, &in, &which)) {
	case BOUND_OK:
		return true;
	case BOUND_TOO_LARGE:
		return refuse(s, REASON_BUDGET_INSUFFICIENT_FOR_REQUEST, NULL);
	case BOUND_UNPRICED:
		return refuse_price(s, which, NULL);
	case BOUND_ENDLESS:
		return refuse_price(
		    s, which, "the price table says no limit of its output");
	}
	return refuse(s, REASON_INTERNAL, NULL);
}

bool
spend_judge(struct spend *s)
{
	struct model_request r = { .kind = (enum provider_kind)s->route->row->kind,
		.method = s->x->head->method,
		.path = path_of(s),
		.head = s->x->head,
		.body = buf_view(&s->body) };

	if (r.kind == PROVIDER_NONE) {
		s->call.path = r.path;
		s->call.body = r.body;
		return true;
	}
	if (s->grant == NULL)
		return refuse(s, REASON_SESSION_REQUIRED, NULL);
	if (!call_read(&s->call, &r, &s->arena))
		return refuse(s, misread(s->call.error), s->call.why);
	if (!may_run(s))
		return false;
	s->is_metered = !s->call.is_free;
	return !s->is_metered || s->call.nreference > 0 || price(s);
}

/* ---- is there money? */

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

static void
note_room(struct spend *s, const struct ledger_reply *r)
{
	for (size_t i = 0; i < r->nroom && i < s->scopes.n; i++) {
		usd_nano left = ledger_left(&r->room[i]);
		bool is_own = s->scopes.of[i].kind <= LEDGER_SESSION;

		if (s->scopes.of[i].kind == LEDGER_TURN)
			s->turn_left = left;
		if (s->scopes.of[i].kind == LEDGER_SESSION)
			s->session_left = left;
		/* what others have left is not told to this one */
		if (is_own && (i == 0 || left < s->left))
			s->left = left;
		s->has_left |= is_own;
	}
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
tell(struct spend *s, bool is_fine)
{
	void (*done)(void *arg, bool is_fine) = s->done;

	s->done = NULL;
	if (done != NULL)
		done(s->arg, is_fine);
}

static void
on_reserved(void *arg, const struct ledger_reply *r)
{
	struct spend *s = arg;

	s->op = NULL;
	note_room(s, r);
	if (r->answer != LEDGER_OK) {
		s->x->reason = refusal_of(s, r);
		s->x->error = ledger_answer_text(r->answer);
		tell(s, false);
		return;
	}
	s->is_held = true;
	s->granted = r->granted;
	timer_set(s->e->loop, &s->lease, RENEW);
	clamp(s);
	tell(s, true);
}

/* ---- whose is what it refers to? */

/* The call in the background that it asks after; NULL: none, or that has been settled. */
static const struct object_note *
ran_on(const struct spend *s)
{
	return s->call.shows && s->nreferred == 1 && s->referred[0].call.n > 0
		   ? &s->referred[0]
		   : NULL;
}

static const struct reference *
referred_next(const struct spend *s)
{
	return &s->call.reference[s->nreferred];
}

/* What it costs goes by the day and the tier of the call itself. */
static void
recall(struct spend *s, const struct object_note *ran)
{
	s->day = ran->day;
	s->call.tier = ran->tier;
	usage_name(s->model, ran->model);
	if (ran->request.n < SPEND_NAME) {
		memcpy(s->provider_id, ran->request.p, ran->request.n);
		s->provider_id[ran->request.n] = '\0';
	}
}

static void
on_found(void *arg, const struct ledger_reply *r)
{
	struct spend *s = arg;
	struct object_note *o = &s->referred[s->nreferred];
	enum reason reason = object_read(o, r, s->grant, &s->arena);

	s->op = NULL;
	if (reason != REASON_NONE) {
		tell(s, refuse(s, reason, NULL));
		return;
	}
	if (++s->nreferred < s->call.nreference) {
		s->op = object_find_start(
		    s->e, s->route->row->name, referred_next(s)->id, on_found, s);
		return;
	}
	if (ran_on(s) != NULL)
		recall(s, ran_on(s));
	tell(s, !s->is_metered || price(s));
}

void
spend_own(struct spend *s, void (*done)(void *arg, bool is_fine), void *arg)
{
	assert(s->call.nreference > 0 && s->nreferred == 0 && s->op == NULL);
	s->done = done;
	s->arg = arg;
	s->op = object_find_start(
	    s->e, s->route->row->name, referred_next(s)->id, on_found, s);
}

/* ---- reserved */

/* False: it could not even be asked. */
static bool
asked(struct spend *s, struct ledger_op *op)
{
	s->op = op;
	return op != NULL || refuse(s, REASON_LEDGER_UNAVAILABLE, NULL);
}

bool
spend_reserve(struct spend *s, void (*done)(void *arg, bool is_fine), void *arg)
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
		return refuse(s, REASON_TURN_LIMIT_REACHED, "a limit of its is nothing");
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
	tell(s, r->answer == LEDGER_OK);
}

bool
spend_look(struct spend *s, void (*done)(void *arg, bool is_fine), void *arg)
{
	struct ledger_look look = { .nscope = s->scopes.n, .scope = s->scopes.of };

	s->done = done;
	s->arg = arg;
	return asked(s, ledger_look_start(s->e->ledger, s->e->loop, &look, on_looked, s));
}

/* ---- what did it cost? */

void
spend_sent(struct spend *s)
{
	s->is_sent = true;
	s->sent_at = loop_now(s->e->loop);
}

/* A bill names requests by it; a name that is no plain one is nobody's. */
static bool
is_plain_name(struct str name)
{
	for (size_t i = 0; i < name.n; i++)
		if (!ascii_is_alnum(name.p[i]) && strchr("._-", name.p[i]) == NULL)
			return false;
	return name.n > 0 && name.n < SPEND_NAME;
}

void
spend_answered(struct spend *s, const struct http_head *response)
{
	static const struct str fields[] = { { "request-id", 10 },
		{ "x-request-id", 12 } };

	for (size_t i = 0; i < sizeof(fields) / sizeof(*fields); i++) {
		const struct http_field *f = http_field(response, fields[i]);

		if (f == NULL || s->provider_id[0] != '\0' || !is_plain_name(f->value))
			continue;
		memcpy(s->provider_id, f->value.p, f->value.n);
		s->provider_id[f->value.n] = '\0';
	}
}

/* ---- what it leaves at the provider */

bool
spend_is_told(const struct spend *s)
{
	return s->is_metered || ran_on(s) != NULL;
}

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

/* What tools made, and what was left unread, no count of tokens tells; and a gateway may
 * leave something out by itself, or send the next call elsewhere. */
static bool
is_plain(const struct spend *s)
{
	const struct call *c = &s->call;

	for (const struct hosted *h = c->hosted; h != NULL; h = h->next)
		if (!h->is_stripped)
			return false;
	return s->route->row->kind == PROVIDER_OPENAI && c->nmodel == 1 && !c->compacts &&
	       !c->truncates && !c->draws;
}

/* Read again it is no longer than what its call read and wrote. */
static int64_t
tokens_of(const struct usage *u, enum reference_kind kind)
{
	struct run total = usage_total(u);

	if (u->state != USAGE_ALL || u->is_absurd || u->nrun != 1)
		return 0;
	return kind == REFERENCE_RESPONSE ? total.input_total + total.output
	       : kind == REFERENCE_ITEM   ? total.output
					  : 0;
}

static struct object_note
new_object(const struct spend *s, const struct usage *u, enum reference_kind kind)
{
	const struct object_note *ran = ran_on(s);
	bool runs_on =
	    s->call.is_background && kind == REFERENCE_RESPONSE && u->state != USAGE_ALL;
	struct object_note o = { .model =
				     ran != NULL ? ran->model : s->call.model[0].name,
		.is_plain = ran != NULL ? ran->is_plain : is_plain(s),
		.call = runs_on ? str_of(s->x->id) : STR_NONE,
		.request = str_of(s->provider_id),
		.day = s->day,
		.tier = s->call.tier };

	o.tokens = o.is_plain ? tokens_of(u, kind) : 0;
	return o;
}

static void
keep_one(struct spend *s, const struct usage *u, const struct kept_object *k)
{
	struct object_note o = new_object(s, u, k->kind);

	for (size_t i = 0; i < s->nreferred && s->is_metered; i++)
		if (str_eq(s->call.reference[i].id, str_of(k->id)))
			o = s->referred[i]; /* an older one: its time begins anew */
	object_put(s->e, s->grant, s->route->row->name, str_of(k->id), &o);
}

/* With the last word on how much it was. */
static void
keep_all(struct spend *s, const struct usage *u)
{
	for (size_t i = 0; i < u->nobject; i++)
		keep_one(s, u, &u->object[i]);
}

void
spend_keep(struct spend *s, const struct answer *a)
{
	const struct usage *u = &a->usage;

	if (!s->is_metered || a->form != ANSWER_EVENTS || a->has_ended)
		return;
	for (; s->nkept < u->nobject; s->nkept++)
		keep_one(s, u, &u->object[s->nkept]);
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

static usd_nano
least_of(const struct spend *s, const struct usage *u)
{
	usd_nano least;

	return estimate_least(u, &s->call, s->x->snapshot->prices, s->day, &least) ? least
										   : 0;
}

/* What runs in the background goes on, whoever reads. */
bool
spend_is_passed(const struct spend *s, struct answer *a)
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

static usd_nano
cost_of_call(struct spend *s, struct usage *u)
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

static void
note_usage(struct spend *s, const struct usage *u)
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
		note_room(s, r);
	if (r->is_repeat && ran_on(s) != NULL) /* by another exchange, a moment ago */
		s->charged = 0;
	tell(s, true);
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
	const struct object_note *ran = ran_on(s);
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
	tell(s, true);
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
	keep_all(s, u);
	if (s->call.is_background && u->state == USAGE_LATER && keeps_response(u)) {
		leave_open(s, waits);
		return;
	}
	s->charged = cost_of_call(s, u);
	note_usage(s, u);
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
	note_usage(s, u);
	settle(s, u, true);
	keep_all(s, u);
	return true;
}

bool
spend_settle(struct spend *s, const struct answer *a, struct usage *u,
    void (*done)(void *arg, bool is_fine), void *arg)
{
	assert(s->op == NULL);
	s->done = done;
	s->arg = arg;
	if (s->is_held)
		close_account(s, a, u, true);
	else if (ran_on(s) == NULL || s->is_settled || !close_earlier(s, u))
		return false;
	return true;
}

void
spend_end(struct spend *s)
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

const struct record_money *
spend_money(struct spend *s)
{
	static const char *const bases[] = { [BASIS_TABLE] = "table",
		[BASIS_REPORTED] = "reported",
		[BASIS_ESTIMATE] = "estimate" };

	if (s == NULL || (!s->is_metered && !s->is_settled))
		return NULL;
	s->money = (struct record_money){
		.model = s->model[0] != '\0' || s->call.nmodel == 0
			     ? str_of(s->model)
			     : s->call.model[0].name,
		.prices = prices_digest(s->x->snapshot->prices),
		.basis = s->charged > 0 || s->is_settled ? bases[s->basis] : NULL,
		.input = s->tokens.input_total,
		.cache_read = s->tokens.cache_read,
		.cache_write = s->tokens.cache_write + s->tokens.cache_write_long,
		.output = s->tokens.output,
		.reasoning = s->tokens.reasoning,
		.reserved = s->granted,
		.charged = s->charged,
		.turn_left = s->turn_left,
		.session_left = s->session_left,
		.has_session_left = s->has_left,
	};
	for (size_t i = 0; i < s->scopes.n; i++)
		s->money.has_turn_left |=
		    s->has_left && s->scopes.of[i].kind == LEDGER_TURN;
	return &s->money;
}
