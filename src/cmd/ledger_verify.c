/*
 * ledger_verify.c - weir ledger verify: do the sums add up, and is each bill right
 *
 * A call whose price table is at hand is computed again from what the ledger kept of its
 * usage.  An estimate was a ceiling of what might have been, so it must not be below what
 * its tokens cost, nor above what was held.
 */
#include <inttypes.h>
#include <stdio.h>

#include "base/exit.h"
#include "base/map.h"
#include "cmd/book_rows.h"
#include "cmd/config.h"
#include "cmd/ledger.h"
#include "meter/cost.h"
#include "meter/usage_json.h"

#define USAGE_MEMORY ((size_t)1 << 20)
#define FINDINGS_MAX ((size_t)1 << 30)

struct check {
	struct prices *table[LEDGER_TABLES];
	size_t ntable;
	struct map seen;
	uint64_t computed, elsewhere; /* priced with a table that is not at hand */
	uint64_t nfound;
	bool is_json;
	struct buf text;
	struct json_out j;
};

/* ---- findings */

static void
say(struct check *c, const char *what, struct str key, bool is_scope, int64_t is,
    int64_t should_be)
{
	c->nfound++;
	if (c->is_json) {
		json_open(&c->j, '{');
		json_key(&c->j, "what");
		json_text(&c->j, what);
		json_key(&c->j, "key");
		json_str(&c->j, key);
		json_key(&c->j, "is");
		json_int(&c->j, is);
		json_key(&c->j, "should_be");
		json_int(&c->j, should_be);
		json_close(&c->j, '}');
		return;
	}
	if (is_scope)
		row_show_scope(&c->text, key);
	else
		row_show(&c->text, key);
	buf_fmt(
	    &c->text, ": %s: %" PRId64 ", should be %" PRId64 "\n", what, is, should_be);
}

static void
on_finding(void *arg, const char *what, struct str key, int64_t is, int64_t should_be)
{
	say(arg, what, key, true, is, should_be);
}

/* ---- one bill */

static const struct prices *
table_of(const struct check *c, struct str digest)
{
	for (size_t i = 0; i < c->ntable; i++)
		if (str_eq(digest, str_of(prices_digest(c->table[i]))))
			return c->table[i];
	return NULL;
}

/* What the tokens cost; false after saying why that cannot be told. */
static bool
compute(struct check *c, struct str key, const struct row_call *call,
    struct usage_kept *kept, usd_nano *out)
{
	yyyymmdd day = kept->day != 0 ? kept->day : row_day(call->reserved_at);

	if (kept->usage.model[0] == '\0')
		usage_name(kept->usage.model, call->model);
	if ((call->flags & LEDGER_REPORTED) != 0) {
		*out = kept->usage.reported;
		return true;
	}
	switch (cost_of(table_of(c, call->prices), &kept->usage, day, out)) {
	case COST_OK:
		return true;
	case COST_UNPRICED: /* so it was charged at a ceiling */
		if ((call->flags & LEDGER_ESTIMATED) != 0) {
			*out = 0;
			return true;
		}
		say(c, "its table has no price for its model", key, false, call->cost, 0);
		return false;
	case COST_TOO_LARGE:
		say(c, "its usage costs more than can be", key, false, call->cost, 0);
		return false;
	}
	return false;
}

static void
compare(struct check *c, struct str key, const struct row_call *call, usd_nano cost)
{
	usd_nano least = cost < call->amount ? cost : call->amount;
	usd_nano most = cost > call->amount ? cost : call->amount;

	if ((call->flags & LEDGER_ESTIMATED) == 0) {
		if (call->cost != cost)
			say(c, "cost is not what its usage costs", key, false, call->cost,
			    cost);
		return;
	}
	if (call->cost < least)
		say(c, "estimated below what its usage costs", key, false, call->cost,
		    least);
	/* more only where that was surely used: by a provider that kept to no limit */
	if (call->cost > most && (call->flags & LEDGER_UNHELD) == 0)
		say(c, "estimated above what was held", key, false, call->cost,
		    call->amount);
}

static void
check_bill(struct check *c, struct str key, const struct row_call *call)
{
	struct usage_kept kept;
	usd_nano cost;
	struct arena a;

	arena_init(&a, USAGE_MEMORY);
	if (call->usage.n == 0)
		say(c, "it cost something, and its usage was not kept", key, false,
		    call->cost, 0);
	else if (usage_parse(&kept, call->usage, &a) != NULL)
		say(c, "its usage cannot be read", key, false, call->cost, 0);
	else if (compute(c, key, call, &kept, &cost))
		compare(c, key, call, cost);
	c->computed++;
	arena_fini(&a);
}

/* A call that cost nothing and of which nothing was kept was never answered. */
static void
on_call(void *arg, struct str key, const void *row)
{
	struct check *c = arg;
	const struct row_call *call = row;
	bool is_bill = call->state == CALL_SETTLED &&
		       (call->flags & LEDGER_ADJUSTED) == 0 &&
		       (call->cost != 0 || call->usage.n > 0);

	if (!is_bill || map_put(&c->seen, key, c) != NULL)
		return;
	if (table_of(c, call->prices) == NULL)
		c->elsewhere++;
	else
		check_bill(c, key, call);
}

/* ---- the command */

static int
load_tables(struct check *c, const struct ledger_asked *o)
{
	for (; c->ntable < o->nprices; c->ntable++) {
		struct report rep;

		report_init(&rep);
		int err = prices_load(&c->table[c->ntable], o->prices[c->ntable], &rep);
		int status =
		    err == 0 ? EXIT_YES : config_status(&rep, o->prices[c->ntable]);
		report_say(&rep);
		report_fini(&rep);
		if (status != EXIT_YES)
			return status;
	}
	return EXIT_YES;
}

static void
print_sums(struct check *c, const struct verify_sums *sums)
{
	buf_fmt(&c->text,
	    "%" PRIu64 " call%s, %" PRIu64 " of them held, in %" PRIu64
	    " account%s of %" PRIu64 " session%s, at revision %" PRId64 "\n",
	    sums->calls, plural(sums->calls), sums->held, sums->scopes,
	    plural(sums->scopes), sums->sessions, plural(sums->sessions), sums->revision);
	if (c->ntable > 0)
		buf_fmt(&c->text,
		    "%" PRIu64 " computed again, %" PRIu64 " by other price tables\n",
		    c->computed, c->elsewhere);
	if (c->nfound == 0)
		buf_text(&c->text, "it adds up\n");
	else
		buf_fmt(
		    &c->text, "%" PRIu64 " finding%s\n", c->nfound, plural(c->nfound));
}

static void
put_sums(struct check *c, const struct verify_sums *sums)
{
	const struct {
		const char *name;
		uint64_t n;
	} all[] = {
		{ "calls", sums->calls },
		{ "held", sums->held },
		{ "accounts", sums->scopes },
		{ "sessions", sums->sessions },
		{ "revision", (uint64_t)sums->revision },
		{ "computed", c->computed },
		{ "elsewhere", c->elsewhere },
	};

	json_close(&c->j, ']');
	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
		json_key(&c->j, all[i].name);
		json_int(&c->j, (int64_t)all[i].n);
	}
	json_close(&c->j, '}');
	buf_char(&c->text, '\n');
}

static int
verify(struct check *c, struct reader *r)
{
	struct verify_sums sums;

	if (c->is_json) {
		json_open(&c->j, '{');
		json_key(&c->j, "findings");
		json_open(&c->j, '[');
	}
	if (!reader_verify(r, &sums, on_finding, c) ||
	    (c->ntable > 0 && !reader_walk(r, ROW_CALL, on_call, c)))
		return EXIT_UNAVAILABLE;
	if (c->is_json)
		put_sums(c, &sums);
	else
		print_sums(c, &sums);
	fwrite(c->text.p, 1, c->text.n, stdout);
	return c->nfound == 0 ? EXIT_YES : EXIT_NO;
}

int
ledger_verify(struct books *b, const struct ledger_asked *o)
{
	struct check c = { .is_json = o->is_json };
	int status;

	map_init(&c.seen);
	buf_init(&c.text, FINDINGS_MAX);
	json_out_init(&c.j, &c.text);
	if ((status = load_tables(&c, o)) == EXIT_YES)
		status = verify(&c, b->reader);
	for (size_t i = 0; i < c.ntable; i++)
		prices_free(c.table[i]);
	buf_fini(&c.text);
	map_fini(&c.seen, NULL);
	return status;
}
