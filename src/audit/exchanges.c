/*
 * exchanges.c - which exchanges were begun and never ended, or ended twice
 */
#include "audit/exchanges.h"

#include <stdlib.h>

struct left {
	struct str id;
	struct open_exchange *at;
};

void
exchanges_init(struct exchanges *x)
{
	*x = (struct exchanges){ .order = 0 };
	map_init(&x->open);
	recent_init(&x->ended);
}

void
exchanges_fini(struct exchanges *x)
{
	map_fini(&x->open, free);
	recent_fini(&x->ended);
}

bool
exchanges_open(struct exchanges *x, struct str id, const struct open_exchange *at)
{
	struct open_exchange *o;

	if (x->open.n >= EXCHANGES_OPEN)
		return false;
	o = mem_alloc(sizeof(*o));
	*o = *at;
	o->order = x->order++;
	free(map_put(&x->open, id, o));
	return true;
}

bool
exchanges_end(struct exchanges *x, struct str id)
{
	free(map_del(&x->open, id));
	return !recent_add(&x->ended, id);
}

static int
in_order(const void *a, const void *b)
{
	const struct left *x = a, *y = b;

	return x->at->order < y->at->order ? -1 : x->at->order > y->at->order;
}

void
exchanges_each(struct exchanges *x, uint64_t run,
    void (*fn)(void *arg, struct str id, const struct open_exchange *o), void *arg)
{
	struct left *all = mem_alloc((x->open.n + 1) * sizeof(*all));
	size_t at = 0, n = 0;
	struct str id;
	void *value;

	while (map_next(&x->open, &at, &id, &value)) {
		struct open_exchange *o = value;

		if (o->run <= run && !o->is_told)
			all[n++] = (struct left){ id, o };
	}
	qsort(all, n, sizeof(*all), in_order);
	for (size_t i = 0; i < n; i++) {
		all[i].at->is_told = true;
		fn(arg, all[i].id, all[i].at);
	}
	free(all);
}
