/*
 * audit_filter.h - which records weir audit was asked for
 */
#ifndef WEIR_CMD_AUDIT_FILTER_H
#define WEIR_CMD_AUDIT_FILTER_H

#include "cmd/audit.h"

/* Do --since and --until let this one through? */
bool audit_filter_is_in_time(const struct audit_asked *o, const struct entry *e);
/* Is nothing said but how many? */
bool audit_filter_is_open(const struct audit_asked *o);
bool audit_filter_fits(const struct audit_asked *o, const struct entry *e);

#endif
