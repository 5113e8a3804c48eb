/*
 * newfile.h - a file that a command makes
 */
#ifndef WEIR_CMD_NEWFILE_H
#define WEIR_CMD_NEWFILE_H

#include <sys/types.h>

#include "base/str.h"

/* A new file; false after saying why, and there is none then. */
bool newfile_write(
    const char *command, const char *path, mode_t mode, struct str text) MUST_CHECK;
/* The same in place of what is there, in one step. */
bool newfile_replace(
    const char *command, const char *path, mode_t mode, struct str text) MUST_CHECK;

#endif
