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
};

static void
wipe(struct arm *a)
{
	OPENSSL_clear_free(a->token, a->token_len);
	a->token = NULL;
}

static struct arm *
arm_new(const struct arm_order *o)
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
	return a;
}

struct str
arm_session(const struct arm *a)
{
	return (struct str){ a->session, a->session_len };
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

struct arm *
arms_put(struct arms *all, const struct arm_order *o, int64_t now_ms)
{
	struct arm *a = arm_new(o);

	pthread_mutex_lock(&all->lock);
	struct arm *old = map_put(&all->by_source, o->source, a);
	sweep(all, now_ms);
	pthread_mutex_unlock(&all->lock);
	return old;
}

struct arm *
arms_take(struct arms *all, struct str source)
{
	pthread_mutex_lock(&all->lock);
	struct arm *old = map_del(&all->by_source, source);
	pthread_mutex_unlock(&all->lock);
	return old;
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
