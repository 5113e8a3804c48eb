/*
 * verify.c - does a ledger add up: each scope against the calls that name it
 */
#include <stdlib.h>

#include "base/map.h"
#include "ledger/call.h"
#include "ledger/reader.h"

struct account {
	__int128 charged, held;
	bool is_known; /* its row was seen */
};

struct verify {
	struct map accounts;
	struct map calls; /* seen before: Redis may show one twice */
	struct verify_sums *sums;
	verify_finding *found;
	void *arg;
};

static void
say(struct verify *v, const char *what, struct str key, int64_t is, int64_t should_be)
{
	v->sums->findings++;
	v->found(v->arg, what, key, is, should_be);
}

static struct account *
account_of(struct verify *v, struct str key)
{
	struct account *a = map_get(&v->accounts, key);

	if (a != NULL)
		return a;
	a = mem_zalloc(sizeof(*a));
	map_put(&v->accounts, key, a);
	return a;
}

static void
on_call(void *arg, struct str key, const void *row)
{
	struct verify *v = arg;
	const struct row_call *call = row;
	bool is_held = call->state == CALL_HELD;
	struct str rest = call->scopes, scope;
	usd_nano cap;

	if (map_put(&v->calls, key, v) != NULL)
		return;
	v->sums->calls++;
	v->sums->held += is_held;
	if (call->state == CALL_SETTLED && call->charged < call->cost)
		say(v, "charged less than it cost", key, call->charged, call->cost);
	while (call_scope_next(&rest, &scope, &cap)) {
		struct account *a = account_of(v, scope);

		a->held += is_held ? call->amount : 0;
		a->charged += is_held ? 0 : call->charged;
	}
	if (rest.n > 0)
		say(v, "its scopes cannot be read", key, (int64_t)rest.n, 0);
}

static int64_t
up_to_max(__int128 sum)
{
	return sum > LEDGER_MONEY_MAX ? LEDGER_MONEY_MAX : (int64_t)sum;
}

static void
on_scope(void *arg, struct str key, const void *row)
{
	struct verify *v = arg;
	const struct row_scope *scope = row;
	struct account *a = account_of(v, key);
	int64_t spent = up_to_max(a->charged + scope->base), held = up_to_max(a->held);

	a->is_known = true;
	v->sums->scopes++;
	if (scope->spent != spent)
		say(v, "spent is not what its calls were charged", key, scope->spent,
		    spent);
	if (scope->reserved != held)
		say(v, "reserved is not what its calls hold", key, scope->reserved, held);
}

static void
on_session(void *arg, struct str key, const void *row)
{
	struct verify *v = arg;

	(void)key, (void)row;
	v->sums->sessions++;
}

static void
on_meta(void *arg, struct str key, const void *row)
{
	struct verify *v = arg;

	(void)key;
	v->sums->revision = ((const struct row_meta *)row)->revision;
}

static void
find_missing(struct verify *v)
{
	struct str key;
	void *value;

	for (size_t at = 0; map_next(&v->accounts, &at, &key, &value);) {
		const struct account *a = value;

		if (!a->is_known)
			say(v, "calls name a scope that is not there", key, 0,
			    up_to_max(a->charged + a->held));
	}
}

bool
reader_verify(
    struct reader *r, struct verify_sums *sums, verify_finding *found, void *arg)
{
	struct verify v = { .sums = sums, .found = found, .arg = arg };
	bool is_done;

	*sums = (struct verify_sums){ .calls = 0 };
	map_init(&v.accounts);
	map_init(&v.calls);
	reader_moment(r, true);
	is_done = reader_walk(r, ROW_META, on_meta, &v) &&
		  reader_walk(r, ROW_CALL, on_call, &v) &&
		  reader_walk(r, ROW_SCOPE, on_scope, &v) &&
		  reader_walk(r, ROW_SESSION, on_session, &v);
	reader_moment(r, false);
	if (is_done)
		find_missing(&v);
	map_fini(&v.accounts, free);
	map_fini(&v.calls, NULL);
	return is_done;
}
