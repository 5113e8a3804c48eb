/*
 * coined.c - how many names a client may make up
 */
#include "state/coined.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "base/map.h"

#define SHARDS 64       /* a power of two */
#define SHARD_MOST 1024 /* askers; beyond it whoever asked longest ago makes room */
#define SWEEP 4         /* askers looked at for each new one */
#define HOUR_US INT64_C(3600000000)

/* The rate is one number, the time at which all of an hour's names are there again. */
struct asker {
	struct list link;               /* in its shard, who asked longest ago first */
	int64_t full_at;                /* us */
	size_t at;                      /* in `recent`, of the oldest */
	uint64_t recent[COINED_RECENT]; /* names, by hash */
	size_t key_len;
	char key[];
};

struct shard {
	pthread_mutex_t lock;
	struct map askers;
	struct list list;
};

struct coined {
	struct shard shard[SHARDS];
};

struct coined *
coined_new(void)
{
	struct coined *all = mem_zalloc(sizeof(*all));

	for (size_t i = 0; i < SHARDS; i++) {
		pthread_mutex_init(&all->shard[i].lock, NULL);
		map_init(&all->shard[i].askers);
		list_init(&all->shard[i].list);
	}
	return all;
}

void
coined_free(struct coined *all)
{
	if (all == NULL)
		return;
	for (size_t i = 0; i < SHARDS; i++) {
		map_fini(&all->shard[i].askers, free);
		pthread_mutex_destroy(&all->shard[i].lock);
	}
	free(all);
}

/* One whose names are all there again is as good as new. */
static void
sweep(struct shard *shard, int64_t now_us)
{
	for (size_t i = 0; i < SWEEP && !list_is_empty(&shard->list); i++) {
		struct asker *a = list_entry(shard->list.next, struct asker, link);

		if (a->full_at > now_us && shard->askers.n < SHARD_MOST)
			return;
		list_remove(&a->link);
		free(map_del(&shard->askers, (struct str){ a->key, a->key_len }));
	}
}

static struct asker *
find(struct shard *shard, struct str key, int64_t now_us)
{
	struct asker *a = map_get(&shard->askers, key);

	if (a == NULL) {
		sweep(shard, now_us);
		a = mem_zalloc(sizeof(*a) + key.n);
		a->key_len = key.n;
		memcpy(a->key, key.p, key.n);
		map_put(&shard->askers, key, a);
	}
	list_remove(&a->link);
	list_append(&shard->list, &a->link);
	return a;
}

static bool
is_recent(const struct asker *a, uint64_t name)
{
	for (size_t i = 0; i < COINED_RECENT; i++)
		if (a->recent[i] == name)
			return true;
	return false;
}

/* Microseconds until one more fits; 0: it was taken. */
static int64_t
take(struct asker *a, uint64_t name, int64_t per_hour, int64_t now_us)
{
	int64_t full = (a->full_at > now_us ? a->full_at : now_us) + HOUR_US / per_hour;

	if (full - now_us > HOUR_US)
		return full - now_us - HOUR_US;
	a->full_at = full;
	a->recent[a->at] = name;
	a->at = (a->at + 1) % COINED_RECENT;
	return 0;
}

msec
coined_wait(
    struct coined *all, struct str who, struct str name, int64_t per_hour, msec now)
{
	struct shard *shard = &all->shard[hash_bytes(who) & (SHARDS - 1)];
	uint64_t hash = hash_bytes(name) | 1; /* 0 is none */
	struct asker *a;
	int64_t wait = 0;

	if (per_hour <= 0)
		return 0;
	pthread_mutex_lock(&shard->lock);
	a = find(shard, who, now * 1000);
	if (!is_recent(a, hash))
		wait = take(a, hash, per_hour, now * 1000);
	pthread_mutex_unlock(&shard->lock);
	return (wait + 999) / 1000;
}
