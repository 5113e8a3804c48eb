/*
 * triple.h - three texts as one key: lengths before texts, so that no two make the same
 *
 * Each is of up to 128 bytes, as claims are; what is longer is cut to one more, so that
 * it is no shorter one's.  Pure; any thread.
 */
#ifndef WEIR_STATE_TRIPLE_H
#define WEIR_STATE_TRIPLE_H

#include "base/str.h"

#define TRIPLE_MAX 390

/* What is returned stands in `out`. */
struct str triple_make(
    char out[static TRIPLE_MAX], struct str a, struct str b, struct str c);
/* The next of its texts, which borrows from it; empty: there is none. */
struct str triple_take(struct str *rest);

#endif
