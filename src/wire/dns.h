/*
 * dns.h - one DNS answer read with suspicion
 *
 * Only addresses on the CNAME chain from the question count, the chain has at
 * most 16 steps and no loop, compression pointers go backwards only.  The
 * resolver gives raw answers here instead of trusting a library's reading.
 * Pure; any thread.  RFC 1035, RFC 6891; rule D7.
 */
#ifndef WEIR_WIRE_DNS_H
#define WEIR_WIRE_DNS_H

#include "wire/url.h"

#define DNS_ADDRS_MAX 32
#define DNS_CHAIN_MAX 16

enum dns_type { DNS_A = 1, DNS_AAAA = 28 };

enum dns_result {
	DNS_OK, /* at least one address */
	DNS_NODATA,
	DNS_NXDOMAIN,
	DNS_SERVFAIL, /* any other rcode, or a chain that loops or is too long */
	DNS_BAD,      /* does not parse, is cut off (TC), or answers another question */
};

struct dns_answer {
	struct addr addr[DNS_ADDRS_MAX];
	size_t count; /* more than DNS_ADDRS_MAX are counted in `dropped` */
	size_t dropped;
	uint32_t
	    ttl; /* seconds, the smallest on the chain; top bit set: 0 (RFC 2181 8) */
	unsigned chain;        /* CNAME steps */
	struct host canonical; /* the chain's last name */
};

/* An answer that needs no question: one name of dns.hosts. */
struct static_host {
	struct host host;
	const struct addr *addr; /* borrowed */
	size_t naddr;
};

enum dns_result dns_read_answer(struct dns_answer *out, struct str message,
    const struct host *asked, enum dns_type type) MUST_CHECK;

#endif
