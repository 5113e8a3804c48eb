/*
 * recent.h - was this seen lately?
 *
 * A set that remembers at least the last RECENT_LEAST texts, in bounded memory: of each
 * a keyed hash of 64 bits.  One thread.
 */
#ifndef WEIR_AUDIT_RECENT_H
#define WEIR_AUDIT_RECENT_H

#include "base/str.h"

#define RECENT_LEAST ((size_t)1 << 19)

struct recent {
	uint64_t *young, *old; /* tables of hashes; NULL: none yet */
	size_t nyoung;
};

void recent_init(struct recent *r);
void recent_fini(struct recent *r);
/* True: it was there.  It is there now. */
bool recent_add(struct recent *r, struct str text);

#endif
