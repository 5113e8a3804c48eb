/*
 * judge.c - may a model call run, and what can it cost?
 */
#include "proxy/judge.h"

#include "base/utf8.h"
#include "meter/api.h"
#include "meter/hosted.h"
#include "proxy/misread.h"

#define NAME_READ ((size_t)4096)       /* of it, so that a secret in it is seen whole */
#define REDACTED_MAX ((size_t)1 << 16) /* marks are longer than what they stand for */
#define NAME_TOLD ((size_t)128)        /* of a name that only the client knows */
#define REFERRED_SLACK 256 /* markers around the parts of what is read again */

/* ---- may it run? */

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
		return spend_refuse(
		    s, REASON_HOSTED_TOOL_DENIED, "a provider-hosted tool");
	if (!has_models(s))
		return spend_refuse(s, REASON_MODEL_NOT_ALLOWED, NULL);
	if (s->call.is_background && !may_run_on(s))
		return spend_refuse(s, REASON_ENDPOINT_NOT_METERED,
		    "a call in the background is not metered here");
	return true;
}

/* ---- what can it cost? */

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
	return spend_refuse(s, REASON_MODEL_UNPRICED, told_name(s->x, model, fault));
}

bool
judge_price(struct spend *s)
{
	struct bound_input in = { .prices = s->x->snapshot->prices,
		.day = s->day,
		.floor = (uint64_t)s->x->snapshot->settings->budget_floor,
		.counted = s->counted,
		.referred = referred_tokens(s) };
	struct str which;

	switch (bound_call(&s->bound, &s->call, &in, &which)) {
	case BOUND_OK:
		return true;
	case BOUND_TOO_LARGE:
		return spend_refuse(s, REASON_BUDGET_INSUFFICIENT_FOR_REQUEST, NULL);
	case BOUND_UNPRICED:
		return refuse_price(s, which, NULL);
	case BOUND_ENDLESS:
		return refuse_price(
		    s, which, "the price table says no limit of its output");
	}
	return spend_refuse(s, REASON_INTERNAL, NULL);
}

bool
judge_call(struct spend *s)
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
		return spend_refuse(s, REASON_SESSION_REQUIRED, NULL);
	if (!call_read(&s->call, &r, &s->arena))
		return spend_refuse(s, misread(s->call.error), s->call.why);
	if (!may_run(s))
		return false;
	s->is_metered = !s->call.is_free;
	return !s->is_metered || s->call.nreference > 0 || judge_price(s);
}
