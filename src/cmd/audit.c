/*
 * audit.c - weir audit: the log looked at, checked and counted
 */
#include "cmd/audit.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "audit/record.h"
#include "base/log.h"
#include "base/loop.h"
#include "cmd/audit_by.h"
#include "cmd/config.h"
#include "cmd/main.h"
#include "cmd/usage.h"
#include "policy/verdict.h"

#define COUNT_MAX UINT64_C(1000000000)

static const char help[] =
    "usage: weir audit verify|tail|stats [-c FILE | LOG...] [options]\n"
    "\n"
    "  verify   is each line as weir wrote it, and is none missing\n"
    "  tail     the last records, a line for each\n"
    "  stats    how many exchanges, bytes, dollars and milliseconds\n"
    "\n"
    "  LOG                 the log; its older files (LOG.*) belong to it, in the order\n"
    "                      of their chain; several: just these, oldest first; - is\n"
    "                      standard input\n"
    "  -c, --config FILE   the configuration that names the log, its keys and its "
    "anchor\n"
    "      --json          JSON instead of text\n"
    "      --since TIME, --until TIME\n"
    "                      tail, stats: records of that time: 2031-04-05,\n"
    "                      2031-04-05T06:07:08Z, or 90s, 15m, 2h, 7d ago\n"
    "\n"
    "verify:\n"
    "      --head DIGEST   a digest that was kept elsewhere: some line must have it\n"
    "      --key REF       the key of the macs: env:NAME, file:PATH or cred:NAME\n"
    "      --public-key FILE\n"
    "                      PEM: whose signature each checkpoint must have\n"
    "      --anchor FILE   checkpoints that were kept elsewhere\n"
    "      --from-start    the log's first line must be the first of its chain\n"
    "\n"
    "tail:\n"
    "  -f, --follow        go on as the log grows, over rotation\n"
    "  -n, --lines N       so many (default: 10; with --since: all)\n"
    "      --session SID   or TENANT/SID\n"
    "      --host PATTERN  with * for any text\n"
    "      --reason ID,... --decision allow|deny --kind K --phase P\n"
    "                      only such\n"
    "      --color WHEN    auto (default), always or never\n"
    "\n"
    "stats:\n"
    "      --by WHAT       reason (default), host, session, tenant, rule, decision,\n"
    "                      model or hour\n"
    "      --top N         so many rows, and the rest in one\n"
    "      --help          this text\n"
    "\n"
    "Exits 0 when all is well, 1 when verify found something, 66 when a file cannot be\n"
    "read, 69 when the output cannot be written, 78 when a configuration or a key is\n"
    "not in order.\n";

enum { VERIFY = 1, TAIL = 2, STATS = 4 };

static const char *const secrets_of_verify[] = { "audit", NULL };

static const struct command {
	const char *name;
	unsigned bit;
	int (*run)(struct audit_log *log, const struct audit_asked *o);
	const char *const *secrets; /* of the configuration */
} commands[] = {
	{ "verify", VERIFY, audit_verify, secrets_of_verify },
	{ "tail", TAIL, audit_tail, config_no_secrets },
	{ "stats", STATS, audit_stats, config_no_secrets },
};

/* ---- options */

enum option_id {
	OPTION_JSON = 256,
	OPTION_SINCE,
	OPTION_UNTIL,
	OPTION_HEAD,
	OPTION_KEY,
	OPTION_PUBLIC_KEY,
	OPTION_ANCHOR,
	OPTION_FROM_START,
	OPTION_SESSION,
	OPTION_HOST,
	OPTION_REASON,
	OPTION_DECISION,
	OPTION_KIND,
	OPTION_PHASE,
	OPTION_COLOR,
	OPTION_BY,
	OPTION_TOP,
};

static const struct option longs[] = {
	{ "config", required_argument, NULL, 'c' },
	{ "help", no_argument, NULL, 'h' },
	{ "json", no_argument, NULL, OPTION_JSON },
	{ "since", required_argument, NULL, OPTION_SINCE },
	{ "until", required_argument, NULL, OPTION_UNTIL },
	{ "head", required_argument, NULL, OPTION_HEAD },
	{ "key", required_argument, NULL, OPTION_KEY },
	{ "public-key", required_argument, NULL, OPTION_PUBLIC_KEY },
	{ "anchor", required_argument, NULL, OPTION_ANCHOR },
	{ "from-start", no_argument, NULL, OPTION_FROM_START },
	{ "follow", no_argument, NULL, 'f' },
	{ "lines", required_argument, NULL, 'n' },
	{ "session", required_argument, NULL, OPTION_SESSION },
	{ "host", required_argument, NULL, OPTION_HOST },
	{ "reason", required_argument, NULL, OPTION_REASON },
	{ "decision", required_argument, NULL, OPTION_DECISION },
	{ "kind", required_argument, NULL, OPTION_KIND },
	{ "phase", required_argument, NULL, OPTION_PHASE },
	{ "color", required_argument, NULL, OPTION_COLOR },
	{ "by", required_argument, NULL, OPTION_BY },
	{ "top", required_argument, NULL, OPTION_TOP },
	{ NULL, 0, NULL, 0 },
};

/* Which commands an option is for. */
static const struct usage_users users[] = {
	{ OPTION_SINCE, TAIL | STATS },
	{ OPTION_UNTIL, TAIL | STATS },
	{ OPTION_HEAD, VERIFY },
	{ OPTION_KEY, VERIFY },
	{ OPTION_PUBLIC_KEY, VERIFY },
	{ OPTION_ANCHOR, VERIFY },
	{ OPTION_FROM_START, VERIFY },
	{ 'f', TAIL },
	{ 'n', TAIL },
	{ OPTION_SESSION, TAIL },
	{ OPTION_HOST, TAIL },
	{ OPTION_REASON, TAIL },
	{ OPTION_DECISION, TAIL },
	{ OPTION_KIND, TAIL },
	{ OPTION_PHASE, TAIL },
	{ OPTION_COLOR, TAIL },
	{ OPTION_BY, STATS },
	{ OPTION_TOP, STATS },
	{ 0, 0 },
};

static const char a_time[] = "2031-04-05, 2031-04-05T06:07:08Z or 15m (s, m, h, d: ago)";

/* "2031-04-05", "2031-04-05T06:07Z", ... -> the ts of its beginning. */
static bool
read_date(struct str text, char out[static AUDIT_TIME])
{
	static const char form[] = "0000-00-00T00:00:00.000000Z";
	struct tm tm = { .tm_isdst = 0 };

	if (text.n > 10 && !str_ends(text, STR("Z")))
		return false;
	text.n -= text.n > 10;
	if (text.n < 10 || text.n > 26 || text.n == 11 || text.n == 14 || text.n == 17 ||
	    text.n == 20)
		return false;
	memcpy(out, form, AUDIT_TIME);
	for (size_t i = 0; i < text.n; i++) {
		if (form[i] == '0' ? !ascii_is_digit(text.p[i]) : text.p[i] != form[i])
			return false;
		out[i] = text.p[i];
	}
	const char *end = strptime(out, "%Y-%m-%dT%H:%M:%S", &tm);
	int day = tm.tm_mday;

	return end == out + 19 && timegm(&tm) != -1 && tm.tm_mday == day;
}

/* "15m": so long ago. */
static bool
read_ago(struct str text, char out[static AUDIT_TIME])
{
	static const struct {
		char unit;
		uint64_t s;
	} units[] = { { 's', 1 }, { 'm', 60 }, { 'h', 3600 }, { 'd', 86400 } };
	uint64_t n;

	for (size_t i = 0; text.n > 0 && i < sizeof(units) / sizeof(*units); i++) {
		if (text.p[text.n - 1] != units[i].unit)
			continue;
		if (!str_decimal(str_sub(text, 0, text.n - 1), &n) || n > 1000000)
			return false;
		usec at = clock_wall_us() - (usec)(n * units[i].s) * 1000000;
		time_t seconds = (time_t)(at > 0 ? at / 1000000 : 0);
		struct tm tm;

		gmtime_r(&seconds, &tm);
		strftime(out, AUDIT_TIME, "%Y-%m-%dT%H:%M:%S.000000Z", &tm);
		return true;
	}
	return false;
}

static bool
read_time(const char *text, char out[static AUDIT_TIME])
{
	return read_date(str_of(text), out) || read_ago(str_of(text), out);
}

static bool
read_count(const char *text, uint64_t *out)
{
	return str_decimal(str_of(text), out) && *out <= COUNT_MAX;
}

static bool
read_digest(const char *text, const char **out)
{
	*out = text;
	return strlen(text) == 64 && strspn(text, "0123456789abcdef") == 64;
}

static const char *const colors[] = {
	[COLOR_AUTO] = "auto", [COLOR_ALWAYS] = "always", [COLOR_NEVER] = "never", NULL
};
static const char *const decisions[] = { "allow", "deny", NULL };

static const struct usage_value values[] = {
	{ OPTION_SINCE, a_time, NULL },
	{ OPTION_UNTIL, a_time, NULL },
	{ OPTION_HEAD, "the digest of a line, 64 digits of 0-9 and a-f", NULL },
	{ 'n', "a number", NULL },
	{ OPTION_TOP, "a number from 1 on", NULL },
	{ OPTION_REASON, "ids of reasons, or ok, with commas between", NULL },
	{ OPTION_DECISION, NULL, decisions },
	{ OPTION_PHASE, NULL, record_phases },
	{ OPTION_KIND, NULL, record_kinds },
	{ OPTION_BY, "reason, host, session, tenant, rule, decision, model or hour",
	    NULL },
	{ OPTION_COLOR, NULL, colors },
	{ 0, NULL, NULL },
};

static bool
read_color(const char *text, enum audit_color *out)
{
	for (size_t i = 0; colors[i] != NULL; i++)
		if (strcmp(colors[i], text) == 0) {
			*out = (enum audit_color)i;
			return true;
		}
	return false;
}

/* What no record can have finds none: it is misspelt. */
static bool
read_reasons(const char *text, const char **out)
{
	struct str rest = str_of(text), one;

	*out = text;
	while (str_split(&rest, ',', &one))
		if (reason_find(one) == REASON_NONE &&
		    !str_eq(one, str_of(reason_row(REASON_NONE)->name)))
			return false;
	return text[0] != '\0';
}

static bool
is_one_of(const char *text, const char *const *words)
{
	while (*words != NULL && strcmp(*words, text) != 0)
		words++;
	return *words != NULL;
}

static bool
read_word(const char *text, const char *const *words, const char **out)
{
	*out = text;
	return is_one_of(text, words);
}

/* Where the text of an option goes; NULL: it is more than text. */
static const char **
place_of(struct audit_asked *o, int c)
{
	const struct {
		int id;
		const char **at;
	} places[] = {
		{ 'c', &o->config },
		{ OPTION_KEY, &o->key },
		{ OPTION_PUBLIC_KEY, &o->public_key },
		{ OPTION_ANCHOR, &o->anchor },
		{ OPTION_SESSION, &o->session },
		{ OPTION_HOST, &o->host },
	};

	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
		if (places[i].id == c)
			return places[i].at;
	return NULL;
}

static bool *
switch_of(struct audit_asked *o, int c)
{
	return c == OPTION_JSON         ? &o->is_json
	       : c == OPTION_FROM_START ? &o->from_start
	       : c == 'f'               ? &o->follows
					: NULL;
}

static bool
take_value(struct audit_asked *o, int c)
{
	switch (c) {
	case OPTION_SINCE:
		return read_time(optarg, o->since);
	case OPTION_UNTIL:
		return read_time(optarg, o->until);
	case OPTION_HEAD:
		return read_digest(optarg, &o->head);
	case 'n':
		o->has_n = true;
		return read_count(optarg, &o->n);
	case OPTION_TOP:
		return read_count(optarg, &o->top) && o->top > 0;
	case OPTION_REASON:
		return read_reasons(optarg, &o->reason);
	case OPTION_DECISION:
		return read_word(optarg, decisions, &o->decision);
	case OPTION_PHASE:
		return read_word(optarg, record_phases, &o->phase);
	case OPTION_KIND:
		return read_word(optarg, record_kinds, &o->kind);
	case OPTION_BY:
		o->by = optarg;
		return audit_by_find(optarg) != NULL;
	case OPTION_COLOR:
		return read_color(optarg, &o->color);
	default:
		return false;
	}
}

static int
take_option(struct audit_asked *o, int c, char *const *argv)
{
	const char **place = place_of(o, c);
	bool *is_on = switch_of(o, c);

	if (c == '?' || c == ':')
		return usage_refuse_option("audit", longs, argv, c);
	if (place != NULL)
		*place = optarg;
	else if (is_on != NULL)
		*is_on = true;
	else if (!take_value(o, c))
		return usage_refuse_value("audit", longs, values, c);
	return EXIT_YES;
}

/* ---- which log */

static int
load_settings(
    struct audit_log *log, const struct audit_asked *o, const char *const *secrets)
{
	int status = config_load(&log->settings, o->config, secrets);

	if (status == EXIT_YES)
		log->path = log->settings->audit_path;
	return status;
}

static int
name_files(struct audit_log *log, const struct audit_asked *o)
{
	struct audit_files *f = &log->files;

	f->path = mem_alloc(o->nfile * sizeof(*f->path));
	for (; f->n < o->nfile; f->n++)
		f->path[f->n] = mem_strdup(o->file[f->n]);
	log->path = NULL;
	return EXIT_YES;
}

static int
find_files(struct audit_log *log, const struct audit_asked *o)
{
	if (log->path == NULL) {
		fprintf(stderr, "weir audit: the configuration names no audit.path\n");
		return EXIT_CONFIG;
	}
	if (strcmp(log->path, "-") == 0 && o->nfile == 0) {
		fprintf(stderr,
		    "weir audit: audit.path is standard output: name the file "
		    "where that went\n");
		return EXIT_CONFIG;
	}
	if (strcmp(log->path, "-") == 0) {
		audit_files_one(&log->files, log->path);
		return EXIT_YES;
	}
	if (audit_files_find(&log->files, log->path) || (o->follows && errno == ENOENT))
		return EXIT_YES;
	fprintf(stderr, "weir audit: %s: %s\n", log->path, strerror(errno));
	return EXIT_NOINPUT;
}

static int
find_log(struct audit_log *log, const struct command *c, const struct audit_asked *o)
{
	int status = EXIT_YES;

	if (o->config != NULL || o->nfile == 0)
		status = load_settings(log, o, c->secrets);
	if (status != EXIT_YES)
		return status;
	if (o->nfile > 1)
		return name_files(log, o);
	if (o->nfile == 1)
		log->path = o->file[0];
	return find_files(log, o);
}

/* ---- the command */

static int
run(size_t command, const struct audit_asked *o)
{
	struct audit_log log = { .files = { .own = -1 } };
	int status;

	log_setup(LOG_WARN, LOG_TEXT); /* standard error is a person's here */
	status = find_log(&log, &commands[command], o);
	if (status == EXIT_YES && log.files.is_short)
		fprintf(stderr,
		    "weir audit: %s: it has more than %d files, and the others are not "
		    "looked at: move some to another directory\n",
		    log.path, AUDIT_FILES_MAX);
	if (status == EXIT_YES)
		status = commands[command].run(&log, o);
	if (status == EXIT_YES && log.files.is_short)
		status = EXIT_NOINPUT;
	audit_files_free(&log.files);
	settings_free(log.settings);
	return status;
}

static int
run_command(const struct audit_asked *o, const char *name, uint64_t given)
{
	size_t i = 0, n = sizeof(commands) / sizeof(*commands);

	while (i < n && strcmp(commands[i].name, name) != 0)
		i++;
	if (i == n)
		return usage_refuse("audit", "say verify, tail or stats");
	int status =
	    usage_check_users("audit", name, commands[i].bit, longs, users, given);
	if (status != EXIT_YES)
		return status;
	if (o->follows &&
	    (o->nfile > 1 || (o->nfile == 1 && strcmp(o->file[0], "-") == 0)))
		return usage_refuse("audit", "-f follows one log");
	return run(i, o);
}

int
cmd_audit(int argc, char **argv)
{
	struct audit_asked o = { .n = 10, .by = "reason" };
	uint64_t given = 0;
	int c, status;

	opterr = 0;
	while ((c = getopt_long(argc, argv, ":c:fhn:", longs, NULL)) != -1) {
		if (c == 'h') {
			fputs(help, stdout);
			return EXIT_YES;
		}
		if ((status = take_option(&o, c, argv)) != EXIT_YES)
			return status;
		given |= usage_given(longs, c);
	}
	if (optind >= argc)
		return run_command(&o, "", given);
	o.file = argv + optind + 1;
	o.nfile = (size_t)(argc - optind - 1);
	return run_command(&o, argv[optind], given);
}
