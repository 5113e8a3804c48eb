/*
 * usage.c - how every subcommand says that it was called wrongly
 */
#include "cmd/usage.h"

#include <getopt.h>
#include <stdio.h>

#include "cmd/main.h"

int
usage_refuse(const char *command, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	fprintf(stderr, "weir %s: ", command);
	vfprintf(stderr, fmt, ap);
	fprintf(stderr, "\nsee: weir %s --help\n", command);
	va_end(ap);
	return EXIT_USAGE;
}

int
usage_refuse_option(const char *command, char *const *argv, int c)
{
	const char *word = argv[optind - 1];

	if (c == ':')
		return usage_refuse(command, "a value is missing for %s", word);
	if (word[0] == '-' && word[1] == '-')
		return usage_refuse(command, "there is no option %s", word);
	return usage_refuse(command, "there is no option -%c", optopt);
}
