/*
 * follow.h - a log as it grows, over rotation and truncation
 *
 * The file that follows one is the one whose first record names the last record of it,
 * whatever either is called; where none does, the one at the log's path, once something
 * is in it.  A line without its end waits for the rest.
 *
 * It waits by inotify, and looks by itself now and then, for file systems that do not
 * tell.  One thread.
 */
#ifndef WEIR_CMD_FOLLOW_H
#define WEIR_CMD_FOLLOW_H

#include <signal.h>
#include <sys/types.h>

#include "audit/chain.h"
#include "audit/lines.h"

struct follow {
	const char *path; /* the log's; borrowed */
	int fd;           /* -1: it is not there yet */
	off_t at;         /* how far it was read */
	int error;        /* why it could not be read further; 0: it could */
	struct lines lines;
	struct chain last; /* its head: of the last whole record */
	bool has_last;
	int notify; /* -1: this system does not tell */
};

enum followed { FOLLOW_LINE, FOLLOW_IDLE, FOLLOW_CUT /* the file was truncated */ };

void follow_init(struct follow *f, const char *path);
void follow_fini(struct follow *f);
/* Goes on in this file, from there; fd is f's now. */
void follow_file(struct follow *f, int fd, off_t at);
/* The next whole line of this file, good until the next call; IDLE: there is none now. */
enum followed follow_here(struct follow *f, struct audit_line *out) MUST_CHECK;
/* The same, and on in the files that follow it. */
enum followed follow_next(struct follow *f, struct audit_line *out) MUST_CHECK;
/* What stands at the end of this file without an LF: a line whose rest may come. */
bool follow_rest(struct follow *f, struct audit_line *out) MUST_CHECK;
/*
 * Until there may be more.  Signals of `mask` that are blocked are let through
 * meanwhile.  False: one came, or nobody reads standard output any more.
 */
bool follow_wait(struct follow *f, const sigset_t *mask) MUST_CHECK;

#endif
