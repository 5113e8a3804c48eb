/*
 * anchor.h - checkpoints in a second place
 *
 * One JSON line for each, synced, on a thread of its own: that place may be away, or
 * hang in the kernel (a file system over a network, a frozen one), and neither the log
 * nor the traffic waits for it.  What is to be said there waits here, bounded, and
 * whoever asks is told.
 */
#ifndef WEIR_AUDIT_ANCHOR_H
#define WEIR_AUDIT_ANCHOR_H

#include "audit/logfile.h"
#include "base/loop.h"

struct anchor;

/*
 * NULL where path is: there is no anchor, and so it is fine everywhere below.  The file
 * is opened at once, while there are the rights to; uid, gid: as logfile_open().
 */
struct anchor *anchor_new(const char *path, int uid, int gid);
/* After rights are dropped. */
void anchor_start(struct anchor *a);
/* Says what waits; a thread that hangs is waited for a moment, and left where it is. */
void anchor_close(struct anchor *a);

/* A line with its LF, not to be said before anchor_send(); the journal's thread. */
void anchor_add(struct anchor *a, struct str line);
/* What was added stands in the log now. */
void anchor_send(struct anchor *a);

/* Any thread: */
bool anchor_is_anchored(struct anchor *a); /* the last try did not fail */
/* Each second: the log says so when its thread hangs. */
void anchor_watch(struct anchor *a, msec now);

#endif
