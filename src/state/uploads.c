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
	atomic_ullong taken; /* `base`, and what was sent and leased out here */
	int64_t base;        /* sent elsewhere, or before */
	int64_t told;        /* of what was sent here: what the store was told */
};

/* One session. */
struct sender {
	struct list link;       /* in its shard, least recently looked at first */
	atomic_int refs;        /* of its uploads */
	atomic_bool is_changed; /* since the store was told */
	bool is_loaded, is_telling;
	int64_t revision, loaded_at; /* of what the store said last */
	int64_t until, seen;
	struct map hosts;    /* -> struct upload */
	struct upload other; /* hosts beyond the most */
	size_t key_len;
	char key[];
};

struct shard {
	pthread_mutex_t lock; /* all but what is atomic */
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
	if (atomic_load(&s->refs) > 0 || s->is_telling)
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

static struct shard *
shard_of(struct uploads *all, struct str session)
{
	return &all->shard[hash_bytes(session) & (SHARDS - 1)];
}

static void
touch(struct sender *s, const struct upload_owner *owner, int64_t now)
{
	if (owner->until > s->until)
		s->until = owner->until;
	s->seen = now;
}

struct upload *
upload_ref(
    struct uploads *all, const struct upload_owner *owner, struct str host, int64_t now)
{
	struct shard *shard = shard_of(all, owner->session);
	struct upload *u = NULL;
	struct sender *s;

	pthread_mutex_lock(&shard->lock);
	s = owner->is_kept ? map_get(&shard->senders, owner->session)
			   : find_sender(shard, owner->session, now);
	if (s != NULL && (s->is_loaded || !owner->is_kept)) {
		touch(s, owner, now);
		u = find_upload(s, host);
		atomic_fetch_add(&s->refs, 1);
	}
	pthread_mutex_unlock(&shard->lock);
	return u;
}

/*
 * What others counted as one of the rest may be this host's: which hosts have a count of
 * their own is another matter in each process.
 */
static uint64_t
rest_of(const struct upload *u)
{
	return u != &u->of->other ? atomic_load(&u->of->other.taken) : 0;
}

uint64_t
upload_taken(const struct upload *u)
{
	return atomic_load(&u->taken) + rest_of(u);
}

void
upload_add(struct upload *u, uint64_t n)
{
	if (n == 0)
		return;
	atomic_fetch_add(&u->taken, n);
	atomic_store(&u->of->is_changed, true);
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
	uint64_t rest = rest_of(l->upload);
	uint64_t cap = l->cap > rest ? l->cap - rest : 0;
	uint64_t left, piece;

	do {
		left = taken < cap ? cap - taken : 0;
		piece = piece_of(left, want - q->left);
	} while (!atomic_compare_exchange_weak(&l->upload->taken, &taken, taken + piece));
	q->left += piece;
	if (piece > 0)
		atomic_store(&l->upload->of->is_changed, true);
}

static void
lease_give(struct quota *q)
{
	struct lease *l = (struct lease *)q;

	atomic_fetch_sub(&l->upload->taken, q->left);
	if (q->left > 0)
		atomic_store(&l->upload->of->is_changed, true);
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

/* ---- beyond this process */

int64_t
upload_loaded_at(struct uploads *all, struct str session)
{
	struct shard *shard = shard_of(all, session);
	struct sender *s;
	int64_t at;

	pthread_mutex_lock(&shard->lock);
	s = map_get(&shard->senders, session);
	at = s != NULL && s->is_loaded ? s->loaded_at : UPLOAD_NEVER;
	pthread_mutex_unlock(&shard->lock);
	return at;
}

static struct upload *
upload_of(struct sender *s, struct str host)
{
	return str_eq(host, STR(UPLOAD_OTHERS)) ? &s->other : find_upload(s, host);
}

/* What others have sent is what there is in all but our own part of it. */
static void
rebase(struct upload *u, int64_t all)
{
	int64_t base = all > u->told ? all - u->told : 0;

	atomic_fetch_add(&u->taken, (unsigned long long)(base - u->base));
	u->base = base;
}

static void
learn(struct sender *s, const struct upload_said *said)
{
	int64_t others = 0;

	for (size_t i = 0; i < said->n; i++) {
		struct upload *u = upload_of(s, said->sum[i].host);

		if (u != &s->other)
			rebase(u, said->sum[i].bytes);
		else
			others += said->sum[i].bytes; /* of several hosts, here */
	}
	rebase(&s->other, others);
	s->is_loaded = true;
	s->revision = said->revision;
	s->loaded_at = said->at;
}

/* Of what is on its way to the store nobody knows whether this has it already. */
static bool
is_news(const struct sender *s, const struct upload_said *said)
{
	return !s->is_loaded || (!s->is_telling && said->revision >= s->revision);
}

bool
upload_load(
    struct uploads *all, const struct upload_owner *owner, const struct upload_said *said)
{
	struct shard *shard = shard_of(all, owner->session);
	struct sender *s;

	pthread_mutex_lock(&shard->lock);
	s = find_sender(shard, owner->session, said->at);
	if (s != NULL) {
		touch(s, owner, said->at);
		if (is_news(s, said))
			learn(s, said);
	}
	pthread_mutex_unlock(&shard->lock);
	return s != NULL;
}

struct changes {
	struct upload_sum sum[UPLOAD_SUMS_MOST];
	struct upload *of[UPLOAD_SUMS_MOST];
	size_t n;
};

static void
add_change(struct changes *c, struct upload *u, struct str host)
{
	int64_t sent = (int64_t)atomic_load(&u->taken) - u->base;

	if (sent == u->told)
		return;
	c->of[c->n] = u;
	c->sum[c->n++] = (struct upload_sum){ host, sent - u->told };
}

static void
gather(struct changes *c, struct sender *s)
{
	struct str host;
	size_t at = 0;
	void *u;

	c->n = 0;
	atomic_store(&s->is_changed, false); /* before: what comes meanwhile is next */
	while (map_next(&s->hosts, &at, &host, &u))
		add_change(c, u, host);
	add_change(c, &s->other, STR(UPLOAD_OTHERS));
}

static void
tell_one(struct sender *s, struct changes *c, upload_tell *tell, void *arg)
{
	const struct upload_owner owner = {
		.session = { s->key, s->key_len }, .until = s->until, .is_kept = true
	};
	size_t n;

	gather(c, s);
	if (c->n == 0)
		return;
	n = tell(arg, &owner, c->sum, c->n);
	for (size_t i = 0; i < n; i++)
		c->of[i]->told += c->sum[i].bytes;
	s->is_telling = n > 0;
	if (n < c->n)
		atomic_store(&s->is_changed, true);
}

static void
tell_shard(struct shard *shard, struct changes *c, upload_tell *tell, void *arg)
{
	for (struct list *l = shard->list.next; l != &shard->list; l = l->next) {
		struct sender *s = list_entry(l, struct sender, link);

		if (s->is_loaded && !s->is_telling && atomic_load(&s->is_changed))
			tell_one(s, c, tell, arg);
	}
}

void
uploads_tell(struct uploads *all, upload_tell *tell, void *arg)
{
	struct changes c;

	for (size_t i = 0; i < SHARDS; i++) {
		pthread_mutex_lock(&all->shard[i].lock);
		tell_shard(&all->shard[i], &c, tell, arg);
		pthread_mutex_unlock(&all->shard[i].lock);
	}
}

/* Told again with what comes. */
static void
take_back(struct sender *s, const struct upload_sum *more, size_t n)
{
	for (size_t i = 0; i < n; i++)
		upload_of(s, more[i].host)->told -= more[i].bytes;
	atomic_store(&s->is_changed, true);
}

void
upload_told(struct uploads *all, struct str session, const struct upload_sum *more,
    size_t n, const struct upload_said *said)
{
	struct shard *shard = shard_of(all, session);
	struct sender *s;

	pthread_mutex_lock(&shard->lock);
	s = map_get(&shard->senders, session);
	assert(s != NULL && s->is_telling); /* it stays as long */
	s->is_telling = false;
	if (said != NULL)
		learn(s, said);
	else
		take_back(s, more, n);
	pthread_mutex_unlock(&shard->lock);
}
