/*
 * anchor.h - checkpoints in a second place
 *
 * One JSON line for each, synced.  That place may be away: then they wait here, some
 * of them, and the log itself goes on; whoever asks is told.  The journal's thread,
 * which may wait for that place as long as a write takes.
 */
#ifndef WEIR_AUDIT_ANCHOR_H
#define WEIR_AUDIT_ANCHOR_H

#include <stdatomic.h>

#include "audit/logfile.h"
#include "base/loop.h"

struct anchor {
	struct logfile file; /* fd -1: not open */
	char *path;          /* owned; NULL: there is no anchor */
	int uid, gid;
	struct buf waiting;      /* lines */
	msec retry_at;           /* 0: nothing waits */
	atomic_bool is_anchored; /* what was said is there; any thread */
};

/* path may be NULL.  uid, gid: as logfile_open() */
void anchor_init(struct anchor *a, const char *path, int uid, int gid);
void anchor_fini(struct anchor *a);
/* A line with its LF; it waits for anchor_write(). */
void anchor_add(struct anchor *a, struct str line);
/* What waits, when it is time to try. */
void anchor_write(struct anchor *a, msec now);

#endif
