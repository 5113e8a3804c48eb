/*
 * siblings.h - the files beside a log that may be of it, and where each belongs
 *
 * Weir cuts a log itself (PATH.20310405T060708Z), or somebody moves it away (PATH.1,
 * PATH-20310405): whatever begins with its name may be of it.  Which file follows which,
 * their first and last records say.  Blocking; any thread.
 */
#ifndef WEIR_AUDIT_SIBLINGS_H
#define WEIR_AUDIT_SIBLINGS_H

#include <dirent.h>
#include <sys/types.h>

#include "audit/seal.h"

#define SIBLING_ROOM ((size_t)512 << 10) /* holds a whole line, wherever it is cut */

/* A path without its directory. */
const char *siblings_base(const char *path);
/* That name in the directory of `path`; owned. */
char *siblings_path(const char *path, const char *name);

/* The directory of `path`, for closedir(); NULL: errno says why. */
DIR *siblings_open(const char *path);
/* The path of the next sibling; owned.  NULL: there is no other. */
char *siblings_next(DIR *d, const char *path);

/*
 * The first record of a file, or its last one: what is torn before or behind it is passed
 * over.  `line` lives in `text`, which has SIBLING_ROOM.  False: none is there.
 */
bool sibling_first(int fd, struct buf *text, struct str *line, struct seal *s) MUST_CHECK;
bool sibling_last(
    int fd, off_t size, struct buf *text, struct str *line, struct seal *s) MUST_CHECK;

#endif
