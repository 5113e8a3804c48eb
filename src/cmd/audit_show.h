/*
 * audit_show.h - one record as a line for eyes, or as JSON that a terminal may see
 *
 * Whatever the log holds, no control character comes out.
 */
#ifndef WEIR_CMD_AUDIT_SHOW_H
#define WEIR_CMD_AUDIT_SHOW_H

#include "audit/entry.h"

void audit_show(struct buf *to, const struct entry *e, bool has_color);
/* What cannot be read: why not. */
void audit_show_fault(struct buf *to, const char *why, bool has_color);
/* The line as it is, but for characters that steer a terminal: those are escaped. */
void audit_show_json(struct buf *to, struct str line);

#endif
