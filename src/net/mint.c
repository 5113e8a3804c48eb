/*
 * mint.c - certificates of a CA, made on a thread of their own and kept
 */
#include "net/mint.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/background.h"
#include "base/count.h"
#include "base/list.h"
#include "base/map.h"

#define KEPT_MS ((msec)24 * 3600 * 1000)

struct kept {
	struct list link; /* least used first */
	char *name;
	struct leaf *leaf;
	msec until;
};

struct mint {
	struct background beside;
	atomic_size_t waiting;
	size_t waiting_max;

	pthread_mutex_t lock; /* of what is kept: */
	struct map by_name;
	struct list used;
	size_t max;
};

/* Goes to the mint's thread and comes back, whoever still wants it. */
struct mint_wait {
	struct mint *m;
	struct ca *ca;
	struct host name;
	struct loop *home;
	struct leaf *leaf;
	mint_done *done; /* NULL: cancelled */
	void *arg;
};

/* ---- what is kept ---- */

static void
drop(struct mint *m, struct kept *k)
{
	(void)map_del(&m->by_name, str_of(k->name));
	list_remove(&k->link);
	leaf_unref(k->leaf);
	free(k->name);
	free(k);
}

struct leaf *
mint_kept(struct mint *m, const struct ca *ca, const struct host *name)
{
	struct leaf *leaf = NULL;
	struct kept *k;

	pthread_mutex_lock(&m->lock);
	k = map_get(&m->by_name, host_str(name));
	if (k != NULL && (leaf_ca(k->leaf) != ca || k->until <= clock_mono_ms())) {
		drop(m, k);
		k = NULL;
	}
	if (k != NULL) {
		list_remove(&k->link);
		list_append(&m->used, &k->link);
		leaf = leaf_ref(k->leaf);
	}
	pthread_mutex_unlock(&m->lock);
	return leaf;
}

static void
keep(struct mint *m, const struct host *name, struct leaf *leaf)
{
	struct kept *k = mem_alloc(sizeof(*k)), *old;

	*k = (struct kept){ .name = mem_strdup(name->name),
		.leaf = leaf_ref(leaf),
		.until = clock_mono_ms() + KEPT_MS };
	pthread_mutex_lock(&m->lock);
	if ((old = map_get(&m->by_name, host_str(name))) != NULL)
		drop(m, old);
	else if (m->by_name.n == m->max)
		drop(m, list_entry(m->used.next, struct kept, link));
	map_put(&m->by_name, str_of(k->name), k);
	list_append(&m->used, &k->link);
	pthread_mutex_unlock(&m->lock);
}

/* ---- there and back ---- */

static void
come_back(void *arg)
{
	struct mint_wait *w = arg;

	if (w->done != NULL)
		w->done(w->arg, w->leaf);
	leaf_unref(w->leaf);
	ca_unref(w->ca);
	free(w);
}

/* The mint's thread: another may have wanted the same a moment before. */
static void
make(void *arg)
{
	struct mint_wait *w = arg;
	struct mint *m = w->m;

	w->leaf = mint_kept(m, w->ca, &w->name);
	if (w->leaf == NULL) {
		w->leaf = leaf_make(w->ca, &w->name, clock_wall_s());
		if (w->leaf != NULL) {
			count_add(COUNT_LEAVES_MADE, 1);
			keep(m, &w->name, w->leaf);
		}
	}
	atomic_fetch_sub(&m->waiting, 1);
	loop_post(w->home, come_back, w);
}

struct mint_wait *
mint_ask(struct mint *m, struct ca *ca, const struct host *name, struct loop *home,
    mint_done *done, void *arg)
{
	struct mint_wait *w;

	if (atomic_fetch_add(&m->waiting, 1) >= m->waiting_max) {
		atomic_fetch_sub(&m->waiting, 1);
		count_add(COUNT_LEAVES_REFUSED, 1);
		return NULL;
	}
	w = mem_alloc(sizeof(*w));
	*w = (struct mint_wait){ .m = m,
		.ca = ca_ref(ca),
		.name = *name,
		.home = home,
		.done = done,
		.arg = arg };
	loop_post(m->beside.loop, make, w);
	return w;
}

void
mint_cancel(struct mint_wait *w)
{
	if (w != NULL)
		w->done = NULL;
}

/* ---- beginning and end ---- */

struct mint *
mint_new(size_t leaves, size_t waiting)
{
	struct mint *m = mem_zalloc(sizeof(*m));

	background_init(&m->beside);
	m->max = leaves;
	m->waiting_max = waiting;
	pthread_mutex_init(&m->lock, NULL);
	map_init(&m->by_name);
	list_init(&m->used);
	return m;
}

int
mint_start(struct mint *m)
{
	return background_start(&m->beside);
}

void
mint_free(struct mint *m)
{
	if (m == NULL)
		return;
	background_fini(&m->beside); /* what waits goes back */
	while (!list_is_empty(&m->used))
		drop(m, list_entry(m->used.next, struct kept, link));
	map_fini(&m->by_name, NULL);
	pthread_mutex_destroy(&m->lock);
	free(m);
}
