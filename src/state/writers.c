/*
 * writers.c - who fills the audit log
 */
#include "state/writers.h"

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "base/map.h"

#define AGES 60                    /* in an hour */
#define SWEEP 16                   /* writers looked at for one that makes room */
#define LEFT_MOST (INT64_MAX >> 1) /* counts are added to it */

struct writer {
	struct list link; /* in the table; of a group's `rest` in none */
	atomic_int refs;
	atomic_llong bytes;
	struct group *group;
	char *name; /* owned; of `rest` none */
	size_t name_len;
};

struct group {
	struct list link; /* in the table */
	char *name;       /* owned; of the others none */
	size_t name_len;
	struct writers *all;
	struct writer rest; /* who found no place in the table */
	size_t members;     /* but for that one */
	int64_t gone;       /* bytes of those that made room */
	atomic_llong level; /* who has written more may not go on */

	int64_t bytes;       /* of all its writers; for writers_share() alone, as is */
	size_t first, count; /* the range of its parts */
};

struct writers {
	pthread_mutex_t lock; /* of all but the atomics */
	size_t most;
	atomic_bool is_scarce;
	int64_t level;        /* of groups, new ones too */
	struct map by_name;   /* -> struct writer * */
	struct list list;     /* of writers: who was looked at last is the last */
	struct map groups;    /* -> struct group *, by name */
	struct list group;    /* of all groups, `others` too */
	struct group *others; /* those for which there is no room */
};

static struct group *
group_new(struct writers *all, struct str name)
{
	struct group *g = mem_zalloc(sizeof(*g));

	g->all = all;
	g->name = str_dup(name);
	g->name_len = name.n;
	g->rest.group = g;
	atomic_init(&g->level, all->level);
	list_append(&all->group, &g->link);
	return g;
}

static void
group_free(void *arg)
{
	struct group *g = arg;

	list_remove(&g->link);
	free(g->name);
	free(g);
}

static void
writer_free(void *arg)
{
	struct writer *w = arg;

	free(w->name);
	free(w);
}

struct writers *
writers_new(size_t most)
{
	struct writers *all = mem_zalloc(sizeof(*all));

	pthread_mutex_init(&all->lock, NULL);
	all->most = most;
	all->level = WRITERS_PLENTY;
	map_init(&all->by_name);
	map_init(&all->groups);
	list_init(&all->list);
	list_init(&all->group);
	all->others = group_new(all, STR(""));
	return all;
}

void
writers_free(struct writers *all)
{
	if (all == NULL)
		return;
	map_fini(&all->by_name, writer_free);
	map_fini(&all->groups, group_free);
	group_free(all->others);
	pthread_mutex_destroy(&all->lock);
	free(all);
}

/* ---- a place in the table; all of it with the lock */

static struct group *
group_of(struct writers *all, struct str name)
{
	struct group *g = map_get(&all->groups, name);

	if (g != NULL)
		return g;
	if (all->groups.n >= all->most)
		return all->others;
	g = group_new(all, name);
	(void)map_put(&all->groups, name, g);
	return g;
}

static void
forget(struct writers *all, struct writer *w)
{
	w->group->members--;
	w->group->gone += atomic_load(&w->bytes);
	list_remove(&w->link);
	(void)map_del(&all->by_name, (struct str){ w->name, w->name_len });
	writer_free(w);
}

static bool
is_lighter(struct writer *w, struct writer *than)
{
	return atomic_load(&w->refs) == 0 &&
	       (than == NULL || atomic_load(&w->bytes) < atomic_load(&than->bytes));
}

/* Of some that were not looked at lately, who wrote least and is not here. */
static bool
make_room(struct writers *all)
{
	struct writer *least = NULL;

	if (all->by_name.n < all->most)
		return true;
	for (size_t i = 0; i < SWEEP && i < all->by_name.n; i++) {
		struct writer *w = list_entry(all->list.next, struct writer, link);

		if (is_lighter(w, least))
			least = w;
		list_remove(&w->link);
		list_append(&all->list, &w->link);
	}
	if (least != NULL)
		forget(all, least);
	return least != NULL;
}

static struct writer *
admit(struct writers *all, struct str group, struct str name)
{
	struct group *g = group_of(all, group);
	struct writer *w;

	if (!make_room(all))
		return &g->rest;
	w = mem_zalloc(sizeof(*w));
	w->group = g;
	w->name = str_dup(name);
	w->name_len = name.n;
	(void)map_put(&all->by_name, name, w);
	list_append(&all->list, &w->link);
	g->members++;
	return w;
}

struct writer *
writer_ref(struct writers *all, struct str group, struct str name)
{
	struct writer *w;

	pthread_mutex_lock(&all->lock);
	if ((w = map_get(&all->by_name, name)) == NULL)
		w = admit(all, group, name);
	atomic_fetch_add(&w->refs, 1);
	pthread_mutex_unlock(&all->lock);
	return w;
}

/* Nobody is freed here: who comes back soon is known. */
void
writer_unref(struct writer *w)
{
	if (w == NULL)
		return;
	int before = atomic_fetch_sub(&w->refs, 1);
	assert(before > 0);
	(void)before;
}

/* ---- what each wrote, and may write */

void
writer_wrote(struct writer *w, size_t bytes)
{
	atomic_fetch_add_explicit(&w->bytes, (long long)bytes, memory_order_relaxed);
}

bool
writer_may(const struct writer *w)
{
	return !atomic_load_explicit(&w->group->all->is_scarce, memory_order_relaxed) ||
	       atomic_load_explicit(&w->bytes, memory_order_relaxed) <
		   atomic_load_explicit(&w->group->level, memory_order_relaxed);
}

/* ---- what is left, shared out */

struct part {
	struct group *of;
	int64_t bytes; /* that it needs */
};

static int
by_group_and_bytes(const void *a, const void *b)
{
	const struct part *one = a, *other = b;

	if (one->of != other->of)
		return (uintptr_t)one->of < (uintptr_t)other->of ? -1 : 1;
	return (one->bytes > other->bytes) - (one->bytes < other->bytes);
}

static int
by_bytes(const void *a, const void *b)
{
	const struct part *one = a, *other = b;

	return (one->bytes > other->bytes) - (one->bytes < other->bytes);
}

/* The most that each may need, when who needs less leaves the rest to the others; the
 * parts are in order. */
static int64_t
level_of(const struct part *part, size_t n, int64_t left)
{
	for (size_t i = 0; i < n; i++) {
		int64_t fair = left / (int64_t)(n - i);

		if (part[i].bytes > fair)
			return fair;
		left -= part[i].bytes;
	}
	return left + (n > 0 ? part[n - 1].bytes : 0);
}

static void
add_part(struct part *parts, size_t *n, struct writer *w)
{
	parts[(*n)++] = (struct part){ w->group, atomic_load(&w->bytes) };
}

/* Of all writers, sorted; each group knows where its own begin and what they make. */
static void
gather(struct writers *all, struct part *parts)
{
	struct list *l;
	struct group *g;
	size_t n = 0;

	list_each(l, &all->list) add_part(parts, &n, list_entry(l, struct writer, link));
	list_each(l, &all->group)
	    add_part(parts, &n, &list_entry(l, struct group, link)->rest);
	qsort(parts, n, sizeof(*parts), by_group_and_bytes);
	for (size_t i = 0; i < n; i++) {
		g = parts[i].of;
		if (i == 0 || parts[i - 1].of != g) {
			g->first = i;
			g->count = 0;
			g->bytes = g->gone;
		}
		g->count++;
		g->bytes += parts[i].bytes;
	}
}

static void
share_within(struct group *g, const struct part *parts, int64_t left)
{
	left -= g->gone;
	atomic_store(
	    &g->level, level_of(parts + g->first, g->count, left > 0 ? left : 0));
}

/* Called with the lock. */
static void
share(struct writers *all, int64_t left)
{
	size_t most = all->by_name.n + all->groups.n + 1, n = 0;
	struct part *parts = mem_alloc(most * sizeof(*parts));
	struct part *whole = mem_alloc(most * sizeof(*whole));
	struct list *l;

	gather(all, parts);
	list_each(l, &all->group)
	{
		struct group *g = list_entry(l, struct group, link);
		whole[n++] = (struct part){ g, g->bytes };
	}
	qsort(whole, n, sizeof(*whole), by_bytes);
	all->level = level_of(whole, n, left);
	for (size_t i = 0; i < n; i++)
		share_within(whole[i].of, parts, all->level);
	free(parts);
	free(whole);
}

void
writers_share(struct writers *all, int64_t left)
{
	pthread_mutex_lock(&all->lock);
	if (left != WRITERS_PLENTY)
		share(all, left < LEFT_MOST ? left : LEFT_MOST);
	atomic_store(&all->is_scarce, left != WRITERS_PLENTY);
	pthread_mutex_unlock(&all->lock);
}

/* ---- an hour later */

static int64_t
faded(int64_t bytes)
{
	return (bytes + AGES - 1) / AGES;
}

/* How much is left of it. */
static int64_t
fade(struct writer *w)
{
	int64_t n = faded(atomic_load(&w->bytes));

	return atomic_fetch_sub(&w->bytes, n) - n;
}

static void
age_group(struct writers *all, struct group *g)
{
	g->gone -= faded(g->gone);
	if (fade(&g->rest) > 0 || g->gone > 0 || g->members > 0 ||
	    atomic_load(&g->rest.refs) > 0 || g == all->others)
		return;
	(void)map_del(&all->groups, (struct str){ g->name, g->name_len });
	group_free(g);
}

void
writers_age(struct writers *all)
{
	struct list *l, *next;

	pthread_mutex_lock(&all->lock);
	list_each_safe(l, next, &all->list)
	{
		struct writer *w = list_entry(l, struct writer, link);

		if (fade(w) == 0 && atomic_load(&w->refs) == 0)
			forget(all, w);
	}
	list_each_safe(l, next, &all->group)
	    age_group(all, list_entry(l, struct group, link));
	pthread_mutex_unlock(&all->lock);
}
