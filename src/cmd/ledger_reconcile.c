/*
 * ledger_reconcile.c - weir ledger reconcile: the ledger beside a provider's bill
 *
 * A request is found by weir's own id or by the one that the provider gave it; its
 * attempts are one.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/exit.h"
#include "base/map.h"
#include "cmd/book_rows.h"
#include "cmd/input.h"
#include "cmd/ledger.h"
#include "cmd/statement.h"
#include "meter/usage_json.h"

#define STATEMENT_MAX ((size_t)1 << 30)
#define USAGE_MEMORY ((size_t)1 << 20)

/* What the ledger has of one request. */
struct spent {
	usd_nano cost;
	char *provider_id; /* owned; NULL: not known */
};

struct compare {
	const struct ledger_asked *asked;
	struct statement bill;
	struct map seen, request; /* keys of calls; id -> struct spent */
	uint64_t same, different, here_only, there_only, held;
	usd_nano here, there; /* sums */
};

/* ---- what the ledger has */

static struct spent *
spent_of(struct compare *c, struct str request)
{
	struct spent *s = map_get(&c->request, request);

	if (s == NULL) {
		s = mem_zalloc(sizeof(*s));
		map_put(&c->request, request, s);
	}
	return s;
}

static void
note_provider_id(struct spent *s, struct str usage)
{
	struct usage_kept kept;
	struct arena a;

	arena_init(&a, USAGE_MEMORY);
	if (s->provider_id == NULL && usage.n > 0 &&
	    usage_parse(&kept, usage, &a) == NULL && kept.id.n > 0)
		s->provider_id = str_dup(kept.id);
	arena_fini(&a);
}

static bool
is_compared(const struct ledger_asked *o, const struct row_call *call)
{
	return call->reserved_at >= o->from && call->reserved_at < o->to &&
	       (call->flags & LEDGER_ADJUSTED) == 0 && call->state != CALL_UNSENT &&
	       (o->provider == NULL || str_eq(call->provider, str_of(o->provider)));
}

static void
on_call(void *arg, struct str key, const void *row)
{
	struct compare *c = arg;
	const struct row_call *call = row;
	struct spent *s;

	if (!is_compared(c->asked, call) || map_put(&c->seen, key, c) != NULL)
		return;
	if (call->state == CALL_HELD) {
		c->held++;
		return;
	}
	s = spent_of(c, call_name_of(key).request);
	if (!money_add(s->cost, row_call_cost(call), &s->cost))
		s->cost = LEDGER_MONEY_MAX;
	note_provider_id(s, call->usage);
}

static void
free_spent(void *p)
{
	struct spent *s = p;

	free(s->provider_id);
	free(s);
}

/* ---- beside each other */

static void
put_amount(struct json_out *j, const char *key, const usd_nano *n)
{
	json_key(j, key);
	if (n == NULL)
		json_null(j);
	else
		json_int(j, *n);
}

static void
say(const struct compare *c, const char *what, struct str id, const usd_nano *here,
    const usd_nano *there)
{
	struct buf text;
	struct json_out j;

	buf_init(&text, 65536);
	if (c->asked->is_json) {
		json_out_init(&j, &text);
		json_open(&j, '{');
		json_key(&j, "request");
		json_str(&j, id);
		json_key(&j, "what");
		json_text(&j, what);
		put_amount(&j, "ledger_nano", here);
		put_amount(&j, "provider_nano", there);
		json_close(&j, '}');
	} else {
		row_show(&text, id);
		buf_fmt(&text, ": %s: ", what);
		if (here != NULL)
			row_show_usd(&text, *here);
		buf_text(&text, here != NULL && there != NULL ? " here, " : "");
		if (there != NULL)
			row_show_usd(&text, *there);
		buf_text(&text, here != NULL && there != NULL ? " there" : " USD");
	}
	puts(buf_cstr(&text));
	buf_fini(&text);
}

static struct billed *
bill_of_request(const struct compare *c, struct str id, const struct spent *s)
{
	struct billed *b = map_get(&c->bill.request, id);

	if (b == NULL && s->provider_id != NULL)
		b = map_get(&c->bill.request, str_of(s->provider_id));
	return b;
}

static void
sum_up(usd_nano *sum, usd_nano n)
{
	if (!money_add(*sum, n, sum))
		*sum = LEDGER_MONEY_MAX;
}

static void
compare_request(struct compare *c, struct str id, const struct spent *s)
{
	struct billed *b = bill_of_request(c, id, s);

	sum_up(&c->here, s->cost);
	if (b == NULL && s->cost <= c->asked->tolerance)
		return; /* nothing to bill */
	if (b == NULL) {
		c->here_only++;
		say(c, "only_in_ledger", id, &s->cost, NULL);
		return;
	}
	b->is_matched = true;
	if (llabs(s->cost - b->cost) <= c->asked->tolerance) {
		c->same++;
		return;
	}
	c->different++;
	say(c, "differs", id, &s->cost, &b->cost);
}

static void
compare_all(struct compare *c)
{
	struct str id;
	void *value;

	for (size_t at = 0; map_next(&c->request, &at, &id, &value);)
		compare_request(c, id, value);
	for (size_t at = 0; map_next(&c->bill.request, &at, &id, &value);) {
		const struct billed *b = value;

		sum_up(&c->there, b->cost);
		if (b->is_matched || b->cost <= c->asked->tolerance)
			continue;
		c->there_only++;
		say(c, "only_at_provider", id, NULL, &b->cost);
	}
}

static int
say_sums(const struct compare *c)
{
	char here[USD_TEXT], there[USD_TEXT];

	if (c->asked->is_json)
		printf("{\"same\":%" PRIu64 ",\"differs\":%" PRIu64
		       ",\"only_in_ledger\":%" PRIu64 ",\"only_at_provider\":%" PRIu64
		       ",\"held\":%" PRIu64 ",\"ledger_nano\":%" PRId64
		       ",\"provider_nano\":%" PRId64 "}\n",
		    c->same, c->different, c->here_only, c->there_only, c->held, c->here,
		    c->there);
	else
		printf("%" PRIu64 " the same, %" PRIu64 " differ, %" PRIu64
		       " only in the ledger, %" PRIu64 " only at the provider, %" PRIu64
		       " still held\n%s USD in the ledger, %s USD at the provider\n",
		    c->same, c->different, c->here_only, c->there_only, c->held,
		    usd_print(c->here, here), usd_print(c->there, there));
	return c->different + c->here_only + c->there_only == 0 ? EXIT_YES : EXIT_NO;
}

/* ---- the command */

static int
load_bill(struct compare *c)
{
	const struct ledger_asked *o = c->asked;
	struct buf text;
	int status = EXIT_YES;

	buf_init(&text, STATEMENT_MAX);
	map_init(&c->bill.request);
	if (!input_read("ledger", o->word[0], &text)) {
		status = EXIT_NOINPUT;
	} else if (!statement_read(
		       &c->bill, buf_view(&text), o->id_field, o->cost_field)) {
		fprintf(stderr, "weir ledger: %s:%zu: %s\n", o->word[0], c->bill.line,
		    c->bill.why);
		status = EXIT_CONFIG;
	}
	buf_fini(&text);
	return status;
}

int
ledger_reconcile(struct books *b, const struct ledger_asked *o)
{
	struct compare c = { .asked = o };
	int status;

	map_init(&c.seen);
	map_init(&c.request);
	if ((status = load_bill(&c)) == EXIT_YES &&
	    !reader_walk(b->reader, ROW_CALL, on_call, &c))
		status = EXIT_UNAVAILABLE;
	if (status == EXIT_YES) {
		compare_all(&c);
		status = say_sums(&c);
	}
	statement_fini(&c.bill);
	map_fini(&c.request, free_spent);
	map_fini(&c.seen, NULL);
	return status;
}
