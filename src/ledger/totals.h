/*
 * totals.h - numbers by name, that several may add to: the text of a LEDGER_NOTE_TOTALS
 *
 * Each is its name and its decimal number, both with their length in front (key.h).
 * There are TOTALS_MOST names; what is added under others is TOTALS_OTHER's.  Redis has
 * the same in small.lua.  Pure; any thread.
 */
#ifndef WEIR_LEDGER_TOTALS_H
#define WEIR_LEDGER_TOTALS_H

#include "base/str.h"

#define TOTALS_MOST 256
#define TOTALS_OTHER "*"
#define TOTALS_TEXT ((size_t)64 << 10) /* all of them, their names short */

void totals_put(struct buf *to, struct str name, int64_t n);
bool totals_next(struct str *rest, struct str *name, int64_t *n); /* false: no more */

/* Appends what is in `now`, with `more` added to it. */
void totals_add(struct str now, struct str more, struct buf *out);

#endif
