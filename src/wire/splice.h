/*
 * splice.h - changing a text in a few places and nowhere else
 *
 * A request that weir lowers a limit in, or takes a tool out of, reaches the provider
 * with every other byte as the client wrote it.  So changes are kept as places in the
 * original, in any order, and applied once.
 *
 * Pure; any thread.
 */
#ifndef WEIR_WIRE_SPLICE_H
#define WEIR_WIRE_SPLICE_H

#include "base/str.h"

#define SPLICES_MAX 1024

struct splice {
	size_t at, removed; /* of the original */
	struct str put;     /* borrowed until it is applied */
};

struct splices {
	struct splice all[SPLICES_MAX]; /* by place */
	size_t n;
	bool is_over; /* there were more, or two of them overlap: apply nothing */
};

void splices_add(struct splices *s, size_t at, size_t removed, struct str put);
size_t splices_length(const struct splices *s, size_t original); /* of what comes out */
/* Writes the changed text; false when it is_over or does not fit into `to`. */
bool splices_apply(
    const struct splices *s, struct str original, struct buf *to) MUST_CHECK;

#endif
