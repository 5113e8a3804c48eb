/*
 * found.c - which word counts when A and AAAA say different things?
 */
#include "net/found.h"

#include "base/err.h"

#define TTL_MAX_MS 30000
#define PARTIAL_MAX_MS 5000 /* one family failed: it is asked again soon */

/* How long a failure is remembered. */
static const struct {
	int err;
	msec ms;
} memory[] = {
	{ ERR_NXDOMAIN, 5000 },
	{ ERR_NODATA, 5000 },
	{ ERR_SERVFAIL, 2000 },
	{ ERR_DNS_TIMEOUT, 1000 },
};

/*
 * Neither has addresses.  NXDOMAIN is about the name, so one family's word
 * outweighs the other's fault, but not that the other says the name is there.
 */
static int
common_failure(int a, int b)
{
	static const int order[] = { ERR_NXDOMAIN, ERR_SERVFAIL, ERR_DNS_TIMEOUT,
		ERR_NODATA };

	if (a == ERR_NODATA && b == ERR_NXDOMAIN)
		return ERR_NODATA;
	if (b == ERR_NODATA && a == ERR_NXDOMAIN)
		return ERR_NODATA;
	for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++)
		if (a == order[i] || b == order[i])
			return order[i];
	return ERR_SERVFAIL;
}

static msec
failure_keep_ms(int err)
{
	for (size_t i = 0; i < sizeof(memory) / sizeof(memory[0]); i++)
		if (memory[i].err == err)
			return memory[i].ms;
	return 0;
}

static msec
family_keep_ms(const struct family *f)
{
	if (f->err == 0)
		return (msec)f->answer.ttl * 1000;
	if (f->err == ERR_NODATA || f->err == ERR_NXDOMAIN)
		return TTL_MAX_MS;
	return PARTIAL_MAX_MS;
}

static void
interleave(struct found *out, const struct family *v6, const struct family *v4)
{
	size_t n6 = v6->err == 0 ? v6->answer.count : 0;
	size_t n4 = v4->err == 0 ? v4->answer.count : 0;

	for (size_t i = 0; i < DNS_ADDRS_MAX; i++) {
		if (i < n6 && out->count < DNS_ADDRS_MAX)
			out->addr[out->count++] = v6->answer.addr[i];
		if (i < n4 && out->count < DNS_ADDRS_MAX)
			out->addr[out->count++] = v4->answer.addr[i];
	}
}

/* What has no name has no address of either kind. */
static bool
is_told(const struct family *f, const struct family *other)
{
	return f->err == ERR_NODATA || f->err == ERR_NXDOMAIN ||
	       other->err == ERR_NXDOMAIN ||
	       (f->err == 0 && f->answer.count < DNS_ADDRS_MAX);
}

msec
found_join(struct found *out, const struct host *name, const struct family *v6,
    const struct family *v4)
{
	const struct family *named = v4->err == 0 ? v4 : v6;
	msec keep6 = family_keep_ms(v6), keep4 = family_keep_ms(v4);
	msec keep = keep6 < keep4 ? keep6 : keep4;

	*out = (struct found){ .canonical = *name,
		.knows_v6 = is_told(v6, v4),
		.knows_v4 = is_told(v4, v6) };
	if (named->err != 0) {
		out->err = common_failure(v6->err, v4->err);
		return failure_keep_ms(out->err);
	}
	interleave(out, v6, v4);
	if (out->count == DNS_ADDRS_MAX)
		out->knows_v6 = out->knows_v4 = false;
	out->canonical = named->answer.canonical;
	out->chain = named->answer.chain;
	return keep < TTL_MAX_MS ? keep : TTL_MAX_MS;
}
