/*
 * usage.h - how every subcommand says that it was called wrongly
 *
 * Subcommands read their options with getopt_long(), opterr = 0 and an option
 * string that begins with ':', so that all of them complain in the same words.
 */
#ifndef WEIR_CMD_USAGE_H
#define WEIR_CMD_USAGE_H

#include "base/str.h"

/* One sentence on stderr and where help is.  Returns EXIT_USAGE. */
int usage_refuse(const char *command, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* The same for what getopt_long() gave back as `c`: '?' or ':'. */
int usage_refuse_option(const char *command, char *const *argv, int c);

#endif
