/*
 * watch.h - files that others replace: told when one is not what was read
 *
 * A key is replaced by a rename, and in Kubernetes by that of a symlink beside it, so
 * the directories are watched and the files looked at: which one was named by the
 * kernel does not matter.  What no event tells of (a network file system, a directory
 * of the path that was itself replaced) the owner finds by looking now and then.
 *
 * Belongs to one loop.
 */
#ifndef WEIR_DAEMON_WATCH_H
#define WEIR_DAEMON_WATCH_H

#include "base/loop.h"
#include "conf/secret.h"

struct watch;

/* `changed` runs from the loop, once for what was changed together. */
struct watch *watch_new(struct loop *loop, void (*changed)(void *arg), void *arg);
void watch_free(struct watch *w); /* NULL is fine */

/* From now on these, each as it was read; borrowed until the next call. */
void watch_set(struct watch *w, const struct secret_files *files);
/* Is one of them other than it was?  Then changed() has run. */
void watch_look(struct watch *w);

#endif
