/*
 * conn.c - one client connection: the stages an exchange goes through
 */
#include "proxy/conn.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/count.h"
#include "base/err.h"
#include "base/log.h"
#include "proxy/advice.h"
#include "proxy/door.h"
#include "proxy/forward.h"
#include "proxy/remake.h"
#include "proxy/tunnel.h"

/* RFC 9112 9.6: let the client read the answer before the socket dies */
#define LINGER_MS ((msec)2000)
#define LINGER_BYTES ((size_t)64 * 1024)
#define SURPLUS 64        /* connections beyond the cap that may be told so at once */
#define REJUDGE_SLICE 256 /* tunnels judged again in one loop turn */

enum stage {
	STAGE_GREET,   /* bytes -> ask */
	STAGE_DECIDE,  /* may it be looked up and dialled? */
	STAGE_RESOLVE, /* name -> vetted addresses */
	STAGE_DIAL,    /* vetted -> origin */
	STAGE_JUDGE,   /* all that is known -> allow */
	STAGE_CARRY,   /* tunnel | forward */
	STAGE_ANSWER,  /* weir's own answer is on its way */
	STAGE_RECORD,  /* the exchange ends */
	STAGE_LINGER,  /* nothing is read any more, but the client may still be reading */
};

enum next {
	NEXT, /* to the stage the table names */
	JUMP, /* to the stage already set */
	WAIT, /* a callback goes on */
	END,  /* the connection is closed */
};

struct conn;

struct stage_row {
	const char *name;
	enum next (*run)(struct conn *c);
	enum stage then;
	/* While it waits: the client's socket has something to tell; NULL: not now. */
	enum next (*told)(struct conn *c, unsigned what);
	/* The same for the connection's timer; NULL: the wait's deadline is elsewhere. */
	enum next (*late)(struct conn *c);
};

/* What becomes of the connection after the record. */
enum after { AFTER_NEXT, AFTER_LINGER, AFTER_CLOSE, AFTER_RESET };

/* Bytes of the client's that are not a body on its way. */
struct request {
	struct buf in;   /* the head, and what came behind it */
	struct buf more; /* what came behind the body */
	struct http_reader reader;
	struct http_head head; /* slices of `in` */
	size_t used;           /* of `in`: the head */
};

struct conn {
	struct list link;
	struct engine *e;
	struct stream client;
	struct client *share; /* of this client's limits */
	struct endpoint peer;
	const char *unix_path; /* the listener's */
	struct timer timer;
	const struct stage_row *way; /* by enum stage */
	uint8_t stage;
	uint8_t after;
	bool is_running, is_closed;
	bool is_surplus; /* over limits.client_connections: only told so */
	bool has_connecting, has_tunnel_place;
	bool is_waiting;      /* the first byte of a request */
	bool needs_judging;   /* a reload's slices have not come to it yet */
	bool is_dialled_anew; /* a kept connection was dead: not another one */
	uint32_t lingered;
	struct request *rq; /* NULL while idle or tunnelling */
	struct exchange *x;
	struct exchange *outer; /* the CONNECT whose tunnel carries plain HTTP */
	struct lookup *lookup;
	struct dial *dial;
	struct origin *dialled; /* what the dial goes into */
	struct origin *origin;
	struct tunnel *tunnel;
	struct forward *forward;
	struct buf out; /* an answer not wholly taken yet */
};

static const char *
source_text(const struct conn *c, char out[static ADDR_TEXT])
{
	return c->unix_path != NULL ? c->unix_path : addr_text(out, &c->peer.addr);
}

/* Who shares limits and kept connections: all of loopback is one client. */
static const char *
conn_share(const struct conn *c, char out[static ADDR_TEXT])
{
	static const struct prefix v4 = V4_PREFIX(127, 0, 0, 0, 8);
	static const struct prefix v6 = { { { [15] = 1 } }, 128 };

	if (c->unix_path != NULL)
		return c->unix_path;
	if (prefix_has(&v4, &c->peer.addr) || prefix_has(&v6, &c->peer.addr))
		return "loopback";
	return addr_text(out, &c->peer.addr);
}

/* ---- holding and letting go ---- */

static void
conn_drop_request(struct conn *c)
{
	if (c->rq == NULL)
		return;
	buf_fini(&c->rq->in);
	buf_fini(&c->rq->more);
	free(c->rq);
	c->rq = NULL;
}

static void
conn_need_request(struct conn *c)
{
	const struct settings *set = c->e->snapshot->settings;

	if (c->rq != NULL)
		return;
	c->rq = mem_zalloc(sizeof(*c->rq));
	buf_init(&c->rq->in, (size_t)set->limits_head + 2 * SCRATCH);
	buf_init(&c->rq->more, 2 * SCRATCH);
	http_reader_init(&c->rq->reader, HTTP_REQUEST, &c->e->snapshot->request_limit);
}

static void
conn_end_connecting(struct conn *c)
{
	if (c->has_connecting)
		client_give(c->share, CLIENT_CONNECTING);
	c->has_connecting = false;
}

static void
conn_drop_carrier(struct conn *c)
{
	if (c->tunnel != NULL)
		loop_free_later(c->e->loop, free, c->tunnel);
	if (c->forward != NULL)
		loop_free_later(c->e->loop, free, c->forward);
	c->tunnel = NULL;
	c->forward = NULL;
	if (c->has_tunnel_place && c->outer == NULL) {
		client_give(c->share, CLIENT_TUNNEL);
		count_add(COUNT_TUNNELS_OPEN, -1);
		c->has_tunnel_place = false;
	}
}

static void
conn_cancel(struct conn *c)
{
	if (c->lookup != NULL)
		lookup_cancel(c->lookup);
	if (c->dial != NULL)
		dial_cancel(c->dial);
	if (c->tunnel != NULL)
		tunnel_cancel(c->tunnel);
	if (c->forward != NULL)
		forward_cancel(c->forward);
	origin_close(c->e->loop, c->dialled);
	c->lookup = NULL;
	c->dial = NULL;
	c->dialled = NULL;
}

static void
conn_end_exchange(struct conn *c, struct exchange **x)
{
	char text[ADDR_TEXT];
	struct exchange *ended = *x;

	*x = NULL;
	if (ended == NULL)
		return;
	if (c->outer != NULL && ended != c->outer) {
		c->outer->up += ended->up;
		c->outer->down += ended->down;
	}
	exchange_end(c->e, ended, source_text(c, text));
}

static enum next
conn_close(struct conn *c)
{
	struct engine *e = c->e;

	if (c->is_closed)
		return END;
	c->is_closed = true;
	conn_cancel(c);
	conn_end_exchange(c, &c->x);
	conn_end_exchange(c, &c->outer);
	conn_drop_carrier(c);
	conn_end_connecting(c);
	timer_clear(&c->timer);
	origin_close(e->loop, c->origin);
	c->origin = NULL;
	stream_close(&c->client);
	conn_drop_request(c);
	buf_fini(&c->out);
	client_give(c->share, c->is_surplus ? CLIENT_SURPLUS : CLIENT_CONNECTION);
	client_unref(c->share);
	list_remove(&c->link);
	count_add(COUNT_CONNECTIONS_OPEN, -1);
	loop_free_later(e->loop, free, c);
	if (--e->nconns == 0 && e->is_draining && e->emptied != NULL)
		e->emptied(e->emptied_arg);
	return END;
}

/* ---- going on ---- */

static enum next
conn_jump(struct conn *c, enum stage to)
{
	c->stage = to;
	return JUMP;
}

/* From what a callback decided, until something must be waited for. */
static void
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
static void
conn_on_origin(void *arg, unsigned what)
{
	struct conn *c = arg;

	if (c->outer == NULL || c->x != NULL || c->stage != STAGE_GREET ||
	    (what & (STREAM_READ | STREAM_HUP)) == 0)
		return;
	c->outer->closed_by = CLOSE_ORIGIN;
	conn_close(c);
}

/* A carrier is done: what the streams tell is the connection's again. */
static void
conn_take_back(struct conn *c)
{
	stream_attach(&c->client, on_client, c);
	stream_attach(&c->origin->stream, conn_on_origin, c);
}

/* Lets it begin; who it is and its places are known. */
static void
conn_open(struct conn *c, int fd)
{
	struct engine *e = c->e;

	buf_init(&c->out, (size_t)1 << 20);
	timer_init(&c->timer, on_timer, c);
	list_append(&e->conns, &c->link);
	e->nconns++;
	count_add(COUNT_CONNECTIONS_OPEN, 1);
	stream_open(&c->client, e->loop, fd, on_client, c);
	/* with TCP_DEFER_ACCEPT the first bytes are there already */
	c->client.ready |= STREAM_READ;
	conn_go_on(c, JUMP);
}

/* ---- refusing ---- */

/* Another request may follow only where it is certain where it begins. */
static bool
must_close(const struct conn *c)
{
	const struct http_head *h = c->x->head;
	bool has_body =
	    h->framing != HTTP_NO_BODY && !(h->framing == HTTP_LENGTH && h->length == 0);

	return reason_row(c->x->reason)->type == TYPE_MALFORMED || c->rq == NULL ||
	       c->rq->used == 0 || has_body || !h->is_kept || c->is_surplus ||
	       c->outer != NULL || c->e->is_draining ||
	       c->x->reason == REASON_HEAD_TOO_LARGE ||
	       c->x->reason == REASON_TARGET_TOO_LONG ||
	       str_eq(h->method, STR("CONNECT"));
}

/* `at`: the offset of the byte that was refused, or -1. */
static enum next
answer_refuse_at(struct conn *c, enum reason reason, int64_t at)
{
	struct exchange *x = c->x;
	const struct reason_row *row = reason_row(reason);

	x->reason = reason;
	x->closed_by = CLOSE_WEIR;
	if (row->type != TYPE_UPSTREAM)
		x->verdict.allow = false;
	conn_end_connecting(c);
	if (row->status == 0) {
		c->after = AFTER_CLOSE;
		return conn_jump(c, STAGE_RECORD);
	}
	x->status = row->status;
	c->after = must_close(c) ? AFTER_LINGER : AFTER_NEXT;
	door_http.refuse(&c->out, x, c->after != AFTER_NEXT, at);
	return conn_jump(c, STAGE_ANSWER);
}

static enum next
answer_refuse(struct conn *c, enum reason reason)
{
	return answer_refuse_at(c, reason, -1);
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
	bool is_connect = c->x != NULL && c->x->kind == RECORD_CONNECT;
	char byte;
	ssize_t n = recv(c->client.fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);

	return (n < 0 && errno != EAGAIN) || (n == 0 && is_connect);
}

static enum next
told_meanwhile(struct conn *c, unsigned what)
{
	if ((what & (STREAM_READ | STREAM_HUP)) == 0 || !is_abandoned(c))
		return WAIT;
	return abandoned(c);
}

/* The stage that waits looks for itself. */
static enum next
told(struct conn *c, unsigned what)
{
	(void)c, (void)what;
	return JUMP;
}

/* ---- GREET ---- */

static void
wait_for_request(struct conn *c)
{
	const struct settings *set = c->e->snapshot->settings;

	if (c->is_waiting)
		return;
	c->is_waiting = true;
	conn_drop_request(c); /* an idle connection holds no buffer */
	timer_set(c->e->loop, &c->timer, set->limits_idle_keepalive);
}

static void
begin_exchange(struct conn *c)
{
	if (c->x != NULL)
		return;
	c->is_waiting = false;
	c->x = exchange_begin(c->e, c->outer != NULL ? c->outer->id : NULL);
	timer_set(c->e->loop, &c->timer, c->x->snapshot->settings->limits_head_timeout);
}

static enum next
greeted(struct conn *c, size_t used)
{
	struct exchange *x = c->x;
	const char *why = NULL;
	enum reason reason;

	timer_clear(&c->timer);
	c->rq->used = used;
	if (str_eq(x->head->method, STR("CONNECT")))
		x->kind = RECORD_CONNECT;
	reason = door_http.ask(x, c->outer, &why);
	if (reason == REASON_NONE)
		return NEXT;
	x->error = why;
	return answer_refuse(c, reason);
}

static enum next
bad_head(struct conn *c)
{
	const struct http_reader *r = &c->rq->reader;

	timer_clear(&c->timer);
	c->x->error = http_error_text(r->error);
	return answer_refuse_at(c, door_http_reason(r->error), (int64_t)r->at);
}

static enum next
ended_early(struct conn *c)
{
	if (c->x == NULL)
		return conn_close(c);
	timer_clear(&c->timer);
	c->x->reason = REASON_CLIENT_ABORTED;
	c->x->closed_by = CLOSE_CLIENT;
	c->after = AFTER_CLOSE;
	return conn_jump(c, STAGE_RECORD);
}

static enum next
greet_read(struct conn *c)
{
	for (;;) {
		ssize_t n;
		if (c->rq != NULL && c->rq->in.n > 0) {
			size_t used;
			begin_exchange(c);
			switch (http_read(&c->rq->reader, buf_view(&c->rq->in),
			    &c->x->arena, &c->rq->head, &used)) {
			case HTTP_DONE:
				c->x->head = &c->rq->head;
				return greeted(c, used);
			case HTTP_BAD:
				return bad_head(c);
			case HTTP_MORE:
				break;
			}
		} else if (c->e->is_draining) {
			return conn_close(c);
		}
		n = stream_may_read(&c->client)
			? stream_read(&c->client, c->e->scratch, SCRATCH)
			: -EAGAIN;
		if (n == -EAGAIN) {
			if (c->x == NULL)
				wait_for_request(c);
			return WAIT;
		}
		if (n <= 0)
			return ended_early(c);
		conn_need_request(c);
		buf_add(&c->rq->in, c->e->scratch, (size_t)n);
	}
}

static enum next
greet_late(struct conn *c)
{
	return c->x == NULL ? conn_close(c) : answer_refuse(c, REASON_CLIENT_TIMEOUT);
}

/* ---- DECIDE ---- */

/* Beyond the rate answers are late, their status and reason unchanged. */
static bool
is_delayed(struct conn *c)
{
	msec wait;

	if (c->x->flags & FLAG_DELAYED)
		return false;
	wait = client_delay(
	    c->share, c->x->snapshot->settings->limits_client_rate, loop_now(c->e->loop));
	if (wait <= 0)
		return false;
	c->x->flags |= FLAG_DELAYED;
	timer_set(c->e->loop, &c->timer, wait);
	return true;
}

static bool
is_body_too_large(const struct exchange *x)
{
	int64_t max = x->snapshot->settings->limits_body;

	return max > 0 && x->head->framing == HTTP_LENGTH &&
	       x->head->length > (uint64_t)max;
}

/* RFC 9110 7.6.2: an OPTIONS that may go no further is answered here. */
static bool
is_for_us(const struct exchange *x)
{
	const struct http_field *f = http_field(x->head, STR("Max-Forwards"));

	return f != NULL && str_eq(x->head->method, STR("OPTIONS")) &&
	       str_eq(f->value, STR("0"));
}

static enum next
answer_options(struct conn *c)
{
	c->x->verdict.allow = true;
	c->x->verdict.protocol = PROTOCOL_HTTP;
	c->x->status = 200;
	c->after = AFTER_LINGER;
	buf_fmt(&c->out,
	    "HTTP/1.1 200 OK\r\nProxy-Status: %s\r\nContent-Length: 0\r\n"
	    "Connection: close\r\n\r\n",
	    c->x->snapshot->settings->name);
	return conn_jump(c, STAGE_ANSWER);
}

static enum next
stage_decide(struct conn *c)
{
	struct exchange *x = c->x;

	if (!x->has_place)
		return answer_refuse(c, REASON_AUDIT_UNAVAILABLE);
	if (c->e->is_draining)
		return answer_refuse(c, REASON_DRAINING);
	if (is_delayed(c))
		return WAIT;
	if (c->is_surplus)
		return answer_refuse(c, REASON_CONCURRENCY_LIMITED);
	if (remake_is_loop(x->head, x->snapshot->settings->name))
		return answer_refuse(c, REASON_LOOP_DETECTED);
	if (!exchange_admit(x))
		return answer_refuse(c, x->reason);
	if (!exchange_foresee(x))
		return answer_refuse(c, x->reason);
	if (is_body_too_large(x))
		return answer_refuse(c, REASON_BODY_TOO_LARGE);
	if (is_for_us(x))
		return answer_options(c);
	if (c->outer == NULL)
		return NEXT;
	exchange_dialled(x, &c->origin->to, true);
	return conn_jump(c, STAGE_JUDGE);
}

static enum next
delay_is_over(struct conn *c)
{
	(void)c;
	return JUMP;
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
	conn_go_on(c, resolved(c, found));
}

static enum next
stage_resolve(struct conn *c)
{
	struct exchange *x = c->x;
	struct found found;

	if (!client_take(c->share, CLIENT_CONNECTING,
		x->snapshot->settings->limits_client_connecting))
		return answer_refuse(c, REASON_CONCURRENCY_LIMITED);
	c->has_connecting = true;
	if (x->ask.host.is_literal) {
		found = (struct found){ .count = 1, .addr = { x->ask.host.addr } };
		return resolved(c, &found);
	}
	if (resolver_cached(c->e->resolver, &x->ask.host, &found))
		return resolved(c, &found);
	exchange_resolving(x);
	c->lookup = resolver_start(c->e->resolver, &x->ask.host, on_resolved, c);
	return WAIT;
}

/* ---- DIAL ---- */

static void
on_dialled(void *arg, int err, int fd, const struct endpoint *to)
{
	struct conn *c = arg;
	struct origin *o = c->dialled;

	(void)fd; /* the stream's */
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

static enum next
stage_dial(struct conn *c)
{
	struct exchange *x = c->x;
	char text[ADDR_TEXT];

	assert(c->origin == NULL); /* another exchange's goes to another host */
	if (x->kind == RECORD_HTTP && !x->ask.wants_websocket && !c->is_dialled_anew)
		c->origin = origin_take(&c->e->origins, conn_share(c, text), &x->ask.host,
		    x->vetted, conn_on_origin, c);
	if (c->origin != NULL) {
		conn_end_connecting(c);
		exchange_dialled(x, &c->origin->to, true);
		return NEXT;
	}
	exchange_dialling(x);
	c->dial = dial_start(c->e->loop, x->vetted,
	    x->snapshot->settings->limits_connect_timeout, on_dialled, c);
	c->dialled = origin_new();
	dial_into(c->dial, &c->dialled->stream);
	return WAIT;
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
	static const char established[] = "HTTP/1.1 200 Connection established\r\n\r\n";
	struct iovec v = { (void *)(uintptr_t)established, sizeof(established) - 1 };
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
	x->status = 200;
	return NEXT;
}

static enum next
stage_judge(struct conn *c)
{
	if (!exchange_renew(c->x, c->e->snapshot))
		return answer_refuse(c, c->x->reason);
	if (c->x->kind == RECORD_CONNECT)
		return open_tunnel(c);
	if (!exchange_judge(c->x))
		return answer_refuse(c, c->x->reason);
	return NEXT;
}

/* ---- CARRY ---- */

static const struct {
	enum reason reason;
	enum after after;
} tunnel_after[] = {
	{ REASON_UPSTREAM_INCOMPLETE, AFTER_RESET },
	{ REASON_IDLE_TIMEOUT, AFTER_RESET },
	{ REASON_CLIENT_TIMEOUT, AFTER_CLOSE },
};

static enum after
after_tunnel(enum tunnel_end how, enum reason reason)
{
	for (size_t i = 0; i < sizeof(tunnel_after) / sizeof(tunnel_after[0]); i++)
		if (tunnel_after[i].reason == reason)
			return tunnel_after[i].after;
	return how == TUNNEL_REFUSED ? AFTER_LINGER : AFTER_CLOSE;
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

static void
on_tunnelled(void *arg, enum tunnel_end how, struct str first)
{
	struct conn *c = arg;

	conn_take_back(c);
	if (how == TUNNEL_HTTP) {
		conn_go_on(c, carry_http(c, first));
		return;
	}
	conn_drop_carrier(c);
	if (c->x->reason == REASON_CLIENT_ABORTED) {
		origin_reset(c->e->loop, c->origin);
		c->origin = NULL;
	}
	c->after = after_tunnel(how, c->x->reason);
	conn_go_on(c, NEXT);
}

static enum next
carry_tunnel(struct conn *c)
{
	struct request *rq = c->rq;
	struct exchange *x = c->x;
	struct str early = str_sub(buf_view(&rq->in), rq->used, rq->in.n);

	/* the head's bytes go with the request */
	x->head = &exchange_connect_head;
	x->ask.head = NULL;
	c->tunnel = mem_alloc(sizeof(*c->tunnel));
	tunnel_start(
	    c->tunnel, c->e, x, &c->client, &c->origin->stream, early, on_tunnelled, c);
	conn_drop_request(c);
	return WAIT;
}

static enum after
after_forward(enum forward_end how, const struct forward *f, enum reason reason)
{
	if (how == FORWARD_DONE && f->is_client_kept)
		return AFTER_NEXT;
	if (how == FORWARD_CUT)
		return reason == REASON_CLIENT_ABORTED ? AFTER_CLOSE : AFTER_RESET;
	return AFTER_LINGER;
}

/* Kept for the next request, closed, or cut so that what it has of this one looks cut. */
static void
part_from_origin(struct conn *c, enum forward_end how, const struct forward *f)
{
	const struct exchange *x = c->x;
	char text[ADDR_TEXT];

	if (how == FORWARD_DONE && c->outer != NULL)
		return; /* the tunnel's, to its end */
	if (how == FORWARD_DONE && f->is_origin_kept)
		origin_keep(&c->e->origins, c->origin, conn_share(c, text), &x->ask.host,
		    x->ask.port, x->snapshot->settings->limits_idle_keepalive);
	else if (how == FORWARD_DONE || how == FORWARD_STALE)
		origin_close(c->e->loop, c->origin);
	else
		origin_reset(c->e->loop, c->origin);
	c->origin = NULL;
}

/* Nothing of it reached an origin: another connection, and this time a new one. */
static enum next
dial_anew(struct conn *c)
{
	c->is_dialled_anew = true;
	c->x->flags |= FLAG_RETRIED;
	return conn_jump(c, STAGE_DIAL);
}

static enum next
forwarded(struct conn *c, enum forward_end how)
{
	switch (how) {
	case FORWARD_REFUSED:
		return answer_refuse(c, c->x->reason);
	case FORWARD_STALE:
		return dial_anew(c);
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
	struct str rest = str_sub(buf_view(&rq->in), rq->used, rq->in.n);
	struct forward *f = mem_alloc(sizeof(*f));

	c->forward = f;
	rq->used = rq->in.n; /* what is no body comes back in `more` */
	forward_start(f, c->e, c->x, &c->client, c->origin, rest, &rq->more,
	    c->outer != NULL, on_forwarded, c);
	return WAIT;
}

static enum next
carry_start(struct conn *c)
{
	return c->x->kind == RECORD_CONNECT ? carry_tunnel(c) : carry_forward(c);
}

/* ---- ANSWER, RECORD, LINGER ---- */

static enum next
answer_send(struct conn *c)
{
	while (c->out.n > 0) {
		struct iovec v = { c->out.p, c->out.n };
		ssize_t n = stream_write(&c->client, &v, 1);
		if (n == -EAGAIN) {
			if (!timer_is_set(&c->timer))
				timer_set(c->e->loop, &c->timer,
				    c->x->snapshot->settings->limits_write_timeout);
			return WAIT;
		}
		if (n <= 0) {
			c->after = AFTER_CLOSE;
			buf_reset(&c->out);
			break;
		}
		c->x->down += (uint64_t)n;
		buf_drop(&c->out, (size_t)n);
	}
	buf_fini(&c->out);
	timer_clear(&c->timer);
	return NEXT;
}

static enum next
answer_late(struct conn *c)
{
	c->after = AFTER_CLOSE;
	buf_reset(&c->out);
	return JUMP;
}

/* What came behind the last request is the beginning of the next. */
static void
turn_to_next(struct conn *c)
{
	struct request *rq = c->rq;
	struct buf rest;

	c->is_dialled_anew = false;
	if (rq == NULL)
		return;
	rest = rq->more;
	if (rq->in.n > rq->used) /* refused: nobody looked behind the head */
		buf_str(&rest, str_sub(buf_view(&rq->in), rq->used, rq->in.n));
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

	if (!c->e->says_refusals || x->verdict.allow || x->ask.host.len == 0 ||
	    reason_row(x->reason)->type != TYPE_POLICY)
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

static enum next
stage_record(struct conn *c)
{
	say_refusal(c);
	let_origin_go(c);
	conn_end_exchange(
	    c, &c->x); /* its slices point into the request that goes next */
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

static enum next
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

static const struct stage_row stages[] = {
	[STAGE_GREET] = { "greet", greet_read, STAGE_DECIDE, told, greet_late },
	[STAGE_DECIDE] = { "decide", stage_decide, STAGE_RESOLVE, told_meanwhile,
	    delay_is_over },
	[STAGE_RESOLVE] = { "resolve", stage_resolve, STAGE_DIAL, told_meanwhile, NULL },
	[STAGE_DIAL] = { "dial", stage_dial, STAGE_JUDGE, told_meanwhile, NULL },
	[STAGE_JUDGE] = { "judge", stage_judge, STAGE_CARRY, NULL, NULL },
	[STAGE_CARRY] = { "carry", carry_start, STAGE_RECORD, NULL, NULL },
	[STAGE_ANSWER] = { "answer", answer_send, STAGE_RECORD, told, answer_late },
	[STAGE_RECORD] = { "record", stage_record, STAGE_GREET, NULL, NULL },
	[STAGE_LINGER] = { "linger", stage_linger, STAGE_LINGER, told, conn_close },
};

/* Over the cap SURPLUS more are told so; beyond that a client is not let in at all. */
static bool
take_place(struct conn *c)
{
	int64_t cap = c->e->snapshot->settings->limits_client_connections;

	if (client_take(c->share, CLIENT_CONNECTION, cap))
		return true;
	c->is_surplus = true;
	return client_take(c->share, CLIENT_SURPLUS, cap + SURPLUS);
}

void
conn_accept(struct engine *e, int fd, const struct peer *peer, const char *unix_path)
{
	struct conn *c = mem_zalloc(sizeof(*c));
	char text[ADDR_TEXT];

	c->e = e;
	c->way = stages;
	c->peer = peer->endpoint;
	c->unix_path = unix_path;
	c->share = client_ref(e->limits, str_of(conn_share(c, text)), loop_now(e->loop));
	count_add(COUNT_CONNECTIONS, 1);
	if (!take_place(c)) {
		count_add(COUNT_CONNECTIONS_DROPPED, 1);
		client_unref(c->share);
		close(fd);
		free(c);
		return;
	}
	conn_open(c, fd);
}

/* ---- what a worker asks of all of them ---- */

/* What keeps something open for long is judged again; a websocket in a tunnel with it. */
static bool
is_still_allowed(struct conn *c)
{
	bool is_flow =
	    c->tunnel != NULL || (c->forward != NULL && c->forward->is_spliced);

	return (c->outer == NULL || exchange_rejudge(c->outer, c->e->snapshot)) &&
	       (!is_flow || exchange_rejudge(c->x, c->e->snapshot));
}

static void
end_by_policy(struct exchange *x)
{
	if (x == NULL)
		return;
	x->reason = REASON_POLICY_CHANGED;
	x->error = x->verdict.why;
	x->closed_by = CLOSE_WEIR;
}

static void
judge_again(struct conn *c)
{
	if (is_still_allowed(c))
		return;
	end_by_policy(c->outer);
	end_by_policy(c->x);
	stream_reset(&c->client);
	conn_close(c);
}

static void
judge_slice(void *arg)
{
	struct engine *e = arg;
	struct list *at, *next;
	unsigned n = 0;

	list_each_safe(at, next, &e->conns)
	{
		struct conn *c = list_entry(at, struct conn, link);
		if (!c->needs_judging)
			continue;
		if (n++ == REJUDGE_SLICE) {
			loop_post(e->loop, judge_slice, e);
			return;
		}
		c->needs_judging = false;
		judge_again(c);
	}
}

void
conns_rejudge(struct engine *e)
{
	struct list *at;

	list_each(at, &e->conns) list_entry(at, struct conn, link)->needs_judging = true;
	judge_slice(e);
}

void
conns_drain(struct engine *e)
{
	struct list *at, *next;

	list_each_safe(at, next, &e->conns)
	{
		struct conn *c = list_entry(at, struct conn, link);
		if (c->stage == STAGE_GREET && c->x == NULL)
			conn_close(c);
	}
	if (e->nconns == 0 && e->emptied != NULL)
		e->emptied(e->emptied_arg);
}

static void
stop_now(struct conn *c)
{
	if (c->x != NULL && c->x->reason == REASON_NONE) {
		c->x->reason = REASON_DRAINING;
		c->x->closed_by = CLOSE_WEIR;
	}
	if (c->outer != NULL)
		c->outer->closed_by = CLOSE_WEIR;
	stream_reset(&c->client);
	conn_close(c);
}

void
conns_stop(struct engine *e)
{
	struct list *at, *next;

	list_each_safe(at, next, &e->conns) stop_now(list_entry(at, struct conn, link));
}
