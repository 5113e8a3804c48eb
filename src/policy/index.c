/*
 * index.c - the rules that name a host, found without looking at the others
 */
#include "policy/index.h"

#include <assert.h>
#include <string.h>

#define RANGE_KEY 17

enum stage {
	STAGE_NAME,
	STAGE_DEEP,
	STAGE_SHORTER,
	STAGE_BELOW,
	STAGE_ANY,
	STAGE_RANGE,
	STAGE_END
};

void
index_init(struct index *x, struct arena *a)
{
	*x = (struct index){ .arena = a };
	map_init(&x->names);
	map_init(&x->ranges);
}

void
index_fini(struct index *x)
{
	map_fini(&x->names, NULL);
	map_fini(&x->ranges, NULL);
}

static void *
room(struct index *x, size_t n)
{
	void *p = arena_zalloc(x->arena, n);

	assert(p != NULL);
	return p;
}

static size_t
count_labels(struct str name)
{
	size_t n = 1;

	for (size_t i = 0; i < name.n; i++)
		n += name.p[i] == '.';
	return n;
}

static struct base *
base_of(struct index *x, struct str name)
{
	struct base *b = map_get(&x->names, name);
	size_t n = count_labels(name);

	if (b == NULL) {
		b = room(x, sizeof(*b));
		map_put(&x->names, name, b);
		x->labels[n / 64] |= (uint64_t)1 << n % 64;
	}
	return b;
}

static void
add_length(struct index *x, uint8_t length)
{
	size_t i = x->nlength++;

	for (; i > 0 && x->length[i - 1] < length; i--)
		x->length[i] = x->length[i - 1];
	x->length[i] = length;
}

static struct str
range_key(char out[static RANGE_KEY], const struct prefix *p)
{
	out[0] = (char)p->len;
	memcpy(out + 1, p->addr.b, sizeof(p->addr.b));
	return (struct str){ out, RANGE_KEY };
}

static bool
has_length(const struct index *x, uint8_t length)
{
	for (size_t i = 0; i < x->nlength; i++)
		if (x->length[i] == length)
			return true;
	return false;
}

static struct entries *
range_of(struct index *x, const struct prefix *p)
{
	char key[RANGE_KEY];
	struct entries *e = map_get(&x->ranges, range_key(key, p));

	if (e == NULL) {
		e = room(x, sizeof(*e));
		map_put(&x->ranges, range_key(key, p), e);
		if (!has_length(x, p->len))
			add_length(x, p->len);
	}
	return e;
}

static struct entries *
entries_of(struct index *x, const struct pattern *p)
{
	switch (p->kind) {
	case PATTERN_NAME:
		return &base_of(x, p->base)->name;
	case PATTERN_BELOW:
		return &base_of(x, p->base)->below;
	case PATTERN_DEEP:
		return &base_of(x, p->base)->deep;
	case PATTERN_ANY:
		return &x->any;
	case PATTERN_RANGE:
		return range_of(x, &p->prefix);
	}
	return &x->any;
}

void
index_add(struct index *x, const struct rule *r)
{
	for (size_t i = 0; i < r->nhost; i++) {
		struct entries *list = entries_of(x, &r->host[i].pattern);
		struct entry *e = room(x, sizeof(*e));

		*e = (struct entry){ r, &r->host[i], NULL };
		if (list->last == NULL)
			list->first = e;
		else
			list->last->next = e;
		list->last = e;
	}
}

const struct base *
index_base(const struct index *x, struct str name)
{
	return map_get(&x->names, name);
}

const struct entries *
index_range(const struct index *x, const struct prefix *p)
{
	char key[RANGE_KEY];

	return map_get(&x->ranges, range_key(key, p));
}

void
walk_addr(struct walk *w, const struct index *x, const struct addr *a)
{
	*w = (struct walk){ .x = x, .addr = *a, .stage = STAGE_RANGE };
}

void
walk_host(struct walk *w, const struct index *x, const struct host *h)
{
	if (h->is_literal) {
		walk_addr(w, x, &h->addr);
		return;
	}
	*w = (struct walk){ .x = x, .host = h, .name = host_str(h), .stage = STAGE_NAME };
	w->labels = count_labels(w->name);
}

static const struct base *
look_up(const struct walk *w)
{
	if (!(w->x->labels[w->labels / 64] >> w->labels % 64 & 1))
		return NULL;
	return index_base(w->x, w->name);
}

/* Cuts labels off the front until some base has that name. */
static bool
shorten(struct walk *w)
{
	size_t at;

	while (str_find(w->name, '.', &at)) {
		w->name = str_sub(w->name, at + 1, w->name.n);
		w->labels--;
		if ((w->base = look_up(w)) != NULL)
			return true;
	}
	return false;
}

static const struct entry *
next_range(struct walk *w)
{
	while (w->length < w->x->nlength) {
		struct prefix p;
		const struct entries *e;

		/* ::/0 is all of IPv6 and no IPv4: prefix_has() knows */
		if (prefix_of(&p, &w->addr, w->x->length[w->length++]) &&
		    prefix_has(&p, &w->addr) && (e = index_range(w->x, &p)) != NULL)
			return e->first;
	}
	return NULL;
}

/* `*` is no special name: those need to be meant. */
static const struct entry *
any_of(const struct walk *w)
{
	return w->x->any.first == NULL || host_is_special(w->host) ? NULL
								   : w->x->any.first;
}

/* The first entry of the next stage that has one. */
static const struct entry *
next_stage(struct walk *w)
{
	const struct entry *e = NULL;

	while (e == NULL && w->stage != STAGE_END)
		switch ((enum stage)w->stage) {
		case STAGE_NAME:
			w->base = look_up(w);
			e = w->base == NULL ? NULL : w->base->name.first;
			w->stage = STAGE_DEEP;
			break;
		case STAGE_DEEP:
			e = w->base == NULL ? NULL : w->base->deep.first;
			w->stage = STAGE_SHORTER;
			break;
		case STAGE_SHORTER:
			w->stage = shorten(w) ? STAGE_BELOW : STAGE_ANY;
			break;
		case STAGE_BELOW:
			e = w->base->below.first;
			w->stage = STAGE_DEEP;
			break;
		case STAGE_ANY:
			e = any_of(w);
			w->stage = STAGE_END;
			break;
		case STAGE_RANGE:
			if ((e = next_range(w)) == NULL)
				w->stage = STAGE_END;
			break;
		case STAGE_END:
			break;
		}
	return e;
}

const struct entry *
walk_next(struct walk *w)
{
	const struct entry *e = w->next != NULL ? w->next : next_stage(w);

	w->next = e == NULL ? NULL : e->next;
	return e;
}
