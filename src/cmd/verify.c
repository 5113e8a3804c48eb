/*
 * verify.c - weir verify: run inside a sandbox, is weir the only way out of it
 */
#include <getopt.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "cmd/main.h"
#include "cmd/plan.h"
#include "cmd/usage.h"
#include "cmd/verify_print.h"

#define PROBES_MAX 512
#define STACK ((size_t)512 << 10) /* the system's resolver wants some */
#define OUT_MAX ((size_t)1 << 20)
#define BETWEEN_MS 200 /* passes, while it is waited for them to agree */

static const char help[] =
    "usage: weir verify --allow HOST [door]... [option]...\n"
    "\n"
    "Run inside the sandbox: proves that allowed requests pass through weir, and that\n"
    "every way around it fails.\n"
    "\n"
    "Doors (default: the proxy of https_proxy):\n"
    "      --proxy AT, --gateway AT, --socks5 AT\n"
    "                           AT is HOST:PORT or unix:PATH; of the first two also\n"
    "                           https://HOST:PORT, of the third tls:HOST:PORT\n"
    "      --dns ADDRESS[:PORT] weir's DNS door\n"
    "      --transparent        connections are brought to weir on their way\n"
    "\n"
    "What is tried (each may be repeated):\n"
    "      --allow HOST[:PORT]  policy allows it over https\n"
    "      --deny HOST[:PORT]   policy does not (default: example.net)\n"
    "      --direct ADDR:PORT   must not be reached over TCP\n"
    "      --udp ADDR:PORT      must not answer over UDP\n"
    "      --nameserver ADDR    must not answer over UDP, TCP or ICMP\n"
    "      --metadata ADDR      must not be reached on port 80, nor by the proxy\n"
    "                           (defaults of these four: public and well known ones)\n"
    "      --host ADDR          made the sandbox's network, and must not answer\n"
    "                           (default: the first address of each)\n"
    "      --own PORT           of another user, and meant to be on this loopback\n"
    "\n"
    "      --sandbox            also look for what a sandbox must not hold: secrets,\n"
    "                           rights, engine sockets, weir itself\n"
    "      --token-file FILE    the session token for the doors\n"
    "      --wait DURATION      try again until all agree; leaking at the end of it "
    "fails\n"
    "      --timeout DURATION   for each probe; allowed ones have twice that (2s)\n"
    "      --allow-unsure       what could not be tried does not fail\n"
    "      --json               one JSON object\n"
    "      --help               this text\n"
    "\n"
    "Exits 0 when all holds, 1 when something leaks, does not pass, or could not be\n"
    "tried (but for --allow-unsure), 66 when a file cannot be read.\n";

struct verify {
	struct plan plan;
	struct probe probe[PROBES_MAX];
	size_t n;
	bool is_crowded; /* there were more */
	msec wait_ms;
	bool looks_at_sandbox, allows_unsure, as_json;
};

/* ---- probes of a plan ---- */

static void
add(struct verify *v, const struct probe_row *row, const char *target)
{
	v->is_crowded = v->n == PROBES_MAX;
	if (!v->is_crowded)
		v->probe[v->n++] = (struct probe){
			.row = row,
			.plan = &v->plan.is,
			.target = target,
		};
}

static void
grow_row(struct verify *v, const struct probe_row *row)
{
	const struct probe_targets *over = &v->plan.is.over[row->over];

	if (row->over == OVER_ONCE)
		add(v, row, NULL);
	for (size_t i = 0; i < over->n; i++)
		add(v, row, over->p[i]);
}

static void
grow(struct verify *v, const struct probe_rows *rows)
{
	for (size_t i = 0; i < rows->n; i++)
		if (probe_row_applies(&rows->p[i], &v->plan.is))
			grow_row(v, &rows->p[i]);
}

/* ---- one pass: all at once ---- */

static void *
run_probe(void *arg)
{
	struct probe *p = arg;

	p->row->run(p);
	return NULL;
}

static void
run_probes(struct verify *v)
{
	pthread_t thread[PROBES_MAX];
	bool is_apart[PROBES_MAX] = { false };
	pthread_attr_t attr;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK);
	for (size_t i = 0; i < v->n; i++) {
		v->probe[i].result = PROBE_UNSURE;
		v->probe[i].mend = NULL;
		is_apart[i] =
		    pthread_create(&thread[i], &attr, run_probe, &v->probe[i]) == 0;
	}
	for (size_t i = 0; i < v->n; i++) /* beyond a limit of threads: one by one */
		if (is_apart[i])
			pthread_join(thread[i], NULL);
		else
			run_probe(&v->probe[i]);
	pthread_attr_destroy(&attr);
}

static bool
holds(const struct verify *v)
{
	struct verify_sum sum = verify_count(v->probe, v->n);

	return sum.leaks == 0 && sum.failed == 0 && (sum.unsure == 0 || v->allows_unsure);
}

static void
rest(void)
{
	struct timespec t = { .tv_nsec = BETWEEN_MS * 1000000L };

	nanosleep(&t, NULL);
}

/* The last pass is what counts: all in one, or none. */
static bool
run_passes(struct verify *v)
{
	usec end = clock_mono_us() + (usec)v->wait_ms * 1000;

	run_probes(v);
	while (!holds(v) && clock_mono_us() < end) {
		rest();
		run_probes(v);
	}
	return holds(v);
}

static int
run(struct verify *v)
{
	struct buf out;
	int code;

	grow(v, &probe_doors);
	grow(v, &probe_ways);
	grow(v, &probe_locals);
	if (v->looks_at_sandbox)
		grow(v, &probe_sandboxes);
	if (v->is_crowded) /* what was not tried did not hold */
		return usage_refuse("verify",
		    "that makes more than %d probes: name fewer targets", PROBES_MAX);
	code = run_passes(v) ? EXIT_YES : EXIT_NO;
	buf_init(&out, OUT_MAX);
	if (v->as_json)
		verify_print_json(&out, v->probe, v->n, code == EXIT_YES);
	else
		verify_print(&out, v->probe, v->n);
	fwrite(out.p, 1, out.n, stdout);
	buf_fini(&out);
	return code;
}

/* ---- what was asked for ---- */

static const struct {
	const char *unit;
	msec ms;
} units[] = { { "ms", 1 }, { "s", 1000 }, { "m", 60000 } };

/* "500ms", "30s", "2m" */
static int
take_duration(msec *out, const char *option, const char *text)
{
	size_t digits = strspn(text, "0123456789");
	uint64_t n;

	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (str_decimal((struct str){ text, digits }, &n) && n > 0 &&
		    n <= 86400 && strcmp(text + digits, units[i].unit) == 0) {
			*out = (msec)n * units[i].ms;
			return EXIT_YES;
		}
	return usage_refuse("verify",
	    "%s takes a duration such as 500ms, 30s or 2m, and not \"%s\"", option, text);
}

enum {
	OPT_WAIT = 256,
	OPT_TIMEOUT,
	OPT_SANDBOX,
	OPT_UNSURE,
	OPT_JSON,
	OPT_OWN,
	OPT_TOKEN,
	OPT_TRANSPARENT,
	OPT_DOOR = 512,
	OPT_OVER = 768
};

static const struct option options[] = {
	{ "proxy", required_argument, NULL, OPT_DOOR + DOOR_PROXY },
	{ "gateway", required_argument, NULL, OPT_DOOR + DOOR_GATEWAY },
	{ "socks5", required_argument, NULL, OPT_DOOR + DOOR_SOCKS5 },
	{ "dns", required_argument, NULL, OPT_DOOR + DOOR_DNS },
	{ "transparent", no_argument, NULL, OPT_TRANSPARENT },
	{ "allow", required_argument, NULL, OPT_OVER + OVER_ALLOW },
	{ "deny", required_argument, NULL, OPT_OVER + OVER_DENY },
	{ "direct", required_argument, NULL, OPT_OVER + OVER_DIRECT },
	{ "udp", required_argument, NULL, OPT_OVER + OVER_UDP },
	{ "nameserver", required_argument, NULL, OPT_OVER + OVER_NAMESERVER },
	{ "metadata", required_argument, NULL, OPT_OVER + OVER_METADATA },
	{ "host", required_argument, NULL, OPT_OVER + OVER_HOST },
	{ "own", required_argument, NULL, OPT_OWN },
	{ "sandbox", no_argument, NULL, OPT_SANDBOX },
	{ "token-file", required_argument, NULL, OPT_TOKEN },
	{ "wait", required_argument, NULL, OPT_WAIT },
	{ "timeout", required_argument, NULL, OPT_TIMEOUT },
	{ "allow-unsure", no_argument, NULL, OPT_UNSURE },
	{ "json", no_argument, NULL, OPT_JSON },
	{ "help", no_argument, NULL, 'h' },
	{ NULL, 0, NULL, 0 },
};

/* Ports that go without saying. */
static const uint16_t usual_port[OVER_N] = {
	[OVER_ALLOW] = 443,
	[OVER_DENY] = 443,
	[OVER_NAMESERVER] = 53,
	[OVER_METADATA] = 80,
	[OVER_HOST] = 80,
};

/* What needs no more than its value, kept where it belongs. */
static int
take_option(struct verify *v, int opt, const char *name)
{
	struct plan *p = &v->plan;

	if (opt >= OPT_OVER)
		return plan_target(p, (enum probe_over)(opt - OPT_OVER), name, optarg,
		    usual_port[opt - OPT_OVER]);
	if (opt >= OPT_DOOR)
		return plan_door(p, (enum probe_door)(opt - OPT_DOOR), name, optarg);
	switch (opt) {
	case OPT_TRANSPARENT:
		p->is.door[DOOR_TRANSPARENT] = "on the way";
		return EXIT_YES;
	case OPT_OWN:
		return plan_own(p, optarg);
	case OPT_TOKEN:
		return plan_token(p, optarg);
	case OPT_WAIT:
		return take_duration(&v->wait_ms, name, optarg);
	case OPT_TIMEOUT:
		return take_duration(&p->is.timeout_ms, name, optarg);
	case OPT_SANDBOX:
		v->looks_at_sandbox = true;
		return EXIT_YES;
	case OPT_UNSURE:
		v->allows_unsure = true;
		return EXIT_YES;
	default:
		v->as_json = true;
		return EXIT_YES;
	}
}

/* How to end, or -1 to go on. */
static int
take_options(struct verify *v, int argc, char **argv)
{
	int opt, at = 0, code = EXIT_YES;
	char name[32];

	while (code == EXIT_YES &&
	       (opt = getopt_long(argc, argv, ":h", options, &at)) != -1) {
		if (opt == '?' || opt == ':')
			return usage_refuse_option("verify", options, argv, opt);
		if (opt == 'h') {
			fputs(help, stdout);
			return EXIT_YES;
		}
		snprintf(name, sizeof(name), "--%s", options[at].name);
		code = take_option(v, opt, name);
	}
	if (code == EXIT_YES && optind < argc)
		return usage_refuse("verify",
		    "\"%s\" is no option; a host is --allow HOST", argv[optind]);
	return code == EXIT_YES ? -1 : code;
}

int
cmd_verify(int argc, char **argv)
{
	struct verify *v = mem_zalloc(sizeof(*v));
	int code;

	opterr = 0;
	plan_init(&v->plan);
	code = take_options(v, argc, argv);
	if (code == -1 && (code = plan_complete(&v->plan)) == EXIT_YES)
		code = run(v);
	plan_fini(&v->plan);
	free(v);
	return code;
}
