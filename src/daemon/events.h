/*
 * events.h - what weir records of itself: starts, reloads, commands, floods
 *
 * `system` records in the audit log, beside those of exchanges.  On main's thread.
 */
#ifndef WEIR_DAEMON_EVENTS_H
#define WEIR_DAEMON_EVENTS_H

#include "audit/journal.h"
#include "proxy/snapshot.h"
#include "state/sums.h"

/* What is recorded of, and where; all borrowed. */
struct events {
	struct journal *journal;
	const struct snapshot *snapshot; /* in force */
};

/* "start", "reload", "stop", and under which policy. */
void events_record(const struct events *e, const char *event);
/* An operator's; the log has it, too.  `source` empty: it is of none. */
void events_command(const struct events *e, const char *event, struct str tenant,
    struct str name, struct str source);
/* Takes the counts of what was not recorded one by one.  How many are left, for which the
 * journal has no place now. */
size_t events_sums(const struct events *e, struct sums *sums);

#endif
