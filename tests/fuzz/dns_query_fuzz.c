/*
 * dns_query_fuzz.c - a question is what it says, and its answer is one to it
 *
 * First byte: what is answered.
 */
#include "wire/dns_query.h"

#include <assert.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
judge_query(const struct dns_query *q, enum dns_query_result result, struct str in)
{
	assert((result == DNS_QUERY_OK) == (q->error == NULL));
	if (q->question.n > 0)
		assert(q->question.p == in.p + 12 && q->question.n <= DNS_QUESTION_MAX &&
		       q->question.n <= in.n - 12);
	assert(result != DNS_QUERY_OK || q->question.n > 0);
	assert(result != DNS_QUERY_BAD || q->rcode != DNS_RCODE_NOERROR);
	if (q->is_host) {
		struct host again;
		assert(host_parse(&again, host_str(&q->host)) == HOST_OK);
		assert(host_eq(&again, &q->host) && !q->host.is_literal);
	}
}

/* What weir itself would read of it, as a client. */
static void
judge_answer(const struct dns_query *q, const struct dns_reply *r)
{
	enum dns_type type = q->type == DNS_A ? DNS_A : DNS_AAAA;
	struct dns_answer answer;
	enum dns_result result;
	struct buf out;

	buf_init(&out, DNS_MESSAGE_MAX);
	dns_reply_put(&out, q, r);
	assert(out.n >= 12 && out.n <= r->room);
	if (q->is_host && (q->type == DNS_A || q->type == DNS_AAAA) && q->error == NULL) {
		result = dns_read_answer(&answer, buf_view(&out), &q->host, type);
		assert(result == (r->rcode == DNS_RCODE_NOERROR
					 ? (out.p[7] > 0 ? DNS_OK : DNS_NODATA)
				     : r->rcode == DNS_RCODE_NXDOMAIN ? DNS_NXDOMAIN
								      : DNS_SERVFAIL) ||
		       (out.p[2] & 2));
	}
	buf_fini(&out);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct addr a[] = { { { 0x20, 1, 0xd, 0xb8, [15] = 1 } },
		V4(192, 0, 2, 7), V4(192, 0, 2, 8) };
	static const enum dns_rcode rcodes[] = { DNS_RCODE_NOERROR, DNS_RCODE_NXDOMAIN,
		DNS_RCODE_SERVFAIL, DNS_RCODE_REFUSED };
	struct str in = { (const char *)data + 1, size - 1 };
	struct dns_query q;
	enum dns_query_result result;

	if (size < 1)
		return 0;
	result = dns_query_read(&q, in);
	judge_query(&q, result, in);
	if (result == DNS_QUERY_DROP)
		return 0;
	judge_answer(&q, &(struct dns_reply){ .rcode = rcodes[data[0] & 3],
			     .ede = data[0] & 4 ? DNS_EDE_BLOCKED : DNS_EDE_NONE,
			     .addr = a,
			     .naddr = (data[0] & 3) == 0 ? 3 : 0,
			     .ttl = 30,
			     .room = DNS_UDP_MIN });
	return 0;
}
