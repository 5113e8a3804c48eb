/*
 * sessions.c - the sessions that this process knows
 */
#include "state/sessions.h"

#include <assert.h>
#include <stdlib.h>

#include "base/count.h"
#include "state/session_row.h"
#include "state/triple.h"

#define SHARD_MOST 1024 /* beyond it whoever nobody holds makes room */
#define SWEEP 4

struct session_shard *
sessions_shard(struct sessions *all, struct str key)
{
	return &all->shard[hash_bytes(key) & (SESSION_SHARDS - 1)];
}

struct str
session_name(const struct session *s)
{
	return (struct str){ s->key, s->key_len };
}

struct sessions *
sessions_new(const struct session_ops *ops)
{
	struct sessions *all = mem_zalloc(sizeof(*all));

	all->ref = ops->ref;
	all->unref = ops->unref;
	for (size_t i = 0; i < SESSION_SHARDS; i++) {
		pthread_mutex_init(&all->shard[i].lock, NULL);
		map_init(&all->shard[i].sessions);
		list_init(&all->shard[i].list);
	}
	arms_init(&all->arms);
	revoked_init(&all->revoked);
	return all;
}

/* Nobody holds it, and it is in no table any more. */
static void
session_drop(struct session *s)
{
	assert(list_is_empty(&s->seats));
	if (s->grant != NULL)
		s->all->unref(s->grant);
	session_unref(s->parent);
	free(s->turn_limits.turn);
	free(s->key);
	free(s->issuer);
	free(s->tenant);
	free(s->sid);
	free(s->sub);
	free(s->turn);
	free(s->source);
	free(s);
}

/* Children hold their parents: as often as it takes until none is left. */
void
sessions_free(struct sessions *all)
{
	bool is_more = true;

	if (all == NULL)
		return;
	while (is_more) {
		is_more = false;
		for (size_t i = 0; i < SESSION_SHARDS; i++) {
			struct list *at, *next;
			list_each_safe(at, next, &all->shard[i].list)
			{
				struct session *s = list_entry(at, struct session, link);
				if (atomic_load(&s->refs) > 0)
					continue;
				list_remove(&s->link);
				session_drop(s);
				is_more = true;
			}
		}
	}
	for (size_t i = 0; i < SESSION_SHARDS; i++) {
		assert(list_is_empty(&all->shard[i].list));
		map_fini(&all->shard[i].sessions, NULL);
		pthread_mutex_destroy(&all->shard[i].lock);
	}
	arms_fini(&all->arms);
	revoked_fini(&all->revoked);
	free(all);
}

struct session *
session_ref(struct session *s)
{
	atomic_fetch_add(&s->refs, 1);
	return s;
}

/* It stays known; sweep() lets it go when there are too many. */
void
session_unref(struct session *s)
{
	if (s == NULL)
		return;
	int before = atomic_fetch_sub(&s->refs, 1);
	assert(before > 0);
	(void)before;
}

static void
sweep(struct session_shard *shard)
{
	for (size_t i = 0; i < SWEEP && shard->sessions.n > SHARD_MOST; i++) {
		struct session *s = list_entry(shard->list.next, struct session, link);

		list_remove(&s->link);
		if (atomic_load(&s->refs) > 0) {
			list_append(&shard->list, &s->link);
			continue;
		}
		map_del(&shard->sessions, session_name(s));
		session_drop(s);
	}
}

struct session *
sessions_add(struct sessions *all, struct session_shard *shard, struct str key,
    const struct session_parts *of, struct str sub, struct session *parent,
    unix_ms first_use)
{
	struct session *s = mem_zalloc(sizeof(*s));

	s->all = all;
	s->shard = shard;
	s->key = str_dup(key);
	s->key_len = key.n;
	s->issuer = str_dup(of->issuer);
	s->tenant = str_dup(of->tenant);
	s->sid = str_dup(of->sid);
	s->sub = str_dup(sub);
	s->parent = parent;
	s->first_use = first_use;
	s->gen = s->limits_gen = -1; /* until a token of its own is seen */
	list_init(&s->seats);
	for (size_t i = 0; i < LIMITS; i++)
		atomic_init(&s->limit[i], SESSION_UNLIMITED);
	atomic_init(&s->vm_ms, SESSION_UNLIMITED);
	sweep(shard);
	map_put(&shard->sessions, key, s);
	count_add(COUNT_SESSIONS_OPENED, 1);
	list_append(&shard->list, &s->link);
	return s;
}

struct session_parts
session_name_parts(struct str name)
{
	struct session_parts p;

	p.issuer = triple_take(&name);
	p.tenant = triple_take(&name);
	p.sid = triple_take(&name);
	return p;
}

size_t
sessions_walk(struct sessions *all, size_t (*fn)(struct session *s, const void *arg),
    const void *arg)
{
	size_t sum = 0;

	for (size_t i = 0; i < SESSION_SHARDS; i++) {
		struct list *at;
		pthread_mutex_lock(&all->shard[i].lock);
		list_each(at, &all->shard[i].list) sum +=
		    fn(list_entry(at, struct session, link), arg);
		pthread_mutex_unlock(&all->shard[i].lock);
	}
	return sum;
}

bool
session_text_is(const char *have, struct str text)
{
	return have == NULL ? text.n == 0 : str_eq(str_of(have), text);
}

void
session_text_set(char **to, struct str text)
{
	if (session_text_is(*to, text))
		return;
	free(*to);
	*to = text.n == 0 ? NULL : str_dup(text);
}

/* ---- looking at all */

void
sessions_each(struct sessions *all, struct str tenant,
    void (*fn)(void *arg, const struct session_view *v), void *arg)
{
	for (size_t i = 0; i < SESSION_SHARDS; i++) {
		struct list *at;
		pthread_mutex_lock(&all->shard[i].lock);
		list_each(at, &all->shard[i].list)
		{
			const struct session *s = list_entry(at, struct session, link);
			const struct session_view v = {
				.issuer = str_of(s->issuer),
				.tenant = str_of(s->tenant),
				.sid = str_of(s->sid),
				.sub = str_of(s->sub),
				.turn = str_of(s->turn),
				.source = str_of(s->source),
				.first_use = s->first_use,
				.open = atomic_load(&s->open),
				.seats = (int64_t)s->nseats,
				.calls = atomic_load(&s->calls),
				.tokens = atomic_load(&s->tokens),
				.is_ended = atomic_load(&s->ended) != 0,
			};
			if (tenant.n == 0 || str_eq(tenant, v.tenant))
				fn(arg, &v);
		}
		pthread_mutex_unlock(&all->shard[i].lock);
	}
}
