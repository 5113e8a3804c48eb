/*
 * ledger_change.c - weir ledger adjust, forget: what an operator may change
 *
 * Through the ledger's own thread and steps, as weir itself would.  Only accounts that
 * are there can be corrected: a name that is misspelt would open a new one that nobody
 * looks at.
 */
#include <fcntl.h>
#include <openssl/rand.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/exit.h"
#include "base/loop.h"
#include "cmd/book_rows.h"
#include "cmd/ledger.h"
#include "cmd/usage.h"
#include "ledger/forget.h"
#include "ledger/key.h"
#include "ledger/ledger.h"

#define ID_BYTES 8
#define LOOK_MS 10
#define PATIENCE_MS 5000
#define LEEWAY_MS 60000 /* beyond what a token may last */

/* ---- the account that is meant */

struct account {
	struct ledger_scope want;
	bool any_issuer;
	int64_t number; /* of the window that is now */
	size_t n;       /* how many fit */
	char *issuer;   /* owned: of the last that did */
};

static bool
fits(const struct account *a, const struct ledger_scope *s, int64_t number)
{
	return s->kind == a->want.kind && s->window == a->want.window &&
	       number == a->number && str_eq(s->tenant, a->want.tenant) &&
	       str_eq(s->sid, a->want.sid) && str_eq(s->turn, a->want.turn) &&
	       (a->any_issuer || str_eq(s->issuer, a->want.issuer));
}

static void
on_scope(void *arg, struct str key, const void *row)
{
	struct account *a = arg;
	struct ledger_scope s;
	int64_t number;

	(void)row;
	if (!key_scope_read(key, &s, &number) || !fits(a, &s, number) ||
	    (a->issuer != NULL && str_eq(s.issuer, str_of(a->issuer))))
		return;
	a->n++;
	free(a->issuer);
	a->issuer = str_dup(s.issuer);
}

static enum ledger_scope_kind
kind_of(const struct ledger_asked *o)
{
	static const enum ledger_scope_kind by_words[] = { LEDGER_TOTAL, LEDGER_TENANT,
		LEDGER_SESSION, LEDGER_TURN };

	return o->is_public ? LEDGER_PUBLIC : by_words[o->nword];
}

static int
find_account(struct account *a, struct books *b, const struct ledger_asked *o)
{
	a->want = (struct ledger_scope){ .kind = kind_of(o),
		.issuer = str_of(o->issuer),
		.tenant = str_of(o->word[0]),
		.sid = str_of(o->word[1]),
		.turn = str_of(o->word[2]),
		.cap = LEDGER_MONEY_MAX,
		.claim = LEDGER_NO_CLAIM };
	if (o->per != NULL)
		a->want.window = strcmp(o->per, "day") == 0 ? LEDGER_DAY : LEDGER_MONTH;
	a->any_issuer = o->issuer == NULL;
	a->number = window_number(a->want.window, clock_wall_us());
	if (!reader_walk(b->reader, ROW_SCOPE, on_scope, a))
		return EXIT_UNAVAILABLE;
	if (a->n == 1) {
		a->want.issuer = str_of(a->issuer);
		return EXIT_YES;
	}
	fputs(a->n == 0 ? "weir ledger: there is no such account; a tenant's has its "
			  "budget's --per\n"
			: "weir ledger: several issuers have an account of that name; "
			  "say which with --issuer\n",
	    stderr);
	return EXIT_NO;
}

/* ---- one question to the ledger */

struct question {
	struct loop *loop;
	struct ledger *ledger;
	struct ledger_reply reply;
	struct timer look;
	msec deadline;
};

/* Redis is connected to in the background; what is asked before that finds it away. */
static void
look_for_store(void *arg)
{
	struct question *q = arg;

	if (ledger_health(q->ledger) != LEDGER_AWAY || loop_now(q->loop) >= q->deadline)
		loop_stop(q->loop);
	else
		timer_set(q->loop, &q->look, LOOK_MS);
}

static void
wait_for_store(struct question *q)
{
	timer_init(&q->look, look_for_store, q);
	q->deadline = loop_now(q->loop) + PATIENCE_MS;
	timer_set(q->loop, &q->look, LOOK_MS);
	loop_run(q->loop);
}

static void
on_done(void *arg, const struct ledger_reply *reply)
{
	struct question *q = arg;

	q->reply = *reply;
	loop_stop(q->loop);
}

/* The reader goes first: a writer may want to tidy what it holds on to. */
static bool
open_to_write(struct question *q, struct books *b)
{
	reader_close(b->reader);
	b->reader = NULL;
	if ((q->ledger = ledger_open(&b->at)) == NULL) {
		fputs("weir ledger: it cannot be opened for writing; a SQLite ledger has "
		      "one writer, so stop weir first\n",
		    stderr);
		return false;
	}
	q->loop = loop_new();
	ledger_start(q->ledger);
	wait_for_store(q);
	return true;
}

static int
close_question(struct question *q)
{
	ledger_close(q->ledger);
	loop_free(q->loop);
	if (q->reply.answer == LEDGER_OK)
		return EXIT_YES;
	fprintf(stderr, "weir ledger: %s\n", ledger_answer_text(q->reply.answer));
	return q->reply.answer == LEDGER_AWAY || q->reply.answer == LEDGER_ROLLED_BACK
		   ? EXIT_UNAVAILABLE
		   : EXIT_NO;
}

/* ---- adjust */

static bool
read_amount(const char *text, usd_nano *out)
{
	bool is_minus = text[0] == '-';

	if (!usd_read(str_of(text + is_minus), out) || *out > LEDGER_COST_MAX)
		return false;
	*out = is_minus ? -*out : *out;
	return true;
}

static int
make_id(struct buf *to, const char *given)
{
	unsigned char random[ID_BYTES];

	if (given != NULL) {
		buf_text(to, given);
		return EXIT_YES;
	}
	if (RAND_bytes(random, sizeof(random)) != 1)
		return EXIT_SOFTWARE;
	buf_text(to, "adjust-");
	for (size_t i = 0; i < sizeof(random); i++)
		buf_fmt(to, "%02x", random[i]);
	return EXIT_YES;
}

static void
say_adjusted(const struct ledger_reply *r, const char *id, bool is_json)
{
	char delta[USD_TEXT], spent[USD_TEXT];

	if (is_json)
		printf("{\"id\":\"%s\",\"repeat\":%s,\"delta_nano\":%lld,"
		       "\"spent_nano\":%lld}\n",
		    id, r->is_repeat ? "true" : "false", (long long)r->charged,
		    (long long)r->room[0].spent);
	else
		printf("%s  %s%s USD, now %s USD spent\n", id,
		    r->is_repeat ? "was done before: " : "", usd_print(r->charged, delta),
		    usd_print(r->room[0].spent, spent));
}

static int
adjust(struct books *b, const struct ledger_asked *o, const struct ledger_scope *scope,
    usd_nano delta)
{
	struct ledger_adjust a = {
		.scope = *scope, .delta = delta, .why = str_of(o->why)
	};
	struct question q = { .loop = NULL };
	struct buf id;
	int status;

	buf_init(&id, 256);
	if ((status = make_id(&id, o->id)) == EXIT_YES && !open_to_write(&q, b))
		status = EXIT_UNAVAILABLE;
	if (status == EXIT_YES) {
		a.call.request = buf_view(&id);
		(void)ledger_adjust_start(q.ledger, q.loop, &a, on_done, &q);
		loop_run(q.loop);
		if ((status = close_question(&q)) == EXIT_YES)
			say_adjusted(&q.reply, buf_cstr(&id), o->is_json);
	}
	buf_fini(&id);
	return status;
}

static bool
is_name(const char *text)
{
	size_t n = strlen(text);

	for (size_t i = 0; i < n; i++)
		if (!ascii_is_alnum(text[i]) && strchr("._-", text[i]) == NULL)
			return false;
	return n > 0 && n <= 64;
}

static const char *
why_not(const struct ledger_asked *o, usd_nano *delta)
{
	bool is_pool = o->is_total || o->is_public;

	if (o->usd == NULL || !read_amount(o->usd, delta))
		return "adjust needs --usd: dollars, with at most nine decimals";
	if (o->why == NULL || o->why[0] == '\0' || strlen(o->why) > 1024)
		return "adjust needs --why: a sentence of up to 1024 bytes";
	if (is_pool == (o->nword > 0) || (o->is_total && o->is_public))
		return "adjust takes one account: TENANT [SID [TURN]], --public or "
		       "--total";
	if (o->per != NULL && strcmp(o->per, "day") != 0 && strcmp(o->per, "month") != 0)
		return "--per takes day or month";
	if (o->id != NULL && !is_name(o->id))
		return "--id takes up to 64 letters, digits, dots, dashes, underscores";
	return NULL;
}

int
ledger_adjust(struct books *b, const struct ledger_asked *o)
{
	struct account a = { .n = 0 };
	usd_nano delta = 0;
	const char *why = why_not(o, &delta);
	int status;

	if (why != NULL)
		return usage_refuse("ledger", "%s", why);
	if ((status = find_account(&a, b, o)) == EXIT_YES)
		status = adjust(b, o, &a.want, delta);
	free(a.issuer);
	return status;
}

/* ---- forget */

struct leaving {
	struct str asked; /* key; its parts may be empty */
	uint64_t sessions, calls;
};

static void
on_session(void *arg, struct str key, const void *row)
{
	struct leaving *l = arg;

	(void)row;
	l->sessions += forget_names(l->asked, key);
}

static void
on_call(void *arg, struct str key, const void *row)
{
	struct leaving *l = arg;

	(void)key;
	l->calls += forget_names(l->asked, ((const struct row_call *)row)->session);
}

static bool
count_leaving(struct leaving *l, struct books *b, const struct ledger_forget *f)
{
	struct buf key;
	bool is_read;

	buf_init(&key, 1024);
	key_put(&key, f->issuer);
	key_put(&key, f->tenant);
	key_put(&key, f->sid);
	l->asked = buf_view(&key);
	is_read = reader_walk(b->reader, ROW_SESSION, on_session, l) &&
		  reader_walk(b->reader, ROW_CALL, on_call, l);
	buf_fini(&key);
	return is_read;
}

int
ledger_forget(struct books *b, const struct ledger_asked *o)
{
	int64_t keep_ms = o->days > 0 ? o->days * 86400000
				      : b->settings->sessions_max_ttl * 1000 + LEEWAY_MS;
	struct ledger_forget f = { .issuer = str_of(o->issuer),
		.tenant = str_of(o->word[0]),
		.sid = str_of(o->word[1]),
		.keep_ms = keep_ms };
	struct question q = { .loop = NULL };
	struct leaving l = { .sessions = 0 };
	int status;

	if (!count_leaving(&l, b, &f) || !open_to_write(&q, b))
		return EXIT_UNAVAILABLE;
	(void)ledger_forget_start(q.ledger, q.loop, &f, on_done, &q);
	loop_run(q.loop);
	if ((status = close_question(&q)) != EXIT_YES)
		return status;
	if (o->is_json)
		printf("{\"sessions\":%llu,\"calls\":%llu}\n",
		    (unsigned long long)l.sessions, (unsigned long long)l.calls);
	else
		printf("forgot %llu session%s and %llu call%s\n",
		    (unsigned long long)l.sessions, plural(l.sessions),
		    (unsigned long long)l.calls, plural(l.calls));
	return EXIT_YES;
}
