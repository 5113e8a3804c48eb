/*
 * main.c - which subcommand; and where to look for what
 *
 * weir stands between untrusted code and the internet.  Its tree, from what
 * knows nothing of a proxy to what is one; each layer uses only those above it
 * here that src/LAYERS allows:
 *
 *	base	text, memory, addresses, the loop; guard: which addresses may be dialled
 *	wire	bytes to meaning and back: HTTP/1.1, hosts, URLs, TLS hellos, DNS, JSON
 *	conf	files people write: YAML with places, weir.yaml, all errors at once
 *	state	what workers share and change: limits of each client
 *	net	sockets: listeners, streams, names to addresses, dialling, relaying
 *	policy	may this be asked, dialled, carried?  pure: `check`, `explain` run it
 *	audit	what is written down, without its secrets, in a chain
 *	proxy	one exchange from its first byte to its record
 *	daemon	workers, reload, drain, health
 *	cmd	subcommands: a file and a row of the table below for each
 *
 * Begin with proxy/exchange for the way of a request, with policy/match for what
 * decides it, with the .def files for every setting, reason, counter and error.
 */
#include "cmd/main.h"

#include <stdio.h>
#include <string.h>

#include "cmd/version.h"
#include "conf/report.h"

static const struct {
	const char *name;
	int (*run)(int argc, char **argv);
	const char *help;
} commands[] = {
	{ "audit", cmd_audit, "the audit log: is it in order, what is in it, how much" },
	{ "ca", cmd_ca, "make and replace the CA that answers in place of origins" },
	{ "check", cmd_check, "say all that is wrong with configuration and policies" },
	{ "ctl", cmd_ctl, "an operator's commands to a running weir" },
	{ "env", cmd_env, "the variables that make programs use weir and trust its CA" },
	{ "explain", cmd_explain, "what would happen to a request, and why" },
	{ "forward", cmd_forward,
	    "in a sandbox without a network: a port for weir's socket" },
	{ "ledger", cmd_ledger,
	    "what was spent: show, export, verify, correct, reconcile" },
	{ "meter", cmd_meter, "what a recorded model call cost, or why it may not run" },
	{ "redact", cmd_redact,
	    "copy standard input to standard output without its secrets" },
	{ "run", cmd_run, "the proxy: decide, dial, relay, record" },
	{ "token", cmd_token, "make session tokens and their keys, look at tokens" },
	{ "verify", cmd_verify, "inside a sandbox: is weir the only way out of it" },
};

#define COMMANDS (sizeof(commands) / sizeof(commands[0]))

static int
print_usage(FILE *to, int code)
{
	fputs("usage: weir COMMAND [options]\n\n", to);
	for (size_t i = 0; i < COMMANDS; i++)
		fprintf(to, "  %-10s %s\n", commands[i].name, commands[i].help);
	fputs("\nweir COMMAND --help says more; weir --version names what it runs on.\n",
	    to);
	return code;
}

static int
print_version(void)
{
	struct buf b;

	buf_init(&b, 4096);
	version_print(&b);
	fputs(buf_cstr(&b), stdout);
	buf_fini(&b);
	return EXIT_YES;
}

static int
unknown_command(const char *name)
{
	const char *names[COMMANDS];

	for (size_t i = 0; i < COMMANDS; i++)
		names[i] = commands[i].name;
	const char *near = report_suggest(str_of(name), names, COMMANDS);
	fprintf(stderr, "weir: there is no command \"%s\"", name);
	if (near != NULL)
		fprintf(stderr, "; did you mean \"%s\"?", near);
	fputs("\nsee: weir help\n", stderr);
	return EXIT_USAGE;
}

/* argv[0] is the subcommand's name. */
static int
run_command(int argc, char **argv)
{
	for (size_t i = 0; i < COMMANDS; i++)
		if (strcmp(argv[0], commands[i].name) == 0)
			return commands[i].run(argc, argv);
	return unknown_command(argv[0]);
}

static bool
is_one_of(const char *word, const char *a, const char *b, const char *c)
{
	return strcmp(word, a) == 0 || strcmp(word, b) == 0 || strcmp(word, c) == 0;
}

static int
run(int argc, char **argv)
{
	static char help_option[] = "--help";

	if (argc < 2)
		return print_usage(stderr, EXIT_USAGE);
	if (is_one_of(argv[1], "--version", "-V", "version"))
		return print_version();
	if (!is_one_of(argv[1], "help", "--help", "-h"))
		return run_command(argc - 1, argv + 1);
	if (argc < 3 || is_one_of(argv[2], "help", "--help", "-h"))
		return print_usage(stdout, EXIT_YES);
	return run_command(2, (char *[]){ argv[2], help_option, NULL });
}

/* A yes that nobody could be told, such as half an export on a full disk, is none. */
int
main(int argc, char **argv)
{
	int code = run(argc, argv);

	if (fflush(stdout) == 0 && !ferror(stdout))
		return code;
	fputs("weir: not all of the answer could be written\n", stderr);
	return code == EXIT_YES ? EXIT_UNAVAILABLE : code;
}
