/*
 * door_dns.c - the DNS door: a name that policy allows is answered, and no other
 */
#include "proxy/conn.h"
#include "proxy/dns_reply.h"
#include "proxy/dns_way.h"

#define FRAME 2 /* over TCP a message stands behind its length (RFC 1035 4.2.2) */

static void
dns_begin(struct hearing *h, const struct snapshot *s)
{
	(void)s;
	*h = (struct hearing){ .at = -1 };
}

static void
keep_type(struct exchange *x, uint16_t type)
{
	char text[DNS_TYPE_TEXT];

	x->ask.method = arena_str(&x->arena, str_of(dns_type_text(text, type)));
}

static enum heard
hear_message(struct hearing *h, struct exchange *x, struct str message)
{
	enum dns_query_result result = dns_query_read(&h->query, message);
	const char *why = NULL;

	if (result == DNS_QUERY_OK && !h->query.is_host) {
		keep_type(x, h->query.type);
		return door_refused(x, REASON_HOST_INVALID, "the name is none of a host");
	}
	if (result != DNS_QUERY_OK) {
		h->is_dropped = result == DNS_QUERY_DROP;
		return door_refused(x, REASON_REQUEST_MALFORMED, h->query.error);
	}
	x->reason = ask_name(&x->ask, host_str(&h->query.host), &why);
	keep_type(x, h->query.type);
	return x->reason == REASON_NONE ? HEARD_ASK : door_refused(x, x->reason, why);
}

static enum heard
udp_hear(
    struct hearing *h, struct exchange *x, const struct exchange *outer, struct str in)
{
	(void)outer;
	h->used = in.n;
	return hear_message(h, x, in);
}

static enum heard
tcp_hear(
    struct hearing *h, struct exchange *x, const struct exchange *outer, struct str in)
{
	size_t n;

	(void)outer;
	h->is_framed = true;
	h->is_dropped = true; /* who does not finish a message gets no answer to it */
	if (in.n < FRAME)
		return HEARD_MORE;
	n = (size_t)(uint8_t)in.p[0] << 8 | (uint8_t)in.p[1];
	if (in.n < FRAME + n)
		return HEARD_MORE;
	h->is_dropped = false;
	h->used = FRAME + n;
	return hear_message(h, x, str_sub(in, FRAME, n));
}

/* ---- answers */

static void
dns_refuse(struct buf *out, const struct exchange *x, bool closes, int64_t at)
{
	const struct hearing *h = &x->conn->rq->heard;
	struct dns_reply r = dns_reply_to(x, &h->query);

	(void)closes, (void)at;
	if (!h->is_dropped)
		dns_reply_message(out, h, &r);
}

/* The answer's code. */
static int
dns_status(const struct exchange *x)
{
	return (int)dns_reply_to(x, &x->conn->rq->heard.query).rcode;
}

static bool
tcp_may_follow(const struct exchange *x)
{
	return reason_row(x->reason)->type != TYPE_MALFORMED;
}

const struct door door_dns = {
	.name = "dns",
	.kind = RECORD_DNS,
	.way = dns_way,
	.is_light = true,
	.begin = dns_begin,
	.hear = tcp_hear,
	.brings = door_brings_nothing, /* identity is the address's */
	.status = dns_status,
	.may_follow = tcp_may_follow,
	.refuse = dns_refuse,
};

const struct door door_dns_udp = {
	.name = "dns",
	.kind = RECORD_DNS,
	.way = dns_way,
	.is_light = true,
	.is_unproven = true,
	.begin = dns_begin,
	.hear = udp_hear,
	.brings = door_brings_nothing, /* identity is the address's */
	.status = dns_status,
	.may_follow = door_ends,
	.refuse = dns_refuse,
};
