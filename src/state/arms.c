/*
 * arms.c - sources that speak for a session without carrying its token
 */
#include "state/arms.h"

#include <assert.h>
#include <openssl/crypto.h>
#include <stdlib.h>
#include <string.h>

struct arm {
	char *source, *session;
	size_t source_len, session_len;
	char *token; /* NULL: it was wiped */
	size_t token_len;
	int64_t until_ms, ends_ms;
	int64_t put_ms;
};

static void
wipe(struct arm *a)
{
	OPENSSL_clear_free(a->token, a->token_len);
	a->token = NULL;
}

static struct arm *
arm_new(const struct arm_order *o, int64_t now_ms)
{
	struct arm *a = mem_zalloc(sizeof(*a));

	a->source = str_dup(o->source);
	a->source_len = o->source.n;
	a->session = str_dup(o->session);
	a->session_len = o->session.n;
	a->token_len = o->token.n + 1;
	a->token = OPENSSL_zalloc(a->token_len);
	assert(a->token != NULL);
	str_put(a->token, o->token);
	a->until_ms = o->until_ms;
	a->ends_ms = o->ends_ms;
	a->put_ms = now_ms;
	return a;
}

struct str
arm_session(const struct arm *a)
{
	return (struct str){ a->session, a->session_len };
}

/* A token that was wiped is not held against it: its time is over either way. */
static bool
are_alike(const struct arm *a, const struct arm *b)
{
	return a != NULL && a->until_ms == b->until_ms && a->ends_ms == b->ends_ms &&
	       str_eq(arm_session(a), arm_session(b)) &&
	       (a->token == NULL || (a->token_len == b->token_len &&
					memcmp(a->token, b->token, a->token_len) == 0));
}

static void
drop(void *value)
{
	struct arm *a = value;

	wipe(a);
	free(a->source);
	free(a->session);
	free(a);
}

void
arm_free(struct arm *a)
{
	if (a != NULL)
		drop(a);
}

void
arms_init(struct arms *all)
{
	*all = (struct arms){ 0 };
	pthread_mutex_init(&all->lock, NULL);
	map_init(&all->by_source);
}

void
arms_fini(struct arms *all)
{
	map_fini(&all->by_source, drop);
	pthread_mutex_destroy(&all->lock);
}

/* Under the lock. */
static void
sweep(struct arms *all, int64_t now_ms)
{
	struct str source;
	void *value;
	size_t at = 0;

	while (map_next(&all->by_source, &at, &source, &value)) {
		struct arm *a = value;

		if (a->until_ms <= now_ms)
			wipe(a);
		if (a->ends_ms > now_ms)
			continue;
		map_del(&all->by_source, (struct str){ a->source, a->source_len });
		drop(a);
		at = 0; /* the map has changed */
	}
}

/* Under the lock. */
static uint64_t *
changes_of(struct arms *all, struct str source)
{
	return &all->changes[hash_bytes(source) % ARMS_COUNTS];
}

static bool
has_moved(struct arms *all, struct str source, uint64_t seen)
{
	return seen != ARMS_LATEST && seen != *changes_of(all, source);
}

uint64_t
arms_changes(struct arms *all, struct str source)
{
	pthread_mutex_lock(&all->lock);
	uint64_t n = *changes_of(all, source);
	pthread_mutex_unlock(&all->lock);
	return n;
}

/* What the store says once more is no change: many may ask at a time. */
bool
arms_put(struct arms *all, const struct arm_order *o, uint64_t seen, int64_t now_ms,
    struct arm **old)
{
	struct arm *a = arm_new(o, now_ms);

	*old = NULL;
	pthread_mutex_lock(&all->lock);
	bool is_latest = !has_moved(all, o->source, seen);
	if (is_latest) {
		*old = map_put(&all->by_source, o->source, a);
		if (seen == ARMS_LATEST || !are_alike(*old, a))
			++*changes_of(all, o->source);
		sweep(all, now_ms);
	}
	pthread_mutex_unlock(&all->lock);
	if (!is_latest)
		drop(a);
	return is_latest;
}

bool
arms_take(struct arms *all, struct str source, uint64_t seen, struct arm **old)
{
	*old = NULL;
	pthread_mutex_lock(&all->lock);
	bool is_latest = !has_moved(all, source, seen);
	if (is_latest) {
		*old = map_del(&all->by_source, source);
		/* also where there was none: what is on its way may be of before */
		if (seen == ARMS_LATEST || *old != NULL)
			++*changes_of(all, source);
	}
	pthread_mutex_unlock(&all->lock);
	return is_latest;
}

bool
arms_miss(
    struct arms *all, struct str source, uint64_t seen, int64_t now_ms, struct arm **old)
{
	*old = NULL;
	pthread_mutex_lock(&all->lock);
	struct arm *a = map_get(&all->by_source, source);
	bool is_over = a != NULL && a->until_ms <= now_ms;
	bool is_latest = !has_moved(all, source, seen);
	if (is_over && is_latest)
		wipe(a); /* also where this clock is behind */
	pthread_mutex_unlock(&all->lock);
	return is_over || !is_latest ? is_latest : arms_take(all, source, seen, old);
}

bool
arms_token(struct arms *all, struct str source, int64_t now_ms, struct buf *to)
{
	pthread_mutex_lock(&all->lock);
	struct arm *a = map_get(&all->by_source, source);
	bool is = a != NULL && a->until_ms > now_ms && a->token != NULL;
	if (is)
		buf_add(to, a->token, a->token_len - 1);
	else if (a != NULL)
		wipe(a);
	pthread_mutex_unlock(&all->lock);
	return is;
}

bool
arms_are_for(struct arms *all, struct str source, struct str session, int64_t now_ms)
{
	pthread_mutex_lock(&all->lock);
	const struct arm *a = map_get(&all->by_source, source);
	bool is = a != NULL && a->until_ms > now_ms && str_eq(arm_session(a), session);
	pthread_mutex_unlock(&all->lock);
	return is;
}

bool
arms_stand_for(struct arms *all, struct str source, struct str session)
{
	pthread_mutex_lock(&all->lock);
	const struct arm *a = map_get(&all->by_source, source);
	bool is = a != NULL && str_eq(arm_session(a), session);
	pthread_mutex_unlock(&all->lock);
	return is;
}

bool
arms_are_stale(struct arms *all, struct str source, int64_t now_ms, int64_t most_ms)
{
	pthread_mutex_lock(&all->lock);
	const struct arm *a = map_get(&all->by_source, source);
	/* one of tomorrow is worth nothing: the clock was set back */
	bool is = a != NULL && a->until_ms > now_ms &&
		  (a->put_ms > now_ms || a->put_ms <= now_ms - most_ms);
	pthread_mutex_unlock(&all->lock);
	return is;
}

size_t
arms_count(struct arms *all, size_t *tokens)
{
	struct str source;
	void *value;
	size_t at = 0, n = 0;

	*tokens = 0;
	pthread_mutex_lock(&all->lock);
	for (; map_next(&all->by_source, &at, &source, &value); n++)
		*tokens += ((struct arm *)value)->token != NULL;
	pthread_mutex_unlock(&all->lock);
	return n;
}
