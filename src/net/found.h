/*
 * found.h - what is known of a name: its addresses, or why there are none
 *
 * A and AAAA are two questions and their answers are joined here.  Pure; any thread.
 */
#ifndef WEIR_NET_FOUND_H
#define WEIR_NET_FOUND_H

#include "base/loop.h"
#include "wire/dns.h"

struct found {
	/* 0, ERR_NXDOMAIN, ERR_NODATA, ERR_SERVFAIL, ERR_DNS_TIMEOUT; ERR_FULL: too many
	 * under way */
	int err;
	/* v6 and v4 interleaved, v6 first (RFC 8305 4) */
	struct addr addr[DNS_ADDRS_MAX];
	size_t count;
	/* all its addresses of that kind are here: else the server did not say, or there
	 * was no room for them */
	bool knows_v6, knows_v4;
	/* end of the CNAME chain, equal to the name when there is none */
	struct host canonical;
	unsigned chain; /* CNAMEs followed */
};

/* What one of the two was answered. */
struct family {
	int err;                  /* 0, or as in struct found */
	struct dns_answer answer; /* when err is 0 */
};

/* Addresses of either count; when there are none, the failure that says most.  Returns
 * for how long it may be kept: 0, not at all. */
msec found_join(struct found *out, const struct host *name, const struct family *v6,
    const struct family *v4);

#endif
