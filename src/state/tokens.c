/*
 * tokens.c - tokens that were verified before, by their digest
 */
#include "state/tokens.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "base/map.h"

#define SHARDS 16 /* a power of two */

struct known {
	struct list link; /* in its shard, least recently asked for first */
	uint8_t digest[TOKENS_DIGEST];
	uint64_t generation;
	int64_t expires;
	void *value;
};

struct shard {
	pthread_mutex_t lock;
	struct map known;
	struct list all;
};

struct tokens {
	const struct tokens_ops *ops;
	size_t most; /* of a shard */
	struct shard shard[SHARDS];
};

struct tokens *
tokens_new(size_t most, const struct tokens_ops *ops)
{
	struct tokens *t = mem_zalloc(sizeof(*t));

	t->ops = ops;
	t->most = most / SHARDS + 1;
	for (size_t i = 0; i < SHARDS; i++) {
		pthread_mutex_init(&t->shard[i].lock, NULL);
		map_init(&t->shard[i].known);
		list_init(&t->shard[i].all);
	}
	return t;
}

static struct str
key_of(const uint8_t digest[static TOKENS_DIGEST])
{
	return (struct str){ (const char *)digest, TOKENS_DIGEST };
}

static void
forget(struct tokens *t, struct shard *s, struct known *k)
{
	map_del(&s->known, key_of(k->digest));
	list_remove(&k->link);
	t->ops->unref(k->value);
	free(k);
}

void
tokens_free(struct tokens *t)
{
	if (t == NULL)
		return;
	for (size_t i = 0; i < SHARDS; i++) {
		struct shard *s = &t->shard[i];
		while (!list_is_empty(&s->all))
			forget(t, s, list_entry(s->all.next, struct known, link));
		map_fini(&s->known, NULL);
		pthread_mutex_destroy(&s->lock);
	}
	free(t);
}

/* A digest is as good as random: any byte of it chooses. */
static struct shard *
shard_of(struct tokens *t, const uint8_t digest[static TOKENS_DIGEST])
{
	return &t->shard[digest[0] & (SHARDS - 1)];
}

void *
tokens_get(struct tokens *t, const uint8_t digest[static TOKENS_DIGEST],
    uint64_t generation, int64_t now)
{
	struct shard *s = shard_of(t, digest);
	void *value = NULL;

	pthread_mutex_lock(&s->lock);
	struct known *k = map_get(&s->known, key_of(digest));
	if (k != NULL && (k->expires <= now || k->generation < generation)) {
		forget(t, s, k);
	} else if (k != NULL && k->generation == generation) {
		list_remove(&k->link);
		list_append(&s->all, &k->link);
		value = k->value;
		t->ops->ref(value);
	}
	pthread_mutex_unlock(&s->lock);
	return value;
}

void
tokens_put(struct tokens *t, const uint8_t digest[static TOKENS_DIGEST],
    uint64_t generation, int64_t expires, void *value)
{
	struct shard *s = shard_of(t, digest);
	struct known *k = mem_zalloc(sizeof(*k));

	*k = (struct known){
		.generation = generation, .expires = expires, .value = value
	};
	memcpy(k->digest, digest, TOKENS_DIGEST);
	t->ops->ref(value);
	pthread_mutex_lock(&s->lock);
	struct known *old = map_get(&s->known, key_of(digest));
	if (old != NULL)
		forget(t, s, old);
	else if (s->known.n >= t->most)
		forget(t, s, list_entry(s->all.next, struct known, link));
	map_put(&s->known, key_of(digest), k);
	list_append(&s->all, &k->link);
	pthread_mutex_unlock(&s->lock);
}

size_t
tokens_count(struct tokens *t)
{
	size_t n = 0;

	for (size_t i = 0; i < SHARDS; i++) {
		pthread_mutex_lock(&t->shard[i].lock);
		n += t->shard[i].known.n;
		pthread_mutex_unlock(&t->shard[i].lock);
	}
	return n;
}
