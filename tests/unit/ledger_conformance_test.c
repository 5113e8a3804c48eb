/*
 * ledger_conformance_test.c - what ledger.h promises, held by every store
 *
 * Each test runs on memory, SQLite and Redis; the group's name says which one it was.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "ledger_rig.h"
#include "unit.h"

#define LEASE_MS 60000
#define HOUR_US (INT64_C(3600) * 1000000)
#define PPM 1000000

static struct rig rig;

/* ---- a session with its scopes */

static struct ledger_scope
session_scope(const char *sid, usd_nano cap)
{
	return (struct ledger_scope){ .kind = LEDGER_SESSION,
		.issuer = STR("iss"),
		.tenant = STR("acme"),
		.sid = str_of(sid),
		.cap = cap,
		.claim = LEDGER_NO_CLAIM };
}

static struct ledger_scope
turn_scope(const char *sid, const char *turn, usd_nano cap)
{
	struct ledger_scope s = session_scope(sid, cap);

	s.kind = LEDGER_TURN;
	s.turn = str_of(turn);
	return s;
}

static struct ledger_scope
total_scope(usd_nano cap)
{
	return (struct ledger_scope){
		.kind = LEDGER_TOTAL, .cap = cap, .claim = LEDGER_NO_CLAIM
	};
}

static struct ledger_who
who_of(const char *sid)
{
	return (struct ledger_who){ .issuer = STR("iss"),
		.tenant = STR("acme"),
		.sid = str_of(sid),
		.sub = STR("user-17"),
		.gen = 1,
		.expires = 1,
		.claim = LEDGER_NO_CLAIM };
}

/* All of `want` or nothing, in one session with `cap`. */
static struct ledger_reserve
exactly(const char *request, const char *sid, usd_nano cap, usd_nano want)
{
	return (struct ledger_reserve){ .call = { str_of(request), 0 },
		.nscope = 1,
		.scope = { session_scope(sid, cap) },
		.want = want,
		.floor = want,
		.share_ppm = PPM,
		.lease_ms = LEASE_MS,
		.model = STR("claude-haiku-4-5"),
		.prices = STR("sha256:0") };
}

static enum ledger_answer
ask(const char *request, const char *sid, usd_nano cap, usd_nano want)
{
	struct ledger_reserve q = exactly(request, sid, cap, want);

	return rig_reserve(&rig, &q).answer;
}

static struct ledger_settle
cost_of(const char *request, usd_nano cost)
{
	return (struct ledger_settle){ .call = { str_of(request), 0 },
		.cost = cost,
		.input = 10,
		.output = 5,
		.usage = STR("{}") };
}

static struct ledger_reply
settle(const char *request, usd_nano cost)
{
	struct ledger_settle s = cost_of(request, cost);

	return rig_settle(&rig, &s);
}

static struct ledger_room
room_of(struct ledger_scope scope)
{
	struct ledger_reply reply = rig_look(&rig, &scope);

	assert_int_equal(reply.answer, LEDGER_OK);
	return reply.room[0];
}

static struct ledger_room
session_room(const char *sid)
{
	return room_of(session_scope(sid, LEDGER_MONEY_MAX));
}

/* Until sweeps have found the leases that are over. */
static void
wait_until_reserved(usd_nano amount)
{
	for (int ms = 0; session_room("s").reserved != amount; ms++) {
		assert_true(ms < 30000);
		nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
	}
}

static void
reopen(void)
{
	rig_close(&rig);
	rig_open(&rig);
}

/* ---- reserve */

static void
test_what_fits_to_the_last_nano_is_granted_and_one_more_is_not(void **state)
{
	(void)state;
	assert_int_equal(ask("a", "s", 100, 60), LEDGER_OK);
	assert_int_equal(ask("b", "s", 100, 41), LEDGER_EXHAUSTED);
	assert_int_equal(ask("c", "s", 100, 40), LEDGER_OK);
	assert_int_equal(ask("d", "s", 100, 1), LEDGER_EXHAUSTED);
	assert_int_equal(session_room("s").reserved, 100);
	assert_int_equal(session_room("s").spent, 0);
}

static void
test_every_scope_must_have_room_and_the_innermost_without_is_named(void **state)
{
	struct ledger_reserve q = exactly("a", "s", 100, 50);
	struct ledger_reply reply;

	(void)state;
	q.nscope = 3;
	q.scope[2] = total_scope(49);
	q.scope[1] = session_scope("s", 40);
	q.scope[0] = turn_scope("s", "t", 100);
	reply = rig_reserve(&rig, &q);
	assert_int_equal(reply.answer, LEDGER_EXHAUSTED);
	assert_int_equal(reply.refused, 1);
	assert_int_equal(reply.nroom, 3);
	assert_int_equal(reply.room[2].cap, 49);
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(reply.room[i].reserved, 0);
	q.scope[1].cap = 50;
	assert_int_equal(rig_reserve(&rig, &q).refused, 2);
	q.scope[2].cap = 50;
	assert_int_equal(rig_reserve(&rig, &q).answer, LEDGER_OK);
	assert_int_equal(room_of(turn_scope("s", "t", 100)).reserved, 50);
	assert_int_equal(room_of(total_scope(100)).reserved, 50);
}

static void
test_a_refusal_says_whether_waiting_for_calls_in_flight_would_help(void **state)
{
	struct ledger_reserve q = exactly("b", "s", 100, 50);
	struct ledger_reply reply;

	(void)state;
	assert_int_equal(ask("a", "s", 100, 60), LEDGER_OK);
	reply = rig_reserve(&rig, &q);
	assert_int_equal(reply.answer, LEDGER_EXHAUSTED);
	assert_true(reply.is_in_flight);
	settle("a", 60);
	reply = rig_reserve(&rig, &q);
	assert_int_equal(reply.answer, LEDGER_EXHAUSTED);
	assert_false(reply.is_in_flight);
}

static const struct {
	const char *what;
	usd_nano cap, want, floor;
	int64_t share;
	usd_nano granted; /* -1: refused */
} grants[] = {
	{ "all that is wanted", 100, 40, 10, PPM, 40 },
	{ "what is left", 100, 400, 10, PPM, 100 },
	{ "half of what is left", 100, 400, 10, PPM / 2, 50 },
	{ "half, rounded down", 101, 400, 10, PPM / 2, 50 },
	{ "the floor, where the share is less", 100, 400, 70, PPM / 2, 70 },
	{ "nothing under the floor", 100, 400, 101, PPM / 2, -1 },
	{ "wanted is less than the share", 100, 49, 1, PPM / 2, 49 },
	{ "nothing of nothing", 0, 0, 0, PPM, -1 },
	{ "a call that costs nothing", 1, 0, 0, PPM, 0 },
	{ "amounts that a double cannot hold", INT64_C(9000000000000000000),
	    INT64_C(900000000000000001), 1, PPM, INT64_C(900000000000000001) },
	{ "a share that a double cannot hold", INT64_C(9007199254740993),
	    INT64_C(900000000000000000), 1, 999999, INT64_C(9007190247541738) },
	{ "a share of a large amount", INT64_C(899999999999999999),
	    INT64_C(900000000000000000), 1, 333333, INT64_C(299999699999999999) },
};

static void
test_share_and_floor_are_decided_in_the_store(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(grants); i++) {
		char sid[16];
		struct ledger_reserve q;
		struct ledger_reply reply;

		snprintf(sid, sizeof(sid), "s%zu", i);
		q = exactly(sid, sid, grants[i].cap, grants[i].want);
		q.floor = grants[i].floor < q.want ? grants[i].floor : q.want;
		q.share_ppm = grants[i].share;
		reply = rig_reserve(&rig, &q);
		assert_row(grants[i].what,
		    (reply.answer == LEDGER_OK) ==
			(grants[i].granted >= 0 && grants[i].floor <= grants[i].cap));
		if (reply.answer == LEDGER_OK && reply.granted != grants[i].granted)
			fail_msg("%s: %lld", grants[i].what, (long long)reply.granted);
	}
}

static void
test_the_same_reserve_again_is_the_same_grant(void **state)
{
	struct ledger_reserve q = exactly("a", "s", 100, 60);
	struct ledger_reply reply;

	(void)state;
	assert_int_equal(rig_reserve(&rig, &q).granted, 60);
	reply = rig_reserve(&rig, &q);
	assert_int_equal(reply.answer, LEDGER_OK);
	assert_true(reply.is_repeat);
	assert_int_equal(reply.granted, 60);
	assert_int_equal(reply.room[0].reserved, 60);
	settle("a", 10);
	assert_int_equal(rig_reserve(&rig, &q).answer, LEDGER_SETTLED);
	assert_int_equal(session_room("s").reserved, 0);
}

static void
test_another_attempt_is_another_reservation(void **state)
{
	struct ledger_reserve q = exactly("a", "s", 100, 60);

	(void)state;
	assert_int_equal(rig_reserve(&rig, &q).answer, LEDGER_OK);
	q.call.attempt = 1;
	assert_int_equal(rig_reserve(&rig, &q).answer, LEDGER_EXHAUSTED);
}

static void
test_a_reserve_that_makes_no_sense_is_not_begun(void **state)
{
	struct ledger_reserve good = exactly("a", "s", 100, 60), q;
	bool is_refused = true;

	(void)state;
#define refused(change) \
	do { \
		q = good; \
		change; \
		is_refused = is_refused && ledger_reserve_start(rig.ledger, rig.loop, \
					       &q, NULL, NULL) == NULL; \
	} while (0)
	refused(q.floor = q.want + 1);
	refused(q.floor = -1);
	refused(q.want = LEDGER_COST_MAX + 1);
	refused(q.share_ppm = 0);
	refused(q.share_ppm = PPM + 1);
	refused(q.lease_ms = 0);
	refused(q.scope[0].cap = -1);
	refused(q.scope[0].sid = STR_NONE);
	refused(q.call.request = STR_NONE);
	refused(q.nscope = LEDGER_SCOPES + 1);
	refused((q.nscope = 2, q.scope[1] = q.scope[0]));
	assert_true(is_refused);
}

static void
test_calls_and_tokens_of_a_turn_are_limited(void **state)
{
	struct ledger_reserve q = exactly("a", "s", 100, 1);

	(void)state;
	q.scope[0].max_calls = 2;
	assert_int_equal(rig_reserve(&rig, &q).answer, LEDGER_OK);
	q.call.request = STR("b");
	assert_int_equal(rig_reserve(&rig, &q).answer, LEDGER_OK);
	q.call.request = STR("c");
	assert_int_equal(rig_reserve(&rig, &q).answer, LEDGER_LIMIT);
	q.scope[0].max_calls = 0;
	q.scope[0].max_tokens = 30;
	settle("a", 1);
	assert_int_equal(rig_reserve(&rig, &q).answer, LEDGER_OK);
	settle("b", 1);
	q.call.request = STR("d");
	assert_int_equal(rig_reserve(&rig, &q).answer, LEDGER_LIMIT);
	assert_int_equal(session_room("s").tokens, 30);
}

/* ---- settle */

static void
test_a_settle_charges_the_cost_and_gives_the_rest_back(void **state)
{
	struct ledger_reply reply;

	(void)state;
	ask("a", "s", 100, 60);
	reply = settle("a", 25);
	assert_int_equal(reply.answer, LEDGER_OK);
	assert_int_equal(reply.charged, 25);
	assert_int_equal(reply.room[0].cap, 100);
	assert_int_equal(reply.room[0].spent, 25);
	assert_int_equal(reply.room[0].reserved, 0);
	assert_int_equal(ledger_left(&reply.room[0]), 75);
}

static void
test_a_second_settle_charges_nothing(void **state)
{
	struct ledger_reply reply;

	(void)state;
	ask("a", "s", 100, 60);
	settle("a", 25);
	reply = settle("a", 50);
	assert_int_equal(reply.answer, LEDGER_OK);
	assert_true(reply.is_repeat);
	assert_int_equal(reply.charged, 25);
	assert_int_equal(session_room("s").spent, 25);
}

static void
test_more_than_was_held_is_charged_flagged_and_ends_the_next_call(void **state)
{
	struct ledger_reply reply;

	(void)state;
	ask("a", "s", 100, 60);
	reply = settle("a", 110);
	assert_int_equal(reply.charged, 110);
	assert_true(reply.flags & LEDGER_OVER_HOLD);
	assert_int_equal(ledger_left(&reply.room[0]), -10);
	assert_int_equal(ask("b", "s", 100, 1), LEDGER_EXHAUSTED);
	assert_int_equal(ask("c", "s", 100, 0), LEDGER_EXHAUSTED);
}

static void
test_a_settle_without_a_reservation_charges_the_scopes_it_names(void **state)
{
	struct ledger_scope scope = session_scope("s", 100);
	struct ledger_settle s = cost_of("a", 30);

	(void)state;
	assert_int_equal(rig_settle(&rig, &s).answer, LEDGER_NOT_HELD);
	s.nscope = 1;
	s.scope = &scope;
	assert_true(rig_settle(&rig, &s).flags & LEDGER_UNHELD);
	assert_int_equal(session_room("s").spent, 30);
	rig_settle(&rig, &s);
	assert_int_equal(session_room("s").spent, 30);
	assert_int_equal(ask("a", "s", 100, 1), LEDGER_SETTLED);
}

static void
test_sums_stop_and_never_wrap(void **state)
{
	char request[16];

	(void)state;
	for (int i = 0; i < 12; i++) {
		snprintf(request, sizeof(request), "r%d", i);
		ask(request, "s", LEDGER_MONEY_MAX, 0);
		settle(request, INT64_MAX);
	}
	assert_int_equal(session_room("s").spent, LEDGER_MONEY_MAX);
	assert_int_equal(ask("z", "s", LEDGER_MONEY_MAX, 1), LEDGER_EXHAUSTED);
}

/* ---- leases */

static void
test_a_reservation_that_nobody_settles_is_charged_in_full_and_flagged(void **state)
{
	struct ledger_reply reply;

	(void)state;
	rig_close(&rig);
	rig.sweep_ms = 40;
	rig_open(&rig);
	ask("a", "s", 100, 60);
	atomic_store(&rig.shift_us, (LEASE_MS + 1000) * INT64_C(1000));
	wait_until_reserved(0);
	assert_int_equal(session_room("s").spent, 60);
	assert_int_equal(session_room("s").reserved, 0);
	reply = settle("a", 70); /* what it cost, said too late */
	assert_int_equal(reply.charged, 70);
	assert_int_equal(reply.flags, LEDGER_LOST | LEDGER_LATE | LEDGER_OVER_HOLD);
	assert_int_equal(session_room("s").spent, 70);
}

static void
test_a_late_settle_gives_nothing_back(void **state)
{
	struct ledger_reply reply;

	(void)state;
	rig_close(&rig);
	rig.sweep_ms = 40;
	rig_open(&rig);
	ask("a", "s", 100, 60);
	atomic_store(&rig.shift_us, (LEASE_MS + 1000) * INT64_C(1000));
	wait_until_reserved(0);
	reply = settle("a", 10);
	assert_int_equal(reply.charged, 60);
	assert_true(settle("a", 90).is_repeat);
	assert_int_equal(session_room("s").spent, 60);
}

static void
test_a_renewed_lease_goes_on(void **state)
{
	(void)state;
	rig_close(&rig);
	rig.sweep_ms = 40;
	rig_open(&rig);
	ask("a", "s", 100, 40);
	ask("b", "s", 100, 50);
	assert_int_equal(rig_renew(&rig, "a", 100 * LEASE_MS).answer, LEDGER_OK);
	atomic_store(&rig.shift_us, (LEASE_MS + 1000) * INT64_C(1000));
	wait_until_reserved(40);
	assert_int_equal(settle("a", 1).flags, 0);
	assert_int_equal(rig_renew(&rig, "a", 1000).answer, LEDGER_SETTLED);
	assert_int_equal(rig_renew(&rig, "nobody", 1000).answer, LEDGER_NOT_HELD);
}

static void
ignore(void *arg, const struct ledger_reply *reply)
{
	(void)reply;
	*(bool *)arg = true;
}

static void
test_a_cancelled_reserve_is_given_back_and_says_nothing(void **state)
{
	struct ledger_reserve q = exactly("a", "s", 100, 60);
	bool has_run = false;

	(void)state;
	ledger_cancel(ledger_reserve_start(rig.ledger, rig.loop, &q, ignore, &has_run));
	for (int ms = 0; rig_renew(&rig, "a", LEASE_MS).answer != LEDGER_SETTLED; ms++) {
		assert_true(ms < 30000);
		nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
	}
	assert_false(has_run);
	assert_int_equal(session_room("s").reserved, 0);
	assert_int_equal(session_room("s").spent, 0);
}

/* ---- windows */

static usec
to_next_day(usec now)
{
	const usec day = 24 * HOUR_US;

	return day - now % day;
}

static void
test_a_day_begins_anew_and_no_clock_that_jumps_back_reopens_it(void **state)
{
	struct ledger_reserve q = exactly("a", "s", 100, 60);
	usec now;

	(void)state;
	q.scope[0] = total_scope(100);
	q.scope[0].window = LEDGER_DAY;
	now = rig_reserve(&rig, &q).now;
	settle("a", 60);
	q.call.request = STR("b");
	assert_int_equal(rig_reserve(&rig, &q).answer, LEDGER_EXHAUSTED);
	atomic_store(&rig.shift_us, to_next_day(now) + HOUR_US);
	assert_int_equal(rig_reserve(&rig, &q).answer, LEDGER_OK);
	settle("b", 60);
	atomic_store(&rig.shift_us, 0); /* the day before had 40 left */
	q.call.request = STR("c");
	assert_int_equal(rig_reserve(&rig, &q).answer, LEDGER_EXHAUSTED);
	q.want = q.floor = 40;
	assert_int_equal(rig_reserve(&rig, &q).answer, LEDGER_OK);
	q.call.request = STR("d");
	assert_int_equal(rig_reserve(&rig, &q).answer, LEDGER_EXHAUSTED);
}

static void
test_a_call_is_charged_in_the_window_in_which_it_was_reserved(void **state)
{
	struct ledger_scope day = total_scope(100);
	struct ledger_reserve q = exactly("a", "s", 100, 60);
	usec now;

	(void)state;
	day.window = LEDGER_DAY;
	q.scope[0] = day;
	q.lease_ms = 100 * LEASE_MS;
	now = rig_reserve(&rig, &q).now;
	atomic_store(&rig.shift_us, to_next_day(now));
	assert_int_equal(settle("a", 60).room[0].spent, 60);
	assert_int_equal(room_of(day).spent, 0);
}

static void
test_months_are_those_of_the_calendar(void **state)
{
	struct ledger_scope month = total_scope(100);
	struct ledger_reserve q = exactly("a", "s", 100, 60);

	(void)state;
	month.window = LEDGER_MONTH;
	q.scope[0] = month;
	rig_reserve(&rig, &q);
	assert_int_equal(room_of(month).reserved, 60);
	atomic_store(&rig.shift_us, 31 * 24 * HOUR_US);
	assert_int_equal(room_of(month).reserved, 0);
}

/* ---- what tokens claim */

static enum ledger_answer
claim(const char *request, usd_nano amount, int64_t gen, usd_nano want)
{
	struct ledger_reserve q = exactly(request, "s", 1000, want);

	q.scope[0].claim = amount;
	q.scope[0].gen = gen;
	return rig_reserve(&rig, &q).answer;
}

static void
test_a_lower_claim_holds_at_once_and_a_higher_one_needs_a_larger_gen(void **state)
{
	(void)state;
	assert_int_equal(claim("a", 100, 5, 101), LEDGER_EXHAUSTED);
	assert_int_equal(claim("b", 200, 5, 101), LEDGER_EXHAUSTED);
	assert_int_equal(claim("c", 200, 4, 101), LEDGER_EXHAUSTED);
	assert_int_equal(claim("d", 200, 6, 101), LEDGER_OK); /* 200 from now on */
	assert_int_equal(claim("e", 110, 7, 10), LEDGER_EXHAUSTED);
	assert_int_equal(claim("f", 200, 6, 10), LEDGER_EXHAUSTED); /* old and richer */
	assert_int_equal(claim("g", 105, 6, 5), LEDGER_EXHAUSTED);  /* old and poorer */
	assert_int_equal(claim("h", 110, 7, 9), LEDGER_OK);
	assert_int_equal(
	    claim("i", 2000, 8, 900), LEDGER_EXHAUSTED); /* the configured cap */
}

static void
test_a_ceiling_that_is_raised_again_in_the_configuration_counts(void **state)
{
	struct ledger_reserve q = exactly("a", "s", 10, 50);

	(void)state;
	q.scope[0].claim = 100;
	assert_int_equal(rig_reserve(&rig, &q).answer, LEDGER_EXHAUSTED);
	q.scope[0].cap = 1000;
	assert_int_equal(rig_reserve(&rig, &q).answer, LEDGER_OK);
}

/* ---- sessions */

static enum ledger_answer
visit(struct ledger_who who)
{
	return rig_session(&rig, &who).answer;
}

static void
test_a_session_belongs_to_its_first_owner(void **state)
{
	struct ledger_who who = who_of("s");
	usec first = rig_session(&rig, &who).first_use;

	(void)state;
	assert_true(first > 0);
	assert_int_equal(rig_session(&rig, &who).first_use, first);
	who.sub = STR("user-18");
	assert_int_equal(visit(who), LEDGER_OWNER);
	who.tenant = STR("other"); /* the same sid of somebody else's */
	assert_int_equal(visit(who), LEDGER_OK);
}

static void
test_another_turn_with_a_larger_gen_ends_those_before(void **state)
{
	struct ledger_who first = who_of("s"), second = first;

	(void)state;
	first.turn = STR("t1");
	second.turn = STR("t2");
	assert_int_equal(visit(first), LEDGER_OK);
	assert_int_equal(visit(second), LEDGER_TURN_ENDED); /* not larger */
	second.gen = 2;
	assert_int_equal(visit(second), LEDGER_OK);
	assert_int_equal(visit(first), LEDGER_TURN_ENDED);
	assert_int_equal(visit(second), LEDGER_OK);
	first.turns_concurrent = true;
	assert_int_equal(visit(first), LEDGER_OK);
}

static void
test_a_refused_reserve_still_makes_its_turn_the_current_one(void **state)
{
	struct ledger_reserve q = exactly("a", "s", 0, 0);
	struct ledger_who old = who_of("s");

	(void)state;
	old.turn = STR("t1");
	visit(old);
	q.who = old;
	q.who.turn = STR("t2");
	q.who.gen = 2;
	assert_int_equal(rig_reserve(&rig, &q).answer, LEDGER_EXHAUSTED);
	assert_int_equal(visit(old), LEDGER_TURN_ENDED);
}

static void
test_a_parent_must_be_known_and_the_same_owners(void **state)
{
	struct ledger_who child = who_of("child"), parent = who_of("parent");
	struct ledger_reply reply;

	(void)state;
	child.par = STR("parent");
	assert_int_equal(visit(child), LEDGER_KIN);
	parent.claims = STR("{\"models\":[]}");
	assert_int_equal(visit(parent), LEDGER_OK);
	reply = rig_session(&rig, &child);
	assert_int_equal(reply.answer, LEDGER_OK);
	assert_int_equal(reply.nkin, 1);
	assert_true(str_eq(reply.kin[0].sid, STR("parent")));
	assert_true(str_eq(reply.kin[0].claims, STR("{\"models\":[]}")));
	assert_int_equal(reply.kin[0].first_use, rig_session(&rig, &parent).first_use);
	parent.gen++;
	parent.claims = STR("{\"models\":[\"m\"]}");
	assert_int_equal(rig_session(&rig, &parent).claims.n, 0); /* its own are newest */
	parent.gen--;
	assert_true(
	    str_eq(rig_session(&rig, &parent).claims, STR("{\"models\":[\"m\"]}")));
	child.par = STR_NONE;
	assert_int_equal(visit(child), LEDGER_KIN); /* it was another's child before */
	child.sid = STR("foreign");
	child.par = STR("parent");
	child.sub = STR("user-18");
	assert_int_equal(visit(child), LEDGER_KIN);
	child.sid = child.par = STR("self");
	assert_int_equal(visit(child), LEDGER_KIN);
}

static void
test_ancestors_are_at_most_eight(void **state)
{
	char sid[16], par[16] = "";

	(void)state;
	for (int depth = 0; depth < 10; depth++) {
		struct ledger_who who;

		snprintf(sid, sizeof(sid), "s%d", depth);
		who = who_of(sid);
		who.par = str_of(par);
		assert_int_equal(visit(who), depth <= 8 ? LEDGER_OK : LEDGER_KIN);
		memcpy(par, sid, sizeof(par));
	}
}

static void
test_a_childs_spend_counts_against_what_its_parents_token_claimed(void **state)
{
	struct ledger_who parent = who_of("parent");
	struct ledger_reserve q = exactly("a", "child", 1000, 60);

	(void)state;
	parent.claim = 100;
	assert_int_equal(visit(parent), LEDGER_OK);
	q.who = who_of("child");
	q.who.par = STR("parent");
	q.nscope = 2;
	q.scope[1] = session_scope("parent", 1000);
	q.scope[1].kind = LEDGER_ANCESTOR;
	assert_int_equal(rig_reserve(&rig, &q).answer, LEDGER_OK);
	assert_int_equal(session_room("parent").reserved, 60);
	q.call.request = STR("b");
	assert_int_equal(rig_reserve(&rig, &q).refused, 1);
	assert_int_equal(rig_revoke(&rig, "parent").answer, LEDGER_OK);
	assert_int_equal(rig_reserve(&rig, &q).answer, LEDGER_REVOKED);
}

static void
test_what_is_revoked_stays_revoked(void **state)
{
	struct ledger_note jti = { .kind = LEDGER_NOTE_JTI, .until = INT64_C(1) << 52 };
	struct ledger_who who = who_of("s");
	struct buf name;

	(void)state;
	who.jti = STR("token-1");
	assert_int_equal(visit(who), LEDGER_OK);
	buf_init(&name, 1024);
	ledger_jti_name(&name, who.issuer, who.tenant, who.jti);
	jti.name = buf_view(&name);
	assert_int_equal(rig_note_put(&rig, &jti).answer, LEDGER_OK);
	buf_fini(&name);
	assert_int_equal(visit(who), LEDGER_REVOKED);
	who.jti = STR("token-2");
	assert_int_equal(visit(who), LEDGER_OK);
	assert_int_equal(rig_revoke(&rig, "s").answer, LEDGER_OK);
	who.gen = 99;
	assert_int_equal(visit(who), LEDGER_REVOKED);
	assert_int_equal(rig_revoke(&rig, "not-yet").answer, LEDGER_OK);
	assert_int_equal(visit(who_of("not-yet")), LEDGER_REVOKED);
}

/* ---- by hand */

static void
test_what_is_forgotten_does_not_come_back_and_its_spend_stays(void **state)
{
	struct ledger_forget forget = {
		.tenant = STR("acme"), .sid = STR("s"), .keep_ms = 60000
	};
	struct ledger_reserve q = exactly("a", "s", 100, 60);
	struct ledger_settle late = cost_of("b", 20);

	(void)state;
	q.who = who_of("s");
	q.nscope = 2;
	q.scope[1] = total_scope(1000);
	rig_reserve(&rig, &q);
	settle("a", 50);
	q.call.request = STR("b");
	q.want = q.floor = 30;
	rig_reserve(&rig, &q); /* in flight: charged in full */
	assert_int_equal(rig_forget(&rig, &forget).answer, LEDGER_OK);
	assert_int_equal(room_of(total_scope(1000)).spent, 80);
	assert_int_equal(room_of(total_scope(1000)).reserved, 0);
	assert_int_equal(session_room("s").spent, 0);
	assert_int_equal(visit(who_of("s")), LEDGER_FORGOTTEN);
	q.call.request = STR("c");
	assert_int_equal(rig_reserve(&rig, &q).answer, LEDGER_FORGOTTEN);
	late.nscope = 2;
	late.scope = q.scope;
	assert_int_equal(rig_settle(&rig, &late).answer, LEDGER_FORGOTTEN);
	assert_int_equal(room_of(total_scope(1000)).spent, 80);
	assert_int_equal(visit(who_of("another")), LEDGER_OK);
	atomic_store(&rig.shift_us, 61 * INT64_C(1000000)); /* no token can name it now */
	assert_int_equal(visit(who_of("s")), LEDGER_OK);
}

static void
test_a_tenant_goes_with_all_its_sessions(void **state)
{
	struct ledger_forget forget = { .tenant = STR("acme"), .keep_ms = 60000 };
	struct ledger_note arm = { .kind = LEDGER_NOTE_ARM,
		.issuer = STR("iss"),
		.tenant = STR("acme"),
		.sid = STR("s"),
		.name = STR("/run/a.sock"),
		.until = INT64_C(1) << 52 };
	struct ledger_who other = who_of("s");

	(void)state;
	other.tenant = STR("other");
	visit(who_of("s"));
	visit(who_of("s2"));
	visit(other);
	rig_note_put(&rig, &arm);
	assert_int_equal(rig_forget(&rig, &forget).answer, LEDGER_OK);
	assert_int_equal(visit(who_of("s")), LEDGER_FORGOTTEN);
	assert_int_equal(visit(who_of("s3")), LEDGER_FORGOTTEN);
	assert_int_equal(visit(other), LEDGER_OK);
	assert_int_equal(rig_note_get(&rig, &arm).answer, LEDGER_UNKNOWN);
}

static void
test_a_correction_is_made_once_and_takes_no_more_than_was_spent(void **state)
{
	struct ledger_adjust adjust = { .call = { STR("fix-1"), 0 },
		.scope = session_scope("s", 100),
		.delta = -20,
		.why = STR("the provider paid it back") };

	(void)state;
	ask("a", "s", 100, 60);
	settle("a", 60);
	assert_int_equal(rig_adjust(&rig, &adjust).charged, -20);
	assert_true(rig_adjust(&rig, &adjust).is_repeat);
	assert_int_equal(session_room("s").spent, 40);
	adjust.call.request = STR("fix-2");
	adjust.delta = -100;
	assert_int_equal(rig_adjust(&rig, &adjust).charged, -40);
	adjust.call.request = STR("fix-3");
	adjust.delta = 7;
	assert_int_equal(rig_adjust(&rig, &adjust).charged, 7);
	assert_int_equal(session_room("s").spent, 7);
}

static void
test_notes_are_there_until_their_time(void **state)
{
	struct ledger_note note = { .kind = LEDGER_NOTE_OBJECT,
		.issuer = STR("iss"),
		.tenant = STR("acme"),
		.sid = STR("s"),
		.name = STR("openai\0resp_1"),
		.text = STR("claude"),
		.number = 4711 };
	struct ledger_reply reply = rig_note_get(&rig, &note);

	(void)state;
	assert_int_equal(reply.answer, LEDGER_UNKNOWN);
	note.until = reply.now + HOUR_US;
	assert_int_equal(rig_note_put(&rig, &note).answer, LEDGER_OK);
	reply = rig_note_get(&rig, &note);
	assert_int_equal(reply.answer, LEDGER_OK);
	assert_int_equal(reply.note.number, 4711);
	assert_true(str_eq(reply.note.sid, STR("s")));
	assert_true(str_eq(reply.note.text, STR("claude")));
	note.kind = LEDGER_NOTE_ARM;
	assert_int_equal(rig_note_get(&rig, &note).answer, LEDGER_UNKNOWN);
	note.kind = LEDGER_NOTE_OBJECT;
	atomic_store(&rig.shift_us, 2 * HOUR_US);
	assert_int_equal(rig_note_get(&rig, &note).answer, LEDGER_UNKNOWN);
	atomic_store(&rig.shift_us, 0);
	assert_int_equal(rig_note_delete(&rig, &note).answer, LEDGER_OK);
	assert_int_equal(rig_note_delete(&rig, &note).answer, LEDGER_UNKNOWN);
}

static void
test_what_several_add_to_a_note_sums_up(void **state)
{
	struct ledger_note note = { .kind = LEDGER_NOTE_SENT,
		.issuer = STR("iss"),
		.tenant = STR("acme"),
		.sid = STR("s"),
		.name = STR("s") };
	struct ledger_reply reply = rig_note_add(&rig, &note);

	(void)state;
	assert_int_equal(reply.answer, LEDGER_OK);
	assert_int_equal(reply.note.text.n, 0);
	note.until = reply.now + 2 * HOUR_US;
	note.text = STR("1:a2:101:b1:5");
	assert_true(str_eq(rig_note_add(&rig, &note).note.text, STR("1:a2:101:b1:5")));
	note.until -= HOUR_US; /* it lasts as long as it did */
	note.text = STR("1:b2:-21:c16:9007199254740000");
	assert_true(str_eq(rig_note_add(&rig, &note).note.text,
	    STR("1:a2:101:b1:31:c16:9007199254740000")));
	note.text = STR_NONE;
	reply = rig_note_add(&rig, &note);
	assert_true(str_eq(reply.note.text, STR("1:a2:101:b1:31:c16:9007199254740000")));
	assert_int_equal(reply.note.until, note.until + HOUR_US);
	assert_true(str_eq(reply.note.sid, STR("s")));
	atomic_store(&rig.shift_us, 3 * HOUR_US);
	assert_int_equal(rig_note_add(&rig, &note).note.text.n, 0);
	atomic_store(&rig.shift_us, 0);
}

static void
test_an_object_stays_with_the_session_that_made_it(void **state)
{
	struct ledger_note note = { .kind = LEDGER_NOTE_OBJECT,
		.issuer = STR("iss"),
		.tenant = STR("acme"),
		.sid = STR("s"),
		.name = STR("openai resp_1"),
		.number = 1 };

	(void)state;
	note.until = rig_note_get(&rig, &note).now + HOUR_US;
	assert_int_equal(rig_note_put(&rig, &note).answer, LEDGER_OK);
	note.number = 2;
	assert_int_equal(rig_note_put(&rig, &note).answer, LEDGER_OK);
	note.sid = STR("other");
	assert_int_equal(rig_note_put(&rig, &note).answer, LEDGER_OWNER);
	assert_true(str_eq(rig_note_get(&rig, &note).note.sid, STR("s")));
	assert_int_equal(rig_note_get(&rig, &note).note.number, 2);
	atomic_store(&rig.shift_us, 2 * HOUR_US); /* what has ended is nobody's */
	note.until += 2 * HOUR_US;
	assert_int_equal(rig_note_put(&rig, &note).answer, LEDGER_OK);
	atomic_store(&rig.shift_us, 0);
	note.kind = LEDGER_NOTE_ARM; /* an arm goes to whoever is armed last */
	assert_int_equal(rig_note_put(&rig, &note).answer, LEDGER_OK);
	note.sid = STR("s");
	assert_int_equal(rig_note_put(&rig, &note).answer, LEDGER_OK);
}

/* ---- restarts */

static void
test_a_restart_forgets_nothing(void **state)
{
	struct ledger_who who = who_of("s");
	usec first;

	(void)state;
	if (rig.kind == RIG_MEMORY)
		return;
	who.turn = STR("t2");
	who.gen = 7;
	first = rig_session(&rig, &who).first_use;
	ask("a", "s", 100, 60);
	ask("b", "s", 100, 40);
	settle("a", 50);
	reopen();
	assert_int_equal(session_room("s").spent, 50);
	assert_int_equal(session_room("s").reserved, 40);
	assert_int_equal(ask("c", "s", 100, 11), LEDGER_EXHAUSTED);
	assert_true(settle("a", 60).is_repeat);
	assert_int_equal(settle("b", 40).answer, LEDGER_OK);
	who.turn = STR("t1");
	assert_int_equal(visit(who), LEDGER_TURN_ENDED);
	who.turn = STR("t2");
	assert_int_equal(rig_session(&rig, &who).first_use, first);
}

/* ---- each store has its group */

#define test(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

static enum rig_kind kind;

static int
set_up(void **state)
{
	(void)state;
	rig_init(&rig, kind);
	rig_open(&rig);
	return 0;
}

static int
tear_down(void **state)
{
	(void)state;
	rig_fini(&rig);
	return 0;
}

static int
run_group(enum rig_kind of, const char *name)
{
	const struct CMUnitTest tests[] = {
		test(test_what_fits_to_the_last_nano_is_granted_and_one_more_is_not),
		test(test_every_scope_must_have_room_and_the_innermost_without_is_named),
		test(test_a_refusal_says_whether_waiting_for_calls_in_flight_would_help),
		test(test_share_and_floor_are_decided_in_the_store),
		test(test_the_same_reserve_again_is_the_same_grant),
		test(test_another_attempt_is_another_reservation),
		test(test_a_reserve_that_makes_no_sense_is_not_begun),
		test(test_calls_and_tokens_of_a_turn_are_limited),
		test(test_a_settle_charges_the_cost_and_gives_the_rest_back),
		test(test_a_second_settle_charges_nothing),
		test(test_more_than_was_held_is_charged_flagged_and_ends_the_next_call),
		test(test_a_settle_without_a_reservation_charges_the_scopes_it_names),
		test(test_sums_stop_and_never_wrap),
		test(
		    test_a_reservation_that_nobody_settles_is_charged_in_full_and_flagged),
		test(test_a_late_settle_gives_nothing_back),
		test(test_a_renewed_lease_goes_on),
		test(test_a_cancelled_reserve_is_given_back_and_says_nothing),
		test(test_a_day_begins_anew_and_no_clock_that_jumps_back_reopens_it),
		test(test_a_call_is_charged_in_the_window_in_which_it_was_reserved),
		test(test_months_are_those_of_the_calendar),
		test(
		    test_a_lower_claim_holds_at_once_and_a_higher_one_needs_a_larger_gen),
		test(test_a_ceiling_that_is_raised_again_in_the_configuration_counts),
		test(test_a_session_belongs_to_its_first_owner),
		test(test_another_turn_with_a_larger_gen_ends_those_before),
		test(test_a_refused_reserve_still_makes_its_turn_the_current_one),
		test(test_a_parent_must_be_known_and_the_same_owners),
		test(test_ancestors_are_at_most_eight),
		test(test_a_childs_spend_counts_against_what_its_parents_token_claimed),
		test(test_what_is_revoked_stays_revoked),
		test(test_what_is_forgotten_does_not_come_back_and_its_spend_stays),
		test(test_a_tenant_goes_with_all_its_sessions),
		test(test_a_correction_is_made_once_and_takes_no_more_than_was_spent),
		test(test_notes_are_there_until_their_time),
		test(test_what_several_add_to_a_note_sums_up),
		test(test_an_object_stays_with_the_session_that_made_it),
		test(test_a_restart_forgets_nothing),
	};

	kind = of;
	return cmocka_run_group_tests_name(name, tests, NULL, NULL);
}

int
main(void)
{
	int failed = run_group(RIG_MEMORY, "memory") + run_group(RIG_SQLITE, "sqlite");

#ifdef HAVE_REDIS
	failed += run_group(RIG_REDIS, "redis");
#endif
	return failed;
}
