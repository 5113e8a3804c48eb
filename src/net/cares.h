/*
 * cares.h - what differs between c-ares 1.18 and 1.34
 *
 * The raw calls (ares_query) are deprecated from 1.28 and still the only ones
 * both have; what newer versions do unasked (a cache of their own, one port for
 * many questions) is switched off here.
 */
#ifndef WEIR_NET_CARES_H
#define WEIR_NET_CARES_H

#define CARES_NO_DEPRECATED
#include <ares.h>

static inline void
cares_tame(struct ares_options *o, int *mask)
{
#ifdef ARES_OPT_QUERY_CACHE
	o->qcache_max_ttl = 0;
	*mask |= ARES_OPT_QUERY_CACHE;
#endif
#ifdef ARES_OPT_UDP_MAX_QUERIES
	o->udp_max_queries = 8; /* then another port: harder to forge an answer to */
	*mask |= ARES_OPT_UDP_MAX_QUERIES;
#endif
	(void)o, (void)mask;
}

#endif
