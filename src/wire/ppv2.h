/*
 * ppv2.h - what a balancer says before a connection: whose it is
 *
 * Version 2 of the PROXY protocol, TCP over IPv4 and IPv6: a signature of twelve octets,
 * version and command, family, length; source and destination; TLVs, of which only the
 * checksum means anything here.  The reader refuses the first octet that is wrong without
 * waiting for the rest, and says how much more is certain to be the header's, so that
 * nothing behind it need be read.  Pure; any thread.
 * haproxy.org, proxy-protocol.txt, 2.2.
 */
#ifndef WEIR_WIRE_PPV2_H
#define WEIR_WIRE_PPV2_H

#include "base/addr.h"

/* Octets in all: as many as any receiver can be sent at once (2: "536 bytes"). */
#define PPV2_MAX ((size_t)536)

enum ppv2_result {
	PPV2_MORE, /* it is not whole: `want` */
	PPV2_DONE, /* `used`, and the source unless it is_local */
	PPV2_BAD,  /* `at`, `error` */
};

struct ppv2 {
	bool is_local; /* the balancer's own connection: a health check */
	struct endpoint source;
	size_t used, want;
	size_t at;         /* the octet that was refused */
	const char *error; /* a sentence; static */
};

enum ppv2_result ppv2_read(struct ppv2 *out, struct str in) MUST_CHECK;

#endif
