/*
 * sums.h - what one client can make without end: counted, not written down one by one
 *
 * A row for each session, or client where there is none, and reason.  Rows are taken
 * out now and then and become records; a row that cannot be one yet counts on.  There
 * is a bound on rows: what more there is shares one, which says no more than how many.
 * Shared by all workers; any thread.
 */
#ifndef WEIR_STATE_SUMS_H
#define WEIR_STATE_SUMS_H

#include "base/loop.h"

struct sums;

struct sum {
	const char *reason, *door;      /* static; door NULL: of the shared row */
	struct str issuer, tenant, sid; /* sid empty: no session */
	struct str client;
	uint64_t count;
	usec from, to; /* the first one, the last one */
};

struct sums *sums_new(size_t most);
void sums_free(struct sums *s);

/* One more like that, now; its count and times are not looked at. */
void sums_add(struct sums *s, const struct sum *one, usec now);
/*
 * take() for each row; where it returns false, the row stays and counts on.  The row is
 * borrowed for the call.  How many stayed.
 */
size_t sums_take(
    struct sums *s, bool (*take)(void *arg, const struct sum *row), void *arg);

#endif
