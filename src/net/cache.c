/*
 * cache.c - found before, and not too long ago?
 */
#include "net/cache.h"

#include <stdlib.h>
#include <string.h>

struct entry {
	struct list link;
	struct host name;
	msec until;
	int err;
	struct host canonical;
	unsigned chain;
	bool knows_v6, knows_v4;
	size_t count;
	struct addr addr[];
};

void
cache_init(struct cache *c, const struct loop *l, size_t max)
{
	*c = (struct cache){ .loop = l, .max = max };
	map_init(&c->entries);
	list_init(&c->order);
}

static struct entry *
oldest(struct cache *c)
{
	return list_entry(c->order.next, struct entry, link);
}

static void
drop(struct cache *c, struct entry *e)
{
	map_del(&c->entries, host_str(&e->name));
	list_remove(&e->link);
	free(e);
}

void
cache_clear(struct cache *c)
{
	while (!list_is_empty(&c->order))
		drop(c, oldest(c));
	map_fini(&c->entries, NULL);
}

bool
cache_get(struct cache *c, const struct host *name, struct found *out)
{
	struct entry *e = map_get(&c->entries, host_str(name));

	if (e == NULL)
		return false;
	if (e->until <= loop_now(c->loop)) {
		drop(c, e);
		return false;
	}
	*out = (struct found){ .err = e->err,
		.count = e->count,
		.knows_v6 = e->knows_v6,
		.knows_v4 = e->knows_v4,
		.canonical = e->canonical,
		.chain = e->chain };
	memcpy(out->addr, e->addr, e->count * sizeof(*e->addr));
	return true;
}

void
cache_put(
    struct cache *c, const struct host *name, const struct found *found, msec keep_ms)
{
	struct entry *e = map_get(&c->entries, host_str(name));

	if (e != NULL)
		drop(c, e);
	if (keep_ms <= 0)
		return;
	if (c->entries.n >= c->max)
		drop(c, oldest(c));
	e = mem_alloc(sizeof(*e) + found->count * sizeof(*e->addr));
	e->name = *name;
	e->until = loop_now(c->loop) + keep_ms;
	e->err = found->err;
	e->canonical = found->canonical;
	e->chain = found->chain;
	e->count = found->count;
	e->knows_v6 = found->knows_v6;
	e->knows_v4 = found->knows_v4;
	memcpy(e->addr, found->addr, found->count * sizeof(*e->addr));
	list_append(&c->order, &e->link);
	map_put(&c->entries, host_str(name), e);
}
