/*
 * snapshot.h - all that a reload replaces at once
 *
 * Made by main, immutable from the moment it is shared, refcounted; any thread
 * may read it while it holds a reference.  An exchange keeps the one it began
 * with, so what it was judged by stays true for its record.
 */
#ifndef WEIR_PROXY_SNAPSHOT_H
#define WEIR_PROXY_SNAPSHOT_H

#include <stdatomic.h>

#include "audit/redact.h"
#include "conf/settings.h"
#include "meter/price.h"
#include "net/ca.h"
#include "net/interfaces.h"
#include "net/resolver.h"
#include "policy/keys.h"
#include "policy/match.h"
#include "proxy/parent.h"
#include "proxy/route.h"
#include "proxy/vault.h"

struct snapshot {
	atomic_uint refs;
	uint64_t generation;
	struct snapshot *owner; /* of all but `place`; NULL: this one is */
	struct settings *settings;
	struct ruleset *rules; /* of the top level */
	struct profiles *profiles;
	struct keys *keys; /* of sessions */
	struct redactor *redactor;
	const struct known *held; /* what its references name; the redactor's */
	struct routes *routes;    /* to providers */
	struct parent *parent;    /* proxy; NULL: there is none */
	struct vault *vault;      /* what rules put into requests */
	struct prices *prices;    /* NULL: no provider is metered */
	struct roots *roots;      /* NULL: nobody is dialled with TLS */
	struct ca *ca;            /* NULL: no TLS of clients is opened */
	struct leaf *own;         /* shown at tls: listeners; NULL: there are none */
	struct static_host *host; /* dns.hosts */
	size_t nhost;
	struct http_limits request_limit, response_limit;
	struct endpoint *service; /* own listeners and name servers */
	size_t nservice;
	struct prefix *closed; /* addresses.closed, and the DNS door's pool */
	size_t nclosed;
	struct interfaces interfaces; /* what place.own and place.onlink are made of */
	struct place place;
	struct place parent_place; /* for the parent proxy's own address */
};

/* What is not in the configuration file. */
struct snapshot_inputs {
	uint64_t generation;
	const struct ruleset_source *builtin; /* instead of settings->policies */
	size_t nbuiltin;
	const struct endpoint *service; /* name servers, open sockets: never dialled */
	size_t nservice;
	struct ca
	    *ca; /* the one in force: kept when it is still what is named; or NULL */
	struct leaf *own; /* the same; kept when none is named: its listeners stay */
};

/* dns.* as the resolver wants it; points into the settings and `host`. */
struct resolver_options snapshot_dns(
    const struct settings *s, const struct static_host *host, size_t nhost);

/* tls.intercept's, or NULL: there is none, or what is wrong was reported.  `old` (may be
 * NULL) is taken again where it is still what is named. */
struct ca *snapshot_ca(const struct settings *s, struct ca *old, struct report *rep);
/* tls.listen's, so too; `old` is taken again where none is named. */
struct leaf *snapshot_own(const struct settings *s, struct leaf *old, struct report *rep);
/* Takes the settings.  NULL after reporting (and settings freed). */
struct snapshot *snapshot_new(
    struct settings *s, const struct snapshot_inputs *in, struct report *rep) MUST_CHECK;
/* The same with the machine's present addresses; NULL when they are what they were. */
struct snapshot *snapshot_moved(struct snapshot *s) MUST_CHECK;
/*
 * What whoever was granted this (NULL: nobody in particular) is judged by, without the
 * grant's own network.  NULL: its profile is not there any more.
 */
const struct ruleset *snapshot_rules(const struct snapshot *s, const struct grant *g);
/* Could anybody have a session? */
bool snapshot_has_sessions(const struct snapshot *s);
struct snapshot *snapshot_ref(struct snapshot *s);
void snapshot_unref(struct snapshot *s); /* NULL is fine */

#endif
