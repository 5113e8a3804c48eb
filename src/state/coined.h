/*
 * coined.h - how many names a client may make up
 *
 * Under a wildcard the client chooses the labels, and each name that is looked up tells
 * some dozen bytes of its choice to whoever serves the names below.  So new ones are
 * counted for each session, or client where there is none: so many an hour, all of which
 * may come at once.  A name that was asked for lately is no new one.  Shared by all
 * workers, sharded by who asks; any thread.
 */
#ifndef WEIR_STATE_COINED_H
#define WEIR_STATE_COINED_H

#include "base/loop.h"
#include "base/str.h"

struct coined;

#define COINED_RECENT 256 /* names of one asker that are known not to be new */

struct coined *coined_new(void);
void coined_free(struct coined *all);

/*
 * Milliseconds until `who` may have the name looked up: 0: now, and it is counted if it
 * is new.  per_hour 0: no limit.
 */
msec coined_wait(
    struct coined *all, struct str who, struct str name, int64_t per_hour, msec now);

#endif
