/*
 * state_dir.h - where weir keeps what is its own
 *
 * At start, on main's thread, before rights are dropped.
 */
#ifndef WEIR_DAEMON_STATE_DIR_H
#define WEIR_DAEMON_STATE_DIR_H

#include <sys/types.h>

#include "conf/settings.h"

/*
 * Makes it for that user ((uid_t)-1: whoever this is) alone; on a laptop what it is in,
 * too.  One that is there stays whose it is: a path written by mistake gives nothing
 * away.  0, or the exit code, and the log says what to do.
 */
int state_dir_make(
    const struct settings *set, bool is_laptop, uid_t uid, gid_t gid) MUST_CHECK;

#endif
