/*
 * ledger_property_test.c - no reservation is granted that would make spent + reserved >
 * cap
 *
 * Eight clients on four workers reserve, settle, renew, crash (never settle), settle
 * twice, and settle more than was held, each with many calls at once, on one instance
 * (memory, SQLite) or two (Redis, which is killed and comes back meanwhile).  Days pass
 * and the clock jumps back.
 *
 * The store's revision is a total order of all steps.  So what the clients were told is
 * replayed in that order against a model that knows nothing but additions, and the
 * invariant's sentence is checked at every grant.  Where a client does not know when its
 * settle took place, the model takes the earliest moment: it never holds more than the
 * store did, so what it finds is a violation.
 *
 * WEIR_LEDGER_OPS: how many steps; WEIR_LEDGER_SEED: of the random choices.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "ledger/reader.h"
#include "ledger_rig.h"
#include "unit.h"

#define WORKERS 4
#define LANES 48 /* calls at once on a worker; two clients have half of them each */
#define SCOPES 4
#define SESSIONS 12
#define TENANTS 3
#define EPOCHS 64 /* new sessions and tenants, another day */
#define DAYS 400
#define DAY_US (INT64_C(86400) * 1000000)
#define LEASE_MS 20000
#define AWAY_MS 20
#define DEATHS 4 /* of Redis; the last one well before the end, when it must be there */
#define PPM 1000000

static usd_nano caps[SCOPES]; /* so that about every other reserve is refused */

struct told {
	int64_t at; /* revision * 2, or the moment just after another one */
	bool is_grant;
	usd_nano amount; /* granted, or what is charged instead of it */
	usd_nano held;   /* end: what was granted */
	uint32_t scope[SCOPES];
};

struct worker;

struct lane {
	struct worker *worker;
	uint64_t random;
	struct ledger *ledger;
	char request[32], turn[16], sid[24], tenant[24];
	struct ledger_scope scope[SCOPES];
	uint32_t id[SCOPES];
	bool holds, is_told, has_crashed;
	usd_nano granted, cost;
	int64_t granted_at;
	uint64_t serial;
	struct timer later; /* the store is away */
};

struct worker {
	pthread_t thread;
	struct loop *loop;
	struct rig *rig[2];
	int number;
	size_t running; /* lanes */
	struct told *event;
	size_t nevent, cap;
	uint64_t granted, refused, away, lost;
	struct lane lane[LANES];
};

static uint64_t target;
static atomic_uint_fast64_t steps;
static usec began;

static uint64_t
roll(struct lane *l, uint64_t sides) /* xorshift64* */
{
	l->random ^= l->random >> 12;
	l->random ^= l->random << 25;
	l->random ^= l->random >> 27;
	return (l->random * UINT64_C(2685821657736338717) >> 32) % sides;
}

/* On any thread, where cmocka cannot be told. */
static void
violation(const char *what)
{
	fprintf(stderr, "violation: %s\n", what);
	abort();
}

/* ---- what clients were told */

static void
note(struct worker *w, const struct lane *l, int64_t at, bool is_grant, usd_nano amount)
{
	struct told *e;

	if (w->nevent == w->cap) {
		w->cap = w->cap == 0 ? 4096 : 2 * w->cap;
		w->event = mem_resize(w->event, w->cap * sizeof(*w->event));
	}
	e = &w->event[w->nevent++];
	*e = (struct told){
		.at = at, .is_grant = is_grant, .amount = amount, .held = l->granted
	};
	memcpy(e->scope, l->id, sizeof(e->scope));
}

static int
by_revision(const void *a, const void *b)
{
	const struct told *x = a, *y = b;

	return x->at < y->at ? -1 : x->at > y->at;
}

/* ids: turns are of sessions, those of tenants, and all of a day */
static void
name_scopes(struct lane *l)
{
	uint64_t done = atomic_load(&steps); /* others go on: it may be past the target */
	uint32_t epoch =
	    (uint32_t)((done < target ? done : target) * EPOCHS / (target + 1));
	uint32_t sid = epoch * SESSIONS + (uint32_t)roll(l, SESSIONS);
	uint32_t turn = sid * 3 + (uint32_t)roll(l, 3);
	uint32_t tenant = sid / SESSIONS * TENANTS + sid % TENANTS;

	snprintf(l->turn, sizeof(l->turn), "t%u", turn);
	snprintf(l->sid, sizeof(l->sid), "s%u", sid);
	snprintf(l->tenant, sizeof(l->tenant), "n%u", tenant);
	for (size_t i = 0; i < SCOPES; i++)
		l->scope[i] = (struct ledger_scope){ .issuer = STR("iss"),
			.tenant = str_of(l->tenant),
			.sid = str_of(l->sid),
			.turn = str_of(l->turn),
			.cap = caps[i],
			.claim = LEDGER_NO_CLAIM };
	l->scope[0].kind = LEDGER_TURN;
	l->scope[1].kind = LEDGER_SESSION;
	l->scope[2].kind = LEDGER_TENANT;
	l->scope[3].kind = LEDGER_TOTAL;
	l->scope[3].window = LEDGER_DAY;
	l->id[0] = turn;
	l->id[1] = sid;
	l->id[2] = tenant;
}

/* ---- a lane: one call after the other */

static void next(struct lane *l);

static void
on_later(void *arg)
{
	next(arg);
}

static void
begin_again(struct lane *l)
{
	l->holds = l->is_told = l->has_crashed = false;
	next(l);
}

static void
on_reserved(void *arg, const struct ledger_reply *reply)
{
	struct lane *l = arg;
	struct worker *w = l->worker;
	bool is_ok = reply->answer == LEDGER_OK;

	if (reply->answer == LEDGER_AWAY) {
		w->away++;
		timer_set(w->loop, &l->later, AWAY_MS);
		return;
	}
	if (!is_ok && reply->answer != LEDGER_EXHAUSTED)
		violation(ledger_answer_text(reply->answer));
	for (size_t i = 0; i < reply->nroom; i++)
		if (is_ok && ledger_left(&reply->room[i]) < 0)
			violation("granted beyond the cap, by the store's own account");
	if (!is_ok && ledger_left(&reply->room[reply->refused]) >= 1000)
		violation("refused though there was room");
	atomic_fetch_add(&steps, 1);
	if (!is_ok) {
		w->refused++;
		begin_again(l);
		return;
	}
	w->granted++;
	l->holds = true;
	l->granted = reply->granted;
	l->granted_at = reply->revision;
	l->id[3] = (uint32_t)(reply->now / DAY_US - began / DAY_US);
	note(w, l, 2 * reply->revision, true, reply->granted);
	next(l);
}

static void
reserve(struct lane *l)
{
	struct ledger_reserve q = { .nscope = SCOPES,
		.want = 1000 + (usd_nano)roll(l, 9000),
		.floor = 1000,
		.share_ppm = roll(l, 2) ? PPM : PPM / 2,
		.lease_ms = LEASE_MS };

	name_scopes(l);
	l->ledger = l->worker->rig[roll(l, 2)]->ledger;
	snprintf(l->request, sizeof(l->request), "%d-%d-%llu", l->worker->number,
	    (int)(l - l->worker->lane), (unsigned long long)l->serial++);
	q.call.request = str_of(l->request);
	memcpy(q.scope, l->scope, sizeof(l->scope));
	if (ledger_reserve_start(l->ledger, l->worker->loop, &q, on_reserved, l) == NULL)
		violation("a reserve was not begun");
}

/* Where it is not known when: as early as it can be for less, as late for more. */
static int64_t
moment_of(const struct lane *l, const struct ledger_reply *reply)
{
	bool is_known = !l->is_told && !reply->is_repeat;

	return is_known || reply->charged > l->granted ? 2 * reply->revision
						       : 2 * l->granted_at + 1;
}

static void
on_settled(void *arg, const struct ledger_reply *reply)
{
	struct lane *l = arg;
	struct worker *w = l->worker;

	if (reply->answer == LEDGER_AWAY) { /* it may be there by now, or come later */
		w->away++;
		l->is_told = true;
		timer_set(w->loop, &l->later, AWAY_MS);
		return;
	}
	if (reply->answer != LEDGER_OK)
		violation(ledger_answer_text(reply->answer));
	if (reply->charged < l->cost)
		violation("charged less than it cost");
	atomic_fetch_add(&steps, 1);
	w->lost += (reply->flags & LEDGER_LOST) != 0;
	note(w, l, moment_of(l, reply), false, reply->charged);
	l->holds = false;
	if (roll(l, 20) != 0) {
		begin_again(l);
		return;
	}
	l->has_crashed = true; /* settles once more: that must change nothing */
	next(l);
}

static void
on_settled_twice(void *arg, const struct ledger_reply *reply)
{
	struct lane *l = arg;

	if (reply->answer != LEDGER_AWAY && !reply->is_repeat)
		violation("a second settle counted");
	atomic_fetch_add(&steps, 1);
	begin_again(l);
}

static void
settle(struct lane *l, ledger_done *done)
{
	struct ledger_settle s = {
		.call = { str_of(l->request), 0 }, .nscope = SCOPES, .scope = l->scope
	};

	if (!l->is_told && done == on_settled)
		l->cost = roll(l, 50) == 0 ? l->granted + 500
					   : (usd_nano)roll(l, (uint64_t)l->granted + 1);
	s.cost = l->cost;
	ledger_settle_start(l->ledger, l->worker->loop, &s, done, l);
}

static void
on_renewed(void *arg, const struct ledger_reply *reply)
{
	struct lane *l = arg;

	if (reply->answer == LEDGER_AWAY) {
		timer_set(l->worker->loop, &l->later, AWAY_MS);
		return;
	}
	atomic_fetch_add(&steps, 1);
	next(l);
}

static void
next(struct lane *l)
{
	struct ledger_renew renew = { { str_of(l->request), 0 }, LEASE_MS };
	uint64_t choice = roll(l, 100);

	if (l->has_crashed) {
		settle(l, on_settled_twice);
	} else if (!l->holds && atomic_load(&steps) < target) {
		reserve(l);
	} else if (!l->holds) {
		if (--l->worker->running == 0)
			loop_stop(l->worker->loop);
	} else if (l->is_told || choice < 80) {
		settle(l, on_settled);
	} else if (choice < 93) {
		ledger_renew_start(l->ledger, l->worker->loop, &renew, on_renewed, l);
	} else {
		begin_again(l); /* a crash: nobody will ever settle it */
	}
}

static void *
work(void *arg)
{
	struct worker *w = arg;

	w->running = LANES;
	for (size_t i = 0; i < LANES; i++)
		next(&w->lane[i]);
	loop_run(w->loop);
	return NULL;
}

/* ---- the model */

static uint32_t
account(const struct told *e, size_t i)
{
	static const uint32_t first[SCOPES + 1] = { 0, EPOCHS * SESSIONS * 3,
		EPOCHS * SESSIONS * 4, EPOCHS * (SESSIONS * 4 + TENANTS) };

	return first[i] + e->scope[i];
}

static void
replay(struct told *event, size_t n)
{
	size_t naccount = EPOCHS * (SESSIONS * 4 + TENANTS) + DAYS;
	usd_nano *used = calloc(naccount, sizeof(*used)); /* spent + reserved */

	assert_non_null(used);
	qsort(event, n, sizeof(*event), by_revision);
	for (size_t i = 0; i < n; i++) {
		for (size_t k = 0; k < SCOPES; k++) {
			const struct told *e = &event[i];
			usd_nano *sum = &used[account(e, k)];

			*sum += e->is_grant ? e->amount : e->amount - e->held;
			if (e->is_grant && *sum > caps[k])
				fail_msg("revision %lld, scope %zu: %lld of %lld",
				    (long long)e->at / 2, k, (long long)*sum,
				    (long long)caps[k]);
		}
	}
	free(used);
}

/* ---- a run */

/* After all of it the ledger must add up. */
static void
on_finding(void *arg, const char *what, struct str key, int64_t is, int64_t should_be)
{
	(void)arg;
	print_error("%s: %.*s: %lld, not %lld\n", what, STR_ARG(key), (long long)is,
	    (long long)should_be);
}

static void
verify(const struct rig *r)
{
	struct ledger_options o = { .url = r->url, .directory = r->directory };
	struct verify_sums sums;
	struct reader *reader;

	if (r->kind == RIG_MEMORY)
		return;
	reader = reader_open(&o);
	assert_non_null(reader);
	assert_true(reader_verify(reader, &sums, on_finding, NULL));
	assert_int_equal(sums.findings, 0);
	reader_close(reader);
}

static void
pass_time(struct rig *rigs, size_t n, uint64_t turn)
{
	/* on by a day, an hour, or back by half a day */
	static const int64_t moves[] = { DAY_US, DAY_US / 24, -DAY_US / 2 };

	for (size_t i = 0; i < n; i++)
		atomic_fetch_add(&rigs[i].shift_us, moves[turn % 3]);
}

/* Meanwhile: days pass, and Redis dies. */
static void
disturb(struct rig *rigs, size_t nrig)
{
	uint64_t turn = 0, deaths = 0;

	while (atomic_load(&steps) < target) {
		nanosleep(&(struct timespec){ .tv_nsec = 5000000 }, NULL);
		if (atomic_load(&steps) * 100 / target > turn) {
			pass_time(rigs, nrig, turn);
			turn++;
		}
		if (rigs[0].kind == RIG_REDIS && deaths < DEATHS &&
		    atomic_load(&steps) * (DEATHS + 1) / target > deaths) {
			redis_kill(&rigs[0]);
			redis_start(&rigs[0]);
			deaths++;
		}
	}
}

static void
set_caps(void)
{
	const usd_nano epoch = (usd_nano)(target / EPOCHS) * 4000 + 100000;
	const usd_nano parts[SCOPES] = { 30, 10, 3, 1 };

	for (size_t i = 0; i < SCOPES; i++)
		caps[i] = epoch / parts[i];
}

static void
start_worker(struct worker *w, int number, struct rig *rigs, size_t nrig, uint64_t seed)
{
	*w = (struct worker){ .number = number, .loop = loop_new() };
	w->rig[0] = &rigs[0];
	w->rig[1] = &rigs[nrig - 1];
	for (size_t i = 0; i < LANES; i++) {
		w->lane[i].worker = w;
		timer_init(&w->lane[i].later, on_later, &w->lane[i]);
		w->lane[i].random = (seed + (uint64_t)number * LANES + i + 1) *
				    UINT64_C(0x9e3779b97f4a7c15);
	}
	assert_int_equal(pthread_create(&w->thread, NULL, work, w), 0);
}

static uint64_t
number_from(const char *name, uint64_t otherwise)
{
	const char *text = getenv(name);
	uint64_t n;

	return text != NULL && str_decimal(str_of(text), &n) ? n : otherwise;
}

static void
run(enum rig_kind kind, uint64_t how_many)
{
	static struct worker worker[WORKERS];
	struct rig rigs[2];
	size_t nrig = kind == RIG_REDIS ? 2 : 1, nevent = 0;
	uint64_t seed = number_from("WEIR_LEDGER_SEED", (uint64_t)time(NULL));
	uint64_t granted = 0, refused = 0, away = 0, lost = 0;
	struct told *all;

	target = number_from("WEIR_LEDGER_OPS", how_many);
	atomic_store(&steps, 0);
	set_caps();
	rig_init(&rigs[0], kind);
	if (nrig > 1)
		rig_join(&rigs[1], &rigs[0]);
	began = clock_wall_us();
	for (size_t i = 0; i < nrig; i++) {
		rigs[i].sweep_ms = 50;
		rigs[i].patience_ms = 300;
		rig_open(&rigs[i]);
	}
	for (int i = 0; i < WORKERS; i++)
		start_worker(&worker[i], i, rigs, nrig, seed);
	disturb(rigs, nrig);
	for (int i = 0; i < WORKERS; i++) {
		pthread_join(worker[i].thread, NULL);
		nevent += worker[i].nevent;
	}
	all = mem_alloc((nevent + 1) * sizeof(*all));
	nevent = 0;
	for (int i = 0; i < WORKERS; i++) {
		struct worker *w = &worker[i];

		memcpy(all + nevent, w->event, w->nevent * sizeof(*all));
		nevent += w->nevent;
		granted += w->granted;
		refused += w->refused;
		away += w->away;
		lost += w->lost;
		free(w->event);
	}
	replay(all, nevent);
	free(all);
	print_message(
	    "seed %llu: %llu steps: %llu granted, %llu refused, %llu without an answer, "
	    "%llu settled late\n",
	    (unsigned long long)seed, (unsigned long long)atomic_load(&steps),
	    (unsigned long long)granted, (unsigned long long)refused,
	    (unsigned long long)away, (unsigned long long)lost);
	assert_true(granted > 0 && refused > 0);
	for (size_t i = 0; i < nrig; i++)
		rig_close(&rigs[i]);
	verify(&rigs[0]);
	for (size_t i = nrig; i-- > 0;)
		rig_fini(&rigs[i]);
	for (int i = 0; i < WORKERS; i++)
		loop_free(worker[i].loop);
}

static void
test_the_invariant_holds_in_memory(void **state)
{
	(void)state;
	run(RIG_MEMORY, 1000000 / UNIT_LESS);
}

static void
test_the_invariant_holds_in_sqlite(void **state)
{
	(void)state;
	run(RIG_SQLITE, 50000 / UNIT_LESS);
}

#ifdef HAVE_REDIS
static void
test_the_invariant_holds_in_redis_for_two_instances(void **state)
{
	(void)state;
	run(RIG_REDIS, 1000000 / UNIT_LESS);
}
#endif

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_invariant_holds_in_memory),
		cmocka_unit_test(test_the_invariant_holds_in_sqlite),
#ifdef HAVE_REDIS
		cmocka_unit_test(test_the_invariant_holds_in_redis_for_two_instances),
#endif
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
