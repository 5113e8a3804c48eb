/*
 * stages.c - stages that ways share: resolve, dial, record, linger
 */
#include "proxy/stages.h"

#include <assert.h>
#include <errno.h>

#include "base/count.h"
#include "base/err.h"
#include "base/log.h"
#include "proxy/advice.h"
#include "proxy/answer.h"
#include "proxy/literal.h"
#include "proxy/reach.h"
#include "proxy/refusals.h"

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
	if (!c->x->may_write)
		(void)refusals_count(c);
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
	conn_end_lookup(c);
	/* its end may be an event of this same turn, not told yet */
	conn_go_on(c, is_abandoned(c) ? abandoned(c) : c->found(c, found));
}

/* Nothing is looked up: the parent proxy does that. */
static enum next
leave_to_parent(struct conn *c)
{
	struct exchange *x = c->x;

	if (!exchange_trusts_parent(x))
		return answer_refuse(c, x->reason);
	if (!client_take(c->share, CLIENT_CONNECTING,
		x->snapshot->settings->limits_client_connecting))
		return answer_refuse(c, REASON_CONCURRENCY_LIMITED);
	c->has_connecting = true;
	return NEXT;
}

enum next
stage_resolve(struct conn *c)
{
	if (parent_resolves(c->x->snapshot->parent, &c->x->ask.host))
		return leave_to_parent(c);
	return stage_resolve_to(c, resolved);
}

/* Each name that a client made up carries what it wants to whoever serves the names
 * below. */
static enum reason
coin(struct conn *c)
{
	struct exchange *x = c->x;
	const struct settings *set = x->snapshot->settings;
	struct buf *who = &c->e->text;
	msec wait;

	if (!client_take(c->share, CLIENT_LOOKUP, set->limits_lookups)) {
		x->error = "limits.lookups names under wildcards are being looked up";
		return REASON_CONCURRENCY_LIMITED;
	}
	c->has_lookup = true;
	buf_reset(who);
	exchange_account(x, who);
	wait = coined_wait(c->e->coined, buf_view(who), host_str(&x->ask.host),
	    set->limits_new_names, loop_now(c->e->loop));
	buf_reset(who);
	if (wait == 0)
		return REASON_NONE;
	conn_end_lookup(c);
	count_add(COUNT_NEW_NAMES_REFUSED, 1);
	x->retry_s = (wait + 999) / 1000;
	x->error = "limits.new_names names under wildcards were looked up";
	return REASON_RATE_LIMITED;
}

enum next
stage_resolve_to(struct conn *c, stage_found *then)
{
	struct exchange *x = c->x;
	char text[ADDR_TEXT];
	enum reason reason;
	struct found found;

	if (!client_take(c->share, CLIENT_CONNECTING,
		x->snapshot->settings->limits_client_connecting))
		return answer_refuse(c, REASON_CONCURRENCY_LIMITED);
	c->has_connecting = true;
	c->found = then;
	if (resolver_cached(c->e->resolver, &x->ask.host, &found))
		return then(c, &found);
	if (x->admitted.is_coined && (reason = coin(c)) != REASON_NONE)
		return answer_refuse(c, reason);
	exchange_resolving(x);
	c->lookup = resolver_start(
	    c->e->resolver, str_of(conn_share(c, text)), &x->ask.host, on_resolved, c);
	return WAIT;
}

/* ---- LITERAL ---- */

static void
on_looked(void *arg, const struct found *found)
{
	struct conn *c = arg;

	c->lookup = NULL;
	if (is_abandoned(c))
		conn_go_on(c, abandoned(c));
	else if (!literal_judge(c->x, found))
		conn_go_on(c, answer_refuse(c, c->x->reason));
	else
		conn_go_on(c, stage_literal(c));
}

/* One name after the other: nearly always all of them are in the cache. */
enum next
stage_literal(struct conn *c)
{
	struct exchange *x = c->x;
	char text[ADDR_TEXT];
	struct found found;
	struct host name;

	for (;;) {
		switch (literal_next(x, &name)) {
		case LITERAL_FREE:
			return c->origin != NULL ? conn_jump(c, STAGE_JUDGE) : NEXT;
		case LITERAL_REFUSED:
			return answer_refuse(c, x->reason);
		case LITERAL_ASK:
			break;
		}
		if (!resolver_cached(c->e->resolver, &name, &found))
			break;
		if (!literal_judge(x, &found))
			return answer_refuse(c, x->reason);
	}
	c->lookup = resolver_start(
	    c->e->resolver, str_of(conn_share(c, text)), &name, on_looked, c);
	return WAIT;
}

/* ---- DIAL ---- */

static void
on_reached(void *arg, int err, const struct endpoint *to, bool is_through_parent)
{
	static const struct endpoint unknown;
	struct conn *c = arg;
	struct origin *o = c->dialled;

	c->reach = NULL;
	c->dialled = NULL;
	if (is_through_parent)
		c->x->flags |= FLAG_PARENT;
	o->is_parents = is_through_parent;
	conn_end_connecting(c);
	if (err != 0) {
		origin_close(c->e->loop, o);
		c->x->error = err_text(err);
		conn_go_on(c, answer_refuse(c, reason_of_dial(err)));
		return;
	}
	exchange_dialled(c->x, to, false);
	c->origin = o;
	origin_connected(o, to != NULL ? to : &unknown, conn_on_origin, c);
	conn_go_on(c, NEXT);
}

bool
stage_reuse(struct conn *c, struct origins *from, struct str key)
{
	assert(c->origin == NULL); /* another exchange's goes to another host */
	if (c->is_dialled_anew || c->x->vetted == NULL)
		return false;
	c->origin = origin_take(from, key, c->x->vetted, conn_on_origin, c);
	if (c->origin == NULL)
		return false;
	conn_end_connecting(c);
	if (c->origin->is_parents)
		c->x->flags |= FLAG_PARENT;
	exchange_dialled(c->x, &c->origin->to, true);
	return true;
}

enum next
stage_dial_new(struct conn *c)
{
	struct exchange *x = c->x;
	char text[ADDR_TEXT];
	struct reach_order order = {
		.host = &x->ask.host,
		.port = x->ask.port,
		.to = x->vetted,
		.asker = str_of(conn_share(c, text)),
		.timeout_ms = x->snapshot->settings->limits_connect_timeout,
	};

	exchange_dialling(x);
	c->dialled = origin_new();
	c->reach =
	    reach_start(c->e, x->snapshot, &order, &c->dialled->stream, on_reached, c);
	return WAIT;
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

/* ---- RECORD, LINGER ---- */

/* What came behind the last request is the beginning of the next. */
static void
turn_to_next(struct conn *c)
{
	struct request *rq = c->rq;
	struct buf rest;

	c->is_dialled_anew = false;
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
	for (int reads = 0; reads < STREAM_READS; reads++) {
		ssize_t n = stream_read(&c->client, c->e->scratch, SCRATCH);
		if (n == -EAGAIN)
			return WAIT;
		if (n <= 0 || (c->lingered += (uint32_t)n) > LINGER_BYTES)
			return conn_close(c);
	}
	stream_kick(&c->client);
	return WAIT;
}
