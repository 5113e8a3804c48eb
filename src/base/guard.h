/*
 * guard.h - which resolved addresses may be dialled
 *
 * A name the policy allows can still point somewhere no agent may go: the
 * host's own loopback, the cloud metadata service, a neighbour's network.  So
 * between DNS and connect every answer passes here.  guard_vet() is the only
 * maker of a `struct vetted`, and a `struct vetted` is all that dial_start()
 * takes: an address nobody vetted cannot be dialled.
 *
 * Pure: no I/O, no allocation, no state.  Call it from any thread.
 * Ranges: IANA special-purpose registries (RFC 6890 and successors); NAT64
 * forms RFC 6052.
 */
#ifndef WEIR_BASE_GUARD_H
#define WEIR_BASE_GUARD_H

#include "base/addr.h"

#define VETTED_MAX 16 /* more answers than this add nothing to a dial */

struct vetted {
	size_t count;
	uint16_t port;
	struct addr addr[VETTED_MAX];
};

/* Where this weir stands.  Immutable once shared; lists are owned by the snapshot. */
struct place {
	/* own listeners and dependencies; 0.0.0.0 and :: mean every own address */
	const struct endpoint *service;
	size_t nservice;
	const struct addr *own; /* addresses of own interfaces */
	size_t nown;
	const struct prefix *onlink; /* prefixes of own interfaces */
	size_t nonlink;
	const struct prefix *closed; /* addresses.closed */
	size_t nclosed;
	const struct prefix *nat64; /* dns.nat64, each /96, beside 64:ff9b::/96 */
	size_t nnat64;
	bool is_loopback_own_ok; /* production: false: loopback is not "own address" */
};

/* What a rule opens by name; the zero value opens nothing. */
struct opened {
	const struct prefix *private;
	size_t nprivate;
	bool metadata;
};

/*
 * Judge the whole answer for one port: one address that may not be dialled
 * refuses all of them, since a name that points inside is not made safe by
 * also pointing outside.
 *
 * True: `out` holds up to VETTED_MAX of the `n` addresses in `found`, in order
 * (NAT64 forms as they came: the inner address was judged), and the port.
 * False: `out` is empty and *why is a sentence for the audit record (static).
 */
bool guard_vet(struct vetted *out, const struct addr *found, size_t n, uint16_t port,
    const struct place *place, const struct opened *opened, const char **why) MUST_CHECK;

/* The IPv4 address a NAT64 translator would reach for `a`, or `a` itself: what a rule
 * means by an address. */
struct addr guard_unwrap(const struct addr *a, const struct place *place);

bool guard_is_metadata(const struct addr *a);
bool guard_touches_metadata(const struct prefix *p);
bool guard_touches_loopback(const struct prefix *p); /* or link-local */

#endif
