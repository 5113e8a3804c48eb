/*
 * origin_way.c - the way of a request to an origin
 */
#include "proxy/origin_way.h"

#include "base/count.h"
#include "proxy/answer.h"
#include "proxy/carry.h"
#include "proxy/counts.h"
#include "proxy/entry.h"
#include "proxy/greet.h"
#include "proxy/intercept.h"
#include "proxy/literal.h"
#include "proxy/opening.h"
#include "proxy/stages.h"
#include "proxy/who.h"

/* ---- DECIDE ---- */

static bool
is_body_too_large(const struct exchange *x)
{
	int64_t max = x->snapshot->settings->limits_body;

	return max > 0 && x->head->framing == HTTP_LENGTH &&
	       x->head->length > (uint64_t)max;
}

/* By the door, for no origin is to be asked. */
static enum next
answered(struct conn *c, int status)
{
	c->x->verdict.allow = true;
	c->x->verdict.protocol = PROTOCOL_HTTP;
	c->x->status = status;
	c->after = AFTER_LINGER;
	return conn_jump(c, STAGE_ANSWER);
}

static enum next
stage_decide(struct conn *c)
{
	struct exchange *x = c->x;
	int status;

	if (!exchange_admit(x))
		return answer_refuse(c, x->reason);
	if (!exchange_foresee(x))
		return answer_refuse(c, x->reason);
	if (is_body_too_large(x))
		return answer_refuse(c, REASON_BODY_TOO_LARGE);
	if (conn_door(c)->answer != NULL &&
	    (status = conn_door(c)->answer(&c->out, x)) != 0)
		return answered(c, status);
	if (c->outer == NULL) /* a provider is dialled call by call */
		return x->admitted.is_metered ? conn_jump(c, STAGE_JUDGE) : NEXT;
	if (c->origin == NULL) { /* found when its TLS was opened */
		x->error = c->outer->error;
		return answer_refuse(c, REASON_UPSTREAM_TLS_FAILED);
	}
	exchange_dialled(x, c->outer->has_upstream ? &c->origin->to : NULL, true);
	if (!exchange_vet_upstream(x))
		return answer_refuse(c, x->reason);
	return conn_jump(c, STAGE_LITERAL);
}

/* ---- DIAL ---- */

static bool
reuses(struct conn *c)
{
	struct buf *key = &c->e->text;
	bool is_taken;

	if (c->e->origins.n == 0 || exchange_is_tunnel(c->x) || c->x->ask.wants_websocket)
		return false;
	buf_reset(key);
	conn_origin_key(c, key);
	is_taken = stage_reuse(c, &c->e->origins, buf_view(key));
	buf_reset(key);
	return is_taken;
}

static enum next
stage_dial(struct conn *c)
{
	return reuses(c) ? NEXT : stage_dial_new(c);
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
	const struct door *d = c->door;
	struct iovec v = { (void *)(uintptr_t)d->opened.p, d->opened.n };
	struct exchange *x = c->x;

	if (x->admitted.is_tcp) {
		x->first.protocols = PROTOCOL_TCP;
		if (!exchange_judge(x))
			return answer_refuse(c, x->reason);
	}
	if (!take_tunnel_place(c))
		return answer_refuse(c, REASON_CONCURRENCY_LIMITED);
	if (v.iov_len > 0 && stream_write(&c->client, &v, 1) != (ssize_t)v.iov_len) {
		x->reason = REASON_CLIENT_ABORTED;
		x->closed_by = CLOSE_CLIENT;
		return conn_close(c);
	}
	x->status = d->opened_status;
	return NEXT;
}

static enum next
judge(struct conn *c)
{
	bool is_old = c->x->snapshot != c->e->snapshot;

	if (!exchange_renew(c->x, c->e->snapshot))
		return answer_refuse(c, c->x->reason);
	if (is_old && literal_matters(c->x)) { /* other providers, other servers */
		c->x->nlooked = 0;
		return conn_jump(c, STAGE_LITERAL);
	}
	if (exchange_is_tunnel(c->x))
		return open_tunnel(c);
	if (!exchange_judge(c->x))
		return answer_refuse(c, c->x->reason);
	return NEXT;
}

/* A reload may have brought a cap since WHO. */
static enum next
stage_judge(struct conn *c)
{
	if (c->x->snapshot != c->e->snapshot && counts_ask(c, c->e->snapshot, judge))
		return WAIT;
	return judge(c);
}

/* ---- OPEN ---- */

/* Only what carries a credential waits for its record. */
static enum next
stage_open(struct conn *c)
{
	struct exchange *x = c->x;

	if (!x->ask.has_request)
		return NEXT;
	if (!exchange_inject(x, c->origin->is_secure))
		return answer_refuse(c, x->reason);
	return x->injection.how != NULL ? opening_stage(c) : NEXT;
}

/* ---- the way ---- */

const struct stage_row origin_way[] = {
	[STAGE_SOURCE] = { "source", entry_source, STAGE_GREET, stage_told, entry_late },
	[STAGE_SECURE] = { "secure", entry_secure, STAGE_GREET, stage_told, entry_late },
	[STAGE_GREET] = { "greet", greet_read, STAGE_WHO, stage_told, greet_late },
	[STAGE_WHO] = { "who", who_stage, STAGE_HEAR, stage_told_meanwhile, who_late },
	[STAGE_HEAR] = { "hear", greet_rest, STAGE_DECIDE, stage_told, greet_late },
	[STAGE_DECIDE] = { "decide", stage_decide, STAGE_RESOLVE, NULL, NULL },
	[STAGE_RESOLVE] = { "resolve", stage_resolve, STAGE_LITERAL, stage_told_meanwhile,
	    NULL },
	[STAGE_LITERAL] = { "literal", stage_literal, STAGE_DIAL, stage_told_meanwhile,
	    NULL },
	[STAGE_DIAL] = { "dial", stage_dial, STAGE_JUDGE, stage_told_meanwhile, NULL },
	[STAGE_JUDGE] = { "judge", stage_judge, STAGE_OPEN, NULL, NULL },
	[STAGE_OPEN] = { "open", stage_open, STAGE_CARRY, stage_told_meanwhile,
	    opening_late },
	[STAGE_CARRY] = { "carry", carry_start, STAGE_RECORD, NULL, NULL },
	[STAGE_PROVE] = { "prove", intercept_prove, STAGE_LEAF, NULL, NULL },
	[STAGE_LEAF] = { "leaf", intercept_leaf, STAGE_ACCEPT, NULL, NULL },
	[STAGE_ACCEPT] = { "accept", intercept_accept, STAGE_GREET, NULL, NULL },
	[STAGE_FIRST] = { "first", answer_first, STAGE_ANSWER, stage_told,
	    answer_unsaid },
	[STAGE_HOLD] = { "hold", answer_hold, STAGE_ANSWER, NULL, answer_held },
	[STAGE_ANSWER] = { "answer", answer_send, STAGE_RECORD, stage_told, answer_late },
	[STAGE_RECORD] = { "record", stage_record, STAGE_GREET, NULL, NULL },
	[STAGE_LINGER] = { "linger", stage_linger, STAGE_LINGER, stage_told, conn_close },
};
