/*
 * gateway_way.c - the way of a request to a provider
 */
#include "proxy/gateway_way.h"

#include <errno.h>
#include <stdlib.h>

#include "base/count.h"
#include "base/err.h"
#include "meter/api.h"
#include "net/tls.h"
#include "proxy/answer.h"
#include "proxy/counter.h"
#include "proxy/entry.h"
#include "proxy/gateway.h"
#include "proxy/greet.h"
#include "proxy/hold.h"
#include "proxy/judge.h"
#include "proxy/opening.h"
#include "proxy/own.h"
#include "proxy/purse.h"
#include "proxy/sieve.h"
#include "proxy/stages.h"
#include "proxy/who.h"

#define MINUTE ((msec)60000)
#define LATE_MS ((msec)1000) /* a request may be on its way for so long */

/* ---- DECIDE */

static struct str
authority_of(struct str origin)
{
	size_t at;

	if (!str_find(origin, '/', &at) || at + 2 > origin.n)
		return STR_NONE;
	return str_sub(origin, at + 2, origin.n);
}

/* A page of another site: whatever it wants, nobody at the keyboard asked for it. */
static bool
is_cross_site(const struct http_head *h)
{
	const struct http_field *site = http_field(h, STR("Sec-Fetch-Site"));
	const struct http_field *origin = http_field(h, STR("Origin"));

	if (site != NULL && !str_eq(site->value, STR("same-origin")) &&
	    !str_eq(site->value, STR("none")))
		return true;
	return origin != NULL && !str_eq_nocase(authority_of(origin->value), h->host);
}

static size_t
body_max(const struct exchange *x)
{
	int64_t max = x->snapshot->settings->limits_body;

	return max > 0 && (uint64_t)max < CALL_BODY_MAX ? (size_t)max : CALL_BODY_MAX;
}

/* The base URL is what people write wrong. */
static enum reason
not_metered(struct exchange *x)
{
	if (x->snapshot->settings->gateway_providers.n == 0)
		x->error = "no provider is configured: gateway.providers";
	else if (x->route == NULL)
		x->error = "no provider is at this path: the base URL ends with the "
			   "provider's path, like /anthropic";
	else if (str_starts(route_rest(x->route, x->ask.path), STR("/v1/v1/")))
		x->error = "/v1 is there twice: the base URL has one too many";
	return REASON_ENDPOINT_NOT_METERED;
}

static enum reason
refusal_of(const struct conn *c)
{
	struct exchange *x = c->x;

	if (is_cross_site(x->head))
		return REASON_CROSS_SITE_REFUSED;
	if (x->route == NULL)
		return purse_is_asked(x) ? REASON_NONE : not_metered(x);
	if (x->head->is_upgrade) /* Codex then posts */
		return REASON_ENDPOINT_NOT_METERED;
	if (x->head->framing == HTTP_LENGTH && x->head->length > body_max(x))
		return REASON_BODY_TOO_LARGE;
	if (x->route->row->kind != PROVIDER_NONE &&
	    api_find((enum provider_kind)x->route->row->kind, x->head->method,
		route_rest(x->route, x->ask.path)) == NULL)
		return not_metered(x);
	if (!route_has_path(x->route, route_rest(x->route, x->ask.path)))
		return REASON_PATH_NOT_ALLOWED;
	return REASON_NONE;
}

static enum next
gate_decide(struct conn *c)
{
	enum reason reason = refusal_of(c);

	if (reason != REASON_NONE)
		return answer_refuse(c, reason);
	c->x->spend = spend_new(c->e, c->x);
	if (c->x->spend->grant == NULL)
		return answer_refuse(c, REASON_SESSION_REQUIRED);
	if (c->e->ledger == NULL)
		return answer_refuse(c, REASON_LEDGER_UNAVAILABLE);
	if (!exchange_may_call(c->x, 0))
		return answer_refuse(c, c->x->reason);
	return NEXT;
}

/* ---- BODY */

/* It waits for the word. */
static bool
say_continue(struct conn *c)
{
	static const char text[] = "HTTP/1.1 100 Continue\r\n\r\n";
	struct iovec v = { (void *)(uintptr_t)text, sizeof(text) - 1 };

	if (!c->x->head->expects_continue || c->is_continued)
		return true;
	c->is_continued = true;
	return stream_write(&c->client, &v, 1) == (ssize_t)v.iov_len;
}

static enum next
client_left(struct conn *c)
{
	timer_clear(&c->timer);
	c->x->reason = REASON_CLIENT_ABORTED;
	c->x->closed_by = CLOSE_CLIENT;
	c->after = AFTER_CLOSE;
	return conn_jump(c, STAGE_RECORD);
}

static bool
is_secret_told(const struct exchange *x)
{
	struct buf head;
	bool is_told;

	buf_init(&head, (size_t)x->snapshot->settings->limits_head + SCRATCH);
	buf_str(&head, x->head->target);
	buf_char(&head, '\n');
	is_told = !gateway_fields(&head, x->spend) ||
		  sieve_holds(x->snapshot->held, buf_view(&head));
	buf_fini(&head);
	return is_told;
}

/* A prompt is a way out like any other, and so is a field beside it. */
static bool
may_leave(struct exchange *x)
{
	if (!sieve_holds(x->snapshot->held, buf_view(&x->spend->body)) &&
	    !is_secret_told(x))
		return true;
	x->flags |= FLAG_DLP;
	x->error = "a secret that weir holds is in the call";
	count_add(COUNT_DLP_FOUND, 1);
	return false;
}

static enum next
body_is_whole(struct conn *c, struct str rest)
{
	timer_clear(&c->timer);
	c->x->spend->is_read = true;
	buf_str(&c->rq->more, rest);
	if (c->x->route == NULL) /* what is left: nothing is sent */
		return NEXT;
	if (!may_leave(c->x))
		return answer_refuse(c, REASON_DLP_BLOCKED);
	if (!exchange_may_call(c->x, c->x->spend->body.n)) /* one in chunks, too */
		return answer_refuse(c, c->x->reason);
	if (!judge_call(c->x->spend))
		return answer_refuse(c, c->x->reason);
	return NEXT;
}

/* JUMP: it goes on. */
static enum next
take_body(struct conn *c, struct str in)
{
	struct buf *body = &c->x->spend->body;

	for (;;) {
		size_t used;
		struct str piece;
		enum body_result r = body_read(&c->reading, in, &used, &piece);
		in = str_sub(in, used, in.n);
		switch (r) {
		case BODY_DATA:
			buf_str(body, piece);
			if (body->is_over || body->n > body_max(c->x))
				return answer_refuse(c, REASON_BODY_TOO_LARGE);
			if (!spend_keep(c->x->spend))
				return answer_refuse(c, c->x->reason);
			break;
		case BODY_DONE:
			return body_is_whole(c, in);
		case BODY_BAD:
			c->x->error = "the body breaks its chunked framing";
			return answer_refuse(c, REASON_REQUEST_MALFORMED);
		case BODY_MORE:
			return WAIT;
		}
	}
}

static void
watch_body(struct conn *c)
{
	msec now = loop_now(c->e->loop);
	msec at = c->body_moved + c->x->snapshot->settings->limits_idle;

	if (c->rate_at + MINUTE < at)
		at = c->rate_at + MINUTE;
	timer_set(c->e->loop, &c->timer, at > now ? at - now : 0);
}

static enum next
gate_body(struct conn *c)
{
	enum next n;

	if (!c->is_reading) { /* what came behind the head */
		struct request *rq = c->rq;
		struct str rest = str_sub(buf_view(&rq->in), rq->heard.used, rq->in.n);
		c->is_reading = true;
		c->body_begun = c->body_moved = c->rate_at = loop_now(c->e->loop);
		c->rate_bytes = 0;
		c->is_continued = rest.n > 0;
		rq->heard.used = rq->in.n;
		body_reader_init(&c->reading, c->x->head);
		if ((n = take_body(c, rest)) != WAIT)
			return n;
	}
	if (!say_continue(c))
		return client_left(c);
	for (int reads = 0; stream_may_have_ended(&c->client); reads++) {
		ssize_t got;
		if (reads == STREAM_READS) {
			stream_kick(&c->client);
			break;
		}
		got = stream_read(&c->client, c->e->scratch, SCRATCH);
		if (got == -EAGAIN)
			break;
		if (got <= 0)
			return client_left(c);
		c->body_moved = loop_now(c->e->loop);
		c->rate_bytes += (uint64_t)got;
		n = take_body(c, (struct str){ c->e->scratch, (size_t)got });
		if (n != WAIT)
			return n;
	}
	watch_body(c);
	return WAIT;
}

/* A minute of it is over: was it enough?  The first one may be slow, but not idle. */
static enum next
body_is_late(struct conn *c)
{
	const struct settings *set = c->x->snapshot->settings;
	msec now = loop_now(c->e->loop);
	bool is_idle = now >= c->body_moved + set->limits_idle;
	bool is_minute = now >= c->rate_at + MINUTE;

	if (is_idle || (is_minute && c->rate_at != c->body_begun &&
			   c->rate_bytes < (uint64_t)set->limits_body_rate)) {
		c->x->error = "the request body comes too slowly";
		return answer_refuse(c, REASON_CLIENT_TIMEOUT);
	}
	if (is_minute) {
		c->rate_at = now;
		c->rate_bytes = 0;
	}
	watch_body(c);
	return WAIT;
}

/* ---- RESERVE */

static enum next reserve(struct conn *c);

static void
on_counted(void *arg, uint64_t tokens)
{
	struct conn *c = arg;
	struct spend *s = c->x->spend;
	enum next n;

	c->counter = NULL;
	conn_end_connecting(c);
	s->counted = tokens;
	if (tokens == 0 || !judge_price(s)) {
		conn_go_on(c, answer_refuse(c, c->x->reason));
		return;
	}
	c->x->reason = REASON_NONE;
	c->x->error = NULL;
	n = reserve(c);
	if (n != WAIT)
		conn_go_on(c, n);
}

/* False: nobody can count it. */
static bool
asks_counter(struct conn *c)
{
	char text[ADDR_TEXT];

	c->counter =
	    counter_start(c->x->spend, str_of(conn_share(c, text)), on_counted, c);
	if (c->counter != NULL) {
		c->x->flags |= FLAG_COUNTED;
		return true;
	}
	conn_end_connecting(c);
	return false;
}

static void
on_counter_written(void *arg, bool is_written)
{
	struct conn *c = arg;

	c->written = NULL;
	timer_clear(&c->timer);
	if (is_written && asks_counter(c))
		return;
	conn_end_connecting(c);
	conn_go_on(c, answer_refuse(c, c->x->reason));
}

/* Recorded before the prompt goes anywhere, as any exchange that carries a credential.
 * False: what has been refused stays so. */
static bool
counts(struct conn *c)
{
	if (c->x->flags & FLAG_COUNTED || !counter_might_help(c->x->spend) ||
	    !client_take(c->share, CLIENT_CONNECTING,
		c->x->snapshot->settings->limits_client_connecting))
		return false;
	c->has_connecting = true;
	if (opening_say(c))
		return opening_wait(c, on_counter_written) || asks_counter(c);
	conn_end_connecting(c);
	return false;
}

/* The disk stands still: it is refused as it was. */
static enum next
reserve_is_late(struct conn *c)
{
	opening_waited(c);
	conn_end_connecting(c);
	return answer_refuse(c, c->x->reason);
}

static void
on_reserved(void *arg, bool is_fine)
{
	struct conn *c = arg;

	if (is_fine)
		conn_go_on(c, NEXT);
	else if (!counts(c))
		conn_go_on(c, answer_refuse(c, c->x->reason));
}

static void
on_looked(void *arg, bool is_fine)
{
	struct conn *c = arg;

	if (!is_fine) {
		conn_go_on(c, answer_refuse(c, c->x->reason));
		return;
	}
	purse_answer(&c->out, c->x);
	c->x->status = 200;
	c->x->verdict.allow = true;
	c->after = c->x->head->is_kept ? AFTER_NEXT : AFTER_LINGER;
	conn_go_on(c, conn_jump(c, STAGE_ANSWER));
}

static enum next
reserve(struct conn *c)
{
	if (!c->x->spend->is_metered)
		return NEXT;
	return hold_reserve(c->x->spend, on_reserved, c) ? WAIT
							 : answer_refuse(c, c->x->reason);
}

static void
on_owned(void *arg, bool is_fine)
{
	struct conn *c = arg;
	enum next n = is_fine ? reserve(c) : answer_refuse(c, c->x->reason);

	if (n != WAIT)
		conn_go_on(c, n);
}

static enum next
gate_reserve(struct conn *c)
{
	struct spend *s = c->x->spend;

	c->x->verdict.protocol =
	    c->x->route == NULL || c->x->route->is_https ? PROTOCOL_HTTPS : PROTOCOL_HTTP;
	if (c->x->route == NULL) {
		c->x->verdict.protocol = PROTOCOL_HTTP;
		if (!hold_look(s, on_looked, c))
			return answer_refuse(c, c->x->reason);
		return WAIT;
	}
	if (s->call.nreference == 0)
		return reserve(c);
	own_check(s, on_owned, c);
	return WAIT;
}

/* ---- DIAL */

/*
 * Only what was opened under the very configuration this call is made under: its
 * roots proved the name, its credential went over it.
 */
static struct str
kept_key(const struct conn *c, struct buf *to)
{
	buf_reset(to);
	conn_origin_key(c, to);
	buf_fmt(to, " %s %llu", c->x->route->row->name,
	    (unsigned long long)c->x->snapshot->generation);
	return buf_view(to);
}

static enum next
gate_dial(struct conn *c)
{
	struct buf *key = &c->e->text;
	bool is_taken = stage_reuse(c, &c->e->providers, kept_key(c, key));

	buf_reset(key);
	return is_taken ? NEXT : stage_dial_new(c);
}

/* ---- SHAKE: TLS with the provider */

static void
on_shaken(void *arg, int err, const char *why)
{
	struct conn *c = arg;

	c->shaking = NULL;
	if (err == 0) {
		c->x->verdict.assurance = ASSURE_ORIGIN;
		stream_attach(&c->origin->stream, conn_on_origin, c);
		conn_go_on(c, NEXT);
		return;
	}
	origin_close(c->e->loop, c->origin);
	c->origin = NULL;
	c->x->error = why != NULL ? err_text(err) : NULL;
	conn_go_on(c, answer_refuse(c, REASON_UPSTREAM_TLS_FAILED));
}

static enum next
gate_shake(struct conn *c)
{
	const struct route *r = c->x->route;

	c->x->verdict.allow = true;
	c->x->verdict.assurance =
	    r->is_https && c->origin->is_reused ? ASSURE_ORIGIN : ASSURE_ADDRESS;
	if (!r->is_https || c->origin->is_reused)
		return NEXT;
	c->origin->is_secure = true;
	c->shaking = tls_start(c->e->tls, &c->origin->stream, &r->host, r->port,
	    c->x->snapshot->settings->limits_connect_timeout, on_shaken, c);
	return WAIT;
}

/* ---- CARRY */

/* How long a kept connection may wait: the provider may say when it will close it. */
static msec
patience(const struct conn *c)
{
	msec idle_ms = c->x->snapshot->settings->limits_idle_keepalive;
	int64_t said_s = c->gateway->keep_alive_s;
	msec until_ms = said_s * 1000 - LATE_MS;

	return said_s >= 0 && until_ms < idle_ms ? until_ms : idle_ms;
}

static void
part_from_provider(struct conn *c)
{
	struct engine *e = c->e;
	struct origin *o = c->origin;

	c->origin = NULL;
	if (!gateway_leaves_origin(c->gateway) || e->is_draining || patience(c) <= 0 ||
	    !c->x->has_upstream) {
		origin_close(e->loop, o);
		return;
	}
	origin_keep(&e->providers, o, kept_key(c, &e->text), patience(c));
	buf_reset(&e->text);
}

static enum after
after_call(const struct gateway *g, enum gateway_end how)
{
	if (how == GATEWAY_DONE)
		return g->is_client_kept ? AFTER_NEXT : AFTER_LINGER;
	return how == GATEWAY_CUT ? AFTER_RESET : AFTER_LINGER;
}

static enum next
called(struct conn *c, enum gateway_end how)
{
	switch (how) {
	case GATEWAY_STALE:
		return stage_dial_anew(c);
	case GATEWAY_REFUSED:
		return answer_refuse(c, c->x->reason);
	case GATEWAY_DONE:
	case GATEWAY_CUT:
		return NEXT;
	}
	return END;
}

static void
on_called(void *arg, enum gateway_end how)
{
	struct conn *c = arg;

	conn_take_back(c);
	c->after = (uint8_t)after_call(c->gateway, how);
	part_from_provider(c);
	conn_drop_carrier(c);
	conn_go_on(c, called(c, how));
}

static enum next
gate_carry(struct conn *c)
{
	c->gateway = mem_alloc(sizeof(*c->gateway));
	stream_limit(&c->origin->stream, &c->x->lease.quota);
	gateway_start(c->gateway, c->e, c->x->spend, &c->client, c->origin, on_called, c);
	return WAIT;
}

/* ---- the way ---- */

const struct stage_row gateway_way[] = {
	[STAGE_SOURCE] = { "source", entry_source, STAGE_GREET, stage_told, entry_late },
	[STAGE_SECURE] = { "secure", entry_secure, STAGE_GREET, stage_told, entry_late },
	[STAGE_GREET] = { "greet", greet_read, STAGE_WHO, stage_told, greet_late },
	[STAGE_WHO] = { "who", who_stage, STAGE_DECIDE, stage_told_meanwhile, who_late },
	[STAGE_DECIDE] = { "decide", gate_decide, STAGE_BODY, NULL, NULL },
	[STAGE_BODY] = { "body", gate_body, STAGE_RESERVE, stage_told, body_is_late },
	[STAGE_RESERVE] = { "reserve", gate_reserve, STAGE_OPEN, stage_told_meanwhile,
	    reserve_is_late },
	[STAGE_OPEN] = { "open", opening_stage, STAGE_RESOLVE, stage_told_meanwhile,
	    opening_late },
	[STAGE_RESOLVE] = { "resolve", stage_resolve, STAGE_DIAL, stage_told_meanwhile,
	    NULL },
	[STAGE_DIAL] = { "dial", gate_dial, STAGE_SHAKE, stage_told_meanwhile, NULL },
	[STAGE_SHAKE] = { "shake", gate_shake, STAGE_CARRY, stage_told_meanwhile, NULL },
	[STAGE_CARRY] = { "carry", gate_carry, STAGE_RECORD, NULL, NULL },
	[STAGE_HOLD] = { "hold", answer_hold, STAGE_ANSWER, NULL, answer_held },
	[STAGE_ANSWER] = { "answer", answer_send, STAGE_RECORD, stage_told, answer_late },
	[STAGE_RECORD] = { "record", stage_record, STAGE_GREET, NULL, NULL },
	[STAGE_LINGER] = { "linger", stage_linger, STAGE_LINGER, stage_told, conn_close },
};
