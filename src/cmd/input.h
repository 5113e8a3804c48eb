/*
 * input.h - a file that a command was given: its text, or why there is none
 */
#ifndef WEIR_CMD_INPUT_H
#define WEIR_CMD_INPUT_H

#include "base/str.h"

/* Adds to `to`, as much as fits there; "-" is standard input.  False after saying why. */
bool input_read(const char *command, const char *path, struct buf *to) MUST_CHECK;

/* Without the blanks and ends of lines behind it; borrows from it. */
struct str input_line(struct str text);
/*
 * The one line of visible ASCII that such a file holds, a token or a password: *out
 * stands in `to`, which is wiped when it goes.  EXIT_YES; or the exit code, after saying
 * why.
 */
int input_token(
    const char *command, const char *path, struct buf *to, struct str *out) MUST_CHECK;

#endif
