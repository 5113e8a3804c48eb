/*
 * names.c - addresses that stand for names, for one client each
 */
#include "state/names.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

#include "base/list.h"
#include "base/map.h"

#define SHARDS 16 /* a power of two */

struct named {
	struct list link; /* of its client; what was given longest ago first */
	struct addr addr;
	msec until;
	struct str name; /* behind this struct */
};

struct client_names {
	struct list
	    link; /* of its shard; whoever was given something longest ago first */
	struct str client;
	struct map by_name, by_addr;
	struct list all;
	uint64_t next; /* place in the pool where to look for a free address */
};

struct shard {
	pthread_mutex_t lock;
	struct map clients;
	struct list all;
};

struct names {
	struct prefix pool;
	uint64_t size; /* addresses of the pool */
	size_t most;
	struct shard shard[SHARDS];
};

struct names *
names_new(const struct prefix *pool, size_t most)
{
	struct names *n = mem_zalloc(sizeof(*n));
	unsigned bits = 128u - pool->len;

	n->pool = *pool;
	n->size = bits >= 32 ? UINT32_MAX : UINT64_C(1) << bits;
	n->most = most < n->size ? most : (size_t)n->size;
	for (size_t i = 0; i < SHARDS; i++) {
		pthread_mutex_init(&n->shard[i].lock, NULL);
		map_init(&n->shard[i].clients);
		list_init(&n->shard[i].all);
	}
	return n;
}

static struct str
bytes_of(const struct addr *a)
{
	return (struct str){ (const char *)a->b, sizeof(a->b) };
}

static void
forget(struct client_names *c, struct named *one)
{
	map_del(&c->by_name, one->name);
	map_del(&c->by_addr, bytes_of(&one->addr));
	list_remove(&one->link);
	free(one);
}

static void
forget_client(struct shard *s, struct client_names *c)
{
	while (!list_is_empty(&c->all))
		forget(c, list_entry(c->all.next, struct named, link));
	map_fini(&c->by_name, NULL);
	map_fini(&c->by_addr, NULL);
	map_del(&s->clients, c->client);
	list_remove(&c->link);
	free(c);
}

void
names_free(struct names *n)
{
	if (n == NULL)
		return;
	for (size_t i = 0; i < SHARDS; i++) {
		struct shard *s = &n->shard[i];
		while (!list_is_empty(&s->all))
			forget_client(
			    s, list_entry(s->all.next, struct client_names, link));
		map_fini(&s->clients, NULL);
		pthread_mutex_destroy(&s->lock);
	}
	free(n);
}

static struct shard *
shard_of(struct names *n, struct str client)
{
	return &n->shard[hash_bytes(client) & (SHARDS - 1)];
}

/* ---- clients */

/* Whoever has nothing left that stands goes, oldest first: at most two, for one comes. */
static void
forget_stale(struct shard *s, msec now)
{
	for (int i = 0; i < 2 && !list_is_empty(&s->all); i++) {
		struct client_names *c =
		    list_entry(s->all.next, struct client_names, link);
		if (list_entry(c->all.prev, struct named, link)->until > now)
			return;
		forget_client(s, c);
	}
}

/* NULL: there are too many. */
static struct client_names *
client_of(struct shard *s, struct str client)
{
	struct client_names *c = map_get(&s->clients, client);
	char *copy;

	if (c != NULL || s->clients.n >= NAMES_CLIENTS_MOST / SHARDS)
		return c;
	c = mem_zalloc(sizeof(*c) + client.n);
	copy = (char *)(c + 1);
	memcpy(copy, client.p, client.n);
	c->client = (struct str){ copy, client.n };
	map_init(&c->by_name);
	map_init(&c->by_addr);
	list_init(&c->all);
	map_put(&s->clients, c->client, c);
	list_append(&s->all, &c->link);
	return c;
}

/* ---- addresses */

static struct addr
pool_addr(const struct names *n, uint64_t place)
{
	struct addr a = n->pool.addr;

	for (size_t i = sizeof(a.b); place > 0; place >>= 8)
		a.b[--i] |= (uint8_t)place;
	return a;
}

/* Its own old address; else the oldest's, if that one's time is over and there is no
 * room; else one that nobody has.  There is one: a client has at most as many names. */
static struct named *
new_name(struct names *n, struct client_names *c, struct str name, msec now)
{
	struct named *one;
	char *copy;

	assert(name.n <= NAMES_NAME_MAX);
	if (c->by_name.n >= n->most) {
		one = list_entry(c->all.next, struct named, link);
		if (one->until > now)
			return NULL;
		forget(c, one);
	}
	one = mem_zalloc(sizeof(*one) + name.n);
	copy = (char *)(one + 1);
	memcpy(copy, name.p, name.n);
	one->name = (struct str){ copy, name.n };
	do
		one->addr = pool_addr(n, c->next++ % n->size);
	while (map_get(&c->by_addr, bytes_of(&one->addr)) != NULL);
	map_put(&c->by_name, one->name, one);
	map_put(&c->by_addr, bytes_of(&one->addr), one);
	return one;
}

bool
names_give(struct names *n, struct str client, struct str name, struct addr *out,
    msec now, msec keep_ms)
{
	struct shard *s = shard_of(n, client);
	struct client_names *c;
	struct named *one;

	pthread_mutex_lock(&s->lock);
	forget_stale(s, now);
	c = client_of(s, client);
	one = c != NULL ? map_get(&c->by_name, name) : NULL;
	if (c != NULL && one == NULL)
		one = new_name(n, c, name, now);
	if (one != NULL) {
		one->until = now + keep_ms;
		list_remove(&one->link);
		list_append(&c->all, &one->link);
		list_remove(&c->link);
		list_append(&s->all, &c->link);
		*out = one->addr;
	}
	pthread_mutex_unlock(&s->lock);
	return one != NULL;
}

bool
names_find(struct names *n, struct str client, const struct addr *a,
    char out[static NAMES_NAME_MAX + 1], msec now)
{
	struct shard *s = shard_of(n, client);
	const struct client_names *c;
	const struct named *one = NULL;

	pthread_mutex_lock(&s->lock);
	if ((c = map_get(&s->clients, client)) != NULL)
		one = map_get(&c->by_addr, bytes_of(a));
	if (one != NULL && one->until <= now)
		one = NULL;
	if (one != NULL) {
		memcpy(out, one->name.p, one->name.n);
		out[one->name.n] = '\0';
	}
	pthread_mutex_unlock(&s->lock);
	return one != NULL;
}
