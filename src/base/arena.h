/*
 * arena.h - memory that dies with one exchange
 *
 * Allocations are never freed one by one; arena_fini() frees all at once.
 * The cap is on what a peer can make
 * grow: beyond it arena_alloc() returns NULL and the exchange is refused.
 * One thread at a time.
 */
#ifndef WEIR_BASE_ARENA_H
#define WEIR_BASE_ARENA_H

#include "base/str.h"

struct arena_block;

struct arena {
	struct arena_block *block; /* newest first; NULL until the first allocation */
	size_t used, max;
};

void arena_init(struct arena *a, size_t max);
void arena_fini(struct arena *a);
void arena_reset(struct arena *a); /* as fini, but keeps a small block for reuse */
/* Aligned for anything; NULL beyond max. */
void *arena_alloc(struct arena *a, size_t n) MUST_CHECK;
void *arena_zalloc(struct arena *a, size_t n) MUST_CHECK;
/* A copy of s in the arena with a NUL behind it; p is NULL beyond max. */
struct str arena_str(struct arena *a, struct str s);

#endif
