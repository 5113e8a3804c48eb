#include "base/count.h"

#include <assert.h>
#include <stdalign.h>
#include <stdatomic.h>

#define SHARDS 64 /* more threads than this share, and stay right */
#define CACHE_LINE 64

static const struct count_row rows[] = {
#define COUNT(id, name, type, labels, help) { name, help, type, labels },
#include "base/count.def"
#undef COUNT
};

/* Where each family begins among the cells of a shard. */
enum cell {
#define COUNT(id, name, type, labels, help) \
	CELL_##id, CELL_LAST_##id = CELL_##id + (labels)-1,
#include "base/count.def"
#undef COUNT
	CELLS
};

static const enum cell first_cell[] = {
#define COUNT(id, name, type, labels, help) CELL_##id,
#include "base/count.def"
#undef COUNT
};

static struct shard {
	alignas(CACHE_LINE) _Atomic int64_t cell[CELLS];
} shards[SHARDS];

static struct shard *
own_shard(void)
{
	static atomic_uint next;
	static _Thread_local struct shard *own;

	if (own == NULL)
		own = &shards[atomic_fetch_add_explicit(&next, 1, memory_order_relaxed) %
			      SHARDS];
	return own;
}

const struct count_row *
count_row(enum count_id id)
{
	assert(id < COUNT_N);
	return &rows[id];
}

void
count_add(enum count_id id, int64_t n)
{
	count_add_at(id, 0, n);
}

void
count_add_at(enum count_id id, size_t label, int64_t n)
{
	assert(id < COUNT_N && label < rows[id].labels);
	atomic_fetch_add_explicit(
	    &own_shard()->cell[first_cell[id] + label], n, memory_order_relaxed);
}

int64_t
count_get(enum count_id id, size_t label)
{
	int64_t sum = 0;

	assert(id < COUNT_N && label < rows[id].labels);
	for (size_t i = 0; i < SHARDS; i++)
		sum += atomic_load_explicit(
		    &shards[i].cell[first_cell[id] + label], memory_order_relaxed);
	return sum;
}
