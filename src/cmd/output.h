/*
 * output.h - standard output of a command whose reader may go away
 */
#ifndef WEIR_CMD_OUTPUT_H
#define WEIR_CMD_OUTPUT_H

#include "base/str.h"

/* Writes it out, and empties it.  False: nobody reads it, or it cannot be written. */
bool output_flush(struct buf *b) MUST_CHECK;
/* For then: EXIT_YES where its reader went away, EXIT_UNAVAILABLE after saying why. */
int output_failed(const char *command);

#endif
