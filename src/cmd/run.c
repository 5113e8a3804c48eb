/*
 * run.c - weir run: the proxy
 */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/str.h"
#include "cmd/main.h"
#include "cmd/usage.h"
#include "daemon/control.h"

static const char help[] =
    "usage: weir run [-c FILE] [--allow HOST]...\n"
    "\n"
    "Serves in the foreground; logs to standard error.\n"
    "\n"
    "  -c, --config FILE  the configuration (weir.yaml(5)); without it a laptop's "
    "defaults:\n"
    "                     a proxy on 127.0.0.1:3128 and [::1]:3128 that lets out "
    "example.com only\n"
    "      --allow HOST   without -c: also let out https on 443 and http on 80 to HOST\n"
    "      --help         this text\n"
    "\n"
    "SIGTERM drains and stops, a second one stops at once; SIGHUP reloads; SIGUSR1 "
    "reopens the\n"
    "audit log.\n";

static const struct option options[] = {
	{ "config", required_argument, NULL, 'c' },
	{ "allow", required_argument, NULL, 'a' },
	{ "help", no_argument, NULL, 'h' },
	{ NULL, 0, NULL, 0 },
};

int
cmd_run(int argc, char **argv)
{
	struct control_options o = { 0 };
	const char **allow = mem_zalloc((size_t)argc * sizeof(*allow));
	int opt, code;

	opterr = 0;
	while ((opt = getopt_long(argc, argv, ":c:h", options, NULL)) != -1) {
		switch (opt) {
		case 'c':
			o.config = optarg;
			break;
		case 'a':
			allow[o.nallow++] = optarg;
			break;
		case 'h':
			fputs(help, stdout);
			free(allow);
			return EXIT_YES;
		default:
			free(allow);
			return usage_refuse_option("run", argv, opt);
		}
	}
	o.allow = allow;
	if (optind < argc)
		code = usage_refuse("run",
		    "\"%s\" is no option; a configuration is -c FILE", argv[optind]);
	else if (o.config != NULL && o.nallow > 0)
		code = usage_refuse("run",
		    "--allow is for a weir without -c; write a rule into the policy");
	else
		code = control_run(&o);
	free(allow);
	return code;
}
