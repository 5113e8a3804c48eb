/*
 * seal.h - what a line of the audit log ends with: its prev and its mac
 *
 * As chain_seal() writes them, and nothing else: a line that does not end so is torn,
 * or is none of weir's.  Pure; any thread.
 */
#ifndef WEIR_AUDIT_SEAL_H
#define WEIR_AUDIT_SEAL_H

#include "base/str.h"

struct seal {
	struct str prev, mac; /* 64 hex digits; mac: empty where there is none */
	struct str body;      /* what the mac is over */
};

/* False: the line is not whole. */
bool seal_read(struct seal *s, struct str line) MUST_CHECK;
/* The same, of a line of which nothing else is asked. */
bool seal_is_whole(struct str line);

#endif
