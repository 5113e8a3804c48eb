/*
 * explain.c - weir explain: what would happen to a request, and why
 */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/loop.h"
#include "cmd/batch.h"
#include "cmd/config.h"
#include "cmd/input.h"
#include "cmd/lookup.h"
#include "cmd/main.h"
#include "cmd/usage.h"
#include "policy/token.h"
#include "wire/http.h"

#define ANSWERS_MAX 64
#define OUTPUT_MAX ((size_t)64 << 20)

static const char help[] =
    "usage: weir explain [-c FILE] [--json] [--claims FILE|--token JWT]\n"
    "           [--answer ADDR]... [--resolve] [METHOD] TARGET\n"
    "       weir explain [-c FILE] --batch\n"
    "\n"
    "Says what would happen to a request, and why, by the code that decides live.\n"
    "TARGET is HOST:PORT (a CONNECT), http://... or https://... (a CONNECT and the\n"
    "request inside it).  Nothing is looked up unless --resolve is given.\n"
    "\n"
    "  -c, --config FILE   the configuration (weir.yaml(5)); none: what a laptop runs\n"
    "      --json          one JSON object instead of text\n"
    "      --claims FILE   as a session with these claims (JSON; - is standard input)\n"
    "      --token JWT     as whoever brings this token, here and now\n"
    "      --answer ADDR   what the name resolves to; may be repeated\n"
    "      --resolve       ask the configured name servers\n"
    "      --batch         JSON lines on standard input, one JSON line out for each\n"
    "      --help          this text\n"
    "\n"
    "Exits 0 when the request is allowed, 1 when it is denied, 66 when FILE cannot be\n"
    "read, 69 when no name server can be asked, 78 when the configuration or a policy\n"
    "is wrong.\n";

struct options {
	const char *config;
	bool is_json, is_batch, wants_resolve;
	struct addr answer[ANSWERS_MAX];
	size_t nanswer;
	const char *method, *target;
	const char *claims, *token;
};

/* Whom it is explained for; all zero: anybody. */
struct asker {
	struct grant *grant;
	enum reason reason; /* REASON_NONE, or why nothing is granted */
	const char *why;
};

/* Is it the form that is wrong, and not the host in it? */
static bool
is_no_target(const struct explain_ask *ask, const struct explained *e)
{
	struct str t = ask->target;

	return memmem(t.p, t.n, ":", 1) == NULL ||
	       (!e->has_target && (ask->method.n > 0 || memmem(t.p, t.n, "://", 3)));
}

static int
explain_text(const struct options *o, const struct scene *s, const struct asker *who,
    struct explain_ask *ask)
{
	const struct ruleset *rules = NULL;
	struct explained e;
	struct arena a;
	struct buf b;

	arena_init(&a, (size_t)8 << 20);
	buf_init(&b, OUTPUT_MAX);
	if (who->reason != REASON_NONE)
		scene_refuse(&e, who->reason, who->why, &a);
	else
		rules = scene_explain(&e, s, who->grant, ask, &a);
	if (o->is_json) {
		explain_print_json(&e, rules, STR_NONE, &b);
		buf_char(&b, '\n');
	} else {
		explain_print_text(&e, rules, &b);
		if (who->reason == REASON_NONE && is_no_target(ask, &e))
			buf_text(&b, "\nA target is HOST:PORT, http://HOST/PATH or "
				     "https://HOST/PATH (asked as the CONNECT it "
				     "is).\n");
	}
	fwrite(b.p, 1, b.n, stdout);
	buf_fini(&b);
	arena_fini(&a);
	return e.verdict.allow ? EXIT_YES : EXIT_NO;
}

/* As the live path: only a name that policy admits is ever asked for. */
static bool
is_worth_asking(const struct scene *s, const struct asker *who, struct explain_ask ask,
    struct host *host)
{
	struct explained e;
	struct arena a;
	bool allow;

	arena_init(&a, (size_t)8 << 20);
	(void)scene_explain(&e, s, who->grant, &ask, &a);
	allow = e.verdict.allow && !e.is_address_evaluated;
	*host = e.host;
	arena_fini(&a);
	return allow;
}

static int
explain_resolved(const struct options *o, const struct scene *s, const struct asker *who,
    struct explain_ask *ask)
{
	struct found found = { .err = 0 };
	struct host host;
	const char *why;

	if (who->reason != REASON_NONE || !is_worth_asking(s, who, *ask, &host))
		return explain_text(o, s, who, ask);
	if (!lookup_wait(&found, &host, s->settings, s->host, s->nhost, &why)) {
		fprintf(stderr, "weir explain: %s\n", why);
		return EXIT_UNAVAILABLE;
	}
	ask->answer = found.addr;
	ask->nanswer = found.count;
	ask->has_answers = found.err == 0;
	if (found.err != 0)
		ask->dns_error =
		    found.err == ERR_DNS_TIMEOUT ? REASON_DNS_TIMEOUT : REASON_DNS_FAILED;
	return explain_text(o, s, who, ask);
}

static int
explain_one(const struct options *o, const struct scene *s, const struct asker *who)
{
	struct explain_ask ask;

	explain_ask_init(&ask, str_of(o->method), str_of(o->target));
	ask.answer = o->answer;
	ask.nanswer = o->nanswer;
	ask.has_answers = o->nanswer > 0;
	return o->wants_resolve ? explain_resolved(o, s, who, &ask)
				: explain_text(o, s, who, &ask);
}

/* ---- whom it is explained for */

static int
asker_of_claims(struct asker *who, const struct scene *s, const char *path)
{
	const struct claims_source source = { .settings = s->settings };
	struct buf json;
	int status = EXIT_NOINPUT;

	buf_init(&json, (size_t)1 << 20);
	if (input_read("explain", path, &json)) {
		who->reason =
		    claims_recall(&who->grant, &source, buf_view(&json), &who->why);
		status = EXIT_YES;
	}
	buf_fini(&json);
	return status;
}

static int
asker_of_token(
    struct asker *who, const struct scene *s, const char *token, struct report *rep)
{
	struct keys *k = keys_load(s->settings, rep);

	if (k == NULL)
		return EXIT_CONFIG;
	who->reason =
	    token_verify(&who->grant, k, str_of(token), clock_wall_s(), &who->why);
	keys_free(k);
	return EXIT_YES;
}

static int
find_asker(
    struct asker *who, const struct options *o, struct scene *s, struct report *rep)
{
	int status = o->claims != NULL  ? asker_of_claims(who, s, o->claims)
		     : o->token != NULL ? asker_of_token(who, s, o->token, rep)
					: EXIT_YES;

	if (who->grant != NULL && !scene_take_profile(s, who->grant, rep))
		return EXIT_CONFIG;
	return status;
}

static int
explain_in(const struct options *o, struct scene *s, struct report *rep)
{
	struct asker who = { .reason = REASON_NONE };
	int status;

	if (o->is_batch)
		return batch_run(s);
	if ((status = find_asker(&who, o, s, rep)) == EXIT_YES)
		status = explain_one(o, s, &who);
	grant_unref(who.grant);
	return status;
}

static int
explain_with(const struct options *o)
{
	struct report rep;
	struct scene scene;
	int status;

	if (o->is_batch && o->config == NULL)
		return batch_run(NULL);
	report_init(&rep);
	if (scene_load(&scene, o->config, &rep)) {
		status = explain_in(o, &scene, &rep);
		scene_fini(&scene);
	} else {
		status = config_status(&rep, o->config);
	}
	if (rep.errors > 0)
		report_say(&rep);
	report_fini(&rep);
	return status;
}

static int
read_words(struct options *o, int n, char *const *word)
{
	if (o->is_batch && (n > 0 || o->nanswer > 0 || o->wants_resolve || o->is_json ||
			       o->claims != NULL || o->token != NULL))
		return usage_refuse(
		    "explain", "--batch reads everything from standard input");
	if (o->claims != NULL && o->token != NULL)
		return usage_refuse("explain", "--claims and --token exclude each other");
	if (o->wants_resolve && o->nanswer > 0)
		return usage_refuse(
		    "explain", "--resolve and --answer exclude each other");
	if (!o->is_batch && (n < 1 || n > 2))
		return usage_refuse("explain",
		    "name one target, with its method before it if it matters");
	if (n == 2 && !http_is_token(str_of(word[0])))
		return usage_refuse("explain",
		    "the method is before the target, and \"%s\" is none", word[0]);
	if (!o->is_batch)
		o->target = word[n - 1];
	if (n == 2)
		o->method = word[0];
	return EXIT_YES;
}

static int
add_answer(struct options *o, const char *text)
{
	if (o->nanswer == ANSWERS_MAX)
		return usage_refuse(
		    "explain", "--answer may stand %d times", ANSWERS_MAX);
	if (!addr_parse(&o->answer[o->nanswer], str_of(text)))
		return usage_refuse("explain", "--answer takes an address, not %s", text);
	o->nanswer++;
	return EXIT_YES;
}

int
cmd_explain(int argc, char **argv)
{
	static const struct option longs[] = {
		{ "config", required_argument, NULL, 'c' },
		{ "json", no_argument, NULL, 'j' },
		{ "claims", required_argument, NULL, 'C' },
		{ "token", required_argument, NULL, 't' },
		{ "answer", required_argument, NULL, 'a' },
		{ "resolve", no_argument, NULL, 'r' },
		{ "batch", no_argument, NULL, 'b' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	struct options o = { 0 };
	int c, status;

	opterr = 0;
	while ((c = getopt_long(argc, argv, ":c:h", longs, NULL)) != -1)
		switch (c) {
		case 'c':
			o.config = optarg;
			break;
		case 'j':
			o.is_json = true;
			break;
		case 'a':
			if ((status = add_answer(&o, optarg)) != EXIT_YES)
				return status;
			break;
		case 'C':
			o.claims = optarg;
			break;
		case 't':
			o.token = optarg;
			break;
		case 'r':
			o.wants_resolve = true;
			break;
		case 'b':
			o.is_batch = true;
			break;
		case 'h':
			fputs(help, stdout);
			return EXIT_YES;
		default:
			return usage_refuse_option("explain", longs, argv, c);
		}
	if ((status = read_words(&o, argc - optind, argv + optind)) != EXIT_YES)
		return status;
	return explain_with(&o);
}
