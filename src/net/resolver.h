/*
 * resolver.h - names to addresses through c-ares, one channel for each worker
 *
 * Absolute names only: no search list, no hosts file, no aliases, no
 * environment.  A and AAAA are asked together and read by wire/dns.  Lookups of
 * one name join; answers are cached for min(TTL, 30 s), failures for 1-5 s, both
 * bounded.  `dns.hosts` answers first.  done() runs once, from the loop, never
 * inside start; after cancel it never runs.
 */
#ifndef WEIR_NET_RESOLVER_H
#define WEIR_NET_RESOLVER_H

#include "base/loop.h"
#include "net/found.h"

#define RESOLVER_SERVERS_MAX 8

struct resolver;
struct lookup;

struct resolver_options {
	/* "1.2.3.4" or "1.2.3.4:5353", "[::1]:53"; none: those of /etc/resolv.conf */
	const char *const *server;
	size_t nserver;
	const struct static_host *host; /* dns.hosts */
	size_t nhost;
	msec timeout_ms; /* of one lookup, all tries */
};

typedef void resolver_done(
    void *arg, const struct found *found); /* borrowed for the call */

/* Options are copied.  NULL: *why is a static sentence. */
struct resolver *resolver_new(
    struct loop *l, const struct resolver_options *o, const char **why) MUST_CHECK;
void resolver_free(struct resolver *r); /* cancels everything */
/*
 * Never NULL: a cache hit is delivered from the loop too.  `asker` answers for the
 * question until the server has, even if nobody waits for it any more: with too
 * many under way, of this asker or of all, the word is ERR_FULL.
 */
struct lookup *resolver_start(struct resolver *r, struct str asker,
    const struct host *name, resolver_done *done, void *arg);
void lookup_cancel(struct lookup *l);
/* The same answer at once when it needs no question (a literal, dns.hosts, the cache). */
bool resolver_cached(struct resolver *r, const struct host *name, struct found *out);
/* A reload: other servers and hosts; the cache is emptied, lookups under way finish. */
bool resolver_reconfigure(
    struct resolver *r, const struct resolver_options *o, const char **why) MUST_CHECK;
/* The servers that a resolver with these options asks; 0: it has none. */
size_t resolver_servers(
    const struct resolver_options *o, struct endpoint out[static RESOLVER_SERVERS_MAX]);

#endif
