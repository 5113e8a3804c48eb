/*
 * memory.c - a store for tests and for a laptop: gone when the process ends
 */
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "ledger/local.h"

struct memory {
	struct store store;
	struct map rows[ROW_KINDS];
	struct map held; /* those of the calls that are; borrowed from there */
};

static struct map *
rows_of(struct store *s, enum row_kind kind)
{
	return &((struct memory *)(void *)s)->rows[kind];
}

static bool
memory_begin(struct store *s)
{
	(void)s;
	return true;
}

static bool
memory_commit(struct store *s, bool *is_in_doubt)
{
	(void)s;
	*is_in_doubt = false;
	return true;
}

static bool
memory_get(
    struct store *s, enum row_kind kind, struct str key, void *row, struct arena *memory)
{
	const void *found = map_get(rows_of(s, kind), key);
	const struct row_shape *shape = &row_shapes[kind];

	if (found == NULL)
		return false;
	memcpy(row, found, shape->size);
	for (size_t i = 0; i < shape->nfield; i++)
		if (shape->field[i].is_text) /* found may be replaced before row is */
			row_set_text(row, &shape->field[i],
			    arena_str(memory, row_text(row, &shape->field[i])));
	return true;
}

static struct map *
held_of(struct store *s)
{
	return &((struct memory *)(void *)s)->held;
}

static void
memory_put(struct store *s, enum row_kind kind, struct str key, const void *row)
{
	void *copy = row_copy(kind, row);

	if (kind == ROW_CALL && ((const struct row_call *)row)->state == CALL_HELD)
		map_put(held_of(s), key, copy);
	else if (kind == ROW_CALL)
		map_del(held_of(s), key);
	free(map_put(rows_of(s, kind), key, copy));
}

static void
memory_del(struct store *s, enum row_kind kind, struct str key)
{
	if (kind == ROW_CALL)
		map_del(held_of(s), key);
	free(map_del(rows_of(s, kind), key));
}

static void
memory_walk(struct store *s, enum row_kind kind, store_seen *seen, void *arg)
{
	struct str key;
	void *row;

	for (size_t at = 0; map_next(rows_of(s, kind), &at, &key, &row);)
		seen(arg, key, row);
}

static size_t
memory_expired(
    struct store *s, usec now, struct str *keys, size_t max, struct arena *memory)
{
	struct str key;
	size_t n = 0;
	void *value;

	for (size_t at = 0; n < max && map_next(held_of(s), &at, &key, &value);) {
		const struct row_call *row = value;

		if (row->expires <= now)
			keys[n++] = arena_str(memory, key);
	}
	return n;
}

/* Notes are looked at when they are read; this store does not live long enough to fill.
 */
static void
memory_prune(struct store *s, usec now)
{
	(void)s, (void)now;
}

static void
memory_close(struct store *s)
{
	map_fini(held_of(s), NULL);
	for (size_t i = 0; i < ROW_KINDS; i++)
		map_fini(rows_of(s, (enum row_kind)i), free);
	free(s);
}

static const struct store_ops memory_ops = { memory_begin, memory_commit, memory_get,
	memory_put, memory_del, memory_walk, memory_expired, memory_prune, memory_close };

struct store *
store_memory_new(void)
{
	struct memory *m = mem_zalloc(sizeof(*m));

	m->store.ops = &memory_ops;
	map_init(&m->held);
	for (size_t i = 0; i < ROW_KINDS; i++)
		map_init(&m->rows[i]);
	return &m->store;
}

struct backend *
backend_memory(
    struct str where, const struct ledger_options *o, const struct backend_host *host)
{
	(void)where;
	return local_new(store_memory_new(), o, host);
}
