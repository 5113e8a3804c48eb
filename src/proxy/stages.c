/*
 * stages.c - the way of a request: from an ask to an origin, and to its record
 */
#include "proxy/stages.h"

#include <assert.h>
#include <errno.h>

#include "base/count.h"
#include "base/err.h"
#include "base/log.h"
#include "proxy/advice.h"
#include "proxy/answer.h"
#include "proxy/carry.h"
#include "proxy/greet.h"
#include "proxy/who.h"

/* RFC 9112 9.6: let the client read the answer before the socket dies */
#define LINGER_MS ((msec)2000)
#define LINGER_BYTES ((size_t)64 * 1024)

/* ---- while it waits ---- */

/* The stage that waits looks for itself. */
enum next
stage_told(struct conn *c, unsigned what)
{
	(void)c, (void)what;
	return JUMP;
}

/* The client went away while weir was looking things up or dialling. */
static enum next
abandoned(struct conn *c)
{
	conn_cancel(c);
	conn_end_connecting(c);
	c->x->reason = REASON_CLIENT_ABORTED;
	c->x->closed_by = CLOSE_CLIENT;
	c->after = AFTER_CLOSE;
	return conn_jump(c, STAGE_RECORD);
}

/* A reset always; a clean end only where the client has nothing left to do but send. */
static bool
is_abandoned(struct conn *c)
{
	ssize_t n = stream_peek(&c->client);

	return (n < 0 && n != -EAGAIN) || (n == 0 && exchange_is_tunnel(c->x));
}

enum next
stage_told_meanwhile(struct conn *c, unsigned what)
{
	if ((what & (STREAM_READ | STREAM_HUP)) == 0 || !is_abandoned(c))
		return WAIT;
	return abandoned(c);
}

/* ---- DECIDE ---- */

static bool
is_body_too_large(const struct exchange *x)
{
	int64_t max = x->snapshot->settings->limits_body;

	return max > 0 && x->head->framing == HTTP_LENGTH &&
	       x->head->length > (uint64_t)max;
}

/* By the door, for no origin is to be asked. */
static enum next
answered(struct conn *c, int status)
{
	c->x->verdict.allow = true;
	c->x->verdict.protocol = PROTOCOL_HTTP;
	c->x->status = status;
	c->after = AFTER_LINGER;
	return conn_jump(c, STAGE_ANSWER);
}

static enum next
stage_decide(struct conn *c)
{
	struct exchange *x = c->x;
	int status;

	if (!exchange_admit(x))
		return answer_refuse(c, x->reason);
	if (!exchange_foresee(x))
		return answer_refuse(c, x->reason);
	if (is_body_too_large(x))
		return answer_refuse(c, REASON_BODY_TOO_LARGE);
	if ((status = conn_door(c)->answer(&c->out, x)) != 0)
		return answered(c, status);
	if (c->outer == NULL)
		return NEXT;
	exchange_dialled(x, &c->origin->to, true);
	if (!exchange_vet_upstream(x))
		return answer_refuse(c, x->reason);
	return conn_jump(c, STAGE_JUDGE);
}

/* ---- RESOLVE ---- */

static enum next
resolved(struct conn *c, const struct found *found)
{
	if (!exchange_vet(c->x, found))
		return answer_refuse(c, c->x->reason);
	return NEXT;
}

static void
on_resolved(void *arg, const struct found *found)
{
	struct conn *c = arg;

	c->lookup = NULL;
	/* its end may be an event of this same turn, not told yet */
	conn_go_on(c, is_abandoned(c) ? abandoned(c) : resolved(c, found));
}

enum next
stage_resolve(struct conn *c)
{
	struct exchange *x = c->x;
	char text[ADDR_TEXT];
	struct found found;

	if (!client_take(c->share, CLIENT_CONNECTING,
		x->snapshot->settings->limits_client_connecting))
		return answer_refuse(c, REASON_CONCURRENCY_LIMITED);
	c->has_connecting = true;
	if (resolver_cached(c->e->resolver, &x->ask.host, &found))
		return resolved(c, &found);
	exchange_resolving(x);
	c->lookup = resolver_start(
	    c->e->resolver, str_of(conn_share(c, text)), &x->ask.host, on_resolved, c);
	return WAIT;
}

/* ---- DIAL ---- */

static void
on_dialled(void *arg, int err, const struct endpoint *to)
{
	struct conn *c = arg;
	struct origin *o = c->dialled;

	c->dial = NULL;
	c->dialled = NULL;
	conn_end_connecting(c);
	if (err != 0) {
		origin_close(c->e->loop, o);
		c->x->error = err_text(err);
		conn_go_on(c, answer_refuse(c, reason_of_dial(err)));
		return;
	}
	exchange_dialled(c->x, to, false);
	c->origin = o;
	origin_connected(o, to, conn_on_origin, c);
	conn_go_on(c, NEXT);
}

bool
stage_reuse(struct conn *c, struct origins *from, struct str key)
{
	assert(c->origin == NULL); /* another exchange's goes to another host */
	if (c->is_dialled_anew)
		return false;
	c->origin = origin_take(from, key, c->x->vetted, conn_on_origin, c);
	if (c->origin == NULL)
		return false;
	conn_end_connecting(c);
	exchange_dialled(c->x, &c->origin->to, true);
	return true;
}

enum next
stage_dial_new(struct conn *c)
{
	struct exchange *x = c->x;

	exchange_dialling(x);
	c->dialled = origin_new();
	c->dial = dial_start(c->e->loop, x->vetted, &c->dialled->stream,
	    x->snapshot->settings->limits_connect_timeout, on_dialled, c);
	return WAIT;
}

static bool
reuses(struct conn *c)
{
	struct buf *key = &c->e->text;
	bool is_taken;

	if (c->e->origins.n == 0 || exchange_is_tunnel(c->x) || c->x->ask.wants_websocket)
		return false;
	buf_reset(key);
	conn_origin_key(c, key);
	is_taken = stage_reuse(c, &c->e->origins, buf_view(key));
	buf_reset(key);
	return is_taken;
}

static enum next
stage_dial(struct conn *c)
{
	return reuses(c) ? NEXT : stage_dial_new(c);
}

/* Its place among those that dial was given back when the kept one was taken. */
enum next
stage_dial_anew(struct conn *c)
{
	if (!client_take(c->share, CLIENT_CONNECTING,
		c->x->snapshot->settings->limits_client_connecting))
		return answer_refuse(c, REASON_CONCURRENCY_LIMITED);
	c->has_connecting = true;
	c->is_dialled_anew = true;
	c->x->flags |= FLAG_RETRIED;
	count_add(COUNT_UPSTREAM_STALE, 1);
	return conn_jump(c, STAGE_DIAL);
}

/* ---- JUDGE ---- */

static bool
take_tunnel_place(struct conn *c)
{
	if (!client_take(
		c->share, CLIENT_TUNNEL, c->x->snapshot->settings->limits_tunnels))
		return false;
	c->has_tunnel_place = true;
	count_add(COUNT_TUNNELS_OPEN, 1);
	return true;
}

/* tcp is judged by name, port and address alone; else the first bytes tell. */
static enum next
open_tunnel(struct conn *c)
{
	const struct door *d = c->door;
	struct iovec v = { (void *)(uintptr_t)d->opened.p, d->opened.n };
	struct exchange *x = c->x;

	if (x->admitted.is_tcp) {
		x->first.protocols = PROTOCOL_TCP;
		if (!exchange_judge(x))
			return answer_refuse(c, x->reason);
	}
	if (!take_tunnel_place(c))
		return answer_refuse(c, REASON_CONCURRENCY_LIMITED);
	if (stream_write(&c->client, &v, 1) != (ssize_t)v.iov_len) {
		x->reason = REASON_CLIENT_ABORTED;
		x->closed_by = CLOSE_CLIENT;
		return conn_close(c);
	}
	x->status = d->opened_status;
	return NEXT;
}

static enum next
stage_judge(struct conn *c)
{
	if (!exchange_renew(c->x, c->e->snapshot))
		return answer_refuse(c, c->x->reason);
	if (exchange_is_tunnel(c->x))
		return open_tunnel(c);
	if (!exchange_judge(c->x))
		return answer_refuse(c, c->x->reason);
	return NEXT;
}

/* ---- RECORD, LINGER ---- */

/* What came behind the last request is the beginning of the next. */
static void
turn_to_next(struct conn *c)
{
	struct request *rq = c->rq;
	struct buf rest;

	c->is_dialled_anew = c->is_opened = false;
	c->is_reading = c->is_continued = false;
	if (rq == NULL)
		return;
	rest = rq->more;
	if (rq->in.n > rq->heard.used) /* refused: nobody looked behind the head */
		buf_str(&rest, str_sub(buf_view(&rq->in), rq->heard.used, rq->in.n));
	buf_init(&rq->more, 2 * SCRATCH);
	conn_drop_request(c);
	if (rest.n > 0) {
		conn_need_request(c);
		buf_str(&c->rq->in, buf_view(&rest));
	}
	buf_fini(&rest);
}

/* The laptop: a refusal is said once, with the rule to paste. */
static void
say_refusal(const struct conn *c)
{
	const struct exchange *x = c->x;
	char host[AUTHORITY_TEXT];
	struct buf rule;

	if (!c->e->says_refusals || x->kind == RECORD_GATEWAY || x->verdict.allow ||
	    x->ask.host.len == 0 || reason_row(x->reason)->type != TYPE_POLICY)
		return;
	buf_init(&rule, 4096);
	advice_rule(&rule, x);
	log_info("refused", "host", authority_text(host, &x->ask.host, x->ask.port, 0),
	    "reason", reason_row(x->reason)->name, "rule",
	    rule.n > 0 ? buf_cstr(&rule) : NULL);
	buf_fini(&rule);
}

/* Only a tunnel's origin outlives one exchange: the next may be to another host. */
static void
let_origin_go(struct conn *c)
{
	if (c->outer != NULL)
		return;
	origin_close(c->e->loop, c->origin);
	c->origin = NULL;
}

enum next
stage_record(struct conn *c)
{
	say_refusal(c);
	let_origin_go(c);
	/* before the request goes: its slices point into it */
	conn_end_exchange(c, &c->x);
	switch ((enum after)c->after) {
	case AFTER_NEXT:
		turn_to_next(c);
		return NEXT;
	case AFTER_LINGER:
		stream_shut(&c->client);
		timer_set(c->e->loop, &c->timer, LINGER_MS);
		return conn_jump(c, STAGE_LINGER);
	case AFTER_CLOSE:
		return conn_close(c);
	case AFTER_RESET:
		stream_reset(&c->client);
		return conn_close(c);
	}
	return END;
}

enum next
stage_linger(struct conn *c)
{
	for (;;) {
		ssize_t n = stream_read(&c->client, c->e->scratch, SCRATCH);
		if (n == -EAGAIN)
			return WAIT;
		if (n <= 0 || (c->lingered += (uint32_t)n) > LINGER_BYTES)
			return conn_close(c);
	}
}

/* ---- the way ---- */

const struct stage_row stages[] = {
	[STAGE_GREET] = { "greet", greet_read, STAGE_WHO, stage_told, greet_late },
	[STAGE_WHO] = { "who", who_stage, STAGE_DECIDE, stage_told_meanwhile, who_late },
	[STAGE_DECIDE] = { "decide", stage_decide, STAGE_RESOLVE, NULL, NULL },
	[STAGE_RESOLVE] = { "resolve", stage_resolve, STAGE_DIAL, stage_told_meanwhile,
	    NULL },
	[STAGE_DIAL] = { "dial", stage_dial, STAGE_JUDGE, stage_told_meanwhile, NULL },
	[STAGE_JUDGE] = { "judge", stage_judge, STAGE_CARRY, NULL, NULL },
	[STAGE_CARRY] = { "carry", carry_start, STAGE_RECORD, NULL, NULL },
	[STAGE_ANSWER] = { "answer", answer_send, STAGE_RECORD, stage_told, answer_late },
	[STAGE_RECORD] = { "record", stage_record, STAGE_GREET, NULL, NULL },
	[STAGE_LINGER] = { "linger", stage_linger, STAGE_LINGER, stage_told, conn_close },
};
