#include "base/arena.h"

#include <assert.h>
#include <stdalign.h>
#include <stdlib.h>
#include <string.h>

/* Blocks double: an idle connection pays for little, a busy one asks seldom. */
#define BLOCK_FIRST 512
#define BLOCK_LAST 8192

struct arena_block {
	struct arena_block *older;
	size_t used, size; /* of room */
	alignas(max_align_t) char room[];
};

void
arena_init(struct arena *a, size_t max)
{
	*a = (struct arena){ .max = max };
}

/* Where n aligned bytes would begin in the newest block; false: they do not fit. */
static bool
fits(const struct arena *a, size_t n, size_t align, size_t *at)
{
	if (a->block == NULL)
		return false;
	*at = (a->block->used + align - 1) & ~(align - 1);
	return *at <= a->block->size && n <= a->block->size - *at;
}

static void
add_block(struct arena *a, size_t n)
{
	size_t whole = a->block == NULL
			   ? BLOCK_FIRST
			   : 2 * (a->block->size + sizeof(struct arena_block));
	struct arena_block *block;

	if (whole > BLOCK_LAST)
		whole = BLOCK_LAST;
	if (n > whole - sizeof(*block))
		whole = n + sizeof(*block);
	block = mem_alloc(whole);
	*block =
	    (struct arena_block){ .older = a->block, .size = whole - sizeof(*block) };
	a->block = block;
}

static void *
take(struct arena *a, size_t n, size_t align)
{
	size_t at;

	if (!fits(a, n, align, &at)) {
		add_block(a, n);
		at = 0;
	}
	a->block->used = at + n;
	return a->block->room + at;
}

static void *
take_capped(struct arena *a, size_t n, size_t align)
{
	if (n > a->max - a->used)
		return NULL;
	a->used += n;
	return take(a, n, align);
}

void *
arena_alloc(struct arena *a, size_t n)
{
	return take_capped(a, n, alignof(max_align_t));
}

void *
arena_zalloc(struct arena *a, size_t n)
{
	void *p = arena_alloc(a, n);

	if (p != NULL)
		memset(p, 0, n);
	return p;
}

struct str
arena_str(struct arena *a, struct str s)
{
	char *copy = s.n < SIZE_MAX ? take_capped(a, s.n + 1, 1) : NULL;

	if (copy == NULL)
		return STR_NONE;
	if (s.n > 0)
		memcpy(copy, s.p, s.n);
	copy[s.n] = '\0';
	return (struct str){ copy, s.n };
}

static void
free_blocks(struct arena_block *block)
{
	while (block != NULL) {
		struct arena_block *older = block->older;

		free(block);
		block = older;
	}
}

void
arena_fini(struct arena *a)
{
	free_blocks(a->block);
	arena_init(a, a->max);
}

void
arena_reset(struct arena *a)
{
	struct arena_block *kept = a->block;

	if (kept != NULL && kept->size + sizeof(*kept) <= BLOCK_LAST) {
		free_blocks(kept->older);
		kept->older = NULL;
		kept->used = 0;
	} else { /* one huge request must not stay with an idle connection */
		free_blocks(kept);
		kept = NULL;
	}
	arena_init(a, a->max);
	a->block = kept;
}
