/*
 * meter.c - weir meter: what a recorded model call cost
 */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/config.h"
#include "cmd/input.h"
#include "cmd/main.h"
#include "cmd/meter_batch.h"
#include "cmd/metered_print.h"
#include "cmd/usage.h"

#define FIELDS 32
#define BODY_MAX ((size_t)256 << 20)
#define CALL_MEMORY ((size_t)512 << 20)

static const char help[] =
    "usage: weir meter --prices FILE [--provider KIND] [--path PATH] REQUEST RESPONSE\n"
    "       weir meter --batch [--prices FILE] [--date DATE]\n"
    "\n"
    "Reads the body of a model call's request and the body of its answer (- is\n"
    "standard input) and prints usage and cost, by the code that meters live calls.\n"
    "\n"
    "      --prices FILE   the price table\n"
    "      --provider KIND anthropic (default), openai, gemini, vercel, openrouter or\n"
    "                      litellm\n"
    "      --path PATH     of the request (default: the provider's main one)\n"
    "      --request-header 'NAME: VALUE'\n"
    "                      a field of the request that matters (a model's name)\n"
    "      --header 'NAME: VALUE'\n"
    "                      a field of the answer: its content-type, a reported cost\n"
    "      --status N      of the answer (default: 200)\n"
    "      --settle WHAT   table (default), or reported: what the gateway says counts\n"
    "      --date DATE     YYYY-MM-DD: prices as of that day\n"
    "      --json          the answer as one JSON object\n"
    "      --batch         JSON lines in, one JSON line out for each; see weir(8)\n"
    "      --help          this text\n"
    "\n"
    "Exits 0 when the call could be metered, 1 when it would be refused, 66 when a file\n"
    "cannot be read, 78 when the prices, or a line of a batch, are not in order.\n";

struct options {
	const char *prices, *path, *provider;
	struct http_field request_field[FIELDS + 1], field[FIELDS + 1];
	size_t nrequest_field, nfield;
	int status;
	bool trusts_reported, is_json, is_batch;
	yyyymmdd date;
	enum provider_kind kind;
};

static const struct {
	const char *name, *path;
	enum provider_kind kind;
} providers[] = {
	{ "anthropic", "/v1/messages", PROVIDER_ANTHROPIC },
	{ "openai", "/v1/chat/completions", PROVIDER_OPENAI },
	{ "gemini", NULL, PROVIDER_GEMINI }, /* the model stands in it */
	{ "vercel", "/v1/chat/completions", PROVIDER_VERCEL },
	{ "openrouter", "/api/v1/chat/completions", PROVIDER_OPENROUTER },
	{ "litellm", "/v1/chat/completions", PROVIDER_LITELLM },
};

/* ---- files */

/* EXIT_YES, or how to end after saying why; no file is no table. */
static int
load_prices(const char *path, struct prices **out)
{
	struct report rep;
	int status = EXIT_YES;

	*out = NULL;
	if (path == NULL)
		return EXIT_YES;
	report_init(&rep);
	if (prices_load(out, path, &rep) != 0)
		status = config_status(&rep, path);
	report_say(&rep);
	report_fini(&rep);
	return status;
}

/* ---- one call */

static void
print_text(const struct metered *m, const struct prices *prices)
{
	const struct run *r = &m->tokens;
	char cost[USD_TEXT];

	printf(
	    "input   %lld tokens, %lld of them read from the cache, %lld written to it\n",
	    (long long)r->input_total, (long long)r->cache_read,
	    (long long)r->cache_write + (long long)r->cache_write_long);
	printf("output  %lld tokens, %lld of them reasoning\n", (long long)r->output,
	    (long long)r->reasoning);
	printf("cost    %s USD%s\n", usd_print(m->cost, cost),
	    (m->flags & METERED_ESTIMATED) != 0 ? ", at most" : "");
	printf("basis   %s\n", basis_name(m->basis));
	printf("prices  %s\n", prices_digest(prices));
}

static void
print_denial(const struct metered *m)
{
	printf("refused %s (%d)\n", reason_row(m->reason)->name, m->status);
	if (m->call.why != NULL)
		printf("why     %s, at byte %zu of the request\n", m->call.why,
		    m->call.error_at);
}

static void
print_json(const struct metered *m, const struct terms *t)
{
	struct buf b;

	buf_init(&b, BODY_MAX);
	metered_print(m, t, STR_NONE, NULL, 0, &b);
	puts(buf_cstr(&b));
	buf_fini(&b);
}

/* An answer whose type nobody says begins as JSON does, or is a stream of events. */
static struct str
type_of(struct str body)
{
	struct str text = str_trim(body);

	return text.n > 0 && (text.p[0] == '{' || text.p[0] == '[')
		   ? STR("application/json")
		   : STR("text/event-stream");
}

static int
meter_bodies(struct options *o, const struct prices *prices, struct str request,
    struct str response)
{
	struct http_head head = { .method = STR("POST"),
		.target = str_of(o->path),
		.field = o->request_field,
		.nfield = o->nrequest_field };
	struct recorded r = { .request = { o->kind, STR("POST"), str_of(o->path), &head,
				  request },
		.has_response = true,
		.response = { .kind = HTTP_RESPONSE,
		    .status = o->status,
		    .field = o->field,
		    .nfield = o->nfield },
		.piece = &response,
		.npiece = 1 };
	struct terms t = {
		.prices = prices, .day = o->date, .trusts_reported = o->trusts_reported
	};
	struct metered m;
	struct arena a;
	bool is_metered;

	if (http_field(&r.response, STR("content-type")) == NULL)
		o->field[r.response.nfield++] =
		    (struct http_field){ STR("content-type"), type_of(response) };
	arena_init(&a, CALL_MEMORY);
	metered(&m, &r, &t, &a);
	is_metered = m.action != METERED_DENY;
	if (o->is_json)
		print_json(&m, &t);
	else if (m.action == METERED_SETTLE)
		print_text(&m, prices);
	else if (m.action == METERED_HOLD)
		puts(
		    "the call goes on in the background; a later answer tells its usage");
	else
		print_denial(&m);
	arena_fini(&a);
	return is_metered ? EXIT_YES : EXIT_NO;
}

static int
meter_files(struct options *o, const struct prices *prices, char **names)
{
	struct buf request, response;
	int code = EXIT_NOINPUT;

	buf_init(&request, BODY_MAX);
	buf_init(&response, BODY_MAX);
	if (input_read("meter", names[0], &request) &&
	    input_read("meter", names[1], &response))
		code = meter_bodies(o, prices, buf_view(&request), buf_view(&response));
	buf_fini(&request);
	buf_fini(&response);
	return code;
}

/* ---- the command */

static bool
take_field(const char *text, struct http_field *to, size_t *n)
{
	struct str rest = str_of(text), name;

	if (*n == FIELDS || !str_split(&rest, ':', &name) || rest.p == NULL)
		return false;
	to[(*n)++] = (struct http_field){ str_trim(name), str_trim(rest) };
	return true;
}

static bool
take_provider(const char *name, struct options *o)
{
	for (size_t i = 0; i < sizeof(providers) / sizeof(*providers); i++)
		if (strcmp(name, providers[i].name) == 0) {
			o->provider = name;
			o->kind = providers[i].kind;
			return true;
		}
	return false;
}

static bool
take_date(const char *text, struct options *o)
{
	o->date = day_read(str_of(text));
	return o->date != 0;
}

static bool
take_status(const char *text, struct options *o)
{
	uint64_t n;

	if (!str_decimal(str_of(text), &n) || n < 100 || n > 599)
		return false;
	o->status = (int)n;
	return true;
}

static bool
take_settle(const char *text, struct options *o)
{
	o->trusts_reported = strcmp(text, "reported") == 0;
	return o->trusts_reported || strcmp(text, "table") == 0;
}

static bool
take_value(int c, struct options *o)
{
	switch (c) {
	case 'P':
		o->prices = optarg;
		return true;
	case 'p':
		return take_provider(optarg, o);
	case 't':
		o->path = optarg;
		return true;
	case 'q':
		return take_field(optarg, o->request_field, &o->nrequest_field);
	case 'H':
		return take_field(optarg, o->field, &o->nfield);
	case 's':
		return take_status(optarg, o);
	case 'S':
		return take_settle(optarg, o);
	case 'd':
		return take_date(optarg, o);
	case 'j':
		o->is_json = true;
		return true;
	case 'b':
		o->is_batch = true;
		return true;
	default:
		return false;
	}
}

static const struct option longs[] = {
	{ "prices", required_argument, NULL, 'P' },
	{ "provider", required_argument, NULL, 'p' },
	{ "path", required_argument, NULL, 't' },
	{ "request-header", required_argument, NULL, 'q' },
	{ "header", required_argument, NULL, 'H' },
	{ "status", required_argument, NULL, 's' },
	{ "settle", required_argument, NULL, 'S' },
	{ "date", required_argument, NULL, 'd' },
	{ "json", no_argument, NULL, 'j' },
	{ "batch", no_argument, NULL, 'b' },
	{ "help", no_argument, NULL, 'h' },
	{ NULL, 0, NULL, 0 },
};

_Static_assert(FIELDS == 32, "as it is said");
static const struct usage_value values[] = {
	{ 'p', "anthropic, openai, gemini, vercel, openrouter or litellm", NULL },
	{ 'q', "a field, NAME: VALUE, and 32 of them at most", NULL },
	{ 'H', "a field, NAME: VALUE, and 32 of them at most", NULL },
	{ 's', "a status from 100 to 599", NULL },
	{ 'S', "table or reported", NULL },
	{ 'd', "a day: 2031-04-05", NULL },
	{ 0, NULL, NULL },
};

/* False: *code is how to end. */
static bool
take_option(int c, char **argv, struct options *o, int *code)
{
	if (c == 'h') {
		fputs(help, stdout);
		*code = EXIT_YES;
		return false;
	}
	if (c == '?' || c == ':') {
		*code = usage_refuse_option(argv[0], longs, argv, c);
		return false;
	}
	if (take_value(c, o))
		return true;
	*code = usage_refuse_value(argv[0], longs, values, c);
	return false;
}

static bool
check_options(int argc, char **argv, struct options *o, int *code)
{
	for (size_t i = 0; i < sizeof(providers) / sizeof(*providers); i++)
		if (o->path == NULL && providers[i].kind == o->kind)
			o->path = providers[i].path;
	if (o->is_batch && optind < argc)
		*code = usage_refuse(
		    argv[0], "--batch reads standard input, not %s", argv[optind]);
	else if (!o->is_batch && o->prices == NULL)
		*code = usage_refuse(argv[0], "--prices FILE is needed");
	else if (!o->is_batch && argc - optind != 2)
		*code = usage_refuse(argv[0], "it reads two files, REQUEST and RESPONSE");
	else if (o->path == NULL)
		*code = usage_refuse(argv[0], "--path is needed: it names the model");
	else
		return true;
	return false;
}

static bool
read_options(int argc, char **argv, struct options *o, int *code)
{
	int c;

	opterr = 0;
	while ((c = getopt_long(argc, argv, ":h", longs, NULL)) != -1)
		if (!take_option(c, argv, o, code))
			return false;
	return check_options(argc, argv, o, code);
}

int
cmd_meter(int argc, char **argv)
{
	struct options o = { .status = 200, .kind = PROVIDER_ANTHROPIC };
	struct prices *prices;
	int code;

	if (!read_options(argc, argv, &o, &code))
		return code;
	if ((code = load_prices(o.prices, &prices)) != EXIT_YES)
		return code;
	code = o.is_batch ? meter_batch_run(prices, o.date)
			  : meter_files(&o, prices, argv + optind);
	prices_free(prices);
	return code;
}
