/*
 * dns_reply.c - what the DNS door says
 */
#include "proxy/dns_reply.h"

/* RFC 1035 4.1.1, RFC 8914; why NXDOMAIN and not REFUSED: rule D3. */
struct dns_reply
dns_reply_to(const struct exchange *x, const struct dns_query *q)
{
	struct dns_reply no = { .rcode = DNS_RCODE_SERVFAIL };

	switch (reason_row(x->reason)->type) {
	case TYPE_MALFORMED:
		no.rcode = q->rcode;
		if (q->rcode == DNS_RCODE_NOERROR) { /* a name that no host can have */
			no.rcode = DNS_RCODE_NXDOMAIN;
			no.ede = DNS_EDE_BLOCKED;
		}
		break;
	case TYPE_POLICY:
		no.rcode = x->reason == REASON_ADDRESS_DENIED ? DNS_RCODE_NOERROR
							      : DNS_RCODE_NXDOMAIN;
		no.ede = DNS_EDE_BLOCKED;
		break;
	case TYPE_SESSION:
		no.rcode = DNS_RCODE_REFUSED;
		no.ede = DNS_EDE_PROHIBITED;
		break;
	case TYPE_LIMIT:
		no.rcode = DNS_RCODE_REFUSED;
		break;
	case TYPE_BUDGET:
	case TYPE_UPSTREAM:
	case TYPE_UNAVAILABLE:
		break;
	}
	return no;
}

static size_t
room_of(const struct hearing *h)
{
	size_t room = h->query.room;

	if (h->is_framed)
		return DNS_MESSAGE_MAX;
	return room < DNS_UDP_MIN ? DNS_UDP_MIN : room > DNS_UDP_MAX ? DNS_UDP_MAX : room;
}

void
dns_reply_message(struct buf *out, const struct hearing *h, const struct dns_reply *r)
{
	struct dns_reply sized = *r;
	size_t at = out->n, n;

	sized.room = room_of(h);
	if (h->is_framed)
		buf_str(out, STR("\0\0"));
	dns_reply_put(out, &h->query, &sized);
	if (!h->is_framed)
		return;
	n = out->n - at - 2;
	out->p[at] = (char)(n >> 8);
	out->p[at + 1] = (char)n;
}
