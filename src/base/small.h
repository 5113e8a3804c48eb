/*
 * small.h - libevent's few bytes for each descriptor lie together
 *
 * For every descriptor number it ever saw, libevent keeps some bytes until its
 * base goes.  Taken from malloc while connections open, they would lie between
 * those connections' memory, and each would hold a page of it back when
 * thousands have closed.  So they come from slabs of their own, which are never
 * given back: their number is that of the descriptors there ever were at once.
 */
#ifndef WEIR_BASE_SMALL_H
#define WEIR_BASE_SMALL_H

#include <stddef.h>

/* Before the first event_base, whichever thread makes it; again is fine. */
void small_for_libevent(void);

/* malloc(), realloc() and free() for what is mostly small; any thread. */
void *small_alloc(size_t n); /* NULL: no memory */
void *small_resize(void *p, size_t n);
void small_free(void *p);

#endif
