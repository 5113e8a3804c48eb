/*
 * backward.h - the lines of a file from its end to its beginning
 *
 * In bounded memory: of a line longer than LINES_MAX only where it begins is told.
 */
#ifndef WEIR_CMD_BACKWARD_H
#define WEIR_CMD_BACKWARD_H

#include <sys/types.h>

#include "audit/lines.h"

struct backward {
	int fd;          /* borrowed */
	struct buf held; /* bytes from `from` on, lines not given out yet */
	off_t from;
	bool is_too_long; /* the line whose end was seen */
	bool is_done;
};

/* From the last LF before `end` on: what is behind that is no line yet. */
void backward_init(struct backward *b, int fd, off_t end);
void backward_fini(struct backward *b);
/* Where a line would begin that is not there yet; before the first backward_next(). */
off_t backward_end(const struct backward *b);
/* The line before, and where it begins.  False: there is none, or it cannot be read. */
bool backward_next(struct backward *b, struct str *line, off_t *at) MUST_CHECK;

#endif
