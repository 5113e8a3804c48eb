/*
 * main.c - which subcommand
 */
#include <stdio.h>
#include <string.h>

#include "cmd/main.h"

static const struct {
	const char *name;
	int (*run)(int argc, char **argv);
	const char *help;
} commands[] = {
	{ "redact", cmd_redact,
	    "copy standard input to standard output without its secrets" },
	{ NULL, NULL, NULL },
};

static void
usage(FILE *to)
{
	fputs("usage: weir COMMAND [options]\n", to);
	for (size_t i = 0; commands[i].name != NULL; i++)
		fprintf(to, "  %-8s %s\n", commands[i].name, commands[i].help);
}

int
main(int argc, char **argv)
{
	if (argc > 1)
		for (size_t i = 0; commands[i].name != NULL; i++)
			if (strcmp(argv[1], commands[i].name) == 0)
				return commands[i].run(argc - 1, argv + 1);
	usage(stderr);
	return EXIT_USAGE;
}
