/*
 * quota.h - how much may still pass
 *
 * Who passes bytes asks before, and says afterwards how many it were.  Where they come
 * from is for whoever made the quota: what is shared by threads is taken in pieces, so
 * that no byte costs a lock (state/uploads).  Belongs to one worker.
 */
#ifndef WEIR_BASE_QUOTA_H
#define WEIR_BASE_QUOTA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct quota {
	uint64_t left; /* of what was taken */
	bool is_over;  /* more was wanted than there is */
	/* Makes `left` as much as `want`, or as there is.  NULL: there is no limit. */
	void (*take)(struct quota *q, uint64_t want);
	void (*give)(struct quota *q); /* what is left goes back */
};

/* How many of `want` bytes may pass now; 0: none ever will.  NULL: all. */
static inline size_t
quota_ask(struct quota *q, size_t want)
{
	if (q == NULL || q->take == NULL)
		return want;
	if (q->left < want)
		q->take(q, want);
	q->is_over |= q->left == 0 && want > 0;
	return q->left < want ? (size_t)q->left : want;
}

/* So many of them did. */
static inline void
quota_passed(struct quota *q, size_t n)
{
	if (q != NULL && q->take != NULL)
		q->left -= n;
}

/* Nothing more passes meanwhile: what was taken and not used is for others. */
static inline void
quota_rest(struct quota *q)
{
	if (q != NULL && q->take != NULL && q->left > 0)
		q->give(q);
}

#endif
