/*
 * past.h - what an audit log says of the weir that wrote it before
 *
 * Shown the lines of a log from its last `start` on, in order, it knows which exchanges
 * are open at the end: theirs is an `open` record, and no final one.  Each of them gets
 * its final record here: what was last known of it, and that it is lost.  So every `open`
 * has exactly one final record, however often weir dies: the records of what is lost
 * stand before the next `start`.
 *
 * It also counts the lines, on from the last checkpoint.  One thread.
 */
#ifndef WEIR_AUDIT_PAST_H
#define WEIR_AUDIT_PAST_H

#include "base/map.h"

struct past {
	struct map open; /* id -> struct buf *: the last line about it */
	uint64_t lines;  /* of the chain, as far as it is known */
	size_t at;       /* of past_next() */
};

void past_init(struct past *p);
void past_fini(struct past *p);
/* A whole line, without its LF; a torn one is none, and not shown. */
void past_see(struct past *p, struct str line);
/*
 * Appends the final record of one that is open, as chain_seal() wants it; false: there
 * is no other.
 */
bool past_next(struct past *p, uint64_t seq, struct buf *to);

/*
 * Where the last line begins at which a weir began or ended, so that nothing of what is
 * before is open; false: there is none in this text.
 */
bool past_find_boundary(struct str text, size_t *at);

#endif
