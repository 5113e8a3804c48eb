/*
 * segments.h - a log in several files: cut, gone on with, read back
 *
 * A log goes on for ever, and its file does not.  The first record of each file names
 * the last one of the file before it, and by that it is found again (siblings.h),
 * whatever its name is by then.  Blocking; the journal's thread, or before there is one.
 */
#ifndef WEIR_AUDIT_SEGMENTS_H
#define WEIR_AUDIT_SEGMENTS_H

#include "audit/chain.h"
#include "audit/logfile.h"
#include "audit/past.h"
#include "base/loop.h"

/*
 * Shows `p` the lines since weir last began or ended, over earlier files where it did so
 * in one.  There is a bound, and an earlier file may be gone: the log says so then.
 * `head`: of the chain, where the file is empty.
 */
void segments_recall(const struct logfile *f, const char *head, struct past *p);

/*
 * Moves the file at `path` away: *to is its new name, owned.  0, or errno.
 */
int segments_cut(const char *path, usec now, char **to) MUST_CHECK;

/*
 * The file that weir cut last, where it died before the next one had a line: *to is its
 * name, owned, and `head` the digest of its last line.  False: there is none.
 */
bool segments_last(const char *path, char **to, char head[static CHAIN_HEX]);

/* The file and whatever beside it may be of the same log. */
size_t segments_count(const char *path);

/* Renames it, and replaces nothing: 0, or errno. */
int segments_move(const char *from, const char *to) MUST_CHECK;

/* The names in the directory of this path outlive a loss of power. */
void segments_sync(const char *path);

#endif
