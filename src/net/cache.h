/*
 * cache.h - answers worth keeping, for a while and up to a number
 *
 * Belongs to one loop; keys are canonical names.  When it is full the oldest goes.
 */
#ifndef WEIR_NET_CACHE_H
#define WEIR_NET_CACHE_H

#include "base/loop.h"
#include "base/map.h"
#include "net/found.h"

struct cache {
	const struct loop *loop;
	struct map entries;
	struct list order; /* oldest first */
	size_t max;
};

void cache_init(struct cache *c, const struct loop *l, size_t max);
void cache_clear(struct cache *c); /* empty, and without memory */
bool cache_get(struct cache *c, const struct host *name, struct found *out);
void cache_put(
    struct cache *c, const struct host *name, const struct found *found, msec keep_ms);

#endif
