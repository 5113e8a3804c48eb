/*
 * usage.h - how every subcommand says that it was called wrongly
 *
 * Subcommands read their options with getopt_long(), opterr = 0 and an option
 * string that begins with ':', so that all of them complain in the same words.
 */
#ifndef WEIR_CMD_USAGE_H
#define WEIR_CMD_USAGE_H

#include <getopt.h>

#include "base/str.h"

/* One sentence on stderr and where help is.  Returns EXIT_USAGE. */
int usage_refuse(const char *command, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* What an option takes: a phrase, or one of some words, which NULL ends. */
struct usage_value {
	int option; /* 0 ends a table */
	const char *what;
	const char *const *words;
};

/* The same for the value (optarg) of the option `c`: which one, and what it takes. */
int usage_refuse_value(const char *command, const struct option *longs,
    const struct usage_value *values, int c);
/* The same for what getopt_long() gave back as `c`: '?' or ':'. */
int usage_refuse_option(const char *command, char *const *argv, int c);

#endif
