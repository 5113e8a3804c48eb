/*
 * spend.c - one model call's money: what is known of it
 */
#include "proxy/spend.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/count.h"

#define CALL_MEMORY ((size_t)128 << 20) /* of a body of 32 MiB, read */

/* ---- life */

static const struct grant *
payer(const struct exchange *x)
{
	return x->who != NULL ? x->who->grant : x->snapshot->keys->laptop;
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

bool
spend_refuse(struct spend *s, enum reason reason, const char *why)
{
	s->x->reason = reason;
	s->x->error = why;
	return false;
}

struct spend *
spend_new(struct engine *e, struct exchange *x)
{
	struct spend *s = mem_zalloc(sizeof(*s));

	s->e = e;
	s->x = x;
	s->route = x->route;
	s->share = x->share;
	s->grant = payer(x);
	s->day = today();
	arena_init(&s->arena, CALL_MEMORY);
	buf_init(&s->body, CALL_BODY_MAX);
	if (s->grant != NULL)
		scopes_gather(&s->scopes, x, s->grant);
	return s;
}

bool
spend_keep(struct spend *s)
{
	const struct settings *set = s->x->snapshot->settings;
	size_t more = s->body.n - s->kept;

	if (!client_keep(s->share, more, set->limits_client_bodies, set->limits_bodies)) {
		count_add(COUNT_BODIES_REFUSED, 1);
		return spend_refuse(s, REASON_OVERLOADED,
		    "limits.client_bodies or limits.bodies is in memory");
	}
	s->kept += more;
	return true;
}

void
spend_free(struct spend *s)
{
	if (s == NULL)
		return;
	assert(s->op == NULL && !s->is_held);
	timer_clear(&s->lease);
	buf_fini(&s->body);
	if (s->kept > 0)
		client_drop(s->share, s->kept);
	arena_fini(&s->arena);
	free(s);
}

/* ---- on its way */

void
spend_tell(struct spend *s, bool is_fine)
{
	void (*done)(void *arg, bool is_fine) = s->done;

	s->done = NULL;
	if (done != NULL)
		done(s->arg, is_fine);
}

void
spend_note_room(struct spend *s, const struct ledger_reply *r)
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

const struct object_note *
spend_ran_on(const struct spend *s)
{
	return s->call.shows && s->nreferred == 1 && s->referred[0].call.n > 0
		   ? &s->referred[0]
		   : NULL;
}

void
spend_sent(struct spend *s, msec at)
{
	s->is_sent = true;
	s->sent_at = at;
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

bool
spend_is_told(const struct spend *s)
{
	return s->is_metered || spend_ran_on(s) != NULL;
}

/* ---- for the record */

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
