/*
 * uploads.c - how much each session has sent to each host
 */
#include "state/uploads.h"

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/count.h"
#include "base/list.h"
#include "base/map.h"

#define SHARDS 64       /* a power of two */
#define SHARD_MOST 1024 /* sessions */
#define SWEEP 4         /* sessions looked at for each new one */
#define DAY_MS INT64_C(86400000)

#define LEASE UINT64_C(65536)
#define LEASE_SHARE 8 /* of what is left, so that others find something, too */

struct upload {
	struct sender *of;
	atomic_ullong taken;
};

/* One session. */
struct sender {
	struct list link; /* in its shard, least recently looked at first */
	atomic_int refs;  /* of its uploads */
	int64_t until, seen;
	struct map hosts;    /* -> struct upload */
	struct upload other; /* hosts beyond the most */
	size_t key_len;
	char key[];
};

struct shard {
	pthread_mutex_t lock; /* all but `taken`, and refs going down */
	struct map senders;
	struct list list;
};

struct uploads {
	struct shard shard[SHARDS];
};

struct uploads *
uploads_new(void)
{
	struct uploads *all = mem_zalloc(sizeof(*all));

	for (size_t i = 0; i < SHARDS; i++) {
		pthread_mutex_init(&all->shard[i].lock, NULL);
		map_init(&all->shard[i].senders);
		list_init(&all->shard[i].list);
	}
	return all;
}

static void
free_sender(void *arg)
{
	struct sender *s = arg;

	assert(atomic_load(&s->refs) == 0);
	map_fini(&s->hosts, free);
	free(s);
	count_add(COUNT_UPLOAD_SESSIONS, -1);
}

void
uploads_free(struct uploads *all)
{
	if (all == NULL)
		return;
	for (size_t i = 0; i < SHARDS; i++) {
		map_fini(&all->shard[i].senders, free_sender);
		pthread_mutex_destroy(&all->shard[i].lock);
	}
	free(all);
}

/* ---- the table */

static bool
is_over(const struct sender *s, bool is_crowded, int64_t now)
{
	if (atomic_load(&s->refs) > 0)
		return false;
	return s->until <= now ||
	       (is_crowded && s->until == UPLOAD_FOREVER && s->seen + DAY_MS <= now);
}

/* What is over goes, a few at a time; the others are looked at again when their turn
 * comes. */
static void
sweep(struct shard *shard, int64_t now)
{
	for (size_t i = 0; i < SWEEP && !list_is_empty(&shard->list); i++) {
		struct sender *s = list_entry(shard->list.next, struct sender, link);

		list_remove(&s->link);
		if (is_over(s, shard->senders.n >= SHARD_MOST, now)) {
			map_del(&shard->senders, (struct str){ s->key, s->key_len });
			free_sender(s);
		} else {
			list_append(&shard->list, &s->link);
		}
	}
}

/* Under the shard's lock; NULL: there is no room. */
static struct sender *
find_sender(struct shard *shard, struct str key, int64_t now)
{
	struct sender *s = map_get(&shard->senders, key);

	if (s != NULL)
		return s;
	sweep(shard, now);
	if (shard->senders.n >= SHARD_MOST)
		return NULL;
	s = mem_zalloc(sizeof(*s) + key.n);
	map_init(&s->hosts);
	s->other.of = s;
	s->key_len = key.n;
	memcpy(s->key, key.p, key.n);
	map_put(&shard->senders, key, s);
	list_append(&shard->list, &s->link);
	count_add(COUNT_UPLOAD_SESSIONS, 1);
	return s;
}

static struct upload *
find_upload(struct sender *s, struct str host)
{
	struct upload *u = map_get(&s->hosts, host);

	if (u != NULL)
		return u;
	if (s->hosts.n >= UPLOAD_HOSTS_MOST)
		return &s->other;
	u = mem_zalloc(sizeof(*u));
	u->of = s;
	map_put(&s->hosts, host, u);
	return u;
}

struct upload *
upload_ref(
    struct uploads *all, struct str session, struct str host, int64_t until, int64_t now)
{
	struct shard *shard = &all->shard[hash_bytes(session) & (SHARDS - 1)];
	struct upload *u = NULL;
	struct sender *s;

	pthread_mutex_lock(&shard->lock);
	if ((s = find_sender(shard, session, now)) != NULL) {
		if (until > s->until)
			s->until = until;
		s->seen = now;
		u = find_upload(s, host);
		atomic_fetch_add(&s->refs, 1);
	}
	pthread_mutex_unlock(&shard->lock);
	return u;
}

uint64_t
upload_taken(const struct upload *u)
{
	return atomic_load(&u->taken);
}

/* ---- leases */

/* What is missing, or a piece that is worth the way. */
static uint64_t
piece_of(uint64_t left, uint64_t missing)
{
	uint64_t piece = left / LEASE_SHARE;

	if (piece > LEASE)
		piece = LEASE;
	if (piece < missing)
		piece = missing;
	return piece < left ? piece : left;
}

static void
lease_take(struct quota *q, uint64_t want)
{
	struct lease *l = (struct lease *)q;
	unsigned long long taken = atomic_load(&l->upload->taken);
	uint64_t left, piece;

	do {
		left = taken < l->cap ? l->cap - taken : 0;
		piece = piece_of(left, want - q->left);
	} while (!atomic_compare_exchange_weak(&l->upload->taken, &taken, taken + piece));
	q->left += piece;
}

static void
lease_give(struct quota *q)
{
	struct lease *l = (struct lease *)q;

	atomic_fetch_sub(&l->upload->taken, q->left);
	q->left = 0;
}

void
lease_begin(struct lease *l, struct upload *u, uint64_t cap)
{
	assert(l->upload == NULL);
	*l = (struct lease){
		.quota = { .take = lease_take, .give = lease_give },
		.upload = u,
		.cap = cap,
	};
}

void
lease_limit(struct lease *l, uint64_t cap)
{
	if (cap < l->cap)
		quota_rest(&l->quota);
	l->cap = cap;
}

void
lease_end(struct lease *l)
{
	int before;

	if (l->upload == NULL)
		return;
	quota_rest(&l->quota);
	before = atomic_fetch_sub(&l->upload->of->refs, 1);
	assert(before > 0);
	(void)before;
	*l = (struct lease){ .upload = NULL };
}
