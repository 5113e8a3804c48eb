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
/* The same for what getopt_long() gave back as `c`, '?' or ':'; where an option of
 * `longs` is near, it is named. */
int usage_refuse_option(
    const char *command, const struct option *longs, char *const *argv, int c);

/* What an option takes: a phrase, or one of some words, which NULL ends. */
struct usage_value {
	int option; /* 0 ends a table */
	const char *what;
	const char *const *words;
};
/* The same for the value (optarg) of the option `c`: which one, and what it takes. */
int usage_refuse_value(const char *command, const struct option *longs,
    const struct usage_value *values, int c);

/* An option that only some of a command's words take, a bit for each word. */
struct usage_users {
	int option; /* 0 ends a table; an option that is in none is every word's */
	unsigned words;
};
/* The bit of the option `c` in a set of those that were given; of 64 at most. */
uint64_t usage_given(const struct option *longs, int c);
/* EXIT_YES; or EXIT_USAGE, and which of the given options the word does not take. */
int usage_check_users(const char *command, const char *word, unsigned bit,
    const struct option *longs, const struct usage_users *users, uint64_t given);

#endif
