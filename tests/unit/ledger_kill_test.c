/*
 * ledger_kill_test.c - a weir that dies under load loses nothing that was acknowledged
 *
 * A child reserves and settles many calls at once, and tells of each answer in memory
 * that it shares with this process.  After some number of answers it is killed.  What it
 * was told must then be in the ledger to the nano, the ledger must add up, and no scope
 * may be beyond its cap.  The next child goes on in the same file.
 *
 * WEIR_LEDGER_KILLS: how often.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/map.h"
#include "ledger/reader.h"
#include "ledger_rig.h"
#include "unit.h"

#define KILLS 20
#define LANES 64
#define ANSWERS 20000   /* of one child; it is killed before */
#define CHILD_MS 240000 /* a sanitized one on a busy machine takes its time */
#define CAP_OF_ONE ((usd_nano)2000000) /* more than a child uses, killed or not */
#define SESSIONS 5

struct told {
	char call[40]; /* key */
	usd_nano amount;
	bool is_settled;
};

/* Between both processes. */
struct shared {
	atomic_size_t n; /* told, complete */
	struct told told[ANSWERS];
};

static struct shared *shared;
static struct rig rig;
static usd_nano cap;

/* ---- the child */

struct lane {
	uint64_t random;
	int number, serial;
	char request[32], sid[8];
	usd_nano granted, cost;
};

static uint64_t
roll(uint64_t *random, uint64_t sides)
{
	*random = *random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (*random >> 33) % sides;
}

static void
tell(const struct lane *l, usd_nano amount, bool is_settled)
{
	size_t n = atomic_load(&shared->n);

	if (n == ANSWERS)
		return;
	snprintf(shared->told[n].call, sizeof(shared->told[n].call), "%s#0", l->request);
	shared->told[n].amount = amount;
	shared->told[n].is_settled = is_settled;
	atomic_store(&shared->n, n + 1);
}

static void reserve(struct lane *l);

static void
on_settled(void *arg, const struct ledger_reply *reply)
{
	struct lane *l = arg;

	if (reply->answer == LEDGER_OK)
		tell(l, reply->charged, true);
	reserve(l);
}

static void
on_reserved(void *arg, const struct ledger_reply *reply)
{
	struct lane *l = arg;
	struct ledger_settle s = { .call = { str_of(l->request), 0 } };

	if (reply->answer != LEDGER_OK) {
		reserve(l);
		return;
	}
	tell(l, reply->granted, false);
	l->granted = reply->granted;
	s.cost = l->cost = (usd_nano)roll(&l->random, (uint64_t)l->granted + 1);
	if (roll(&l->random, 10) == 0)
		reserve(l); /* and never settles */
	else
		ledger_settle_start(rig.ledger, rig.loop, &s, on_settled, l);
}

static void
reserve(struct lane *l)
{
	struct ledger_reserve q = { .nscope = 2,
		.want = 2000,
		.floor = 100,
		.share_ppm = 1000000,
		.lease_ms = 3600000 };

	snprintf(l->request, sizeof(l->request), "%d-%d-%d", (int)getpid(), l->number,
	    l->serial++);
	snprintf(l->sid, sizeof(l->sid), "s%d", (int)roll(&l->random, SESSIONS));
	q.call.request = str_of(l->request);
	for (size_t i = 0; i < 2; i++)
		q.scope[i] = (struct ledger_scope){ .kind = i == 0 ? LEDGER_SESSION
								   : LEDGER_TENANT,
			.issuer = STR("iss"),
			.tenant = STR("acme"),
			.sid = str_of(l->sid),
			.cap = cap,
			.claim = LEDGER_NO_CLAIM };
	if (ledger_reserve_start(rig.ledger, rig.loop, &q, on_reserved, l) == NULL)
		abort();
}

static void
be_the_child(uint64_t seed)
{
	static struct lane lane[LANES];

	if (rig_try_open(&rig) == NULL)
		_exit(1);
	for (int i = 0; i < LANES; i++) {
		lane[i] = (struct lane){ .number = i, .random = seed + (uint64_t)i };
		reserve(&lane[i]);
	}
	loop_run(rig.loop);
	_exit(2);
}

/* ---- what is in the file afterwards */

struct ledger_seen {
	struct map calls; /* key → a copy of the row */
};

static void
on_call(void *arg, struct str key, const void *row)
{
	map_put(&((struct ledger_seen *)arg)->calls, key, row_copy(ROW_CALL, row));
}

static void
on_scope(void *arg, struct str key, const void *row)
{
	const struct row_scope *scope = row;

	(void)arg, (void)key;
	assert_true(scope->spent + scope->reserved <= cap);
}

static void
on_finding(void *arg, const char *what, struct str key, int64_t is, int64_t should_be)
{
	(void)arg;
	print_error("%s: %.*s: %lld, not %lld\n", what, STR_ARG(key), (long long)is,
	    (long long)should_be);
}

static void
check_told(const struct ledger_seen *seen, const struct told *t)
{
	const struct row_call *row = map_get(&seen->calls, str_of(t->call));

	if (row == NULL) {
		fail_msg("%s was acknowledged and is not there", t->call);
		return;
	}
	if (t->is_settled && (row->state != CALL_SETTLED || row->charged != t->amount))
		fail_msg("%s was settled at %lld", t->call, (long long)t->amount);
	if (!t->is_settled && row->amount != t->amount)
		fail_msg("%s was granted %lld", t->call, (long long)t->amount);
}

static void
check_file(void)
{
	struct ledger_options o = { .url = rig.url, .directory = rig.directory };
	struct reader *r = reader_open(&o);
	struct ledger_seen seen;
	struct verify_sums sums;

	assert_non_null(r);
	assert_true(reader_verify(r, &sums, on_finding, NULL));
	assert_int_equal(sums.findings, 0);
	map_init(&seen.calls);
	assert_true(reader_walk(r, ROW_CALL, on_call, &seen));
	assert_true(reader_walk(r, ROW_SCOPE, on_scope, NULL));
	for (size_t i = 0; i < atomic_load(&shared->n); i++)
		check_told(&seen, &shared->told[i]);
	map_fini(&seen.calls, free);
	reader_close(r);
}

static void
kill_after(pid_t child, size_t answers)
{
	for (int ms = 0; atomic_load(&shared->n) < answers; ms++) {
		int status;

		if (ms == CHILD_MS || waitpid(child, &status, WNOHANG) == child)
			fail_msg("the child is not at work");
		nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
	}
	kill(child, SIGKILL);
	assert_int_equal(waitpid(child, NULL, 0), child);
}

static void
test_nothing_acknowledged_is_lost_and_nothing_overspent(void **state)
{
	const char *text = getenv("WEIR_LEDGER_KILLS");
	uint64_t kills = KILLS, random = (uint64_t)time(NULL), total = 0;

	(void)state;
	if (text != NULL && !str_decimal(str_of(text), &kills))
		fail_msg("WEIR_LEDGER_KILLS is no number");
	cap = CAP_OF_ONE * (usd_nano)kills; /* spent, a child would hear no more */
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
	    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_true(shared != MAP_FAILED);
	rig_init(&rig, RIG_SQLITE);
	print_message("seed %llu\n", (unsigned long long)random);
	for (uint64_t i = 0; i < kills; i++) {
		uint64_t seed = roll(&random, 1 << 30), answers = 1 + roll(&random, 1500);
		pid_t child;

		atomic_store(&shared->n, 0);
		child = fork();
		if (child == 0)
			be_the_child(seed);
		kill_after(child, answers);
		check_file();
		total += atomic_load(&shared->n);
	}
	print_message("killed %llu times, %llu answers checked\n",
	    (unsigned long long)kills, (unsigned long long)total);
	rig_open(&rig); /* it still opens, and refuses nothing that was seen */
	rig_fini(&rig);
	munmap(shared, sizeof(*shared));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nothing_acknowledged_is_lost_and_nothing_overspent),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
