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
#include "policy/pattern.h"
#include "policy/punycode.h"

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
    "audit log.\n"
    "\n"
    "Exits 0 after a stop, 66 when FILE cannot be read, 69 when what it needs is away\n"
    "(a port, the ledger, the audit log), 78 when the configuration is wrong.\n";

static const struct option options[] = {
	{ "config", required_argument, NULL, 'c' },
	{ "allow", required_argument, NULL, 'a' },
	{ "help", no_argument, NULL, 'h' },
	{ NULL, 0, NULL, 0 },
};

/* What may stand there is what may be a rule's host without `broad`. */
static const char *
why_no_host(struct str value, struct arena *a, struct buf *text)
{
	struct pattern pattern;
	enum host_error host;
	enum pattern_error err = pattern_parse(&pattern, value, a, &host);

	switch (err) {
	case PATTERN_OK:
		if (pattern_broad_why(&pattern) == NULL)
			return NULL;
		buf_fmt(text, "it is too broad, %s", pattern_broad_why(&pattern));
		return buf_cstr(text);
	case PATTERN_HOST:
		return host_error_text(host);
	case PATTERN_UNICODE:
		buf_text(text, "write it in ASCII: ");
		return punycode_name(text, value) ? buf_cstr(text)
						  : "write its ASCII form (xn--...)";
	case PATTERN_STAR:
	case PATTERN_DOT:
	case PATTERN_CIDR:
	case PATTERN_URL:
	case PATTERN_LITERAL:
		return pattern_error_hint(err);
	}
	return NULL;
}

/* EXIT_YES, or said and how to end. */
static int
check_host(const char *value)
{
	struct arena a;
	struct buf text;
	const char *why;
	int code = EXIT_YES;

	arena_init(&a, (size_t)1 << 16);
	buf_init(&text, 1024);
	why = why_no_host(str_of(value), &a, &text);
	if (why != NULL)
		code = usage_refuse(
		    "run", "--allow takes a host, and not \"%s\": %s", value, why);
	buf_fini(&text);
	arena_fini(&a);
	return code;
}

static int
check_hosts(const struct control_options *o)
{
	int code = EXIT_YES;

	for (size_t i = 0; i < o->nallow && code == EXIT_YES; i++)
		code = check_host(o->allow[i]);
	return code;
}

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
			return usage_refuse_option("run", options, argv, opt);
		}
	}
	o.allow = allow;
	if (optind < argc)
		code = usage_refuse("run",
		    "\"%s\" is no option; a configuration is -c FILE", argv[optind]);
	else if (o.config != NULL && o.nallow > 0)
		code = usage_refuse("run",
		    "--allow is for a weir without -c; write a rule into the policy");
	else if ((code = check_hosts(&o)) == EXIT_YES)
		code = control_run(&o);
	free(allow);
	return code;
}
