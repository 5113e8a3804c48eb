/*
 * small.c - slabs of 32-byte pieces, and malloc for what is larger
 */
#include "base/small.h"

#include <event2/event.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define PIECE 32
#define SLAB ((size_t)1 << 20) /* of address space; a page counts when it is touched */
#define SLABS_MAX 32           /* a million descriptors; malloc serves beyond */

union piece {
	union piece *next; /* while it is free */
	max_align_t aligned;
	char bytes[PIECE];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* over all below */
static union piece *slabs[SLABS_MAX];
static size_t nslab, used = SLAB / PIECE; /* used: pieces of the last slab */
static union piece *unused;

static bool
is_piece(const void *p)
{
	for (size_t i = 0; i < nslab; i++)
		if ((uintptr_t)p - (uintptr_t)slabs[i] < SLAB)
			return true;
	return false;
}

static bool
add_slab(void)
{
	void *p;

	if (nslab == SLABS_MAX)
		return false;
	p = mmap(NULL, SLAB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		return false;
	slabs[nslab++] = p;
	used = 0;
	return true;
}

static union piece *
take(void)
{
	union piece *p = unused;

	if (p != NULL)
		unused = p->next;
	else if (used < SLAB / PIECE || add_slab())
		p = &slabs[nslab - 1][used++];
	return p;
}

void *
small_alloc(size_t n)
{
	void *p = NULL;

	if (n <= PIECE) {
		pthread_mutex_lock(&lock);
		p = take();
		pthread_mutex_unlock(&lock);
	}
	return p != NULL ? p : malloc(n);
}

/* True: it was a piece, and is one for somebody else now. */
static bool
give_back(union piece *p)
{
	bool is_ours;

	pthread_mutex_lock(&lock);
	if ((is_ours = is_piece(p))) {
		p->next = unused;
		unused = p;
	}
	pthread_mutex_unlock(&lock);
	return is_ours;
}

void
small_free(void *p)
{
	if (p != NULL && !give_back(p))
		free(p);
}

/* A piece that grows leaves its slab; nothing moves into one. */
void *
small_resize(void *p, size_t n)
{
	bool is_ours;
	void *larger;

	pthread_mutex_lock(&lock);
	is_ours = is_piece(p);
	pthread_mutex_unlock(&lock);
	if (!is_ours)
		return realloc(p, n);
	if (n <= PIECE)
		return p;
	if ((larger = malloc(n)) == NULL)
		return NULL;
	memcpy(larger, p, PIECE);
	small_free(p);
	return larger;
}

static void
install(void)
{
	event_set_mem_functions(small_alloc, small_resize, small_free);
}

void
small_for_libevent(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, install);
}
