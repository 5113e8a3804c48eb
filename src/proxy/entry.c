/*
 * entry.c - what comes before a door's own bytes: a balancer's word, and TLS
 */
#include "proxy/entry.h"

#include <errno.h>

#include "base/count.h"
#include "base/err.h"
#include "proxy/accept.h"
#include "proxy/answer.h"
#include "proxy/glimpse.h"
#include "proxy/greet.h"
#include "wire/ppv2.h"

#define GLIMPSE ((size_t)4096)

static bool
is_entering(const struct conn *c)
{
	return c->stage == STAGE_SOURCE || c->stage == STAGE_SECURE;
}

bool
entry_is_idle(const struct conn *c)
{
	return is_entering(c) && c->entered == 0;
}

/* It began with the first byte, though nobody knew then that it would be one. */
void
entry_begin(struct conn *c)
{
	if (!is_entering(c) || c->entered == 0 || c->x != NULL)
		return;
	greet_begin(c);
	timer_clear(&c->timer);
	c->x->wall -= c->x->begun - c->entered;
	c->x->begun = c->entered;
}

static enum next
fail(struct conn *c, enum reason reason, enum close_by by, enum after after,
    const char *why)
{
	entry_begin(c);
	if (c->is_slowed)
		c->x->flags |= FLAG_DELAYED;
	c->x->error = why;
	c->x->closed_by = by;
	return answer_dismiss(c, greet_unless_unrecorded(c, reason), after);
}

/* So long for what is to come, all of it together. */
static enum next
wait_for_more(struct conn *c)
{
	if (!timer_is_set(&c->timer))
		timer_set(c->e->loop, &c->timer,
		    c->e->snapshot->settings->limits_hello_timeout);
	return WAIT;
}

/* ---- a balancer's word ---- */

static enum next
refuse_header(struct conn *c, enum reason reason, enum close_by by, const char *why)
{
	count_add(COUNT_PROXY_HEADERS_REFUSED, 1);
	return fail(c, reason, by, AFTER_CLOSE, why);
}

static enum next
take_source(struct conn *c, const struct ppv2 *h)
{
	struct endpoint own = c->peer;

	timer_clear(&c->timer);
	conn_drop_request(c);
	c->entered = 0; /* the client itself has said nothing */
	if (!accept_as(c, h->is_local ? &own : &h->source))
		return conn_close(c);
	return conn_jump(c, c->is_tls ? STAGE_SECURE : STAGE_GREET);
}

static enum next
left_in_header(struct conn *c)
{
	if (c->entered == 0)
		return conn_close(c);
	return refuse_header(c, REASON_CLIENT_ABORTED, CLOSE_CLIENT,
	    "the connection ended within the PROXY header");
}

enum next
entry_source(struct conn *c)
{
	struct ppv2 h;
	ssize_t n;

	for (;;) {
		switch (ppv2_read(&h, c->rq != NULL ? buf_view(&c->rq->in) : STR_NONE)) {
		case PPV2_DONE:
			return take_source(c, &h);
		case PPV2_BAD:
			return refuse_header(
			    c, REASON_REQUEST_MALFORMED, CLOSE_WEIR, h.error);
		case PPV2_MORE:
			break;
		}
		n = stream_read(&c->client, c->e->scratch, h.want);
		if (n == -EAGAIN)
			return wait_for_more(c);
		if (n <= 0)
			return left_in_header(c);
		if (c->entered == 0)
			c->entered = clock_mono_us();
		conn_need_request(c);
		buf_add(&c->rq->in, c->e->scratch, (size_t)n);
	}
}

/* ---- TLS ---- */

/* Who took the wrong scheme is told so in HTTP; others would not understand. */
static enum next
refuse_plain(struct conn *c)
{
	static const char why[] = "plain text where TLS is spoken: the URL of this "
				  "listener begins with https://";
	ssize_t n = stream_look(&c->client, c->e->scratch, GLIMPSE);

	count_add(COUNT_TLS_CLIENTS_FAILED, 1);
	if (n <= 0 || c->door->kind == RECORD_SOCKS5 ||
	    !glimpse_is_http((struct str){ c->e->scratch, (size_t)n }))
		return fail(
		    c, REASON_REQUEST_MALFORMED, CLOSE_WEIR, AFTER_CLOSE, "no TLS");
	entry_begin(c);
	c->x->error = why;
	return answer_refuse(c, greet_unless_unrecorded(c, REASON_REQUEST_MALFORMED));
}

/* An alert is on its way to whom OpenSSL refused. */
static const struct failure {
	int err;
	enum reason reason;
	enum close_by by;
	enum after after;
} failures[] = {
	{ ERR_TIMEOUT, REASON_CLIENT_TIMEOUT, CLOSE_WEIR, AFTER_CLOSE },
	{ ERR_INVALID, REASON_TLS_MALFORMED, CLOSE_WEIR, AFTER_LINGER },
	{ ERR_DISTRUSTED, REASON_CLIENT_ABORTED, CLOSE_CLIENT, AFTER_CLOSE },
	{ ERR_IO, REASON_CLIENT_ABORTED, CLOSE_CLIENT, AFTER_CLOSE },
};

static const struct failure *
failure_of(int err)
{
	size_t i = 0;

	while (i + 1 < sizeof(failures) / sizeof(failures[0]) && failures[i].err != err)
		i++;
	return &failures[i];
}

static enum next
not_secured(struct conn *c, int err, const char *why)
{
	const struct failure *f = failure_of(err);
	struct str text;

	count_add(COUNT_TLS_CLIENTS_FAILED, 1);
	entry_begin(c);
	text = arena_str(&c->x->arena, str_of(why));
	return fail(c, f->reason, f->by, f->after, text.p);
}

static void
on_secured(void *arg, int err, const char *why)
{
	struct conn *c = arg;

	c->shaking = NULL;
	conn_take_back(c);
	if (err == 0)
		c->entered = 0;
	conn_go_on(c, err == 0 ? NEXT : not_secured(c, err, why));
}

static enum next
shake(struct conn *c)
{
	struct snapshot *s = c->e->snapshot;

	count_add(COUNT_TLS_CLIENTS, 1);
	c->shaking = tls_accept(c->e->tls_server, &c->client, STR_NONE, s->own,
	    s->settings->limits_hello_timeout, on_secured, c);
	return WAIT;
}

/* A handshake costs more than most requests: it waits as its first request would. */
static bool
is_slowed(struct conn *c)
{
	msec wait;

	if (c->is_paid)
		return timer_is_set(&c->timer);
	c->is_paid = true;
	wait = client_delay(
	    c->share, c->e->snapshot->settings->limits_client_rate, loop_now(c->e->loop));
	c->is_slowed = wait > 0;
	if (c->is_slowed)
		timer_set(c->e->loop, &c->timer, wait);
	return c->is_slowed;
}

/* The first byte tells; it stays where it is. */
enum next
entry_secure(struct conn *c)
{
	char first;
	ssize_t n = stream_look(&c->client, &first, 1);

	if (n == -EAGAIN)
		return wait_for_more(c);
	if (n <= 0 && c->entered == 0)
		return conn_close(c);
	if (n <= 0)
		return not_secured(c, ERR_IO, "the client left the handshake");
	if (c->entered == 0) {
		timer_clear(&c->timer);
		c->entered = clock_mono_us();
	}
	if (!glimpse_is_tls((struct str){ &first, 1 }))
		return refuse_plain(c);
	return is_slowed(c) ? WAIT : shake(c);
}

enum next
entry_late(struct conn *c)
{
	if (entry_is_idle(c))
		return conn_close(c);
	if (c->is_paid) /* its handshake's turn has come */
		return JUMP;
	return refuse_header(c, REASON_CLIENT_TIMEOUT, CLOSE_WEIR,
	    "the PROXY header took too long to arrive");
}
