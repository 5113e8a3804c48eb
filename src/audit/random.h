/*
 * random.h - does a run of letters and digits look like a key that nobody named
 *
 * Only where a word near it speaks of secrets, and never what is known to look
 * random and to be none: digests, ids, keys that are public, paths, names.
 * Pure; any thread.
 */
#ifndef WEIR_AUDIT_RANDOM_H
#define WEIR_AUDIT_RANDOM_H

#include "base/str.h"

#define RANDOM_MIN 20 /* bytes: of less, chance says too little */

#define RANDOM_BEFORE 64 /* so much of its line before a run is looked at */

/* The run is [from, to) of a line, or of its last RANDOM_BEFORE bytes before it.  *work
 * grows by what it cost. */
bool random_is_secret(struct str line, size_t from, size_t to, size_t *work);

#endif
