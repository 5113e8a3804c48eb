/*
 * answer.c - what weir itself says to a client
 */
#include "proxy/answer.h"

#include <errno.h>

#include "proxy/refusals.h"

#define FIRST_MS ((msec)1000)
#define FIRST_MOST ((size_t)4096)

/*
 * The DNS door gave it its address for a name, so that it is known where it wants to go
 * before it says a word; TLS and HTTP are spoken first by who connects.  Without a
 * session it is closed at once, and so is who is one too many.
 */
static bool
has_language_to_come(const struct conn *c)
{
	const struct exchange *x = c->x;

	return c->door->is_eager && c->outer == NULL && !c->is_surplus &&
	       !x->admitted.is_tcp && reason_row(x->reason)->type != TYPE_SESSION &&
	       (c->rq == NULL || c->rq->in.n == 0);
}

/* Another request may follow only where it is certain where it begins. */
static bool
must_close(const struct conn *c)
{
	return c->rq == NULL || c->rq->heard.used == 0 || c->is_surplus ||
	       c->outer != NULL || c->e->is_draining || !conn_door(c)->may_follow(c->x);
}

/* What is in c->out, now or later. */
static enum next
answer_in(struct conn *c, msec wait)
{
	if (wait == 0)
		return conn_jump(c, STAGE_ANSWER);
	timer_set(c->e->loop, &c->timer, wait);
	return conn_jump(c, STAGE_HOLD);
}

enum next
answer_dismiss(struct conn *c, enum reason reason, enum after after)
{
	c->x->reason = reason;
	c->after = (uint8_t)after;
	return answer_in(c, refusals_count(c));
}

/* That x is refused, with its reason. */
static enum next
say(struct conn *c)
{
	struct exchange *x = c->x;
	msec wait = refusals_count(c);

	x->status = conn_door(c)->status != NULL ? conn_door(c)->status(x)
						 : reason_row(x->reason)->status;
	c->after = must_close(c) ? AFTER_LINGER : AFTER_NEXT;
	conn_door(c)->refuse(
	    &c->out, x, c->after != AFTER_NEXT, c->rq != NULL ? c->rq->heard.at : -1);
	return answer_in(c, wait);
}

enum next
answer_refuse(struct conn *c, enum reason reason)
{
	struct exchange *x = c->x;
	const struct reason_row *row = reason_row(reason);

	x->reason = reason;
	x->closed_by = CLOSE_WEIR;
	if (row->type != TYPE_UPSTREAM)
		x->verdict.allow = false;
	conn_end_connecting(c);
	if (row->status == 0) {
		(void)refusals_count(c);
		c->after = AFTER_CLOSE;
		return conn_jump(c, STAGE_RECORD);
	}
	if (!has_language_to_come(c))
		return say(c);
	timer_set(c->e->loop, &c->timer, FIRST_MS);
	return conn_jump(c, STAGE_FIRST);
}

/* ---- whoever was led here, and has said nothing yet */

/* A first line, if it can be one. */
static bool
is_enough(struct str first)
{
	return first.n >= FIRST_MOST ||
	       (first.n > 0 && (first.p[0] < 'A' || first.p[0] > 'Z' ||
				   memchr(first.p, '\n', first.n) != NULL));
}

enum next
answer_first(struct conn *c)
{
	ssize_t n = 1;

	conn_need_request(c);
	while (n > 0 && !is_enough(buf_view(&c->rq->in))) {
		n = stream_read(&c->client, c->e->scratch, SCRATCH);
		if (n == -EAGAIN)
			return WAIT;
		if (n > 0)
			buf_add(&c->rq->in, c->e->scratch, (size_t)n);
	}
	timer_clear(&c->timer);
	return say(c);
}

enum next
answer_unsaid(struct conn *c)
{
	return say(c);
}

/* ---- a late answer */

enum next
answer_hold(struct conn *c)
{
	(void)c; /* the timer is set */
	return WAIT;
}

enum next
answer_held(struct conn *c)
{
	(void)c;
	return NEXT;
}

enum next
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

enum next
answer_late(struct conn *c)
{
	c->after = AFTER_CLOSE;
	buf_reset(&c->out);
	return JUMP;
}
