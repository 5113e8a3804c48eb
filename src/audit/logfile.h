/*
 * logfile.h - the file under a journal: opened, locked, appended to, moved away
 *
 * One weir writes one file: an exclusive lock keeps a second one from breaking
 * the chain.  A path that is no regular file (a pipe, a device) is written to,
 * and neither read, locked nor synced.  One thread at a time.
 */
#ifndef WEIR_AUDIT_LOGFILE_H
#define WEIR_AUDIT_LOGFILE_H

#include <sys/types.h>

#include "base/str.h"

#define LOGFILE_TAIL_ROOM ((size_t)2 << 20) /* what logfile_tail() gives fits */

struct logfile {
	const char *path; /* "-": stdout; the journal's */
	int fd;
	bool is_regular;
	dev_t dev;
	ino_t ino;
	int patience_ms; /* with a pipe that is full; the journal may lower it */
};

/*
 * 0, or the errno that says why not; *f is then as it was.  uid, gid: whose a new
 * file will be, -1: ours.
 */
int logfile_open(struct logfile *f, const char *path, int uid, int gid) MUST_CHECK;
void logfile_complain(const char *path, int error); /* logs it, with the remedy */
void logfile_close(struct logfile *f);

/*
 * The end of the file, from the beginning of a line on; nothing where it is no
 * regular one.  Not 0: it cannot be read, or no line ends where one of an audit
 * log would (EINVAL).
 */
int logfile_tail(const struct logfile *f, struct buf *end, bool *is_all) MUST_CHECK;

/* Up to n bytes from there on; fewer: it ends there, or cannot be read further. */
void logfile_read(int fd, off_t from, size_t n, struct buf *to);

/*
 * Writes what it can; fewer bytes than given: errno says why it stopped.  A pipe
 * that nobody empties stops it, too, after a moment (EAGAIN).
 */
size_t logfile_write(const struct logfile *f, struct str bytes);
/* Takes back the last n bytes written; without the right to, they stay. */
void logfile_take_back(const struct logfile *f, size_t n);
/* A file that ends in the middle of a line ends with that line now. */
void logfile_end_line(const struct logfile *f);
bool logfile_sync(const struct logfile *f) MUST_CHECK;
/* Bytes that may be written on its file system, and that it has in all; false: that is
 * not known, or it is no regular file. */
bool logfile_room(const struct logfile *f, int64_t *free, int64_t *size) MUST_CHECK;

off_t logfile_size(const struct logfile *f); /* in bytes; 0: no regular file */
/* Another file stands at the path now, or none. */
bool logfile_is_moved(const struct logfile *f);
/* What is written now can be read by nobody: the last name of the file is gone. */
bool logfile_is_removed(const struct logfile *f);

#endif
