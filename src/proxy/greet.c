/*
 * greet.c - GREET: a client's bytes become an ask
 *
 * The exchange begins with the first byte; before it a connection is idle and
 * holds no buffer.
 */
#include "proxy/greet.h"

#include <errno.h>

#include "proxy/answer.h"
#include "proxy/door.h"

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

enum next
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

enum next
greet_late(struct conn *c)
{
	return c->x == NULL ? conn_close(c) : answer_refuse(c, REASON_CLIENT_TIMEOUT);
}
