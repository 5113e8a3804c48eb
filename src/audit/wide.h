/*
 * wide.h - secrets in text of which each second byte is NUL
 *
 * UTF-16 of either order, as it stands in dumps, registries and logs of Windows.  A run
 * of it ends with its line.  Any thread.
 */
#ifndef WEIR_AUDIT_WIDE_H
#define WEIR_AUDIT_WIDE_H

#include "audit/known.h"
#include "audit/piece.h"

/* Adds what a scan finds in such runs, and what weir holds; known may be NULL. */
void wide_find(struct scan *s, const struct known *known, struct str text);

#endif
