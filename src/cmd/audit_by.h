/*
 * audit_by.h - what weir audit stats counts by
 *
 * Pure; any thread.
 */
#ifndef WEIR_CMD_AUDIT_BY_H
#define WEIR_CMD_AUDIT_BY_H

#include "audit/entry.h"

#define AUDIT_BY_MAX 1024 /* bytes of a key that are looked at */

struct audit_by; /* a constant */

const struct audit_by *audit_by_find(const char *name); /* NULL: nothing is called that */
/* What the entry belongs to; it borrows from either.  Empty: to nothing. */
struct str audit_by_key(
    const struct audit_by *by, const struct entry *e, struct buf *scratch);

#endif
