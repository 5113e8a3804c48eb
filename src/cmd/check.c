/*
 * check.c - weir check: what is wrong with the files, all of it, before they are used
 */
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "audit/checkpoint.h"
#include "audit/rules.h"
#include "cmd/danger.h"
#include "cmd/main.h"
#include "cmd/review.h"
#include "cmd/usage.h"
#include "conf/settings.h"
#include "meter/price.h"
#include "net/roots.h"
#include "policy/compile.h"
#include "policy/hosts.h"
#include "policy/keys.h"
#include "proxy/parent.h"
#include "proxy/route.h"
#include "proxy/snapshot.h"

#define OUTPUT_MAX ((size_t)64 << 20)
#define UNPRICED_SHOWN 20 /* models by name */

static const char help[] =
    "usage: weir check [-c FILE] [POLICY]... [--strict] [--format text|json]\n"
    "       weir check --danger [-c FILE] [POLICY]... [--format text|json]\n"
    "       weir check --review -c FILE [--format text|json]\n"
    "       weir check --defaults [--format text|json]\n"
    "\n"
    "Loads a configuration with its policies, and each POLICY by itself, runs their\n"
    "expectations, and prints every error and warning.  Nothing is looked up or "
    "dialled.\n"
    "\n"
    "  -c, --config FILE   the configuration (weir.yaml(5))\n"
    "      --strict        warnings fail too\n"
    "      --danger        list every switch that loosens, with its place, instead\n"
    "      --review        print the production checklist line by line instead: yes, "
    "no,\n"
    "                      or not shown, with the command that shows it\n"
    "      --defaults      print every setting with its default instead\n"
    "      --format FORM   text (findings on standard error, a summary on standard "
    "output)\n"
    "                      or json (an array of findings on standard output)\n"
    "      --help          this text\n"
    "\n"
    "Exits 0 when all is well, 1 when nothing is wrong but expectations that failed (or\n"
    "warnings, with --strict), 66 when a FILE or POLICY cannot be read, 78 on other "
    "errors.\n";

struct options {
	const char *config;
	char *const *policy;
	size_t npolicy;
	bool is_strict, is_json, wants_defaults, wants_dangers, wants_review;
};

/* What was looked at. */
struct tally {
	size_t configurations, policies, rules, expectations;
	struct buf prices;       /* a line on the price table; empty: there is none */
	struct dangers *dangers; /* NULL: nobody asked */
	struct review *review;   /* NULL: nobody asked */
	size_t noes;             /* of the review */
};

static void
count_ruleset(const struct ruleset *rs, struct tally *tally)
{
	tally->policies += ruleset_layers(rs);
	tally->rules += ruleset_rules(rs);
	tally->expectations += ruleset_expectations(rs);
}

static void
check_policies(const char *const *path, size_t n, const struct ruleset_terms *terms,
    struct report *rep, struct tally *tally)
{
	struct ruleset *rs = ruleset_load(path, n, terms, rep);

	if (rs != NULL)
		count_ruleset(rs, tally);
	if (rs != NULL && tally->dangers != NULL)
		danger_rules(tally->dangers, rs);
	if (rs != NULL && tally->review != NULL)
		review_rules(tally->review, rs);
	ruleset_free(rs);
}

static void
describe_prices(struct buf *to, const struct prices *p)
{
	yyyymmdd date = prices_date(p);
	struct str model;
	size_t n = 0;

	buf_fmt(to, "prices: %zu model%s, ", prices_count(p), plural(prices_count(p)));
	if (date == 0)
		buf_text(to, "of no date");
	else
		buf_fmt(
		    to, "of %04u-%02u-%02u", date / 10000, date / 100 % 100, date % 100);
	for (size_t at = 0; prices_next_unpriced(p, &at, &model); n++)
		if (n < UNPRICED_SHOWN)
			buf_fmt(to, "%s%.*s",
			    n == 0 ? "; without an output price, so refused: " : ", ",
			    (int)model.n, model.p);
	if (n > UNPRICED_SHOWN)
		buf_fmt(to, " and %zu more", n - UNPRICED_SHOWN);
	buf_char(to, '\n');
}

static void
check_providers(const struct settings *s, struct report *rep, struct buf *told)
{
	struct prices *prices = NULL;

	if (s->gateway_prices != NULL &&
	    prices_load(&prices, s->gateway_prices, rep) != 0)
		prices = NULL; /* what is wrong was said */
	if (prices != NULL)
		describe_prices(told, prices);
	routes_free(routes_build(s, prices, rep));
	prices_free(prices);
}

static void
check_profiles(const struct settings *s, const struct ruleset_terms *terms,
    struct report *rep, struct tally *tally)
{
	for (size_t i = 0; i < s->profiles.n; i++) {
		const struct texts *policies = &s->profiles.p[i].policies;
		if (policies->n > 0)
			check_policies((const char *const *)policies->p, policies->n,
			    terms, rep, tally);
	}
}

/* *terms become those of the configuration, when it could be read. */
static void
check_config(const char *path, struct ruleset_terms *terms, struct report *rep,
    struct tally *tally)
{
	struct settings *s = settings_load_file(path, rep);
	size_t n;

	if (s == NULL)
		return;
	tally->configurations++;
	*terms = ruleset_terms_of(s);
	if (tally->dangers != NULL)
		danger_settings(tally->dangers, s);
	settings_check_start(s, rep);
	settings_check_audit(s, rep);
	settings_check_reserve(s, rep);
	settings_check_reload(s, rep);
	if (s->tls_roots != NULL && !roots_are_usable(s->tls_roots))
		settings_refuse_roots(s, rep);
	if (s->audit_sign.bytes != NULL &&
	    !signer_takes((struct str){ s->audit_sign.bytes, s->audit_sign.n }))
		settings_refuse_sign(s, rep);
	ca_unref(snapshot_ca(s, NULL, rep));
	leaf_unref(snapshot_own(s, NULL, rep));
	static_hosts_free(static_hosts_build(s, rep, &n), n);
	keys_free(keys_load(s, rep));
	parent_free(parent_build(s, rep));
	rules_free(rules_load(s, rep));
	check_providers(s, rep, &tally->prices);
	check_policies(
	    (const char *const *)s->policies.p, s->policies.n, terms, rep, tally);
	check_profiles(s, terms, rep, tally);
	if (tally->review != NULL && tally->dangers != NULL) {
		tally->review->ndangers = tally->dangers->n;
		tally->noes = review_print(tally->review, s, tally->dangers->is_json);
	}
	terms->settings = NULL;
	settings_free(s);
}

static void
check_all(const struct options *o, struct report *rep, struct tally *tally)
{
	struct ruleset_terms terms = { .is_report_ok = true }; /* alone: as on a laptop */

	if (o->config != NULL)
		check_config(o->config, &terms, rep, tally);
	for (size_t i = 0; i < o->npolicy; i++) {
		const char *path = o->policy[i];
		check_policies(&path, 1, &terms, rep, tally);
	}
}

/* ---- what comes out */

static void
count_text(struct buf *to, size_t n, const char *one, const char *many)
{
	buf_fmt(to, "%zu %s", n, n == 1 ? one : many);
}

static void
summary(const struct options *o, const struct report *rep, const struct tally *tally,
    struct buf *to)
{
	if (rep->errors == 0 && o->is_strict && rep->warnings > 0) {
		buf_text(to, "failed: ");
		count_text(to, rep->warnings, "warning\n", "warnings\n");
		return;
	}
	if (rep->errors == 0) {
		buf_text(to, "ok: ");
		if (tally->configurations > 0)
			buf_text(to, "1 configuration, ");
		count_text(to, tally->policies, "policy, ", "policies, ");
		count_text(to, tally->rules, "rule, ", "rules, ");
		count_text(to, tally->expectations, "expectation", "expectations");
	} else {
		buf_text(to, "failed: ");
		count_text(to, rep->errors, "error", "errors");
	}
	if (rep->warnings > 0) {
		buf_text(to, ", ");
		count_text(to, rep->warnings, "warning", "warnings");
	}
	buf_char(to, '\n');
}

static void
print_result(const struct options *o, const struct report *rep, const struct tally *tally)
{
	struct buf b;

	buf_init(&b, OUTPUT_MAX);
	if (o->is_json) {
		report_print_json(rep, &b);
		buf_char(&b, '\n');
	} else {
		report_say(rep);
		buf_str(&b, buf_view(&tally->prices));
		summary(o, rep, tally, &b);
	}
	fputs(buf_cstr(&b), stdout);
	buf_fini(&b);
}

static int
print_defaults(const struct options *o)
{
	struct buf b;

	buf_init(&b, OUTPUT_MAX);
	settings_print_defaults(&b, o->is_json);
	fputs(buf_cstr(&b), stdout);
	buf_fini(&b);
	return EXIT_YES;
}

/* Was a file that the command line names not there to be read? */
static bool
is_input_missing(const struct options *o, const struct report *rep)
{
	bool is_missing = o->config != NULL && report_lacks(rep, o->config);

	for (size_t i = 0; i < o->npolicy; i++)
		is_missing |= report_lacks(rep, o->policy[i]);
	return is_missing;
}

/* Are the files well, and only their policies not what their expectations say? */
static bool
is_only_expectations(const struct report *rep)
{
	for (size_t i = 0; i < rep->n; i++)
		if (rep->finding[i].severity == SEVERITY_ERROR &&
		    strcmp(rep->finding[i].code, "expect_failed") != 0)
			return false;
	return true;
}

static int
exit_code(const struct options *o, const struct report *rep)
{
	if (is_input_missing(o, rep))
		return EXIT_NOINPUT;
	if (rep->errors > 0)
		return is_only_expectations(rep) ? EXIT_NO : EXIT_CONFIG;
	return o->is_strict && rep->warnings > 0 ? EXIT_NO : EXIT_YES;
}

/* It is on standard output already; where the files are not well, why. */
static int
say_review(const struct report *rep, const struct tally *tally, int code)
{
	if (rep->errors > 0)
		report_say(rep);
	return code == EXIT_YES && tally->noes > 0 ? EXIT_NO : code;
}

static int
check(const struct options *o)
{
	struct tally tally = { 0 };
	struct review review = { 0 };
	struct dangers dangers;
	struct report rep;
	int code;

	report_init(&rep);
	buf_init(&tally.prices, OUTPUT_MAX);
	danger_begin(&dangers, o->is_json);
	if (o->wants_dangers || o->wants_review)
		tally.dangers = &dangers;
	if (o->wants_review)
		tally.review = &review;
	check_all(o, &rep, &tally);
	code = exit_code(o, &rep);
	if (o->wants_review)
		code = say_review(&rep, &tally, code);
	else if (o->wants_dangers && rep.errors == 0)
		danger_end(&dangers);
	else
		print_result(o, &rep, &tally);
	buf_fini(&dangers.out);
	buf_fini(&tally.prices);
	report_fini(&rep);
	return code;
}

/* ---- what goes in */

static const struct option longs[] = {
	{ "config", required_argument, NULL, 'c' },
	{ "strict", no_argument, NULL, 's' },
	{ "defaults", no_argument, NULL, 'd' },
	{ "danger", no_argument, NULL, 'D' },
	{ "review", no_argument, NULL, 'R' },
	{ "format", required_argument, NULL, 'f' },
	{ "help", no_argument, NULL, 'h' },
	{ NULL, 0, NULL, 0 },
};

static const char *const formats[] = { "text", "json", NULL };
static const struct usage_value values[] = {
	{ 'f', NULL, formats },
	{ 0, NULL, NULL },
};

static bool *
switch_of(struct options *o, int c)
{
	return c == 's'   ? &o->is_strict
	       : c == 'd' ? &o->wants_defaults
	       : c == 'D' ? &o->wants_dangers
	       : c == 'R' ? &o->wants_review
			  : NULL;
}

static int
take_option(struct options *o, int c, char *const *argv)
{
	bool *is_on = switch_of(o, c);

	if (is_on != NULL) {
		*is_on = true;
	} else if (c == 'c') {
		o->config = optarg;
	} else if (c == 'f') {
		o->is_json = strcmp(optarg, "json") == 0;
		if (!o->is_json && strcmp(optarg, "text") != 0)
			return usage_refuse_value("check", longs, values, c);
	} else {
		return usage_refuse_option("check", longs, argv, c);
	}
	return EXIT_YES;
}

/* Is it one thing that is asked for, and of files where it is of files? */
static int
check_options(const struct options *o)
{
	bool has_files = o->config != NULL || o->npolicy > 0;

	if (o->wants_defaults + o->wants_dangers + o->wants_review > 1)
		return usage_refuse(
		    "check", "--defaults, --danger and --review exclude each other");
	if (o->wants_defaults)
		return has_files ? usage_refuse("check", "--defaults is of no file")
				 : EXIT_YES;
	if (o->wants_review && o->config == NULL)
		return usage_refuse("check", "--review is of a configuration: -c FILE");
	return has_files
		   ? EXIT_YES
		   : usage_refuse("check", "name a configuration (-c FILE) or a policy");
}

int
cmd_check(int argc, char **argv)
{
	struct options o = { 0 };
	int c, code;

	opterr = 0;
	while ((c = getopt_long(argc, argv, ":c:h", longs, NULL)) != -1) {
		if (c == 'h') {
			fputs(help, stdout);
			return EXIT_YES;
		}
		if ((code = take_option(&o, c, argv)) != EXIT_YES)
			return code;
	}
	o.policy = argv + optind;
	o.npolicy = (size_t)(argc - optind);
	if ((code = check_options(&o)) != EXIT_YES)
		return code;
	return o.wants_defaults ? print_defaults(&o) : check(&o);
}
