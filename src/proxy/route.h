/*
 * route.h - gateway.providers: which provider a path leads to, and where that is
 *
 * Part of a snapshot: immutable, any thread.
 *
 * Codes of findings: bad_upstream bad_path bad_paths path_conflict bad_credential
 * no_prices unmetered_provider
 */
#ifndef WEIR_PROXY_ROUTE_H
#define WEIR_PROXY_ROUTE_H

#include "audit/known.h"
#include "base/guard.h"
#include "conf/settings.h"
#include "meter/price.h"
#include "wire/url.h"

struct route {
	const struct provider *row; /* the settings' */
	struct str path;            /* "/anthropic": no slash at its end */
	bool is_https;
	struct host host;
	uint16_t port;
	struct known *credential; /* to be scrubbed off its answers */
	struct str base; /* what the upstream's paths begin with; no slash at its end */
};

struct routes {
	struct route *p;
	size_t n;
};

/* Findings go to rep; what is wrong is left out.  prices may be NULL: there are none. */
struct routes *routes_build(
    const struct settings *s, const struct prices *prices, struct report *rep);
/* What addresses a provider may have beside public ones. */
struct opened route_opened(const struct settings *s);
void routes_free(struct routes *r); /* NULL is fine */
const struct route *routes_find(const struct routes *r, struct str path); /* NULL: none */
/* Whose host it is on that port (0: any); NULL: nobody's. */
const struct route *routes_of_host(
    const struct routes *r, const struct host *h, uint16_t port);
/* May this be asked of it?  `rest` as route_rest() has it; without paths, all. */
bool route_has_path(const struct route *r, struct str rest);
/* Is it that path, or one under it? */
bool route_is_below(struct str path, struct str base);
/* Are what goes there calls, which the meter limits?  NULL: no. */
static inline bool
route_is_metered(const struct route *r)
{
	return r != NULL && r->row->kind != PROVIDER_NONE;
}
/* Of a path that leads there, what follows the provider's own: "/v1/messages", or empty.
 */
struct str route_rest(const struct route *r, struct str path);

#endif
