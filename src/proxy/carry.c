/*
 * carry.c - CARRY: what becomes of the connection when a carrier is done
 */
#include "proxy/carry.h"

#include "proxy/answer.h"
#include "proxy/forward.h"
#include "proxy/intercept.h"
#include "proxy/refusals.h"
#include "proxy/stages.h"
#include "proxy/tunnel.h"

static const struct {
	enum reason reason;
	enum after after;
	bool resets_origin; /* a clean end would say that it has all */
} tunnel_after[] = {
	{ REASON_CLIENT_ABORTED, AFTER_CLOSE, true },
	{ REASON_UPLOAD_EXHAUSTED, AFTER_RESET, true },
	{ REASON_UPSTREAM_INCOMPLETE, AFTER_RESET, false },
	{ REASON_IDLE_TIMEOUT, AFTER_RESET, false },
};

/* Refused while it can be read: it lingers, unless nothing came to be refused. */
static enum after
after_refused(enum reason reason)
{
	return reason == REASON_CLIENT_TIMEOUT ? AFTER_CLOSE : AFTER_LINGER;
}

static enum after
after_tunnel(struct conn *c, enum tunnel_end how, enum reason reason)
{
	if (how != TUNNEL_ENDED)
		return after_refused(reason);
	for (size_t i = 0; i < sizeof(tunnel_after) / sizeof(tunnel_after[0]); i++) {
		if (tunnel_after[i].reason != reason)
			continue;
		if (tunnel_after[i].resets_origin) {
			origin_reset(c->e->loop, c->origin);
			c->origin = NULL;
		}
		return tunnel_after[i].after;
	}
	return AFTER_CLOSE;
}

/* The requests inside are exchanges of their own; the CONNECT's stays open above. */
static enum next
carry_http(struct conn *c, struct str first)
{
	struct exchange *x = c->x;

	x->first.protocols = PROTOCOL_HTTP;
	x->verdict.allow = true;
	x->verdict.protocol = PROTOCOL_HTTP;
	x->verdict.assurance = ASSURE_ADDRESS;
	c->outer = x;
	c->x = NULL;
	conn_drop_carrier(c);
	conn_need_request(c);
	buf_str(&c->rq->in, first);
	return conn_jump(c, STAGE_GREET);
}

/* undici asks for http:// by CONNECT too: cut off, its user would never learn why. */
static enum next
tell_inside(struct conn *c)
{
	conn_door(c)->inside->refuse(&c->out, c->x, true, -1);
	return conn_jump(c, STAGE_ANSWER);
}

static void
on_tunnelled(void *arg, enum tunnel_end how, struct str first)
{
	struct conn *c = arg;

	conn_take_back(c);
	if (how == TUNNEL_HTTP || how == TUNNEL_TLS) {
		conn_go_on(c, how == TUNNEL_HTTP ? carry_http(c, first)
						 : intercept_begin(c, first));
		return;
	}
	conn_drop_carrier(c);
	if (how == TUNNEL_REFUSED)
		(void)refusals_count(c); /* its answer was given */
	c->after = (uint8_t)after_tunnel(c, how, c->x->reason);
	conn_go_on(c, how == TUNNEL_UNTOLD ? tell_inside(c) : NEXT);
}

static enum next
carry_tunnel(struct conn *c)
{
	struct request *rq = c->rq;
	struct exchange *x = c->x;
	struct stream *origin = c->origin != NULL ? &c->origin->stream : NULL;
	struct str early = str_sub(buf_view(&rq->in), rq->heard.used, rq->in.n);

	exchange_forget_head(x); /* its bytes go with the request */
	if (origin != NULL)
		stream_limit(origin, &x->lease.quota);
	c->tunnel = mem_alloc(sizeof(*c->tunnel));
	tunnel_start(c->tunnel, c->e, x, &c->client, origin, early, on_tunnelled, c);
	conn_drop_request(c);
	return WAIT;
}

static enum after
after_forward(enum forward_end how, const struct forward *f, enum reason reason)
{
	if (how == FORWARD_DONE && f->is_client_kept)
		return AFTER_NEXT;
	if (how == FORWARD_CUT && f->is_told)
		return AFTER_LINGER;
	if (how == FORWARD_CUT)
		return reason == REASON_CLIENT_ABORTED ? AFTER_CLOSE : AFTER_RESET;
	return AFTER_LINGER;
}

/* Kept for the next request, closed, or cut so that what it has of this one looks cut. */
static void
part_from_origin(struct conn *c, enum forward_end how, const struct forward *f)
{
	const struct exchange *x = c->x;
	struct buf *key = &c->e->text;

	if (how == FORWARD_DONE && c->outer != NULL)
		return; /* the tunnel's, to its end */
	buf_reset(key);
	conn_origin_key(c, key);
	if (how == FORWARD_DONE && f->is_origin_kept && x->has_upstream)
		origin_keep(&c->e->origins, c->origin, buf_view(key),
		    x->snapshot->settings->limits_idle_keepalive);
	else if (how == FORWARD_DONE || how == FORWARD_STALE)
		origin_close(c->e->loop, c->origin);
	else
		origin_reset(c->e->loop, c->origin);
	buf_reset(key);
	c->origin = NULL;
}

static enum next
forwarded(struct conn *c, enum forward_end how)
{
	switch (how) {
	case FORWARD_REFUSED:
		return answer_refuse(c, c->x->reason);
	case FORWARD_STALE:
		return stage_dial_anew(c);
	case FORWARD_DONE:
	case FORWARD_CUT:
		return NEXT;
	}
	return END;
}

static void
on_forwarded(void *arg, enum forward_end how)
{
	struct conn *c = arg;

	conn_take_back(c);
	c->after = (uint8_t)after_forward(how, c->forward, c->x->reason);
	part_from_origin(c, how, c->forward);
	conn_drop_carrier(c);
	conn_go_on(c, forwarded(c, how));
}

static enum next
carry_forward(struct conn *c)
{
	struct request *rq = c->rq;
	struct str rest = str_sub(buf_view(&rq->in), rq->heard.used, rq->in.n);
	struct forward *f = mem_alloc(sizeof(*f));

	c->forward = f;
	rq->heard.used = rq->in.n; /* what is no body comes back in `more` */
	stream_limit(&c->origin->stream, &c->x->lease.quota);
	forward_start(f, c->e, c->x, &c->client, c->origin, rest, &rq->more,
	    c->outer != NULL, on_forwarded, c);
	return WAIT;
}

enum next
carry_start(struct conn *c)
{
	return exchange_is_tunnel(c->x) ? carry_tunnel(c) : carry_forward(c);
}
