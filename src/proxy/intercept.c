/*
 * intercept.c - a tunnel whose TLS weir answers itself, so that it sees the requests
 */
#include "proxy/intercept.h"

#include "base/count.h"
#include "base/err.h"

enum next
intercept_begin(struct conn *c, struct str first)
{
	c->x->flags |= FLAG_INTERCEPTED;
	count_add(COUNT_INTERCEPTED, 1);
	c->outer = c->x;
	c->x = NULL;
	conn_drop_carrier(c);
	conn_need_request(c);
	buf_str(&c->rq->in, first);
	if (c->outer->route == NULL)
		return conn_jump(c, STAGE_PROVE);
	origin_close(c->e->loop, c->origin); /* of before a reload */
	c->origin = NULL;
	return conn_jump(c, STAGE_LEAF);
}

/* For the tunnel's own record; what is said of it is good for a call only. */
static void
blame(struct conn *c, enum reason reason, enum close_by by, const char *why)
{
	struct exchange *x = c->outer;
	struct str text = arena_str(&x->arena, str_of(why));

	x->reason = reason;
	x->closed_by = by;
	x->error = text.p;
}

/* ---- the origin ---- */

static void
on_proved(void *arg, int err, const char *why)
{
	struct conn *c = arg;

	c->shaking = NULL;
	if (err == 0) {
		c->outer->verdict.assurance = ASSURE_ORIGIN;
		stream_attach(&c->origin->stream, conn_on_origin, c);
	} else {
		blame(c, REASON_UPSTREAM_TLS_FAILED, CLOSE_WEIR, why);
		origin_close(c->e->loop, c->origin);
		c->origin = NULL;
	}
	conn_go_on(c, NEXT);
}

enum next
intercept_prove(struct conn *c)
{
	const struct exchange *x = c->outer;

	c->origin->is_secure = true;
	c->shaking = tls_start(c->e->tls, &c->origin->stream, &x->ask.host, x->ask.port,
	    x->snapshot->settings->limits_connect_timeout, on_proved, c);
	return WAIT;
}

/* ---- the certificate ---- */

static enum next
give_up(struct conn *c, enum reason reason, const char *why)
{
	static const char internal_error[] = { 0x15, 3, 3, 0, 2, 2, 80 }; /* RFC 8446 6 */
	struct iovec v = { (void *)(uintptr_t)internal_error, sizeof(internal_error) };

	(void)stream_write(&c->client, &v, 1); /* a courtesy: it fits or not */
	blame(c, reason, CLOSE_WEIR, why);
	return conn_close(c);
}

static const char unmade[] = "no certificate could be made for the client";

static void
on_made(void *arg, struct leaf *leaf)
{
	struct conn *c = arg;

	c->minting = NULL;
	if (leaf != NULL)
		c->leaf = leaf_ref(leaf);
	conn_go_on(c, leaf != NULL ? NEXT : give_up(c, REASON_INTERNAL, unmade));
}

enum next
intercept_leaf(struct conn *c)
{
	const struct exchange *x = c->outer;

	if (x->snapshot->ca == NULL) /* a reload took it away since the hello */
		return give_up(
		    c, REASON_POLICY_CHANGED, "no TLS of clients is opened any more");
	c->leaf = mint_kept(c->e->mint, x->snapshot->ca, &x->ask.host);
	if (c->leaf != NULL)
		return NEXT;
	c->minting =
	    mint_ask(c->e->mint, x->snapshot->ca, &x->ask.host, c->e->loop, on_made, c);
	return c->minting != NULL ? WAIT : give_up(c, REASON_OVERLOADED, unmade);
}

/* ---- the client ---- */

static void
on_accepted(void *arg, int err, const char *why)
{
	struct conn *c = arg;

	c->shaking = NULL;
	if (err == 0) {
		conn_take_back(c);
		c->way = conn_door(c)->way;
		conn_go_on(c, conn_jump(c, STAGE_GREET));
		return;
	}
	if (err == ERR_DISTRUSTED) {
		c->outer->flags |= FLAG_DISTRUSTED;
		count_add(COUNT_DISTRUSTED, 1);
	}
	if (err == ERR_TIMEOUT)
		blame(c, REASON_CLIENT_TIMEOUT, CLOSE_WEIR, why);
	else
		blame(c, REASON_CLIENT_ABORTED, CLOSE_CLIENT, why);
	conn_close(c);
}

enum next
intercept_accept(struct conn *c)
{
	c->shaking = tls_accept(c->e->tls_server, &c->client, buf_view(&c->rq->in),
	    c->leaf, c->outer->snapshot->settings->limits_hello_timeout, on_accepted, c);
	leaf_unref(c->leaf);
	c->leaf = NULL;
	conn_drop_request(c);
	return WAIT;
}
