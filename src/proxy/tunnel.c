/*
 * tunnel.c - an accepted CONNECT: what is spoken in it, and then the bytes
 */
#include "proxy/tunnel.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "proxy/glimpse.h"
#include "wire/hello.h"

enum phase {
	PEEK_CLIENT, /* the first bytes: TLS or HTTP */
	FLUSH,       /* what was judged goes to the origin */
	PEEK_SERVER, /* is it a HelloRetryRequest? */
	PASS_RETRY,  /* it is: the client must see it */
	PEEK_SKIP,   /* what may stand before the second hello */
	PEEK_SECOND, /* which must name the same server */
};

/* The most that is held of either side; a hello and what hurried after it. */
#define HELD_MAX (HELLO_WIRE_MAX + SCRATCH)

struct peek {
	enum phase phase;
	struct timer timer; /* the first bytes must come in time */
	bool is_second;
	int reads;                  /* in this turn */
	struct buf client;          /* read from the client, not yet sent on */
	struct buf server;          /* read from the origin, not yet sent on */
	size_t parsed;              /* bytes of `client` the reader has taken */
	size_t judged;              /* bytes of `client` that may go upstream */
	size_t skip;                /* bytes left of a record before a second hello */
	uint8_t header[5], nheader; /* of such a record */
	struct hello_reader reader;
	unsigned char message[HELLO_MAX];
};

static void
drop_peek(struct tunnel *t)
{
	if (t->peek == NULL)
		return;
	timer_clear(&t->peek->timer);
	buf_fini(&t->peek->client);
	buf_fini(&t->peek->server);
	free(t->peek);
	t->peek = NULL;
}

void
tunnel_cancel(struct tunnel *t)
{
	if (t->peek == NULL) {
		t->x->up = t->relay.up;
		t->x->down = t->relay.down;
		relay_cancel(&t->relay);
	}
	drop_peek(t);
}

struct tally
tunnel_tally(const struct tunnel *t)
{
	if (t->peek != NULL) /* it counts in x */
		return (struct tally){ 0, 0 };
	return (struct tally){ t->relay.up - t->x->up, t->relay.down - t->x->down };
}

static void
end(struct tunnel *t, enum tunnel_end how, enum reason reason, enum close_by by)
{
	drop_peek(t);
	t->x->reason = reason;
	t->x->closed_by = by;
	t->done(t->arg, how, STR_NONE);
}

static const struct {
	enum reason reason;
	enum close_by by;
} relay_ends[] = {
	[RELAY_DONE] = { REASON_NONE, CLOSE_NOBODY },
	[RELAY_CLIENT_GONE] = { REASON_CLIENT_ABORTED, CLOSE_CLIENT },
	[RELAY_ORIGIN_GONE] = { REASON_UPSTREAM_INCOMPLETE, CLOSE_ORIGIN },
	[RELAY_IDLE] = { REASON_IDLE_TIMEOUT, CLOSE_WEIR },
	[RELAY_STALLED] = { REASON_IDLE_TIMEOUT, CLOSE_WEIR },
	[RELAY_SPENT] = { REASON_UPLOAD_EXHAUSTED, CLOSE_WEIR },
	[RELAY_CAUGHT] = { REASON_DLP_BLOCKED, CLOSE_WEIR }, /* a tunnel has no filter */
};

static void
on_relayed(void *arg, enum relay_end how)
{
	struct tunnel *t = arg;

	t->x->up = t->relay.up;
	t->x->down = t->relay.down;
	if (how == RELAY_DONE)
		end(t, TUNNEL_ENDED, REASON_NONE,
		    t->relay.is_origin_first ? CLOSE_ORIGIN : CLOSE_CLIENT);
	else
		end(t, TUNNEL_ENDED, relay_ends[how].reason, relay_ends[how].by);
}

static void
relay(struct tunnel *t, struct str up, struct str down)
{
	const struct settings *set = t->x->snapshot->settings;

	exchange_shrink(t->x);
	relay_start(&t->relay, t->e->loop, t->e->pipes, t->client, t->origin, up, down,
	    set->limits_idle, set->limits_write_timeout, on_relayed, t);
	t->relay.up += t->x->up; /* what was flushed while peeking */
	t->relay.down += t->x->down;
}

static void
splice_now(struct tunnel *t)
{
	struct peek *p = t->peek;

	relay(t, buf_view(&p->client), buf_view(&p->server));
	drop_peek(t);
}

static void
refuse(struct tunnel *t, enum reason reason, const char *error)
{
	struct str first = buf_view(&t->peek->client);
	struct str alert = glimpse_alert(reason);
	struct iovec v = { (void *)(uintptr_t)alert.p, alert.n };
	bool is_http = glimpse_is_http(first);

	if (glimpse_is_tls(first))
		(void)stream_write(t->client, &v, 1); /* a courtesy: it fits or not */
	t->x->verdict.allow = false;
	t->x->error = error;
	end(t, is_http ? TUNNEL_UNTOLD : TUNNEL_REFUSED, reason, CLOSE_WEIR);
}

static void
gone(struct tunnel *t, bool is_client)
{
	end(t, TUNNEL_ENDED,
	    is_client ? REASON_CLIENT_ABORTED : REASON_UPSTREAM_INCOMPLETE,
	    is_client ? CLOSE_CLIENT : CLOSE_ORIGIN);
}

/*
 * Steps: each returns NEXT when the phase is over or may go on at once, WAIT
 * when more must come first, END when the tunnel is over (and `t` may be gone).
 */
enum step { WAIT, NEXT, END };

/* More of one side into `to`.  NEXT: there is more than before. */
static enum step
read_more(struct tunnel *t, struct stream *from, struct buf *to, size_t max)
{
	char *room;
	ssize_t n;

	if (from == t->origin ? !stream_may_have_ended(from) : !stream_may_read(from))
		return WAIT;
	if (t->peek->reads == STREAM_READS) {
		stream_kick(from);
		return WAIT;
	}
	room = buf_room(to, max);
	if (room == NULL)
		return WAIT; /* full: whoever holds it must pass it on first */
	t->peek->reads++;
	n = stream_read(from, room, max);
	if (n == -EAGAIN)
		return WAIT;
	if (n <= 0) {
		gone(t, from == t->client);
		return END;
	}
	buf_grew(to, (size_t)n);
	return NEXT;
}

/* Writes the first n bytes of `from`.  NEXT: all of them are gone. */
static enum step
write_some(
    struct tunnel *t, struct stream *to, struct buf *from, size_t *n, uint64_t *count)
{
	while (*n > 0) {
		struct iovec v = { from->p, *n };
		ssize_t sent = stream_write(to, &v, 1);
		if (sent == -EAGAIN)
			return WAIT;
		if (sent == -EDQUOT) {
			end(t, TUNNEL_ENDED, REASON_UPLOAD_EXHAUSTED, CLOSE_WEIR);
			return END;
		}
		if (sent <= 0) {
			gone(t, to == t->client);
			return END;
		}
		buf_drop(from, (size_t)sent);
		*n -= (size_t)sent;
		*count += (uint64_t)sent;
	}
	return NEXT;
}

static bool
is_same_name(const struct tunnel *t, const struct hello *h)
{
	return h->has_sni && host_eq(&h->sni, &t->x->ask.host);
}

/* For the record, which says what a client wanted instead. */
static void
keep_other_name(struct tunnel *t, const struct hello *h)
{
	struct first_bytes *f = &t->x->first;

	if (!h->has_sni || is_same_name(t, h))
		return;
	free(f->other_sni);
	f->other_sni = mem_strdup(h->sni.name);
}

/* To the door, which judges each request for itself; TLS is opened before. */
static enum step
hand_back(struct tunnel *t, enum tunnel_end how)
{
	struct peek *p = t->peek;
	struct str first = buf_view(&p->client);

	timer_clear(&p->timer);
	t->peek = NULL;
	t->done(t->arg, how, first);
	buf_fini(&p->client);
	buf_fini(&p->server);
	free(p);
	return END;
}

/* The first hello decides by policy; a second one must be what the first was. */
static enum step
judge_hello(struct tunnel *t, const struct hello *h)
{
	struct first_bytes *f = &t->x->first;
	struct peek *p = t->peek;

	if (p->is_second) {
		if (h->has_sni != f->has_sni || is_same_name(t, h) != f->is_sni_equal ||
		    h->has_ech != f->has_ech) {
			keep_other_name(t, h);
			refuse(t, REASON_SNI_MISMATCH,
			    "the second hello names another server");
			return END;
		}
	} else {
		f->has_hello = true;
		f->has_sni = h->has_sni;
		f->has_ech = h->has_ech;
		f->is_sni_equal = is_same_name(t, h);
		keep_other_name(t, h);
		f->protocols = PROTOCOL_HTTPS;
		if (!exchange_judge(t->x)) {
			refuse(t, t->x->verdict.reason, t->x->verdict.why);
			return END;
		}
	}
	if (!p->is_second && t->x->verdict.needs_sight)
		return hand_back(t, TUNNEL_TLS);
	p->judged = p->parsed;
	p->phase = FLUSH;
	return NEXT;
}

static enum step
read_hello(struct tunnel *t)
{
	struct peek *p = t->peek;
	struct hello h;
	size_t used;
	struct str in = str_sub(buf_view(&p->client), p->parsed, p->client.n);
	enum hello_result r = hello_read(&p->reader, in, &used, &h);

	p->parsed += used;
	if (r == HELLO_DONE)
		return judge_hello(t, &h);
	if (r == HELLO_MORE)
		return read_more(t, t->client, &p->client, 4096);
	refuse(t, h.is_not_tls ? REASON_TLS_REQUIRED : REASON_TLS_MALFORMED, h.error);
	return END;
}

static enum step
peek_client(struct tunnel *t)
{
	struct peek *p = t->peek;

	if (p->client.n == 0)
		return read_more(t, t->client, &p->client, 4096);
	if ((t->x->admitted.protocols & PROTOCOL_HTTP) && p->client.p[0] != TLS_HANDSHAKE)
		return hand_back(t, TUNNEL_HTTP);
	if (!(t->x->admitted.protocols & PROTOCOL_HTTPS)) {
		refuse(
		    t, REASON_PROTOCOL_NOT_ALLOWED, "TLS where policy allows http only");
		return END;
	}
	return read_hello(t);
}

/* Sends what was judged; `parsed` goes with the bytes. */
static enum step
pass_up(struct tunnel *t)
{
	struct peek *p = t->peek;
	size_t before = p->judged;
	enum step s = write_some(t, t->origin, &p->client, &p->judged, &t->x->up);

	if (s != END)
		p->parsed -= before - p->judged;
	return s;
}

static enum step
flush(struct tunnel *t)
{
	struct peek *p = t->peek;
	enum step s = pass_up(t);

	if (s != NEXT)
		return s;
	if (p->is_second) { /* there is no third */
		splice_now(t);
		return END;
	}
	p->phase = PEEK_SERVER;
	timer_set(t->e->loop, &t->peek->timer, t->x->snapshot->settings->limits_idle);
	return NEXT;
}

/*
 * Walks past records that are no handshake: they cannot carry a hello.  True: a
 * handshake record begins at p->parsed; false: more must come to tell.
 */
static bool
walk_records(struct peek *p)
{
	for (;;) {
		size_t have = p->client.n - p->parsed;
		size_t step = p->skip < have ? p->skip : have;
		unsigned char at;
		p->parsed += step;
		p->skip -= step;
		if (p->parsed == p->client.n)
			return false;
		at = (unsigned char)p->client.p[p->parsed];
		if (p->nheader == 0 && at == TLS_HANDSHAKE)
			return true;
		p->header[p->nheader++] = at;
		p->parsed++;
		if (p->nheader < sizeof(p->header))
			continue;
		p->skip = (size_t)(p->header[3] << 8 | p->header[4]);
		p->nheader = 0;
	}
}

/* Nothing more can come: no second hello from a client, no retry from an origin. */
static bool
has_ended(const struct stream *s)
{
	return (s->ready & STREAM_HUP) && stream_peek(s) == 0;
}

/* Early data need not wait for the server (RFC 8446 2.3); a second hello must. */
static enum step
pass_early(struct tunnel *t)
{
	struct peek *p = t->peek;

	for (;;) {
		bool is_hello = walk_records(p);
		enum step s;
		p->judged = p->parsed;
		if ((s = pass_up(t)) != NEXT || is_hello)
			return s == END ? END : WAIT;
		if (has_ended(t->client)) {
			splice_now(t);
			return END;
		}
		if ((s = read_more(t, t->client, &p->client, 4096)) != NEXT)
			return s;
	}
}

static enum step
peek_server(struct tunnel *t)
{
	struct peek *p = t->peek;

	if (pass_early(t) == END)
		return END;
	switch (hello_is_retry(buf_view(&p->server))) {
	case RETRY_MORE:
		if (!has_ended(t->origin))
			return read_more(t, t->origin, &p->server, 4096);
		/* fallthrough */
	case RETRY_NO:
		splice_now(t);
		return END;
	case RETRY_YES:
		p->phase = PASS_RETRY;
		return NEXT;
	}
	return END;
}

static enum step
pass_retry(struct tunnel *t)
{
	struct peek *p = t->peek;
	size_t n = p->server.n;
	enum step s = write_some(t, t->client, &p->server, &n, &t->x->down);

	if (s != NEXT)
		return s;
	p->is_second = true;
	p->phase = PEEK_SKIP;
	hello_reader_init(&p->reader, p->message);
	timer_set(
	    t->e->loop, &t->peek->timer, t->x->snapshot->settings->limits_hello_timeout);
	return NEXT;
}

static enum step
peek_skip(struct tunnel *t)
{
	struct peek *p = t->peek;

	if (!walk_records(p))
		return read_more(t, t->client, &p->client, 4096);
	p->phase = PEEK_SECOND;
	return NEXT;
}

static enum step (*const phases[])(struct tunnel *t) = {
	[PEEK_CLIENT] = peek_client,
	[FLUSH] = flush,
	[PEEK_SERVER] = peek_server,
	[PASS_RETRY] = pass_retry,
	[PEEK_SKIP] = peek_skip,
	[PEEK_SECOND] = read_hello,
};

static void
go_on(struct tunnel *t)
{
	t->peek->reads = 0;
	while (phases[t->peek->phase](t) == NEXT)
		;
}

static void
on_event(void *arg, unsigned what)
{
	(void)what;
	go_on(arg);
}

/* Who was waited for: the client's bytes, or the origin (to take them, to answer). */
static const struct {
	enum tunnel_end how;
	enum reason reason;
} late[] = {
	[PEEK_CLIENT] = { TUNNEL_REFUSED, REASON_CLIENT_TIMEOUT },
	[FLUSH] = { TUNNEL_ENDED, REASON_IDLE_TIMEOUT },
	[PEEK_SERVER] = { TUNNEL_ENDED, REASON_IDLE_TIMEOUT },
	[PASS_RETRY] = { TUNNEL_ENDED, REASON_CLIENT_TIMEOUT },
	[PEEK_SKIP] = { TUNNEL_REFUSED, REASON_CLIENT_TIMEOUT },
	[PEEK_SECOND] = { TUNNEL_REFUSED, REASON_CLIENT_TIMEOUT },
};

static void
on_timeout(void *arg)
{
	struct tunnel *t = arg;

	end(t, late[t->peek->phase].how, late[t->peek->phase].reason, CLOSE_WEIR);
}

void
tunnel_start(struct tunnel *t, struct engine *e, struct exchange *x,
    struct stream *client, struct stream *origin, struct str early, tunnel_done *done,
    void *arg)
{
	struct peek *p;

	*t = (struct tunnel){ .e = e,
		.x = x,
		.client = client,
		.origin = origin,
		.done = done,
		.arg = arg };
	if (x->admitted.is_tcp) { /* nothing of it is looked at */
		relay(t, early, STR_NONE);
		return;
	}
	t->peek = p = mem_alloc(sizeof(*p));
	memset(p, 0, offsetof(struct peek, message));
	buf_init(&p->client, HELD_MAX);
	buf_init(&p->server, SCRATCH);
	buf_str(&p->client, early);
	hello_reader_init(&p->reader, p->message);
	stream_attach(client, on_event, t);
	if (origin != NULL)
		stream_attach(origin, on_event, t);
	timer_init(&p->timer, on_timeout, t);
	timer_set(e->loop, &p->timer, x->snapshot->settings->limits_hello_timeout);
	if (early.n > 0 || stream_may_read(client))
		stream_kick(client);
}
