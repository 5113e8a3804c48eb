/*
 * dns_way.c - the way of a question about a name
 */
#include "proxy/dns_way.h"

#include "base/err.h"
#include "proxy/answer.h"
#include "proxy/dns_reply.h"
#include "proxy/greet.h"
#include "proxy/stages.h"
#include "proxy/who.h"

#define OUTLIVES \
	((msec)60000) /* a client may connect a while after its answer is old \
		       */

/* ---- answers */

static enum next
answer(struct conn *c, enum dns_rcode rcode, const struct addr *addr, size_t n)
{
	struct exchange *x = c->x;
	struct dns_reply reply = {
		.rcode = rcode,
		.addr = addr,
		.naddr = n,
		.ttl = (uint32_t)(x->snapshot->settings->dns_door_ttl / 1000),
	};

	conn_end_connecting(c);
	x->verdict.allow = true;
	x->status = (int)rcode;
	dns_reply_message(&c->out, &c->rq->heard, &reply);
	c->after = c->rq->heard.is_framed ? AFTER_NEXT : AFTER_CLOSE;
	return conn_jump(c, STAGE_ANSWER);
}

static enum next
answer_nothing(struct conn *c)
{
	return answer(c, DNS_RCODE_NOERROR, NULL, 0);
}

/* ---- DECIDE */

/* The record says what was answered. */
static void
keep_answer(struct exchange *x, const struct addr *a)
{
	x->answer = mem_alloc(sizeof(*a));
	*x->answer = *a;
	x->nanswer = 1;
}

static enum next
answer_from_pool(struct conn *c)
{
	struct exchange *x = c->x;
	msec keep = x->snapshot->settings->dns_door_ttl + OUTLIVES;
	char text[ADDR_TEXT];
	struct addr a;

	if (!names_give(c->e->names, str_of(conn_share(c, text)), host_str(&x->ask.host),
		&a, loop_now(c->e->loop), keep)) {
		x->error = "the client has as many names as dns.door.names lets it, or "
			   "too many clients have some";
		return answer_refuse(c, REASON_OVERLOADED);
	}
	keep_answer(x, &a);
	return answer(c, DNS_RCODE_NOERROR, &a, 1);
}

static enum next
stage_decide(struct conn *c)
{
	struct exchange *x = c->x;
	uint16_t type = c->rq->heard.query.type;

	if (!exchange_admit(x))
		return answer_refuse(c, x->reason);
	if (type != DNS_A && type != DNS_AAAA)
		return answer_nothing(c);
	if (x->snapshot->settings->dns_door_mode == DNS_FORWARD)
		return NEXT;
	return type == DNS_A ? answer_from_pool(c) : answer_nothing(c);
}

/* ---- RESOLVE, and what was found */

/* That there is none is an answer, not a fault. */
static bool
is_answer(int err)
{
	return err == ERR_NXDOMAIN || err == ERR_NODATA;
}

/* Of the kind that is asked for. */
static bool
has_some(const struct found *found, bool is_v4)
{
	for (size_t i = 0; i < found->count; i++)
		if (addr_is_v4(&found->addr[i]) == is_v4)
			return true;
	return is_v4 ? found->knows_v4 : found->knows_v6; /* or is sure of it */
}

static enum next
found(struct conn *c, const struct found *found)
{
	struct exchange *x = c->x;

	if (is_answer(found->err))
		return answer(c,
		    found->err == ERR_NXDOMAIN ? DNS_RCODE_NXDOMAIN : DNS_RCODE_NOERROR,
		    NULL, 0);
	if (!exchange_vet(x, found))
		return answer_refuse(c, x->reason);
	if (!has_some(found, c->rq->heard.query.type == DNS_A)) {
		x->error = "the other family has an answer, this one has none";
		return answer_refuse(c, REASON_DNS_FAILED);
	}
	return answer(c, DNS_RCODE_NOERROR, found->addr, found->count);
}

static enum next
stage_ask(struct conn *c)
{
	return stage_resolve_to(c, found);
}

/* ---- the way */

const struct stage_row dns_way[] = {
	[STAGE_GREET] = { "greet", greet_read, STAGE_WHO, stage_told, greet_late },
	[STAGE_WHO] = { "who", who_stage, STAGE_DECIDE, stage_told_meanwhile, who_late },
	[STAGE_DECIDE] = { "decide", stage_decide, STAGE_RESOLVE, NULL, NULL },
	[STAGE_RESOLVE] = { "resolve", stage_ask, STAGE_ANSWER, stage_told_meanwhile,
	    NULL },
	[STAGE_HOLD] = { "hold", answer_hold, STAGE_ANSWER, NULL, answer_held },
	[STAGE_ANSWER] = { "answer", answer_send, STAGE_RECORD, stage_told, answer_late },
	[STAGE_RECORD] = { "record", stage_record, STAGE_GREET, NULL, NULL },
	[STAGE_LINGER] = { "linger", stage_linger, STAGE_LINGER, stage_told, conn_close },
};
