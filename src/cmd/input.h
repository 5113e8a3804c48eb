/*
 * input.h - a file that a command was given: its text, or why there is none
 */
#ifndef WEIR_CMD_INPUT_H
#define WEIR_CMD_INPUT_H

#include "base/str.h"

/* Adds to `to`, as much as fits there; "-" is standard input.  False after saying why. */
bool input_read(const char *command, const char *path, struct buf *to) MUST_CHECK;

#endif
