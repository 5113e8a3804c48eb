/*
 * origin.c - connections to origins: in use, or kept for the next request
 */
#include "proxy/origin.h"

#include <assert.h>
#include <stdlib.h>

#include "base/count.h"
#include "base/guard.h"

/* Out of the pool, still open. */
static void
unlink_kept(struct origin *o)
{
	struct origins *p = o->pool;
	struct list *same = map_get(&p->by_key, o->key);

	list_remove(&o->link);
	list_remove(&o->age);
	if (same != NULL && list_is_empty(same))
		free(map_del(&p->by_key, o->key));
	free((char *)(uintptr_t)o->key.p);
	o->key = STR_NONE;
	o->pool = NULL;
	p->n--;
	count_add(COUNT_UPSTREAM_KEPT, -1);
}

static void
discard(struct origin *o)
{
	struct loop *l = o->pool->loop;

	unlink_kept(o);
	origin_close(l, o);
}

void
origins_clear(struct origins *p)
{
	while (!list_is_empty(&p->age))
		discard(list_entry(p->age.next, struct origin, age));
	timer_clear(&p->timer);
}

void
origins_fini(struct origins *p)
{
	origins_clear(p);
	map_fini(&p->by_key, free);
}

struct origin *
origin_new(void)
{
	struct origin *o = mem_zalloc(sizeof(*o));

	o->stream.fd = -1;
	return o;
}

void
origin_connected(struct origin *o, const struct endpoint *to,
    void (*notify)(void *arg, unsigned what), void *arg)
{
	o->to = *to;
	stream_attach(&o->stream, notify, arg);
}

void
origin_close(struct loop *l, struct origin *o)
{
	if (o == NULL)
		return;
	assert(o->pool == NULL);
	stream_close(&o->stream);
	loop_free_later(l, free, o);
}

void
origin_reset(struct loop *l, struct origin *o)
{
	if (o == NULL)
		return;
	stream_reset(&o->stream);
	origin_close(l, o);
}

/* Anything that comes over a kept connection, its end too, ends it. */
static void
on_unasked(void *arg, unsigned what)
{
	struct origin *o = arg;

	if ((what & (STREAM_READ | STREAM_HUP)) != 0 && !stream_is_quiet(&o->stream))
		discard(o);
}

/* They stand in the order they came; a reload may have changed how long they stay. */
static void
on_idle(void *arg)
{
	struct origins *p = arg;
	msec now = loop_now(p->loop);

	while (!list_is_empty(&p->age)) {
		struct origin *o = list_entry(p->age.next, struct origin, age);
		if (o->until > now) {
			timer_set(p->loop, &p->timer, o->until - now);
			return;
		}
		discard(o);
	}
}

void
origins_init(struct origins *p, struct loop *l, size_t max)
{
	*p = (struct origins){ .loop = l, .max = max };
	map_init(&p->by_key);
	list_init(&p->age);
	timer_init(&p->timer, on_idle, p);
}

/* A read that came to an end has looked already. */
static bool
is_fit(struct stream *s)
{
	return (s->ready & (STREAM_READ | STREAM_HUP)) == 0 || stream_is_quiet(s);
}

void
origin_keep(struct origins *p, struct origin *o, struct str key, msec idle_ms)
{
	struct list *same = map_get(&p->by_key, key);

	assert(o->pool == NULL);
	if (!is_fit(&o->stream)) {
		origin_close(p->loop, o);
		return;
	}
	if (same == NULL) {
		same = mem_alloc(sizeof(*same));
		list_init(same);
		map_put(&p->by_key, key, same);
	}
	o->pool = p;
	o->key = (struct str){ str_dup(key), key.n };
	o->is_reused = true;
	list_append(same, &o->link);
	list_append(&p->age, &o->age);
	stream_attach(&o->stream, on_unasked, o);
	o->until = loop_now(p->loop) + idle_ms;
	if (!timer_is_set(&p->timer))
		timer_set(p->loop, &p->timer, idle_ms);
	count_add(COUNT_UPSTREAM_KEPT, 1);
	if (++p->n > p->max)
		discard(list_entry(p->age.next, struct origin, age));
}

static bool
is_vetted(const struct origin *o, const struct vetted *to)
{
	for (size_t i = 0; i < to->count; i++)
		if (addr_eq(&o->to.addr, &to->addr[i]))
			return true;
	return false;
}

struct origin *
origin_take(struct origins *p, struct str key, const struct vetted *to,
    void (*notify)(void *arg, unsigned what), void *arg)
{
	struct list *same = map_get(&p->by_key, key), *at;

	if (same == NULL)
		return NULL;
	/* newest first: the least likely to have been closed meanwhile */
	for (at = same->prev; at != same; at = at->prev) {
		struct origin *o = list_entry(at, struct origin, link);
		if (!is_vetted(o, to) || (o->stream.ready & (STREAM_READ | STREAM_HUP)))
			continue;
		unlink_kept(o);
		stream_attach(&o->stream, notify, arg);
		return o;
	}
	return NULL;
}
