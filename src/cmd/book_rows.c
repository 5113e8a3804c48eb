/*
 * book_rows.c - the rows of a ledger in words: as JSON, and for eyes
 */
#include "cmd/book_rows.h"

#include <time.h>

#include "conf/text.h"
#include "ledger/call.h"
#include "ledger/key.h"

#define PARSE_MEMORY ((size_t)1 << 20)

static const struct {
	int64_t flag;
	const char *name;
} flags[] = {
	{ LEDGER_ESTIMATED, "estimated" },
	{ LEDGER_REPORTED, "reported" },
	{ LEDGER_MALFORMED, "malformed" },
	{ LEDGER_CUT, "cut" },
	{ LEDGER_OVER_HOLD, "over_hold" },
	{ LEDGER_LOST, "lost" },
	{ LEDGER_LATE, "late" },
	{ LEDGER_UNHELD, "unheld" },
	{ LEDGER_UNSENT, "unsent" },
	{ LEDGER_ADJUSTED, "adjusted" },
};

#define FLAGS (sizeof(flags) / sizeof(*flags))

/* ---- names, times, sums */

struct call_name
call_name_of(struct str key)
{
	size_t at;

	if (!str_rfind(key, '#', &at))
		return (struct call_name){ key, STR("") };
	return (struct call_name){ str_sub(key, 0, at), str_sub(key, at + 1, key.n) };
}

struct ledger_who
session_name_of(struct str key)
{
	struct ledger_who who = { .claim = LEDGER_NO_CLAIM };

	(void)(key_next(&key, &who.issuer) && key_next(&key, &who.tenant) &&
	       key_next(&key, &who.sid));
	return who;
}

const char *
row_time(usec at, char out[static ROW_TIME])
{
	time_t seconds = (time_t)(at / 1000000);
	struct tm tm;

	if (at <= 0 || gmtime_r(&seconds, &tm) == NULL ||
	    strftime(out, ROW_TIME, "%Y-%m-%dT%H:%M:%SZ", &tm) == 0)
		out[0] = '\0';
	return out;
}

yyyymmdd
row_day(usec at)
{
	time_t seconds = (time_t)(at / 1000000);
	struct tm tm;

	if (gmtime_r(&seconds, &tm) == NULL)
		return 0;
	return (
	    yyyymmdd)((tm.tm_year + 1900) * 10000 + (tm.tm_mon + 1) * 100 + tm.tm_mday);
}

usd_nano
row_call_cost(const struct row_call *c)
{
	return c->state == CALL_LOST ? c->charged : c->cost;
}

/* ---- for eyes */

void
row_show(struct buf *to, struct str s)
{
	uint32_t c;

	if (s.n == 0)
		buf_char(to, '-');
	while (s.n > 0) {
		struct str before = s;
		bool is_valid = text_next(&s, &c);

		text_show(to, str_sub(before, 0, before.n - s.n), c, is_valid);
	}
}

void
row_show_usd(struct buf *to, usd_nano n)
{
	char text[USD_TEXT];

	buf_text(to, usd_print(n, text));
}

void
row_show_flags(struct buf *to, int64_t set)
{
	size_t before = to->n;

	for (size_t i = 0; i < FLAGS; i++)
		if ((set & flags[i].flag) != 0)
			buf_fmt(to, "%s%s", to->n > before ? "," : "", flags[i].name);
	if (to->n == before)
		buf_char(to, '-');
}

static const char *
kind_name(enum ledger_scope_kind kind)
{
	static const char *const names[] = { [LEDGER_TURN] = "turn",
		[LEDGER_SESSION] = "session",
		[LEDGER_ANCESTOR] = "session",
		[LEDGER_TENANT] = "tenant",
		[LEDGER_PUBLIC] = "public",
		[LEDGER_TOTAL] = "total" };

	return names[kind];
}

/* "2026-11-29", "2026-11", or empty. */
static const char *
window_name(enum ledger_window w, int64_t number, char out[static ROW_TIME])
{
	time_t seconds = (time_t)(number * 86400);
	struct tm tm = { .tm_year = (int)(number / 12 % 10000) + 70,
		.tm_mon = (int)(number % 12),
		.tm_mday = 1 };

	out[0] = '\0';
	switch (w) {
	case LEDGER_EVER:
		break;
	case LEDGER_DAY:
		if (gmtime_r(&seconds, &tm) != NULL)
			(void)strftime(out, ROW_TIME, "%Y-%m-%d", &tm);
		break;
	case LEDGER_MONTH:
		(void)strftime(out, ROW_TIME, "%Y-%m", &tm);
		break;
	}
	return out;
}

void
row_show_scope(struct buf *to, struct str key)
{
	struct ledger_scope s;
	char window[ROW_TIME];
	int64_t number;

	if (!key_scope_read(key, &s, &number)) {
		row_show(to, key);
		return;
	}
	const struct str parts[] = { s.tenant, s.sid, s.turn };
	buf_text(to, kind_name(s.kind));
	for (size_t i = 0; i < 3 && parts[i].n > 0; i++) {
		buf_char(to, i == 0 ? ' ' : '/');
		row_show(to, parts[i]);
	}
	if (s.window != LEDGER_EVER)
		buf_fmt(to, " in %s", window_name(s.window, number, window));
}

const char *
row_state(int64_t state)
{
	static const char *const names[] = { [CALL_HELD] = "held",
		[CALL_SETTLED] = "settled",
		[CALL_LOST] = "lost",
		[CALL_UNSENT] = "unsent" };

	return state >= 0 && state <= CALL_UNSENT ? names[state] : "unknown";
}

/* ---- as JSON */

static void
put_str(struct json_out *j, const char *key, struct str s)
{
	json_key(j, key);
	if (s.n == 0)
		json_null(j);
	else
		json_str(j, s);
}

static void
put_int(struct json_out *j, const char *key, int64_t n)
{
	json_key(j, key);
	json_int(j, n);
}

static void
put_time(struct json_out *j, const char *key, usec at)
{
	char text[ROW_TIME];

	put_str(j, key, str_of(row_time(at, text)));
}

static void
put_owner(struct json_out *j, struct str session)
{
	struct ledger_who who = session_name_of(session);

	put_str(j, "issuer", who.issuer);
	put_str(j, "tenant", who.tenant);
	put_str(j, "sid", who.sid);
}

static void
put_flags(struct json_out *j, int64_t set)
{
	json_key(j, "flags");
	json_open(j, '[');
	for (size_t i = 0; i < FLAGS; i++)
		if ((set & flags[i].flag) != 0)
			json_text(j, flags[i].name);
	json_close(j, ']');
}

static void
put_tokens(struct json_out *j, const struct row_call *c)
{
	json_key(j, "tokens");
	json_open(j, '{');
	put_int(j, "input", c->input);
	put_int(j, "cached", c->cached);
	put_int(j, "output", c->output);
	json_close(j, '}');
}

static void
put_scope_name(struct json_out *j, struct str key)
{
	char window[ROW_TIME];
	struct ledger_scope s;
	int64_t number;

	if (!key_scope_read(key, &s, &number)) {
		put_str(j, "key", key);
		return;
	}
	put_str(j, "kind", str_of(kind_name(s.kind)));
	put_str(j, "issuer", s.issuer);
	put_str(j, "tenant", s.tenant);
	put_str(j, "sid", s.sid);
	put_str(j, "turn", s.turn);
	put_str(j, "window", str_of(window_name(s.window, number, window)));
}

static void
put_scopes(struct json_out *j, struct str scopes)
{
	struct str key;
	usd_nano cap;

	json_key(j, "scopes");
	json_open(j, '[');
	while (call_scope_next(&scopes, &key, &cap)) {
		json_open(j, '{');
		put_scope_name(j, key);
		if (cap < LEDGER_MONEY_MAX)
			put_int(j, "cap_nano", cap);
		json_close(j, '}');
	}
	json_close(j, ']');
}

/* As the object it is; what is none is shown as text. */
static void
put_usage(struct json_out *j, struct str usage)
{
	const struct json_value *v;
	const char *why;
	struct arena a;

	arena_init(&a, PARSE_MEMORY);
	v = usage.n > 0 ? json_parse(usage, &a, &why) : NULL;
	if (v == NULL || v->type != JSON_OBJECT)
		put_str(j, "usage", usage);
	else {
		json_key(j, "usage");
		json_value(j, v);
	}
	arena_fini(&a);
}

static void
put_money(struct json_out *j, const struct row_call *c)
{
	put_int(j, "reserved_nano", c->amount);
	put_int(j, "cost_nano", c->cost);
	put_int(j, "charged_nano", c->charged);
	put_flags(j, c->flags);
	put_tokens(j, c);
	put_str(j, "prices", c->prices);
	if ((c->flags & LEDGER_ADJUSTED) != 0)
		put_str(j, "why", c->usage);
	else
		put_usage(j, c->usage);
}

void
row_put_call(struct json_out *j, struct str key, const struct row_call *c)
{
	struct call_name name = call_name_of(key);
	uint64_t attempt;

	json_open(j, '{');
	put_str(j, "request", name.request);
	json_key(j, "attempt");
	json_raw(j, str_decimal(name.attempt, &attempt) ? name.attempt : STR("null"));
	put_str(j, "state", str_of(row_state(c->state)));
	put_owner(j, c->session);
	put_str(j, "turn", c->turn);
	put_str(j, "provider", c->provider);
	put_str(j, "model", c->model);
	put_time(j, "reserved_at", c->reserved_at);
	put_time(j, "settled_at", c->settled_at);
	put_money(j, c);
	put_scopes(j, c->scopes);
	json_close(j, '}');
}

static void
put_account(struct json_out *j, const struct row_scope *s)
{
	put_int(j, "spent_nano", s->spent);
	put_int(j, "reserved_nano", s->reserved);
	if (s->gen >= 0 && s->claim >= 0)
		put_int(j, "claim_nano", s->claim);
	put_int(j, "calls", s->calls);
	put_int(j, "tokens", s->tokens);
}

void
row_put_session(struct json_out *j, struct str key, const struct row_session *s,
    const struct row_scope *scope)
{
	static const struct row_scope none = { .gen = -1 };

	json_open(j, '{');
	put_owner(j, key);
	put_str(j, "sub", str_eq(s->sub, STR(LEDGER_NOBODY)) ? STR_NONE : s->sub);
	put_str(j, "par", s->par);
	put_time(j, "first_use", s->first_use);
	put_time(j, "expires", s->expires);
	put_int(j, "gen", s->gen);
	put_str(j, "turn", s->turn);
	json_key(j, "revoked");
	json_bool(j, s->revoked != 0);
	put_account(j, scope != NULL ? scope : &none);
	json_close(j, '}');
}

void
row_put_scope(struct json_out *j, struct str key, const struct row_scope *s)
{
	json_open(j, '{');
	put_scope_name(j, key);
	put_account(j, s);
	json_close(j, '}');
}
