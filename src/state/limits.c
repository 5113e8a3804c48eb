/*
 * limits.c - one entry for each client, spread over shards
 */
#include "state/limits.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/count.h"
#include "base/map.h"

#define SHARDS 64 /* a power of two */
#define SHARD_MOST \
	1024 /* beyond it whoever is not referenced makes room, bucket or not */
#define SWEEP \
	4 /* entries looked at for each new one: the table shrinks as fast as it can \
	     grow */
#define SECOND_US 1000000
#define MINUTE_US (60LL * SECOND_US)
#define DELAY_MOST_US SECOND_US

/*
 * The rate is kept as one number, the time at which the bucket will be full
 * again (GCRA): taking a token moves it on by 1 s / rate, and what it is ahead
 * of now by more than a burst (a second's worth, or a minute's) is the delay.
 */
struct client {
	struct list link; /* in its shard, least recently looked at first */
	atomic_int refs;
	atomic_llong full_at; /* us */
	atomic_llong taken[CLIENT_SLOT_N];
	atomic_llong kept; /* bytes */
	struct limits *of;
	size_t key_len;
	char key[];
};

struct shard {
	pthread_mutex_t lock; /* the map, the list, and refs going up from 0 */
	struct map clients;
	struct list all;
};

struct limits {
	struct shard shard[SHARDS];
	atomic_llong kept; /* bytes of all clients */
};

struct limits *
limits_new(void)
{
	struct limits *l = mem_zalloc(sizeof(*l));

	for (size_t i = 0; i < SHARDS; i++) {
		pthread_mutex_init(&l->shard[i].lock, NULL);
		map_init(&l->shard[i].clients);
		list_init(&l->shard[i].all);
	}
	return l;
}

void
limits_free(struct limits *l)
{
	if (l == NULL)
		return;
	for (size_t i = 0; i < SHARDS; i++) {
		map_fini(&l->shard[i].clients, free);
		pthread_mutex_destroy(&l->shard[i].lock);
	}
	free(l);
}

struct str
client_name(const struct client *c)
{
	return (struct str){ c->key, c->key_len };
}

static struct shard *
shard_of(struct limits *l, struct str key)
{
	return &l->shard[hash_bytes(key) & (SHARDS - 1)];
}

static bool
is_forgettable(struct client *c, msec now)
{
	return atomic_load(&c->refs) == 0 && atomic_load(&c->full_at) <= now * 1000;
}

static void
forget(struct shard *s, struct client *c)
{
	map_del(&s->clients, client_name(c));
	list_remove(&c->link);
	free(c);
}

static void
sweep(struct shard *s, msec now)
{
	bool is_crowded = s->clients.n >= SHARD_MOST;

	for (size_t i = 0; i < SWEEP && !list_is_empty(&s->all); i++) {
		struct client *c = list_entry(s->all.next, struct client, link);

		if (is_forgettable(c, now) ||
		    (is_crowded && atomic_load(&c->refs) == 0)) {
			forget(s, c);
			continue;
		}
		list_remove(&c->link);
		list_append(&s->all, &c->link);
	}
}

static struct client *
admit(struct limits *l, struct shard *s, struct str key, msec now)
{
	struct client *c = mem_zalloc(sizeof(*c) + key.n);

	sweep(s, now);
	c->of = l;
	c->key_len = key.n;
	memcpy(c->key, key.p, key.n);
	map_put(&s->clients, key, c);
	list_append(&s->all, &c->link);
	return c;
}

struct client *
client_ref(struct limits *l, struct str key, msec now)
{
	struct shard *s = shard_of(l, key);
	struct client *c;

	pthread_mutex_lock(&s->lock);
	if ((c = map_get(&s->clients, key)) == NULL)
		c = admit(l, s, key, now);
	atomic_fetch_add(&c->refs, 1);
	pthread_mutex_unlock(&s->lock);
	return c;
}

/* Nobody is freed here: a client that comes back soon finds its bucket as it left it. */
void
client_unref(struct client *c)
{
	int before = atomic_fetch_sub(&c->refs, 1);

	assert(before > 0);
	(void)before;
}

bool
client_take(struct client *c, enum client_slot slot, int64_t cap)
{
	long long taken = atomic_load_explicit(&c->taken[slot], memory_order_relaxed);

	do {
		if (cap > 0 && taken >= cap)
			return false;
	} while (!atomic_compare_exchange_weak(&c->taken[slot], &taken, taken + 1));
	return true;
}

void
client_give(struct client *c, enum client_slot slot)
{
	long long before = atomic_fetch_sub(&c->taken[slot], 1);

	assert(before > 0);
	(void)before;
}

static bool
keep(atomic_llong *kept, size_t n, int64_t most)
{
	long long before = atomic_load(kept);

	do {
		if (most > 0 && (before >= most || n > (size_t)(most - before)))
			return false;
	} while (!atomic_compare_exchange_weak(kept, &before, before + (long long)n));
	return true;
}

bool
client_keep(struct client *c, size_t n, int64_t most, int64_t all)
{
	if (!keep(&c->kept, n, most))
		return false;
	if (keep(&c->of->kept, n, all)) {
		count_add(COUNT_BYTES_KEPT, (int64_t)n);
		return true;
	}
	atomic_fetch_sub(&c->kept, (long long)n);
	return false;
}

void
client_drop(struct client *c, size_t n)
{
	long long before = atomic_fetch_sub(&c->kept, (long long)n);

	assert(before >= (long long)n);
	(void)before;
	atomic_fetch_sub(&c->of->kept, (long long)n);
	count_add(COUNT_BYTES_KEPT, -(int64_t)n);
}

/* How far ahead of a period's worth it is now. */
static msec
delay(struct client *c, long long period_us, int64_t rate, msec now)
{
	long long at = now * 1000, most = at + period_us + DELAY_MOST_US;
	long long old = atomic_load(&c->full_at), full;

	if (rate <= 0)
		return 0;
	do {
		full = (old > at ? old : at) + period_us / rate;
		if (full > most)
			full = most;
	} while (!atomic_compare_exchange_weak(&c->full_at, &old, full));
	full -= at + period_us;
	return full > 0 ? (full + 999) / 1000 : 0;
}

msec
client_delay(struct client *c, int64_t rate, msec now)
{
	return delay(c, SECOND_US, rate, now);
}

msec
client_delay_minute(struct client *c, int64_t rate, msec now)
{
	return delay(c, MINUTE_US, rate, now);
}
