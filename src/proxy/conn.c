/*
 * conn.c - one client connection: what it holds, and how it goes on
 */
#include "proxy/conn.h"

#include <assert.h>
#include <malloc.h>
#include <stdlib.h>

#include "base/count.h"
#include "base/log.h"
#include "proxy/counter.h"
#include "proxy/forward.h"
#include "proxy/gateway.h"
#include "proxy/reach.h"
#include "proxy/settle.h"
#include "proxy/tunnel.h"

#define CROWD 128 /* connections whose memory is worth giving back */

static const char *
source_text(const struct conn *c, char out[static ADDR_TEXT])
{
	return c->unix_path != NULL ? c->unix_path : addr_text(out, &c->peer.addr);
}

const struct door *
conn_door(const struct conn *c)
{
	if (c->outer == NULL)
		return c->door;
	return c->outer->route != NULL ? &door_in_place : c->door->inside;
}

const char *
client_source(const struct addr *a, char out[static ADDR_TEXT])
{
	static const struct prefix v4 = V4_PREFIX(127, 0, 0, 0, 8);
	static const struct prefix v6 = { { { [15] = 1 } }, 128 };

	if (prefix_has(&v4, a) || prefix_has(&v6, a))
		return "loopback";
	return addr_text(out, a);
}

const char *
conn_share(const struct conn *c, char out[static ADDR_TEXT])
{
	return c->unix_path != NULL ? c->unix_path : client_source(&c->peer.addr, out);
}

/* host and port hold no space, so no two keys are alike by accident */
void
conn_origin_key(const struct conn *c, struct buf *out)
{
	const struct caller *who = c->x->who;
	char text[ADDR_TEXT];

	buf_text(out, conn_share(c, text));
	if (who != NULL)
		buf_fmt(out, " %.*s/%.*s/%.*s", STR_ARG(who->grant->issuer),
		    STR_ARG(who->grant->tenant), STR_ARG(who->grant->sid));
	buf_fmt(out, " %s %u", c->x->ask.host.name, c->x->ask.port);
}

/* ---- holding and letting go ---- */

void
conn_drop_request(struct conn *c)
{
	if (c->rq == NULL)
		return;
	buf_fini(&c->rq->in);
	buf_fini(&c->rq->more);
	free(c->rq);
	c->rq = NULL;
}

void
conn_need_request(struct conn *c)
{
	const struct settings *set = c->e->snapshot->settings;

	if (c->rq != NULL)
		return;
	c->rq = mem_zalloc(sizeof(*c->rq));
	buf_init(&c->rq->in, (size_t)set->limits_head + 2 * SCRATCH);
	buf_init(&c->rq->more, 2 * SCRATCH);
	conn_door(c)->begin(&c->rq->heard, c->e->snapshot);
}

void
conn_end_lookup(struct conn *c)
{
	if (c->has_lookup)
		client_give(c->share, CLIENT_LOOKUP);
	c->has_lookup = false;
}

void
conn_end_connecting(struct conn *c)
{
	if (c->has_connecting)
		client_give(c->share, CLIENT_CONNECTING);
	c->has_connecting = false;
}

void
conn_drop_carrier(struct conn *c)
{
	if (c->tunnel != NULL)
		loop_free_later(c->e->loop, free, c->tunnel);
	if (c->forward != NULL)
		loop_free_later(c->e->loop, free, c->forward);
	if (c->gateway != NULL)
		loop_free_later(c->e->loop, free, c->gateway);
	c->tunnel = NULL;
	c->forward = NULL;
	c->gateway = NULL;
	if (c->outer == NULL) {
		ledger_cancel(c->counting);
		c->counting = NULL;
	}
	if (c->has_tunnel_place && c->outer == NULL) {
		client_give(c->share, CLIENT_TUNNEL);
		count_add(COUNT_TUNNELS_OPEN, -1);
		c->has_tunnel_place = false;
	}
}

void
conn_leave(struct conn *c)
{
	timer_clear(&c->until);
	caller_leave(c->who);
	c->who = NULL;
}

void
conn_cancel(struct conn *c)
{
	ledger_cancel(c->asked);
	c->asked = NULL;
	ledger_cancel(c->counting);
	c->counting = NULL;
	journal_wait_cancel(c->written);
	c->written = NULL;
	if (c->lookup != NULL)
		lookup_cancel(c->lookup);
	conn_end_lookup(c);
	reach_cancel(c->reach);
	if (c->tunnel != NULL)
		tunnel_cancel(c->tunnel);
	if (c->forward != NULL)
		forward_cancel(c->forward);
	if (c->gateway != NULL)
		gateway_cancel(c->gateway);
	if (c->x != NULL)
		settle_end(c->x->spend);
	counter_cancel(c->counter);
	tls_cancel(c->shaking);
	mint_cancel(c->minting);
	leaf_unref(c->leaf);
	origin_close(c->e->loop, c->dialled);
	c->counter = NULL;
	c->shaking = NULL;
	c->minting = NULL;
	c->leaf = NULL;
	c->lookup = NULL;
	c->reach = NULL;
	c->dialled = NULL;
}

/* What is carried counts when that is over; the gateway counts as it goes. */
struct tally
conn_tally(const struct conn *c, const struct exchange *x)
{
	struct tally t = { x->up, x->down };
	struct tally more = { 0, 0 };

	if (x == c->outer && c->x != NULL)
		more = conn_tally(c, c->x);
	else if (x == c->x && c->tunnel != NULL)
		more = tunnel_tally(c->tunnel);
	else if (x == c->x && c->forward != NULL)
		more = forward_tally(c->forward);
	return (struct tally){ t.up + more.up, t.down + more.down };
}

bool
conn_says(struct trailed *t)
{
	struct exchange *x = list_entry(t, struct exchange, trailed);
	struct conn *c = x->conn;
	char text[ADDR_TEXT];

	x->money = spend_money(x->spend);
	return exchange_says(c->e, x, source_text(c, text),
	    t->is_opened ? RECORD_PROGRESS : RECORD_OPEN, conn_tally(c, x));
}

void
conn_end_exchange(struct conn *c, struct exchange **x)
{
	char text[ADDR_TEXT];
	struct exchange *ended = *x;
	struct spend *spend;

	*x = NULL;
	if (ended == NULL)
		return;
	if (c->outer != NULL && ended != c->outer) {
		c->outer->up += ended->up;
		c->outer->down += ended->down;
	}
	spend = ended->spend;
	settle_end(spend); /* the record says what was charged */
	ended->money = spend_money(spend);
	exchange_end(c->e, ended, source_text(c, text));
	spend_free(spend);
}

static void
give_back(void *unused)
{
	(void)unused;
	malloc_trim(0);
}

/* malloc keeps what thousands of connections used: most of it goes back when most went.
 */
static void
one_less(struct engine *e)
{
	if (--e->nconns < e->most / 4 && e->most >= CROWD) {
		loop_free_later(e->loop, give_back, NULL);
		e->most = e->nconns;
	}
	if (e->nconns == 0 && e->is_draining && e->emptied != NULL)
		e->emptied(e->emptied_arg);
}

/* TLS without a close_notify is one that was cut; between two requests nothing is. */
static void
say_goodbye(struct conn *c)
{
	if (c->client.fd >= 0 && c->x == NULL && stream_is_tls(&c->client))
		stream_shut(&c->client);
}

enum next
conn_close(struct conn *c)
{
	struct engine *e = c->e;

	if (c->is_closed)
		return END;
	c->is_closed = true;
	conn_cancel(c);
	say_goodbye(c);
	conn_end_exchange(c, &c->x);
	conn_end_exchange(c, &c->outer);
	conn_drop_carrier(c);
	conn_end_connecting(c);
	conn_leave(c);
	timer_clear(&c->timer);
	origin_close(e->loop, c->origin);
	c->origin = NULL;
	stream_close(&c->client);
	conn_drop_request(c);
	buf_fini(&c->out);
	client_give(c->share, c->is_surplus ? CLIENT_SURPLUS : CLIENT_CONNECTION);
	client_unref(c->share);
	writer_unref(c->writer);
	list_remove(&c->link);
	count_add(COUNT_CONNECTIONS_OPEN, -1);
	loop_free_later(e->loop, free, c);
	one_less(e);
	return END;
}

/* ---- going on ---- */

enum next
conn_jump(struct conn *c, enum stage to)
{
	c->stage = (uint8_t)to;
	return JUMP;
}

void
conn_go_on(struct conn *c, enum next n)
{
	assert(!c->is_running); /* nothing that a stage starts calls back at once */
	c->is_running = true;
	while (!c->is_closed && (n == NEXT || n == JUMP)) {
		if (n == NEXT)
			c->stage = (uint8_t)c->way[c->stage].then;
		log_debug("stage", "name", c->way[c->stage].name, "id",
		    c->x != NULL ? c->x->id : "");
		n = c->way[c->stage].run(c);
	}
	c->is_running = false;
}

static void
on_client(void *arg, unsigned what)
{
	struct conn *c = arg;
	const struct stage_row *row = &c->way[c->stage];

	if (row->told != NULL)
		conn_go_on(c, row->told(c, what));
}

static void
on_timer(void *arg)
{
	struct conn *c = arg;
	const struct stage_row *row = &c->way[c->stage];

	if (row->late != NULL)
		conn_go_on(c, row->late(c));
}

/*
 * Whatever comes stays ready until a carrier takes over; only an idle tunnel
 * ends with its origin.
 */
void
conn_on_origin(void *arg, unsigned what)
{
	struct conn *c = arg;

	if (c->outer == NULL || c->x != NULL || c->stage != STAGE_GREET ||
	    (what & (STREAM_READ | STREAM_HUP)) == 0 ||
	    stream_is_quiet(&c->origin->stream)) /* TLS has words of its own */
		return;
	c->outer->closed_by = CLOSE_ORIGIN;
	conn_close(c);
}

void
conn_take_back(struct conn *c)
{
	stream_attach(&c->client, on_client, c);
	if (c->origin == NULL)
		return;
	stream_attach(&c->origin->stream, conn_on_origin, c);
	stream_limit(&c->origin->stream, NULL);
}

static void
join(struct conn *c)
{
	struct engine *e = c->e;

	buf_init(&c->out, (size_t)1 << 20);
	timer_init(&c->timer, on_timer, c);
	timer_init(&c->until, NULL, NULL);
	list_append(&e->conns, &c->link);
	if (++e->nconns > e->most)
		e->most = e->nconns;
	count_add(COUNT_CONNECTIONS_OPEN, 1);
}

void
conn_open(struct conn *c, int fd)
{
	join(c);
	stream_open(&c->client, c->e->loop, fd, on_client, c);
	/* with TCP_DEFER_ACCEPT the first bytes are there already */
	c->client.ready |= STREAM_READ;
	conn_go_on(c, JUMP);
}

void
conn_open_datagram(struct conn *c, const struct datagram *d)
{
	join(c);
	datagram_open(&c->client, c->e->loop, d, on_client, c);
	c->client.ready |= STREAM_READ | STREAM_WRITE;
	conn_go_on(c, JUMP);
}
