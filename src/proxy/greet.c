/*
 * greet.c - GREET: a client's bytes become an ask
 *
 * The exchange begins with the first byte; before it a connection is idle and
 * holds no buffer.
 */
#include "proxy/greet.h"

#include <errno.h>

#include "proxy/answer.h"
#include "proxy/refusals.h"

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

void
greet_begin(struct conn *c)
{
	if (c->x != NULL)
		return;
	c->is_waiting = false;
	c->x =
	    exchange_begin(c->e, c->door->name, c->outer != NULL ? c->outer->id : NULL);
	c->x->kind = conn_door(c)->kind;
	c->x->conn = c;
	c->x->share = c->share;
	c->x->writer = &c->writer;
	if (c->outer != NULL) {
		c->x->first = c->outer->first;
		c->x->first.other_sni = NULL; /* the tunnel's own */
	}
	if (c->x->has_place)
		trail_begin(&c->e->trail, &c->x->trailed);
	timer_set(c->e->loop, &c->timer, c->x->snapshot->settings->limits_head_timeout);
}

static enum heard
hear(struct conn *c)
{
	struct request *rq = c->rq;

	return conn_door(c)->hear(&rq->heard, c->x, c->outer, buf_view(&rq->in));
}

/* A few bytes at the beginning of a connection: the socket has room. */
static bool
say(struct conn *c)
{
	struct hearing *h = &c->rq->heard;
	struct iovec v = { (void *)(uintptr_t)h->say.p, h->say.n };

	h->say = STR_NONE;
	return v.iov_len == 0 || stream_write(&c->client, &v, 1) == (ssize_t)v.iov_len;
}

enum reason
greet_unless_unrecorded(const struct conn *c, enum reason reason)
{
	return c->x->has_place ? reason : REASON_AUDIT_UNAVAILABLE;
}

static enum next
ended_early(struct conn *c)
{
	if (c->x == NULL)
		return conn_close(c);
	timer_clear(&c->timer);
	c->x->reason = greet_unless_unrecorded(c, REASON_CLIENT_ABORTED);
	c->x->closed_by = CLOSE_CLIENT;
	(void)refusals_count(c); /* it can be done without end */
	c->after = AFTER_CLOSE;
	return conn_jump(c, STAGE_RECORD);
}

/* Who was reset within a head is not waited for; an idle client costs no read. */
static bool
may_have_more(const struct conn *c)
{
	return c->x != NULL ? stream_may_have_ended(&c->client)
			    : stream_may_read(&c->client);
}

static bool
asks_by_connecting(const struct conn *c)
{
	return c->door->is_eager && c->outer == NULL && !c->e->is_draining;
}

enum next
greet_read(struct conn *c)
{
	for (int reads = 0;; reads++) {
		ssize_t n;
		if (asks_by_connecting(c))
			conn_need_request(c);
		if (c->rq != NULL && (c->rq->in.n > 0 || asks_by_connecting(c))) {
			greet_begin(c);
			enum heard heard = hear(c);
			if (!say(c))
				return ended_early(c);
			switch (heard) {
			case HEARD_WHO:
			case HEARD_ASK:
				c->rq->heard.is_halfway = heard == HEARD_WHO;
				timer_clear(&c->timer);
				return NEXT;
			case HEARD_NOTHING:
				timer_clear(&c->timer);
				return answer_refuse(
				    c, greet_unless_unrecorded(c, c->x->reason));
			case HEARD_MORE:
				break;
			}
		} else if (c->e->is_draining) {
			return conn_close(c);
		}
		if (reads == STREAM_READS) {
			stream_kick(&c->client);
			return WAIT;
		}
		n = may_have_more(c) ? stream_read(&c->client, c->e->scratch, SCRATCH)
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

enum next
greet_rest(struct conn *c)
{
	const struct settings *set = c->x->snapshot->settings;

	if (!c->rq->heard.is_halfway)
		return NEXT;
	if (!timer_is_set(&c->timer))
		timer_set(c->e->loop, &c->timer, set->limits_head_timeout);
	return greet_read(c);
}

enum next
greet_late(struct conn *c)
{
	if (c->x == NULL)
		return conn_close(c);
	return answer_refuse(c, greet_unless_unrecorded(c, REASON_CLIENT_TIMEOUT));
}
