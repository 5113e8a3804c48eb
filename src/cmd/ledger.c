/*
 * ledger.c - weir ledger: what was spent, looked at and kept in order
 */
#include "cmd/ledger.h"

#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/log.h"
#include "cmd/main.h"
#include "cmd/usage.h"

#define DAY_US (INT64_C(86400) * 1000000)
#define DAYS_MAX 36500

static const char help[] =
    "usage: weir ledger COMMAND [-c FILE | --ledger URL] [options]\n"
    "\n"
    "  sessions                every session, and what it has spent\n"
    "  show TENANT SID         one session: its turns and calls\n"
    "  export                  every call as a JSON line, with all that its bill is "
    "made of\n"
    "  adjust TENANT [SID [TURN]] --usd AMOUNT --why TEXT\n"
    "                          correct what was spent; also --public, --total\n"
    "  forget TENANT [SID]     delete a tenant or a session; what was spent stays "
    "spent\n"
    "  backup FILE             a copy of a SQLite ledger, while it is in use\n"
    "  verify [--prices FILE]  does it add up, and does each call cost what it says\n"
    "  reconcile FILE          compare with a provider's list of requests and costs\n"
    "\n"
    "  -c, --config FILE   the configuration that names the ledger\n"
    "      --ledger URL    the ledger itself: sqlite:PATH, redis://HOST:PORT/DB\n"
    "      --issuer NAME   of the session, where several issuers have one of that name\n"
    "      --from DATE, --to DATE\n"
    "                      export, reconcile: calls of these days (UTC), both included\n"
    "      --usd AMOUNT    adjust: added to what was spent; may begin with -\n"
    "      --why TEXT      adjust: kept beside it\n"
    "      --id NAME       adjust: the same name twice is one correction\n"
    "      --per day|month adjust: the account of this day or month (UTC)\n"
    "      --public, --total\n"
    "                      adjust: the account of all public sessions, of everything\n"
    "      --days N        forget: how long the name cannot come back\n"
    "      --prices FILE   verify: a price table; may be repeated\n"
    "      --provider NAME reconcile: only calls that went there\n"
    "      --id-field NAME, --cost-field NAME\n"
    "                      reconcile: what they are called (request_id, cost)\n"
    "      --tolerance USD reconcile: smaller differences do not count\n"
    "      --json          JSON instead of text\n"
    "      --help          this text\n"
    "\n"
    "Exits 0 when all is well, 1 when something does not add up or is not there, 66\n"
    "when a file cannot be read, 69 when the ledger is away or in use, 78 when a file\n"
    "is not in order.\n";

enum {
	SESSIONS = 1,
	SHOW = 2,
	EXPORT = 4,
	ADJUST = 8,
	FORGET = 16,
	BACKUP = 32,
	VERIFY = 64,
	RECONCILE = 128
};

static const struct {
	const char *name;
	unsigned bit;
	int (*run)(struct books *b, const struct ledger_asked *o);
	int least, most; /* words behind it */
	bool writes;     /* beside it, weir remembers in state_dir what it has seen */
	const char *words;
} commands[] = {
	{ "sessions", SESSIONS, ledger_sessions, 0, 0, false, "no words" },
	{ "show", SHOW, ledger_show, 2, 2, false, "TENANT SID" },
	{ "export", EXPORT, ledger_export, 0, 0, false, "no words" },
	{ "adjust", ADJUST, ledger_adjust, 0, 3, true, "TENANT [SID [TURN]]" },
	{ "forget", FORGET, ledger_forget, 1, 2, true, "TENANT [SID]" },
	{ "backup", BACKUP, ledger_backup, 1, 1, false, "FILE" },
	{ "verify", VERIFY, ledger_verify, 0, 0, false, "no words" },
	{ "reconcile", RECONCILE, ledger_reconcile, 1, 1, false, "FILE" },
};

/* ---- options */

enum option_id {
	OPTION_LEDGER = 256,
	OPTION_ISSUER,
	OPTION_FROM,
	OPTION_TO,
	OPTION_USD,
	OPTION_WHY,
	OPTION_ID,
	OPTION_PER,
	OPTION_PUBLIC,
	OPTION_TOTAL,
	OPTION_DAYS,
	OPTION_PRICES,
	OPTION_PROVIDER,
	OPTION_ID_FIELD,
	OPTION_COST_FIELD,
	OPTION_TOLERANCE,
	OPTION_JSON,
};

static const struct option longs[] = {
	{ "config", required_argument, NULL, 'c' },
	{ "help", no_argument, NULL, 'h' },
	{ "ledger", required_argument, NULL, OPTION_LEDGER },
	{ "issuer", required_argument, NULL, OPTION_ISSUER },
	{ "from", required_argument, NULL, OPTION_FROM },
	{ "to", required_argument, NULL, OPTION_TO },
	{ "usd", required_argument, NULL, OPTION_USD },
	{ "why", required_argument, NULL, OPTION_WHY },
	{ "id", required_argument, NULL, OPTION_ID },
	{ "per", required_argument, NULL, OPTION_PER },
	{ "public", no_argument, NULL, OPTION_PUBLIC },
	{ "total", no_argument, NULL, OPTION_TOTAL },
	{ "days", required_argument, NULL, OPTION_DAYS },
	{ "prices", required_argument, NULL, OPTION_PRICES },
	{ "provider", required_argument, NULL, OPTION_PROVIDER },
	{ "id-field", required_argument, NULL, OPTION_ID_FIELD },
	{ "cost-field", required_argument, NULL, OPTION_COST_FIELD },
	{ "tolerance", required_argument, NULL, OPTION_TOLERANCE },
	{ "json", no_argument, NULL, OPTION_JSON },
	{ NULL, 0, NULL, 0 },
};

/* Which commands an option is for. */
static const struct usage_users users[] = {
	{ OPTION_ISSUER, SHOW | ADJUST | FORGET },
	{ OPTION_FROM, EXPORT | RECONCILE },
	{ OPTION_TO, EXPORT | RECONCILE },
	{ OPTION_USD, ADJUST },
	{ OPTION_WHY, ADJUST },
	{ OPTION_ID, ADJUST },
	{ OPTION_PER, ADJUST },
	{ OPTION_PUBLIC, ADJUST },
	{ OPTION_TOTAL, ADJUST },
	{ OPTION_DAYS, FORGET },
	{ OPTION_PRICES, VERIFY },
	{ OPTION_PROVIDER, RECONCILE },
	{ OPTION_ID_FIELD, RECONCILE },
	{ OPTION_COST_FIELD, RECONCILE },
	{ OPTION_TOLERANCE, RECONCILE },
	{ 0, 0 },
};

/* Midnight of YYYY-MM-DD, UTC. */
static bool
take_date(const char *text, usec *out)
{
	struct tm tm = { .tm_isdst = 0 };
	const char *end = strptime(text, "%Y-%m-%d", &tm);
	int month = tm.tm_mon, day = tm.tm_mday;

	if (end == NULL || *end != '\0' || strspn(text, "0123456789-") != 10)
		return false;
	*out = (usec)timegm(&tm) * 1000000;
	return tm.tm_mon == month && tm.tm_mday == day; /* there was such a day */
}

static bool
take_days(const char *text, int64_t *out)
{
	uint64_t n;

	if (!str_decimal(str_of(text), &n) || n < 1 || n > DAYS_MAX)
		return false;
	*out = (int64_t)n;
	return true;
}

static bool
take_prices(struct ledger_asked *o)
{
	if (o->nprices == LEDGER_TABLES)
		return false;
	o->prices[o->nprices++] = optarg;
	return true;
}

/* Where the text of an option goes; NULL: it is more than text. */
static const char **
place_of(struct ledger_asked *o, int c)
{
	const struct {
		int id;
		const char **at;
	} places[] = {
		{ 'c', &o->config },
		{ OPTION_LEDGER, &o->url },
		{ OPTION_ISSUER, &o->issuer },
		{ OPTION_USD, &o->usd },
		{ OPTION_WHY, &o->why },
		{ OPTION_ID, &o->id },
		{ OPTION_PER, &o->per },
		{ OPTION_PROVIDER, &o->provider },
		{ OPTION_ID_FIELD, &o->id_field },
		{ OPTION_COST_FIELD, &o->cost_field },
	};

	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
		if (places[i].id == c)
			return places[i].at;
	return NULL;
}

static bool *
switch_of(struct ledger_asked *o, int c)
{
	return c == OPTION_JSON     ? &o->is_json
	       : c == OPTION_PUBLIC ? &o->is_public
	       : c == OPTION_TOTAL  ? &o->is_total
				    : NULL;
}

_Static_assert(LEDGER_TABLES == 16, "as it is said");
static const struct usage_value values[] = {
	{ OPTION_FROM, "a day: 2031-04-05", NULL },
	{ OPTION_TO, "a day: 2031-04-05", NULL },
	{ OPTION_DAYS, "a number of days", NULL },
	{ OPTION_TOLERANCE, "an amount of USD: 0.01", NULL },
	{ OPTION_PRICES, "16 tables at most", NULL },
	{ 0, NULL, NULL },
};

static bool
take_value(struct ledger_asked *o, int c)
{
	switch (c) {
	case OPTION_FROM:
		return take_date(optarg, &o->from);
	case OPTION_TO:
		if (!take_date(optarg, &o->to))
			return false;
		o->to += DAY_US;
		return true;
	case OPTION_DAYS:
		return take_days(optarg, &o->days);
	case OPTION_TOLERANCE:
		return usd_read(str_of(optarg), &o->tolerance);
	case OPTION_PRICES:
		return take_prices(o);
	default:
		return false;
	}
}

static int
take_option(struct ledger_asked *o, int c, char *const *argv)
{
	const char **place = place_of(o, c);
	bool *is_on = switch_of(o, c);

	if (c == '?' || c == ':')
		return usage_refuse_option("ledger", longs, argv, c);
	if (place != NULL)
		*place = optarg;
	else if (is_on != NULL)
		*is_on = true;
	else if (!take_value(o, c))
		return usage_refuse_value("ledger", longs, values, c);
	return EXIT_YES;
}

/* ---- the command */

static int
run(size_t command, const struct ledger_asked *o)
{
	struct books b;
	int status;

	log_setup(LOG_WARN, LOG_TEXT); /* standard error is a person's here */
	status = books_open(&b, o->config, o->url);
	if (status == EXIT_YES)
		status = commands[command].run(&b, o);
	books_close(&b);
	return status;
}

static int
run_command(struct ledger_asked *o, const char *name, int nword, char *const *word,
    uint64_t given)
{
	size_t i = 0, n = sizeof(commands) / sizeof(*commands);
	int status;

	while (i < n && strcmp(commands[i].name, name) != 0)
		i++;
	if (i == n)
		return usage_refuse("ledger",
		    "say sessions, show, export, adjust, forget, backup, verify or "
		    "reconcile");
	if (nword < commands[i].least || nword > commands[i].most)
		return usage_refuse("ledger", "%s takes %s", name, commands[i].words);
	if ((status = usage_check_users(
		 "ledger", name, commands[i].bit, longs, users, given)) != EXIT_YES)
		return status;
	if (commands[i].writes && o->url != NULL)
		return usage_refuse("ledger",
		    "%s needs the configuration, not --ledger: weir remembers beside it "
		    "which state of its ledger it has seen",
		    name);
	for (; o->nword < nword; o->nword++)
		o->word[o->nword] = word[o->nword];
	return run(i, o);
}

int
cmd_ledger(int argc, char **argv)
{
	struct ledger_asked o = { .to = INT64_MAX };
	uint64_t given = 0;
	int c, status;

	opterr = 0;
	while ((c = getopt_long(argc, argv, ":c:h", longs, NULL)) != -1) {
		if (c == 'h') {
			fputs(help, stdout);
			return EXIT_YES;
		}
		if ((status = take_option(&o, c, argv)) != EXIT_YES)
			return status;
		given |= usage_given(longs, c);
	}
	if (optind >= argc)
		return run_command(&o, "", 0, NULL, given);
	return run_command(&o, argv[optind], argc - optind - 1, argv + optind + 1, given);
}
