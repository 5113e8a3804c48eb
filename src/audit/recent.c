/*
 * recent.c - a set of what was seen lately
 *
 * Two tables: when the young one is full it becomes the old one, and the old one goes.
 */
#include "audit/recent.h"

#include <stdlib.h>

#include "base/map.h"

#define SLOTS (2 * RECENT_LEAST) /* a power of two; half full at most */

void
recent_init(struct recent *r)
{
	*r = (struct recent){ .nyoung = 0 };
}

void
recent_fini(struct recent *r)
{
	free(r->young);
	free(r->old);
}

/* Its slot, or the free one where it belongs. */
static size_t
slot_of(const uint64_t *table, uint64_t hash)
{
	size_t i = hash & (SLOTS - 1);

	while (table[i] != 0 && table[i] != hash)
		i = (i + 1) & (SLOTS - 1);
	return i;
}

static void
turn_over(struct recent *r)
{
	free(r->old);
	r->old = r->young;
	r->young = mem_zalloc(SLOTS * sizeof(*r->young));
	r->nyoung = 0;
}

bool
recent_add(struct recent *r, struct str text)
{
	uint64_t hash = hash_bytes(text) | 1; /* 0: the slot is free */

	if (r->young == NULL || r->nyoung == RECENT_LEAST)
		turn_over(r);
	size_t at = slot_of(r->young, hash);
	bool was_there =
	    r->young[at] != 0 || (r->old != NULL && r->old[slot_of(r->old, hash)] != 0);

	if (r->young[at] == 0)
		r->nyoung++;
	r->young[at] = hash;
	return was_there;
}
