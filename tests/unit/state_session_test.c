/*
 * A session is its owner's, on one source, in one turn, in time; and what it uses is
 * counted for it and whoever it descends from.
 */
#include "state/operator.h"
#include "state/seat.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "unit.h"

static const struct session_ops no_ops;

static struct session_ask
ask_of(const char *sid)
{
	return (struct session_ask){ .issuer = STR("app"),
		.tenant = STR("acme"),
		.sid = str_of(sid),
		.sub = STR("user"),
		.expires = 1000000,
		.vm_ms = SESSION_UNLIMITED,
		.source = STR("10.0.0.1"),
		.limits = { -1, -1, -1, -1, -1, -1 } };
}

/* As a store without rules of its own would answer. */
static enum session_answer
open_at(struct sessions *all, const struct session_ask *ask, unix_ms now,
    struct session **out)
{
	enum session_answer a = session_open(all, ask, now, out);

	if (a != SESSION_ASK_STORE)
		return a;
	struct session_facts f = { .first_use = now, .gen = ask->gen };
	if (ask->par.n > 0)
		f.kin[f.nkin++] = (struct session_kin){
			.sid = ask->par, .vm_ms = -1, .limits = { -1, -1, -1, -1, -1, -1 }
		};
	if ((a = session_learn(all, ask, &f, now)) != SESSION_OK)
		return a;
	return session_open(all, ask, now, out);
}

static struct session *
opened(struct sessions *all, const struct session_ask *ask, unix_ms now)
{
	struct session *s = NULL;

	assert_int_equal(open_at(all, ask, now, &s), SESSION_OK);
	return s;
}

/* ---- how old the store's word is */

static void
test_the_stores_word_on_a_token_grows_old(void **state)
{
	struct sessions *all = sessions_new(&no_ops);
	struct session_ask ask = ask_of("s1");
	char jti[8];

	(void)state;
	ask.jti = STR("j1");
	struct session *s = opened(all, &ask, 1000);
	assert_false(session_is_stale(s, STR("j1"), 1999, 1000));
	assert_true(session_is_stale(s, STR("j1"), 2000, 1000));
	assert_true(session_is_stale(s, STR("j2"), 1000, 1000)); /* another's */
	assert_true(session_is_stale(s, STR(""), 1000, 1000));
	assert_true(session_is_stale(s, STR("j1"), 999, 1000)); /* a clock set back */
	session_confirm(s, STR("j1"), 2000);
	assert_false(session_is_stale(s, STR("j1"), 2999, 1000));
	for (int i = 0; i < 100; i++) { /* many tokens: asked more often, never less */
		snprintf(jti, sizeof(jti), "x%d", i);
		session_confirm(s, str_of(jti), 2001 + i);
	}
	assert_true(session_is_stale(s, STR("j1"), 2101, 1000));
	assert_false(session_is_stale(s, str_of(jti), 2101, 1000));
	session_unref(s);
	sessions_free(all);
}

/* ---- who */

static void
test_only_the_store_knows_a_session_that_is_new(void **state)
{
	struct sessions *all = sessions_new(&no_ops);
	struct session_ask ask = ask_of("s");
	struct session_facts f = { .first_use = 500, .gen = 0 };
	struct session *s = NULL;

	(void)state;
	assert_int_equal(session_open(all, &ask, 1000, &s), SESSION_ASK_STORE);
	assert_int_equal(session_learn(all, &ask, &f, 1000), SESSION_OK);
	assert_int_equal(session_open(all, &ask, 1000, &s), SESSION_OK);
	session_unref(s);
	sessions_free(all);
}

static void
test_a_session_is_its_owners(void **state)
{
	struct sessions *all = sessions_new(&no_ops);
	struct session_ask ask = ask_of("s"), other = ask_of("s"), beta = ask_of("s");
	struct session *s = opened(all, &ask, 0), *t;

	(void)state;
	other.sub = STR("thief");
	assert_int_equal(open_at(all, &other, 0, &t), SESSION_OWNER_MISMATCH);
	/* the same names in another tenant, or split elsewhere, are another session */
	beta.tenant = STR("beta");
	beta.sub = STR("other");
	t = opened(all, &beta, 0);
	assert_ptr_not_equal(s, t);
	session_unref(s);
	session_unref(t);
	beta.tenant = STR("acmes");
	beta.sid = STR("");
	t = opened(all, &beta, 0);
	assert_ptr_not_equal(s, t);
	session_unref(t);
	sessions_free(all);
}

/* ---- when */

static void
test_time_is_over_at_exp_and_after_vm_seconds(void **state)
{
	struct sessions *all = sessions_new(&no_ops);
	struct session_ask ask = ask_of("s");
	struct session *s;

	(void)state;
	ask.vm_ms = 5000;
	s = opened(all, &ask, 1000);
	assert_int_equal(session_deadline(s, ask.expires), 6000);
	assert_int_equal(session_deadline(s, 3000), 3000);
	session_unref(s);
	s = opened(all, &ask, 5999);
	session_unref(s);
	assert_int_equal(open_at(all, &ask, 6000, &s), SESSION_TIME_EXHAUSTED);
	ask.expires = 5000;
	assert_int_equal(open_at(all, &ask, 5000, &s), SESSION_EXPIRED);
	sessions_free(all);
}

static void
test_an_older_token_brings_no_time_back(void **state)
{
	struct sessions *all = sessions_new(&no_ops);
	struct session_ask rich = ask_of("s"), poor = ask_of("s"), later = ask_of("s");
	struct session *s;

	(void)state;
	rich.gen = 1;
	rich.vm_ms = 9000;
	poor.gen = 2;
	poor.vm_ms = 1000;
	later.gen = 3;
	later.vm_ms = 5000;
	session_unref(opened(all, &rich, 0));
	session_unref(opened(all, &poor, 0));
	assert_int_equal(open_at(all, &rich, 1000, &s), SESSION_TIME_EXHAUSTED);
	/* the store has been told of a larger gen: it says yes, and so is it here */
	assert_int_equal(session_learn(all, &later,
			     &(struct session_facts){ .first_use = 0, .gen = 3 }, 1000),
	    SESSION_OK);
	session_unref(opened(all, &later, 1000));
	sessions_free(all);
}

/* ---- from where */

static void
test_the_first_source_holds_the_session(void **state)
{
	struct sessions *all = sessions_new(&no_ops);
	struct session_ask here = ask_of("s"), there = ask_of("s");
	struct session *s = opened(all, &here, 0), *t;
	struct seat seat = { 0 };

	(void)state;
	there.source = STR("10.0.0.2");
	assert_int_equal(seat_take(&seat, s, &here, 0, NULL, NULL), SESSION_OK);
	assert_int_equal(open_at(all, &there, 500000, &t), SESSION_NOT_ATTACHED);
	seat_leave(&seat, 500000);
	assert_int_equal(open_at(all, &there, 559999, &t), SESSION_NOT_ATTACHED);
	session_unref(opened(all, &there, 560000));
	assert_int_equal(open_at(all, &here, 560001, &t), SESSION_NOT_ATTACHED);
	session_unref(s);
	sessions_free(all);
}

static void
test_bind_none_asks_for_no_source(void **state)
{
	struct sessions *all = sessions_new(&no_ops);
	struct session_ask here = ask_of("s"), there = ask_of("s");

	(void)state;
	here.bind = there.bind = SESSION_BIND_NONE;
	there.source = STR("10.0.0.2");
	session_unref(opened(all, &here, 0));
	session_unref(opened(all, &there, 0));
	sessions_free(all);
}

static void
count_told(void *arg, enum session_answer why)
{
	int *told = arg;

	told[why]++;
}

static void
test_armed_means_only_where_it_was_armed(void **state)
{
	struct sessions *all = sessions_new(&no_ops);
	struct session_ask ask = ask_of("s"), other = ask_of("t");
	int told[SESSION_ANSWERS] = { 0 };
	struct seat seat = { 0 };
	struct session *s;
	struct buf b;

	(void)state;
	buf_init(&b, 100);
	ask.bind = SESSION_BIND_ARMED;
	assert_int_equal(open_at(all, &ask, 0, &s), SESSION_NOT_ATTACHED);
	sessions_arm(all, STR("10.0.0.1"), STR("token"), &ask, 1000, 0);
	assert_true(sessions_armed(all, STR("10.0.0.1"), 0, &b));
	assert_string_equal(buf_cstr(&b), "token");
	assert_false(sessions_armed(all, STR("10.0.0.2"), 0, &b));
	s = opened(all, &ask, 0);
	assert_int_equal(seat_take(&seat, s, &ask, 0, count_told, told), SESSION_OK);
	/* the same session again ends nothing, another one does */
	sessions_arm(all, STR("10.0.0.1"), STR("token2"), &ask, 1000, 0);
	assert_int_equal(told[SESSION_NOT_ATTACHED], 0);
	sessions_arm(all, STR("10.0.0.1"), STR("token3"), &other, 1000, 0);
	assert_int_equal(told[SESSION_NOT_ATTACHED], 1);
	seat_leave(&seat, 0);
	session_unref(s);
	assert_int_equal(open_at(all, &ask, 0, &s), SESSION_NOT_ATTACHED);
	assert_false(
	    sessions_armed(all, STR("10.0.0.1"), 1000, &b)); /* its ttl is over */
	assert_true(sessions_disarm(all, STR("10.0.0.1")));
	assert_false(sessions_disarm(all, STR("10.0.0.1")));
	buf_fini(&b);
	sessions_free(all);
}

/* Sessions that are bound to no source: what came by the arm ends, no more. */
static void
test_a_disarm_ends_what_came_by_the_arm(void **state)
{
	struct sessions *all = sessions_new(&no_ops);
	struct session_ask token = ask_of("s"), armed = ask_of("s");
	int told[2][SESSION_ANSWERS] = { 0 };
	struct seat own = { 0 }, by_arm = { 0 };
	struct str source = token.source;
	struct session *s;
	uint64_t seen;

	(void)state;
	token.bind = armed.bind = SESSION_BIND_NONE;
	armed.is_armed = true;
	assert_int_equal(open_at(all, &armed, 0, &s), SESSION_NOT_ATTACHED);
	sessions_arm(all, source, STR("token"), &armed, 1000, 0);
	s = opened(all, &armed, 0);
	assert_int_equal(seat_take(&own, s, &token, 0, count_told, told[0]), SESSION_OK);
	assert_int_equal(
	    seat_take(&by_arm, s, &armed, 0, count_told, told[1]), SESSION_OK);
	/* over, it still speaks for what it has opened */
	seen = sessions_arm_changes(all, source);
	assert_true(sessions_disarm_told(all, source, 1000, seen));
	assert_int_equal(told[1][SESSION_NOT_ATTACHED], 0);
	assert_true(sessions_arm_told(all, source, STR("token"), &armed, 2000, 0, seen));
	seen = sessions_arm_changes(all, source);
	assert_true(sessions_disarm_told(all, source, 1000, seen));
	assert_int_equal(told[0][SESSION_NOT_ATTACHED], 0);
	assert_int_equal(told[1][SESSION_NOT_ATTACHED], 1);
	seat_leave(&own, 0);
	seat_leave(&by_arm, 0);
	assert_int_equal(
	    seat_take(&by_arm, s, &armed, 0, NULL, NULL), SESSION_NOT_ATTACHED);
	session_unref(s);
	sessions_free(all);
}

/* ---- turns */

static void
test_a_later_turn_ends_the_one_before(void **state)
{
	struct sessions *all = sessions_new(&no_ops);
	struct session_ask first = ask_of("s"), second = ask_of("s"), same = ask_of("s");
	struct session *s;

	(void)state;
	first.turn = STR("t1");
	first.gen = 1;
	second.turn = STR("t2");
	second.gen = 2;
	same.turn = STR("t3");
	same.gen = 2;
	session_unref(opened(all, &first, 0));
	assert_int_equal(session_open(all, &second, 0, &s), SESSION_ASK_STORE);
	session_unref(opened(all, &second, 0));
	assert_int_equal(open_at(all, &first, 0, &s), SESSION_TURN_ENDED);
	assert_int_equal(open_at(all, &same, 0, &s), SESSION_TURN_ENDED);
	/* an answer of the store that comes late brings no old turn back */
	assert_int_equal(session_learn(all, &first,
			     &(struct session_facts){ .first_use = 0, .gen = 1 }, 0),
	    SESSION_OK);
	assert_int_equal(open_at(all, &first, 0, &s), SESSION_TURN_ENDED);
	first.turns_concurrent = true;
	session_unref(opened(all, &first, 0));
	sessions_free(all);
}

/* ---- family */

static void
test_ancestors_are_known_of_the_same_owner_and_no_circle(void **state)
{
	struct sessions *all = sessions_new(&no_ops);
	struct session_ask child = ask_of("c"), foreign = ask_of("f"),
			   moved = ask_of("c");
	struct session_facts f = { .nkin = 0 };
	struct session *s;
	char names[9][3];

	(void)state;
	child.par = STR("p");
	assert_int_equal(
	    session_learn(all, &child, &f, 0), SESSION_INVALID); /* unknown */
	f.nkin = 1;
	f.kin[0].sid = STR("q");
	assert_int_equal(session_learn(all, &child, &f, 0), SESSION_INVALID);
	f.kin[0].sid = STR("c");
	assert_int_equal(session_learn(all, &child, &f, 0), SESSION_INVALID);
	f.nkin = 3;
	f.kin[0].sid = f.kin[2].sid = STR("p");
	f.kin[1].sid = STR("q");
	assert_int_equal(
	    session_learn(all, &child, &f, 0), SESSION_INVALID); /* a circle */
	f.nkin = 8;
	for (size_t i = 0; i < 8; i++) {
		snprintf(names[i], sizeof(names[i]), "p%zu", i);
		f.kin[i] = (struct session_kin){ .sid = str_of(names[i]), .vm_ms = -1 };
	}
	child.par = str_of(names[0]);
	assert_int_equal(session_learn(all, &child, &f, 0), SESSION_OK);
	f.nkin = 9; /* one more than may be */
	assert_int_equal(session_learn(all, &child, &f, 0), SESSION_INVALID);
	s = opened(all, &child, 0);
	struct session *line[SESSION_ANCESTORS];
	assert_int_equal(session_ancestors(s, line), 8);
	session_unref(s);
	foreign.par = STR("p0");
	foreign.sub = STR("thief");
	assert_int_equal(open_at(all, &foreign, 0, &s), SESSION_INVALID);
	moved.par = STR("p1"); /* the same session cannot get another parent */
	assert_int_equal(open_at(all, &moved, 0, &s), SESSION_INVALID);
	sessions_free(all);
}

static void
test_a_child_lives_in_its_parents_limits(void **state)
{
	struct sessions *all = sessions_new(&no_ops);
	struct session_ask parent = ask_of("p"), child = ask_of("c");
	struct session *p, *c;
	int64_t retry;

	(void)state;
	parent.limits.concurrency = 2;
	parent.vm_ms = 5000;
	child.par = STR("p");
	child.vm_ms = 9000;
	p = opened(all, &parent, 0);
	c = opened(all, &child, 0);
	assert_int_equal(session_deadline(c, 1000000), 5000);
	assert_int_equal(session_begin(c, 0, &retry), SESSION_OK);
	assert_int_equal(session_begin(p, 0, &retry), SESSION_OK);
	assert_int_equal(session_begin(c, 0, &retry), SESSION_CONCURRENCY_LIMITED);
	assert_int_equal(session_begin(p, 0, &retry), SESSION_CONCURRENCY_LIMITED);
	session_end(c);
	assert_int_equal(session_begin(c, 0, &retry), SESSION_OK);
	session_end(c);
	session_end(p);
	assert_int_equal(open_at(all, &child, 5000, &c), SESSION_TIME_EXHAUSTED);
	session_unref(c);
	session_unref(p);
	sessions_free(all);
}

/* ---- revocation */

static void
test_revoking_ends_a_session_and_its_children(void **state)
{
	struct sessions *all = sessions_new(&no_ops);
	struct session_ask parent = ask_of("p"), child = ask_of("c"), other = ask_of("o");
	int told[SESSION_ANSWERS] = { 0 }, spared[SESSION_ANSWERS] = { 0 };
	struct session *p, *c, *o;
	struct seat a = { 0 }, b = { 0 }, d = { 0 };

	(void)state;
	child.par = STR("p");
	p = opened(all, &parent, 0);
	c = opened(all, &child, 0);
	o = opened(all, &other, 0);
	assert_int_equal(seat_take(&a, p, &parent, 0, count_told, told), SESSION_OK);
	assert_int_equal(seat_take(&b, c, &child, 0, count_told, told), SESSION_OK);
	assert_int_equal(seat_take(&d, o, &other, 0, count_told, spared), SESSION_OK);
	assert_int_equal(sessions_revoke(all, STR("beta"), STR("p"), 1000, 0), 0);
	assert_int_equal(sessions_revoke(all, STR("acme"), STR("p"), 1000, 0), 2);
	assert_int_equal(told[SESSION_REVOKED], 2);
	assert_int_equal(spared[SESSION_REVOKED], 0);
	seat_leave(&a, 0);
	seat_leave(&b, 0);
	seat_leave(&d, 0);
	assert_int_equal(seat_take(&b, c, &child, 0, count_told, told), SESSION_REVOKED);
	session_unref(p);
	session_unref(c);
	session_unref(o);
	assert_int_equal(open_at(all, &parent, 0, &p), SESSION_REVOKED);
	assert_int_equal(open_at(all, &child, 0, &p), SESSION_REVOKED);
	assert_int_equal(open_at(all, &child, 2000, &p), SESSION_REVOKED);
	sessions_free(all);
}

static struct {
	struct sessions *all; /* NULL: nothing is done */
	int after;            /* so many locks */
} meanwhile;

/* Of all that is in this program: what another thread does just before a lock is had. */
int
pthread_mutex_lock(pthread_mutex_t *lock)
{
	struct sessions *all = meanwhile.all;

	if (all != NULL && meanwhile.after-- == 0) {
		meanwhile.all = NULL;
		(void)sessions_revoke(all, STR("acme"), STR("p"), 1000, 0);
	}
	while (pthread_mutex_trylock(lock) != 0)
		sched_yield();
	return 0;
}

/* The store answers for a sub-agent, and its parent is revoked at each point meanwhile.
 */
static void
test_an_ancestor_that_is_revoked_while_it_is_learnt_is_revoked(void **state)
{
	(void)state;
	for (int after = 0; after < 4; after++) {
		struct sessions *all = sessions_new(&no_ops);
		struct session_ask child = ask_of("c");
		struct session_facts f = { .nkin = 1, .kin[0] = { .sid = STR("p") } };
		struct session *s;

		child.par = STR("p");
		meanwhile.after = after;
		meanwhile.all = all;
		assert_int_equal(session_learn(all, &child, &f, 0), SESSION_OK);
		if (meanwhile.all != NULL) { /* there were no more locks */
			meanwhile.all = NULL;
			assert_true(after >= 2);
			(void)sessions_revoke(all, STR("acme"), STR("p"), 1000, 0);
		}
		assert_int_equal(session_open(all, &child, 0, &s), SESSION_REVOKED);
		sessions_free(all);
	}
}

static void
test_revoking_a_token_spares_the_sessions_other_tokens(void **state)
{
	struct sessions *all = sessions_new(&no_ops);
	struct session_ask stolen = ask_of("s"), other = ask_of("s"),
			   unseen = ask_of("u");
	int told[SESSION_ANSWERS] = { 0 };
	struct session *s;
	struct seat a = { 0 }, b = { 0 };

	(void)state;
	stolen.jti = STR("j1");
	other.jti = STR("j2");
	unseen.jti = STR("j1");
	s = opened(all, &stolen, 0);
	assert_int_equal(seat_take(&a, s, &stolen, 0, count_told, told), SESSION_OK);
	assert_int_equal(seat_take(&b, s, &other, 0, count_told, told), SESSION_OK);
	assert_int_equal(sessions_revoke_token(all, STR("acme"), STR("j1"), 1000, 0), 1);
	seat_leave(&a, 0);
	seat_leave(&b, 0);
	session_unref(s);
	assert_int_equal(open_at(all, &stolen, 0, &s), SESSION_REVOKED);
	assert_int_equal(open_at(all, &unseen, 0, &s), SESSION_REVOKED);
	session_unref(opened(all, &other, 0));
	session_unref(
	    opened(all, &stolen, 1000)); /* it is forgotten when no token is left */
	sessions_free(all);
}

/* Between the token's check and the seat, each of these may happen on another thread. */
static void
test_nothing_that_ends_it_slips_in_before_the_seat(void **state)
{
	struct sessions *all = sessions_new(&no_ops);
	struct session_ask token = ask_of("s"), armed = ask_of("a"), moved = ask_of("m"),
			   there = ask_of("m"), turn = ask_of("t"), later = ask_of("t");
	struct session *s, *a, *m, *t;
	struct seat seat = { 0 };

	(void)state;
	token.jti = STR("j1");
	armed.bind = SESSION_BIND_ARMED;
	armed.source = STR("unix:/run/a");
	there.source = STR("10.0.0.2");
	turn.turn = STR("t1");
	later.turn = STR("t2");
	later.gen = 1;
	sessions_arm(all, armed.source, STR("token"), &armed, 1000, 0);
	s = opened(all, &token, 0);
	a = opened(all, &armed, 0);
	m = opened(all, &moved, 0);
	t = opened(all, &turn, 0);
	assert_int_equal(sessions_revoke_token(all, STR("acme"), STR("j1"), 1000, 0), 0);
	assert_true(sessions_disarm(all, armed.source));
	assert_int_equal(sessions_detach(all, STR("acme"), STR("m")), 0);
	session_unref(opened(all, &there, 0));
	session_unref(opened(all, &later, 0));
	assert_int_equal(seat_take(&seat, s, &token, 0, NULL, NULL), SESSION_REVOKED);
	assert_int_equal(
	    seat_take(&seat, a, &armed, 0, NULL, NULL), SESSION_NOT_ATTACHED);
	assert_int_equal(
	    seat_take(&seat, m, &moved, 0, NULL, NULL), SESSION_NOT_ATTACHED);
	assert_int_equal(seat_take(&seat, t, &turn, 0, NULL, NULL), SESSION_TURN_ENDED);
	assert_null(seat.session);
	session_unref(s);
	session_unref(a);
	session_unref(m);
	session_unref(t);
	sessions_free(all);
}

static void
test_detaching_lets_another_source_in(void **state)
{
	struct sessions *all = sessions_new(&no_ops);
	struct session_ask here = ask_of("s"), there = ask_of("s");
	int told[SESSION_ANSWERS] = { 0 };
	struct session *s = opened(all, &here, 0), *t;
	struct seat seat = { 0 };

	(void)state;
	there.source = STR("unix:/run/b");
	assert_int_equal(seat_take(&seat, s, &here, 0, count_told, told), SESSION_OK);
	assert_int_equal(sessions_detach(all, STR("acme"), STR("s")), 1);
	assert_int_equal(told[SESSION_NOT_ATTACHED], 1);
	seat_leave(&seat, 0);
	session_unref(opened(all, &there, 0));
	assert_int_equal(open_at(all, &here, 0, &t), SESSION_NOT_ATTACHED);
	session_unref(s);
	sessions_free(all);
}

/* ---- counting */

static void
test_requests_a_minute_are_counted_and_come_back(void **state)
{
	struct sessions *all = sessions_new(&no_ops);
	struct session_ask ask = ask_of("s");
	struct session *s;
	int64_t retry;

	(void)state;
	ask.limits.requests_per_minute = 6;
	s = opened(all, &ask, 0);
	for (int i = 0; i < 6; i++) {
		assert_int_equal(session_begin(s, 1000, &retry), SESSION_OK);
		session_end(s);
	}
	assert_int_equal(session_begin(s, 1000, &retry), SESSION_RATE_LIMITED);
	assert_int_equal(retry, 10000);
	assert_int_equal(session_begin(s, 10999, &retry), SESSION_RATE_LIMITED);
	assert_int_equal(session_begin(s, 11000, &retry), SESSION_OK);
	assert_int_equal(session_begin(s, 11000, &retry), SESSION_RATE_LIMITED);
	session_end(s);
	session_unref(s);
	sessions_free(all);
}

static void
test_what_is_refused_is_counted_nowhere(void **state)
{
	struct sessions *all = sessions_new(&no_ops);
	struct session_ask parent = ask_of("p"), child = ask_of("c");
	struct session *p, *c;
	int64_t retry;

	(void)state;
	parent.limits.concurrency = 0;
	child.par = STR("p");
	child.limits.requests_per_minute = 1;
	child.limits.concurrency = 1;
	p = opened(all, &parent, 0);
	c = opened(all, &child, 0);
	for (int i = 0; i < 10; i++)
		assert_int_equal(
		    session_begin(c, 0, &retry), SESSION_CONCURRENCY_LIMITED);
	parent.gen = 1;
	parent.limits.concurrency = -1;
	session_unref(opened(all, &parent, 0));
	assert_int_equal(session_begin(c, 0, &retry), SESSION_OK);
	session_end(c);
	session_unref(c);
	session_unref(p);
	sessions_free(all);
}

struct used {
	int64_t calls, tokens;
};

static void
add_used(void *arg, const struct session_view *v)
{
	struct used *u = arg;

	u->calls += v->calls;
	u->tokens += v->tokens;
}

static void
test_what_a_child_used_its_parent_shows(void **state)
{
	struct sessions *all = sessions_new(&no_ops);
	struct session_ask parent = ask_of("p"), child = ask_of("c");
	struct session *p, *c;
	struct used used = { 0, 0 };

	(void)state;
	child.par = STR("p");
	p = opened(all, &parent, 0);
	c = opened(all, &child, 0);
	session_used(c, 100);
	session_used(p, 5);
	sessions_each(all, STR_NONE, add_used, &used);
	assert_int_equal(used.calls, 3);
	assert_int_equal(used.tokens, 205);
	session_unref(c);
	session_unref(p);
	sessions_free(all);
}

/* A token of this turn is used; the turn's limits from then on. */
static int64_t
calls_after(struct sessions *all, struct str turn, int64_t gen, int64_t calls)
{
	struct session_ask ask = ask_of("s");

	ask.turns_concurrent = true;
	ask.turn = turn;
	ask.gen = gen;
	ask.limits.turn_calls = calls;
	struct session *s = opened(all, &ask, 0);
	int64_t after = session_limits(s, turn).turn_calls;
	session_unref(s);
	return after;
}

static void
test_a_turns_limits_are_the_newest_tokens_and_no_other_turns(void **state)
{
	struct sessions *all = sessions_new(&no_ops);

	(void)state;
	assert_int_equal(calls_after(all, STR("t1"), 2, 5), 5);
	assert_int_equal(calls_after(all, STR("t1"), 1, 50), 5);
	assert_int_equal(calls_after(all, STR("t1"), 2, 50), 5);
	assert_int_equal(calls_after(all, STR("t1"), 3, 50), 50);
	assert_int_equal(calls_after(all, STR("t1"), 3, 7), 7);
	/* who says nothing of turns leaves them as they are */
	assert_int_equal(calls_after(all, STR_NONE, 4, 1), -1);
	assert_int_equal(calls_after(all, STR("t0"), 5, -1), -1);
	assert_int_equal(calls_after(all, STR("t1"), 2, 50), 7);
	assert_int_equal(calls_after(all, STR("t2"), 6, 1), 1);
	assert_int_equal(calls_after(all, STR("t1"), 3, 7), -1);
	assert_int_equal(calls_after(all, STR("t2"), 2, 9), 1);
	assert_int_equal(calls_after(all, STR("t2"), 7, -1), -1);
	sessions_free(all);
}

static void
test_a_token_that_says_another_cap_is_noticed(void **state)
{
	struct sessions *all = sessions_new(&no_ops);
	struct session_ask ask = ask_of("s1");
	struct session *s = opened(all, &ask, 1000);
	uint64_t seen = sessions_upload_changes(all);

	(void)state;
	session_unref(s);
	session_unref(opened(all, &ask, 1000)); /* the same again */
	assert_int_equal(sessions_upload_changes(all), seen);
	ask.limits.upload = 5000;
	s = opened(all, &ask, 1000);
	assert_int_equal(sessions_upload_changes(all), seen + 1);
	session_unref(opened(all, &ask, 1000));
	assert_int_equal(sessions_upload_changes(all), seen + 1);
	assert_int_equal(session_upload(s), 5000);
	session_unref(s);
	sessions_free(all);
}

static void
test_a_lower_limit_holds_at_once_and_a_higher_needs_gen(void **state)
{
	struct sessions *all = sessions_new(&no_ops);
	struct session_ask ask = ask_of("s");
	struct session *s;
	int64_t retry;

	(void)state;
	ask.gen = 5;
	ask.limits.concurrency = 2;
	session_unref(opened(all, &ask, 0));
	ask.limits.concurrency = 1;
	s = opened(all, &ask, 0);
	assert_int_equal(session_begin(s, 0, &retry), SESSION_OK);
	assert_int_equal(session_begin(s, 0, &retry), SESSION_CONCURRENCY_LIMITED);
	ask.limits.concurrency = 9;
	session_unref(opened(all, &ask, 0));
	assert_int_equal(session_begin(s, 0, &retry), SESSION_CONCURRENCY_LIMITED);
	ask.gen = 4;
	session_unref(opened(all, &ask, 0));
	assert_int_equal(session_begin(s, 0, &retry), SESSION_CONCURRENCY_LIMITED);
	ask.gen = 6;
	session_unref(opened(all, &ask, 0));
	assert_int_equal(session_begin(s, 0, &retry), SESSION_OK);
	session_end(s);
	session_end(s);
	session_unref(s);
	sessions_free(all);
}

/* ---- many at once */

struct racer {
	struct sessions *all;
	atomic_int *inside, *most;
	int id;
};

static void *
race(void *arg)
{
	struct racer *r = arg;
	char name[20];

	for (int i = 0; i < 3000; i++) {
		struct session_ask ask = ask_of("s");
		struct session *s;
		struct seat seat = { 0 };
		int64_t retry;

		snprintf(name, sizeof(name), "c%d", i % 17);
		ask.bind = SESSION_BIND_NONE;
		if (i % 3 == 0) {
			ask.sid = str_of(name);
			ask.par = STR("s");
		} else {
			ask.limits.concurrency = 3;
		}
		if (open_at(r->all, &ask, 1, &s) != SESSION_OK)
			continue;
		if (seat_take(&seat, s, &ask, 1, count_told,
			&(int[SESSION_ANSWERS]){ 0 }) == SESSION_OK) {
			if (session_begin(s, 1, &retry) == SESSION_OK) {
				int now = atomic_fetch_add(r->inside, 1) + 1;
				int most = atomic_load(r->most);
				while (now > most &&
				       !atomic_compare_exchange_weak(r->most, &most, now))
					;
				atomic_fetch_sub(r->inside, 1);
				session_end(s);
			}
			seat_leave(&seat, 1);
		}
		session_unref(s);
		if (r->id == 0 && i % 100 == 0)
			(void)sessions_detach(r->all, STR("acme"), STR("s"));
	}
	return NULL;
}

static void
test_no_race_gets_past_a_limit_or_loses_a_seat(void **state)
{
	struct sessions *all = sessions_new(&no_ops);
	struct session_ask first = ask_of("s");
	atomic_int inside = 0, most = 0;
	struct racer racer[4];
	pthread_t thread[4];

	(void)state;
	first.bind = SESSION_BIND_NONE;
	first.limits.concurrency = 3;
	session_unref(opened(all, &first, 0));
	for (int i = 0; i < 4; i++) {
		racer[i] = (struct racer){ all, &inside, &most, i };
		assert_int_equal(pthread_create(&thread[i], NULL, race, &racer[i]), 0);
	}
	for (int i = 0; i < 4; i++)
		pthread_join(thread[i], NULL);
	assert_in_range(atomic_load(&most), 1, 3);
	sessions_free(all); /* asserts that nobody holds one */
}

static void
count_views(void *arg, const struct session_view *v)
{
	*(int *)arg += v->tenant.n > 0;
}

static void
test_sessions_without_end_make_room_for_each_other(void **state)
{
	struct sessions *all = sessions_new(&no_ops);
	struct session_ask kept = ask_of("kept");
	struct session *s = opened(all, &kept, 0), *again;
	int n = 0;

	(void)state;
	for (int i = 0; i < 200000; i++) {
		char name[20];

		snprintf(name, sizeof(name), "s%d", i);
		struct session_ask ask = ask_of(name);
		session_unref(opened(all, &ask, 0));
	}
	sessions_each(all, STR("acme"), count_views, &n);
	assert_in_range(n, 1, 64 * 1026);
	assert_int_equal(session_open(all, &kept, 0, &again), SESSION_OK);
	assert_ptr_equal(s, again);
	session_unref(s);
	session_unref(again);
	sessions_free(all);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_stores_word_on_a_token_grows_old),
		cmocka_unit_test(test_only_the_store_knows_a_session_that_is_new),
		cmocka_unit_test(test_a_session_is_its_owners),
		cmocka_unit_test(test_time_is_over_at_exp_and_after_vm_seconds),
		cmocka_unit_test(test_an_older_token_brings_no_time_back),
		cmocka_unit_test(test_the_first_source_holds_the_session),
		cmocka_unit_test(test_bind_none_asks_for_no_source),
		cmocka_unit_test(test_armed_means_only_where_it_was_armed),
		cmocka_unit_test(test_a_disarm_ends_what_came_by_the_arm),
		cmocka_unit_test(test_a_later_turn_ends_the_one_before),
		cmocka_unit_test(
		    test_ancestors_are_known_of_the_same_owner_and_no_circle),
		cmocka_unit_test(test_a_child_lives_in_its_parents_limits),
		cmocka_unit_test(test_revoking_ends_a_session_and_its_children),
		cmocka_unit_test(
		    test_an_ancestor_that_is_revoked_while_it_is_learnt_is_revoked),
		cmocka_unit_test(test_revoking_a_token_spares_the_sessions_other_tokens),
		cmocka_unit_test(test_nothing_that_ends_it_slips_in_before_the_seat),
		cmocka_unit_test(test_detaching_lets_another_source_in),
		cmocka_unit_test(test_requests_a_minute_are_counted_and_come_back),
		cmocka_unit_test(test_what_is_refused_is_counted_nowhere),
		cmocka_unit_test(test_what_a_child_used_its_parent_shows),
		cmocka_unit_test(
		    test_a_turns_limits_are_the_newest_tokens_and_no_other_turns),
		cmocka_unit_test(test_a_token_that_says_another_cap_is_noticed),
		cmocka_unit_test(test_a_lower_limit_holds_at_once_and_a_higher_needs_gen),
		cmocka_unit_test(test_no_race_gets_past_a_limit_or_loses_a_seat),
		cmocka_unit_test(test_sessions_without_end_make_room_for_each_other),
	};

	return cmocka_run_group_tests_name("state/session", tests, NULL, NULL);
}
