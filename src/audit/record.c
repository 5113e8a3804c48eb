/*
 * record.c - the facts of one exchange -> one line of the audit log
 */
#include "audit/record.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "audit/quote.h"
#include "policy/compile.h"

#define WORD_MAX 256
#define METHOD_MAX 32
#define HOST_TEXT_MAX 512
#define PATH_MAX_BYTES 1024
#define QUERY_KEYS_MAX 32
#define QUERY_KEY_MAX 64
#define ERROR_MAX 512
#define SYSTEM_TEXT_MAX 1024

const char *const record_kinds[] = {
	[RECORD_CONNECT] = "connect",
	[RECORD_HTTP] = "http",
	[RECORD_GATEWAY] = "gateway",
	[RECORD_SOCKS5] = "socks5",
	[RECORD_DNS] = "dns",
	[RECORD_TRANSPARENT] = "transparent",
	[RECORD_SYSTEM] = "system",
	NULL,
};

const char *const record_phases[] = {
	[RECORD_FINAL] = "final",
	[RECORD_OPEN] = "open",
	[RECORD_PROGRESS] = "progress",
	NULL,
};

static void
open_member(struct quoter *q, const char *key, char bracket)
{
	json_key(&q->json, key);
	json_open(&q->json, bracket);
}

/* Days since 1970 -> year, month, day; after H. Hinnant's chrono paper. gmtime_r() takes
 * a lock. */
static void
civil(int64_t days, int64_t *y, unsigned *m, unsigned *d)
{
	int64_t z = days + 719468;
	int64_t era = (z >= 0 ? z : z - 146096) / 146097;
	unsigned doe = (unsigned)(z - era * 146097);
	unsigned yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365;
	unsigned doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
	unsigned mp = (5 * doy + 2) / 153;

	*d = doy - (153 * mp + 2) / 5 + 1;
	*m = mp < 10 ? mp + 3 : mp - 9;
	*y = (int64_t)yoe + era * 400 + (*m <= 2);
}

static char *
put_digits(char *to, unsigned n, int width)
{
	for (int i = width - 1; i >= 0; i--, n /= 10)
		to[i] = (char)('0' + n % 10);
	return to + width;
}

void
record_time(char out[static RECORD_TIME], usec ts)
{
	char *p = out;
	int64_t seconds = ts / 1000000;
	unsigned of_day = (unsigned)(seconds % 86400);
	int64_t y;
	unsigned m, d;

	civil(seconds / 86400, &y, &m, &d);
	p = put_digits(p, (unsigned)y, 4);
	*p++ = '-';
	p = put_digits(p, m, 2);
	*p++ = '-';
	p = put_digits(p, d, 2);
	*p++ = 'T';
	p = put_digits(p, of_day / 3600, 2);
	*p++ = ':';
	p = put_digits(p, of_day / 60 % 60, 2);
	*p++ = ':';
	p = put_digits(p, of_day % 60, 2);
	*p++ = '.';
	p = put_digits(p, (unsigned)(ts % 1000000), 6);
	*p++ = 'Z';
	*p = '\0';
}

static void
put_time(struct quoter *q, usec ts)
{
	char text[RECORD_TIME];

	record_time(text, ts);
	quote_name(q, "ts", text);
}

static void
put_begin(struct quoter *q, usec ts)
{
	json_raw(&q->json, STR("{\"v\":1")); /* the journal closes it */
	put_time(q, ts);
}

static void
put_would(struct quoter *q, const struct would *w)
{
	if (!w->is_set)
		return;
	open_member(q, "would", '{');
	quote_name(q, "decision", "deny");
	quote_name(q, "reason", reason_row(w->reason)->name);
	if (w->rule != NULL)
		quote_name(q, "rule", rule_place(w->rule));
	json_close(&q->json, '}');
}

/* What is under way and was not let through has no decision yet. */
static bool
is_decided(const struct record *r)
{
	return r->phase == RECORD_FINAL || r->allowed;
}

static void
put_decision(struct quoter *q, const struct record *r)
{
	const struct verdict *v = r->verdict;

	if (is_decided(r)) {
		quote_name(q, "decision", r->allowed ? "allow" : "deny");
		quote_name(q, "reason", reason_row(r->reason)->name);
	}
	if (v != NULL)
		put_would(q, &v->would);
	if (v != NULL && v->rule != NULL)
		quote_name(q, "rule", rule_place(v->rule));
	if (r->ruleset == NULL)
		return;
	if (v != NULL && v->layer < ruleset_layers(r->ruleset))
		quote_name(q, "layer", ruleset_layer_name(r->ruleset, v->layer));
	quote_name(q, "policy", ruleset_digest(r->ruleset));
	quote_number(q, "generation", r->generation);
}

/* Words of a token, verified: REDACT_TEXT all the same. */
static void
put_word(struct quoter *q, const char *key, struct str word)
{
	if (word.n > 0)
		quote_member(q, key, REDACT_TEXT, word, WORD_MAX);
}

static void
put_session(struct quoter *q, const struct record *r)
{
	put_word(q, "profile", r->profile);
	if (!r->has_session) {
		json_key(&q->json, "session");
		json_null(&q->json);
		return;
	}
	open_member(q, "session", '{');
	put_word(q, "issuer", r->issuer);
	put_word(q, "tenant", r->tenant);
	put_word(q, "sub", r->sub);
	put_word(q, "sid", r->sid);
	put_word(q, "turn", r->turn);
	put_word(q, "jti", r->jti);
	json_close(&q->json, '}');
}

static void
put_client(struct quoter *q, const struct record *r)
{
	open_member(q, "client", '{');
	quote_name(q, "addr", r->client_addr);
	quote_name(q, "door", r->door);
	json_close(&q->json, '}');
}

static void
put_query_keys(struct quoter *q, struct str query)
{
	struct str pair;

	if (query.n == 0)
		return;
	open_member(q, "query_keys", '[');
	for (size_t n = 0; n < QUERY_KEYS_MAX && str_split(&query, '&', &pair); n++) {
		size_t at;
		struct str name = str_find(pair, '=', &at) ? str_sub(pair, 0, at) : pair;

		quote(q, REDACT_TEXT, name, QUERY_KEY_MAX);
	}
	json_close(&q->json, ']');
}

/* "scheme:" where slashes follow, and the slashes. */
static size_t
scheme_end(struct str text)
{
	size_t at = 0, colon;

	if (str_find(text, ':', &colon) && colon + 1 < text.n &&
	    strchr("/\\", text.p[colon + 1]) != NULL)
		at = colon + 1;
	while (at < text.n && strchr("/\\", text.p[at]) != NULL)
		at++;
	return at;
}

/* Where the last '@' stands, encoded or not. */
static bool
find_at(struct str text, size_t *at)
{
	for (size_t i = text.n; i-- > 0;)
		if (text.p[i] == '@' ||
		    str_starts(str_sub(text, i, text.n), STR("%40"))) {
			*at = i;
			return true;
		}
	return false;
}

/* A target that is no URL may carry credentials all the same: user:password@host. */
static void
put_sent(struct quoter *q, const char *key, struct str text, size_t cap)
{
	size_t from = scheme_end(text), at;
	struct buf clean;

	if (q->redactor == NULL || !find_at(text, &at) || at <= from) {
		quote_member(q, key, REDACT_URL, text, cap);
		return;
	}
	buf_init(&clean, text.n + 256);
	buf_str(&clean, str_sub(text, 0, from));
	redact_mark(q->redactor, "userinfo", str_sub(text, from, at - from), &clean);
	buf_str(&clean, str_sub(text, at, text.n));
	quote_member(q, key, REDACT_URL, buf_view(&clean), cap);
	buf_fini(&clean);
}

static void
put_target(struct quoter *q, const struct record *r)
{
	bool is_raw_path = r->host == NULL && scheme_end(r->path) > 1;

	open_member(q, "target", '{');
	if (r->host != NULL)
		quote_member(q, "host", REDACT_HOST, host_str(r->host), HOST_TEXT_MAX);
	else
		put_sent(q, "host", r->host_raw, HOST_TEXT_MAX);
	if (r->port != 0)
		quote_number(q, "port", r->port);
	quote_name(q, "protocol", r->protocol);
	quote_member(q, "method", REDACT_TEXT, r->method, METHOD_MAX);
	if (is_raw_path) /* "//user:password@host" */
		put_sent(q, "path", r->path, PATH_MAX_BYTES);
	else
		quote_member(q, "path", REDACT_URL, r->path, PATH_MAX_BYTES);
	put_query_keys(q, r->query);
	json_close(&q->json, '}');
}

static void
put_dns(struct quoter *q, const struct record *r)
{
	char text[ADDR_TEXT];

	if (r->dns_canonical == NULL && r->nanswer == 0 && r->dns_dropped == NULL)
		return;
	open_member(q, "dns", '{');
	if (r->dns_canonical != NULL) {
		open_member(q, "chain", '[');
		quote(q, REDACT_HOST, str_of(r->dns_canonical), HOST_TEXT_MAX);
		json_close(&q->json, ']');
	}
	if (r->nanswer > 0) {
		open_member(q, "answers", '[');
		for (size_t i = 0; i < r->nanswer; i++)
			json_text(&q->json, addr_text(text, &r->answer[i]));
		json_close(&q->json, ']');
	}
	quote_name(q, "dropped", r->dns_dropped);
	json_close(&q->json, '}');
}

static void
put_tls(struct quoter *q, const struct record *r)
{
	if (r->sni == NULL && !r->has_ech)
		return;
	open_member(q, "tls", '{');
	quote_member(q, "sni", REDACT_HOST, str_of(r->sni), HOST_TEXT_MAX);
	if (r->has_ech) {
		json_key(&q->json, "ech");
		json_bool(&q->json, true);
	}
	json_close(&q->json, '}');
}

static void
put_binding(struct quoter *q, const struct record *r)
{
	char text[ENDPOINT_TEXT];

	if (r->upstream != NULL) {
		open_member(q, "upstream", '{');
		quote_name(q, "addr", endpoint_text(text, r->upstream));
		json_close(&q->json, '}');
	}
	if (r->has_assurance)
		quote_name(q, "assurance", assurance_name(r->assurance));
}

static void
put_ms(struct quoter *q, const struct record *r)
{
	const struct {
		const char *key;
		msec ms;
	} spans[] = {
		{ "total", r->total_ms },
		{ "dns", r->dns_ms },
		{ "connect", r->connect_ms },
		{ "ttfb", r->ttfb_ms },
	};

	open_member(q, "ms", '{');
	for (size_t i = 0; i < sizeof(spans) / sizeof(*spans); i++)
		if (spans[i].ms >= 0)
			quote_number(q, spans[i].key, (uint64_t)spans[i].ms);
	json_close(&q->json, '}');
}

static void
put_costs(struct quoter *q, const struct record *r)
{
	if (r->up > 0 || r->down > 0) {
		open_member(q, "bytes", '{');
		quote_number(q, "up", r->up);
		quote_number(q, "down", r->down);
		json_close(&q->json, '}');
	}
	put_ms(q, r);
}

static void
put_flags(struct quoter *q, const struct record *r)
{
	if (r->nflag == 0)
		return;
	open_member(q, "flags", '[');
	for (size_t i = 0; i < r->nflag; i++)
		json_text(&q->json, r->flag[i]);
	json_close(&q->json, ']');
}

static void
put_outcome(struct quoter *q, const struct record *r)
{
	bool is_ok = r->reason == REASON_NONE;

	if (r->phase != RECORD_FINAL)
		return;
	if (r->status != 0)
		quote_number(q, "status", (uint64_t)r->status);
	quote_name(
	    q, "outcome", is_ok ? "ok" : reason_class_name(reason_row(r->reason)->class));
	quote_name(q, "close", r->close);
	put_flags(q, r);
	quote_member(q, "error", REDACT_TEXT, r->error, ERROR_MAX);
}

static void
put_tokens(struct quoter *q, const char *key, int64_t n)
{
	if (n > 0)
		quote_number(q, key, (uint64_t)n);
}

static void
put_usd(struct quoter *q, const char *key, usd_nano amount)
{
	char text[USD_TEXT];

	quote_name(q, key, usd_print(amount, text));
}

static void
put_money(struct quoter *q, const struct record_money *m, bool is_final)
{
	if (m == NULL)
		return;
	quote_member(q, "model", REDACT_TEXT, m->model, HOST_TEXT_MAX);
	open_member(q, "usage", '{');
	put_tokens(q, "input", m->input);
	put_tokens(q, "cache_read", m->cache_read);
	put_tokens(q, "cache_write", m->cache_write);
	put_tokens(q, "output", m->output);
	put_tokens(q, "reasoning", m->reasoning);
	json_close(&q->json, '}');
	open_member(q, "usd", '{');
	put_usd(q, "reserved", m->reserved);
	if (is_final)
		put_usd(q, "charged", m->charged);
	quote_name(q, "basis", m->basis);
	if (m->has_turn_left)
		put_usd(q, "turn_left", m->turn_left);
	if (m->has_session_left)
		put_usd(q, "session_left", m->session_left);
	json_close(&q->json, '}');
	quote_name(q, "prices", m->prices);
}

/* W3C trace context, version-trace-parent-flags: what is something else is not repeated.
 */
static bool
is_traceparent(struct str s)
{
	static const char form[] =
	    "xx-xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx-xxxxxxxxxxxxxxxx-xx";

	if (s.n != sizeof(form) - 1)
		return false;
	for (size_t i = 0; i < s.n; i++)
		if (form[i] == '-' ? s.p[i] != '-' : !ascii_is_hex(s.p[i]))
			return false;
	return true;
}

void
record_print(const struct record *r, const struct redactor *redactor, struct buf *to)
{
	struct quoter q;

	assert(r->id != NULL);
	quoter_init(&q, redactor, to);
	put_begin(&q, r->ts);
	quote_name(&q, "id", r->id);
	quote_name(&q, "parent", r->parent);
	quote_number(&q, "seq", r->seq);
	quote_name(&q, "kind", record_kinds[r->kind]);
	quote_name(&q, "phase", record_phases[r->phase]);
	put_decision(&q, r);
	put_session(&q, r);
	put_client(&q, r);
	put_target(&q, r);
	put_dns(&q, r);
	put_tls(&q, r);
	put_binding(&q, r);
	put_costs(&q, r);
	put_outcome(&q, r);
	put_money(&q, r->money, r->phase == RECORD_FINAL);
	if (is_traceparent(r->traceparent))
		quote_member(
		    &q, "traceparent", REDACT_TEXT, r->traceparent, r->traceparent.n);
	quoter_fini(&q);
}

void
record_print_system(usec ts, uint64_t seq, const char *event,
    const struct redactor *redactor, struct buf *to, ...)
{
	struct quoter q;
	va_list pairs;
	const char *key;

	quoter_init(&q, redactor, to);
	put_begin(&q, ts);
	quote_number(&q, "seq", seq);
	quote_name(&q, "kind", record_kinds[RECORD_SYSTEM]);
	quote_name(&q, "phase", "final");
	quote_name(&q, "event", event);
	va_start(pairs, to);
	while ((key = va_arg(pairs, const char *)) != NULL)
		quote_member(&q, key, REDACT_TEXT, str_of(va_arg(pairs, const char *)),
		    SYSTEM_TEXT_MAX);
	va_end(pairs);
	quoter_fini(&q);
}

/* Fills all of it: an id nobody can guess is worth waiting for at boot. */
static void
fill_random(unsigned char *p, size_t n)
{
	while (n > 0) {
		ssize_t got = getrandom(p, n, 0);

		if (got <= 0)
			continue; /* EINTR */
		p += got;
		n -= (size_t)got;
	}
}

void
exchange_id_make(char out[static EXCHANGE_ID])
{
	static const char base32[] = "abcdefghijklmnopqrstuvwxyz234567";
	static _Thread_local unsigned char pool[64 * (EXCHANGE_ID - 1)];
	static _Thread_local size_t used = sizeof(pool);

	if (used == sizeof(pool)) {
		fill_random(pool, sizeof(pool));
		used = 0;
	}
	for (size_t i = 0; i < EXCHANGE_ID - 1; i++)
		out[i] = base32[pool[used++] & 31];
	out[EXCHANGE_ID - 1] = '\0';
}
