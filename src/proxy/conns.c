/*
 * conns.c - what a reload, a drain and a stop do to a worker's connections
 */
#include "proxy/conns.h"

#include "proxy/conn.h"
#include "proxy/counts.h"
#include "proxy/entry.h"
#include "proxy/forward.h"
#include "proxy/gateway.h"
#include "proxy/identity.h"

#define REJUDGE_SLICE 256 /* tunnels judged again in one loop turn */

static bool
is_flow(const struct conn *c)
{
	return c->tunnel != NULL || (c->forward != NULL && c->forward->is_spliced);
}

/* What keeps something open for long is judged again; a websocket in a tunnel with it. */
static bool
is_still_allowed(struct conn *c)
{
	if (c->outer != NULL && !exchange_rejudge(c->outer, c->e->snapshot, 0))
		return false;
	if (!is_flow(c))
		return true;
	if (!exchange_rejudge(c->x, c->e->snapshot, conn_tally(c, c->x).up))
		return false;
	if (c->forward != NULL)
		forward_moved(c->forward);
	return true;
}

static void
end_by(struct exchange *x, enum reason reason, const char *why)
{
	if (x == NULL)
		return;
	x->reason = reason;
	x->error = why;
	x->closed_by = CLOSE_WEIR;
}

void
conns_end(struct conn *c, enum reason reason, const char *why)
{
	if (c->gateway != NULL) { /* it ends as its family ends, and then closes */
		gateway_cut(c->gateway, reason);
		return;
	}
	end_by(c->outer, reason, why);
	if (c->x != NULL && c->x->reason == REASON_NONE) /* else it is being told */
		end_by(c->x, reason, why);
	stream_reset(&c->client);
	conn_close(c);
}

static const char *
why_of(const struct exchange *x)
{
	return x == NULL ? NULL : x->verdict.why;
}

static void
judge_again(struct conn *c)
{
	if (is_still_allowed(c))
		return;
	end_by(c->outer, REASON_POLICY_CHANGED, why_of(c->outer));
	end_by(c->x, REASON_POLICY_CHANGED, why_of(c->x));
	stream_reset(&c->client);
	conn_close(c);
}

static void
on_counted(void *arg, const struct ledger_reply *reply)
{
	struct conn *c = arg;

	if (counts_told(c, reply))
		judge_again(c);
	else
		conns_end(c, identity_refusal(reply->answer),
		    ledger_answer_text(reply->answer));
}

/* By all but what it may send. */
static bool
would_stay(const struct conn *c)
{
	return (c->outer == NULL || exchange_would_stay(c->outer, c->e->snapshot)) &&
	       (!is_flow(c) || exchange_would_stay(c->x, c->e->snapshot));
}

/* Where a cap has come, what its family has sent must be known first.  Only for that,
 * and not longer than the store takes to answer, the rules of before hold. */
static void
judge_when_counted(struct conn *c)
{
	bool is_open = c->outer != NULL || is_flow(c);

	if (!is_open || !counts_hold(c, on_counted) || !would_stay(c))
		judge_again(c);
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
		judge_when_counted(c);
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
conns_recap(struct engine *e)
{
	struct list *at;

	list_each(at, &e->conns)
	{
		struct conn *c = list_entry(at, struct conn, link);
		int64_t upload = c->who == NULL ? 0 : session_upload(c->who->session);
		if (c->who == NULL || upload == c->upload)
			continue;
		c->upload = upload;
		c->needs_judging = true;
	}
	judge_slice(e);
}

void
conns_drain(struct engine *e)
{
	struct list *at, *next;

	list_each_safe(at, next, &e->conns)
	{
		struct conn *c = list_entry(at, struct conn, link);
		if ((c->stage == STAGE_GREET && c->x == NULL) || entry_is_idle(c))
			conn_close(c);
	}
	if (e->nconns == 0 && e->emptied != NULL)
		e->emptied(e->emptied_arg);
}

static void
stop_now(struct conn *c)
{
	entry_begin(c);
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
