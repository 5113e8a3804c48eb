/*
 * main.h - the subcommands and how they end
 */
#ifndef WEIR_CMD_MAIN_H
#define WEIR_CMD_MAIN_H

/* Exit codes: 1 means "the answer is no". */
enum {
	EXIT_YES = 0,
	EXIT_NO = 1,
	EXIT_USAGE = 64,       /* EX_USAGE */
	EXIT_NOINPUT = 66,     /* EX_NOINPUT */
	EXIT_UNAVAILABLE = 69, /* a dependency is away */
	EXIT_SOFTWARE = 70,    /* our own bug */
	EXIT_CONFIG = 78,      /* configuration or policy invalid */
};

/* argv[0] is the subcommand's name. */
int cmd_run(int argc, char **argv);
int cmd_check(int argc, char **argv);
int cmd_explain(int argc, char **argv);
int cmd_redact(int argc, char **argv);

#endif
