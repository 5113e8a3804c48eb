/*
 * who.c - WHO: may this be heard, and on whose behalf is it asked
 */
#include "proxy/who.h"

#include <stdio.h>
#include <string.h>

#include "proxy/answer.h"
#include "proxy/conns.h"
#include "proxy/counts.h"
#include "proxy/identity.h"
#include "proxy/recheck.h"
#include "proxy/remake.h"
#include "state/operator.h"

#define ASKS_MOST 2 /* of the store, for one exchange */
#define LOOK_EVERY ((msec)3600000)

/* ---- may it be heard at all ---- */

/* Its handshake was counted, and waited, in its place. */
static bool
is_paid(struct conn *c)
{
	bool is_paid = c->is_paid;

	if (c->is_slowed)
		c->x->flags |= FLAG_DELAYED;
	c->is_paid = c->is_slowed = false;
	return is_paid;
}

/* Beyond the rate answers are late, their status and reason unchanged. */
static bool
is_delayed(struct conn *c)
{
	msec wait;

	if (c->x->is_heard)
		return false;
	c->x->is_heard = true;
	if (is_paid(c))
		return false;
	wait = client_delay(
	    c->share, c->x->snapshot->settings->limits_client_rate, loop_now(c->e->loop));
	if (wait <= 0)
		return false;
	c->x->flags |= FLAG_DELAYED;
	timer_set(c->e->loop, &c->timer, wait);
	return true;
}

enum next
who_late(struct conn *c)
{
	(void)c;
	return JUMP;
}

/* ---- when it must end ---- */

static const struct {
	enum session_answer answer;
	enum reason reason;
} answers[] = {
	{ SESSION_INVALID, REASON_SESSION_INVALID },
	{ SESSION_OWNER_MISMATCH, REASON_SESSION_OWNER_MISMATCH },
	{ SESSION_REVOKED, REASON_SESSION_REVOKED },
	{ SESSION_TIME_EXHAUSTED, REASON_SESSION_TIME_EXHAUSTED },
	{ SESSION_NOT_ATTACHED, REASON_SESSION_NOT_ATTACHED },
	{ SESSION_TURN_ENDED, REASON_TURN_ENDED },
	{ SESSION_EXPIRED, REASON_SESSION_EXPIRED },
	{ SESSION_RATE_LIMITED, REASON_RATE_LIMITED },
	{ SESSION_CONCURRENCY_LIMITED, REASON_CONCURRENCY_LIMITED },
	{ SESSION_ASK_STORE, REASON_LEDGER_UNAVAILABLE }, /* it has been asked */
};

static enum reason
reason_of(enum session_answer a)
{
	for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++)
		if (answers[i].answer == a)
			return answers[i].reason;
	return REASON_SESSION_INVALID;
}

static void
on_ended(void *arg, enum session_answer why)
{
	conns_end(arg, reason_of(why), session_answer_text(why));
}

static enum reason
end_reason(const struct caller *who)
{
	return who->grant->expires != GRANT_FOREVER &&
		       who->grant->expires * 1000 <= who->deadline
		   ? REASON_SESSION_EXPIRED
		   : REASON_SESSION_TIME_EXHAUSTED;
}

static bool
is_streaming(const struct conn *c)
{
	return c->x != NULL && c->stage == STAGE_CARRY && c->tunnel == NULL;
}

/* The clock may be set meanwhile, so it is looked at again now and then. */
static void
watch_deadline(struct conn *c)
{
	msec left = c->who->deadline - clock_wall_ms();

	if (c->who->deadline == SESSION_FOREVER)
		return;
	timer_set(c->e->loop, &c->until,
	    left < 0            ? 0
	    : left > LOOK_EVERY ? LOOK_EVERY
				: left);
}

static void
on_deadline(void *arg)
{
	struct conn *c = arg;

	if (clock_wall_ms() < c->who->deadline) {
		watch_deadline(c);
	} else if (is_streaming(c) && !c->has_grace) {
		c->has_grace = true;
		timer_set(
		    c->e->loop, &c->until, c->x->snapshot->settings->limits_stream_grace);
	} else {
		conns_end(c, end_reason(c->who), "the session's time is over");
	}
}

/* ---- its session ---- */

/* The grants of whoever it descends from are references of the caller's. */
static void
gather_kin(struct caller *of)
{
	struct session *kin[SESSION_ANCESTORS];
	size_t n = session_ancestors(of->session, kin);

	for (size_t i = 0; i < n; i++)
		if ((of->kin[of->nkin] = session_grant(kin[i])) != NULL)
			of->nkin++;
}

/* Does this caller stand for that token still, and for what its ancestors may now? */
static bool
is_still(const struct caller *who, const struct grant *g, bool is_armed)
{
	struct session *kin[SESSION_ANCESTORS];
	size_t n = session_ancestors(who->session, kin), same = 0;

	while (same < n && same < who->nkin) {
		struct grant *now = session_grant(kin[same]);
		grant_unref(now);
		if (now != who->kin[same])
			break;
		same++;
	}
	return who->grant == g && who->is_armed == is_armed && same == n &&
	       same == who->nkin;
}

/* Its family's, which is one of its tenant's. */
static struct writer *
writer_of(struct conn *c, struct session *s)
{
	struct str name = session_name(session_root(s));
	struct session_parts parts = session_name_parts(name);
	const char *end = parts.tenant.p + parts.tenant.n;

	return writer_ref(
	    c->e->writers, (struct str){ name.p, (size_t)(end - name.p) }, name);
}

/* Takes the session's reference; borrows the grant. */
static enum session_answer
sit_down(
    struct conn *c, struct grant *g, const struct session_ask *ask, struct session *s)
{
	struct caller of = { .session = s, .grant = grant_ref(g) };
	enum session_answer why;

	gather_kin(&of);
	of.writer = writer_of(c, s);
	c->upload = session_upload(s);
	/* before the old seat is left: whoever ends the session meanwhile finds one */
	struct caller *who = caller_new(&of, ask, c->e->loop, on_ended, c, &why);
	conn_leave(c);
	c->has_grace = false;
	if ((c->who = who) == NULL)
		return why;
	recheck_start(&c->who->recheck, c->e, c->who->session, c->who->grant,
	    ask->is_armed ? ask->source : STR_NONE);
	timer_init(&c->until, on_deadline, c);
	watch_deadline(c);
	return SESSION_OK;
}

static enum next
refuse(struct conn *c, enum reason reason, const char *why)
{
	c->x->error = why;
	return answer_refuse(c, reason);
}

/* Whose account it is on is known now. */
static enum next
admit(struct conn *c)
{
	return exchange_may_write(c->e, c->x)
		   ? NEXT
		   : answer_refuse(c, REASON_AUDIT_UNAVAILABLE);
}

/* One more exchange of c->who's. */
static enum next
begin(struct conn *c)
{
	int64_t retry_ms;
	enum session_answer a;
	enum next admitted;

	c->x->who = caller_ref(c->who);
	if ((admitted = admit(c)) != NEXT || c->door->is_light)
		return admitted;
	a = session_begin(c->who->session, clock_wall_ms(), &retry_ms);
	if (a != SESSION_OK) {
		c->x->retry_s = (retry_ms + 999) / 1000;
		return refuse(c, reason_of(a), session_answer_text(a));
	}
	c->x->is_begun = true;
	return NEXT;
}

/* What its family has sent before must be known where it has a cap. */
static enum next
count_and_begin(struct conn *c)
{
	return counts_ask(c, c->x->snapshot, begin) ? WAIT : begin(c);
}

/* Sessions that are open go on while the store is away. */
static bool
is_silent(enum ledger_answer a)
{
	return a == LEDGER_AWAY || a == LEDGER_ROLLED_BACK;
}

static void
on_session(void *arg, const struct ledger_reply *reply)
{
	struct conn *c = arg;
	char text[ADDR_TEXT];
	struct session_ask ask =
	    identity_ask(c->x->snapshot, c->x->grant, str_of(conn_share(c, text)));
	const char *why = ledger_answer_text(reply->answer);
	enum reason reason = REASON_NONE;

	c->asked = NULL;
	recheck_learn(c->e, c->x->grant, reply->answer);
	if (!c->x->is_rechecked || !is_silent(reply->answer))
		reason = identity_learn(
		    c->e, c->x->snapshot, &ask, reply, clock_wall_ms(), &why);
	conn_go_on(c, reason == REASON_NONE ? JUMP : refuse(c, reason, why));
}

static enum next
ask_store(struct conn *c, struct grant *g)
{
	struct ledger_who who = identity_ledger_who(c->x->snapshot, g);

	if (c->e->ledger == NULL || c->x->nasked++ == ASKS_MOST)
		return refuse(c, REASON_LEDGER_UNAVAILABLE, "there is no ledger");
	c->asked = ledger_session_start(c->e->ledger, c->e->loop, &who, on_session, c);
	if (c->asked == NULL)
		return refuse(c, REASON_LEDGER_UNAVAILABLE, "the ledger is busy");
	return WAIT;
}

/* What is open here may be revoked elsewhere.  False: it is not to be asked, or cannot.
 */
static bool
asks_again(struct conn *c, struct session *s, const struct grant *g)
{
	if (c->x->is_rechecked || !recheck_is_due(c->e, s, g))
		return false;
	c->x->is_rechecked = true;
	c->asked = recheck_ask(c->e, g, on_session, c);
	return c->asked != NULL;
}

/* Borrows the grant. */
static enum next
attach(struct conn *c, struct grant *g)
{
	char text[ADDR_TEXT];
	struct session_ask ask =
	    identity_ask(c->x->snapshot, g, str_of(conn_share(c, text)));
	struct session *s = NULL;

	ask.is_armed = c->x->is_armed;
	enum session_answer a = session_open(c->e->sessions, &ask, clock_wall_ms(), &s);

	if (a == SESSION_ASK_STORE)
		return ask_store(c, g);
	if (a == SESSION_OK && asks_again(c, s, g)) {
		session_unref(s);
		return WAIT;
	}
	if (a == SESSION_OK && c->who != NULL && is_still(c->who, g, ask.is_armed))
		session_unref(s);
	else if (a == SESSION_OK)
		a = sit_down(c, g, &ask, s);
	if (a != SESSION_OK)
		return refuse(c, reason_of(a), session_answer_text(a));
	return count_and_begin(c);
}

/* ---- who says so ---- */

/* Takes the grant. */
static enum next
known(struct conn *c, enum reason reason, struct grant *g, const char *why)
{
	if (reason != REASON_NONE)
		return refuse(c, reason, why);
	if (g == NULL && c->x->snapshot->settings->sessions_required)
		return refuse(c, REASON_SESSION_REQUIRED, NULL);
	if (g == NULL) {
		conn_leave(c);
		return admit(c);
	}
	grant_unref(c->x->grant);
	c->x->grant = g;
	return attach(c, g);
}

static struct identity_source
source_of(struct conn *c, char text[static ADDR_TEXT])
{
	return (struct identity_source){
		.e = c->e,
		.snapshot = c->x->snapshot,
		.source = str_of(conn_share(c, text)),
	};
}

static bool
is_armed_here(const struct identity_source *source)
{
	struct grant *g;
	const char *why;
	bool is_armed = identity_armed(source, &g, &why) != REASON_NONE || g != NULL;

	grant_unref(g);
	return is_armed;
}

/* What is armed beside this process, or was before it began, the store knows; and what
 * was disarmed.  Where it cannot say, or what it knows is no good, nobody else is meant
 * instead. */
static void
on_arm(void *arg, const struct ledger_reply *reply)
{
	struct conn *c = arg;
	char text[ADDR_TEXT];
	struct identity_source source = source_of(c, text);
	const char *why = ledger_answer_text(reply->answer);
	enum reason reason = REASON_NONE;

	c->asked = NULL;
	if (reply->answer == LEDGER_OK || reply->answer == LEDGER_UNKNOWN)
		c->has_looked =
		    identity_learn_arm(&source, c->arm_seen, reply, &reason, &why);
	else if (!is_armed_here(&source))
		reason = identity_refusal(reply->answer);
	conn_go_on(c, reason == REASON_NONE ? JUMP : refuse(c, reason, why));
}

/* Once for a connection; where others share the store, again when its word is old. */
static bool
looks_for_arm(struct conn *c)
{
	char text[ADDR_TEXT];
	struct str source = str_of(conn_share(c, text));

	if (c->e->ledger == NULL ||
	    (c->has_looked && (c->x->has_looked || !recheck_arm_is_due(c->e, source))))
		return false;
	c->has_looked = c->x->has_looked = true;
	c->arm_seen = sessions_arm_changes(c->e->sessions, source);
	c->asked = recheck_ask_arm(c->e, source, on_arm, c);
	return true;
}

static enum next
identify(struct conn *c)
{
	struct exchange *x = c->x;
	char text[ADDR_TEXT];
	struct auth brought;
	struct grant *g = NULL;
	const char *why = NULL;
	enum reason reason = REASON_NONE;
	enum brought has = conn_door(c)->brings(&brought, x);
	struct identity_source source = source_of(c, text);

	if ((c->unix_path != NULL || has == BROUGHT_NOTHING) && looks_for_arm(c))
		return WAIT;
	if (c->unix_path != NULL || has == BROUGHT_NOTHING)
		reason = identity_armed(&source, &g, &why);
	x->is_armed = g != NULL;
	if (reason == REASON_NONE && g == NULL && has == BROUGHT_NONSENSE)
		return refuse(c, REASON_SESSION_INVALID,
		    "what was brought is neither Basic nor Bearer, or not one of them");
	if (reason == REASON_NONE && g == NULL && has == BROUGHT_CREDENTIAL)
		reason = identity_brought(&source, &brought, &g, &why);
	if (reason == REASON_NONE && g == NULL && x->snapshot->keys->laptop != NULL)
		g = grant_ref(x->snapshot->keys->laptop);
	return known(c, reason, g, why);
}

/* Its ancestors may have changed.  A turn or an arm that is over lets a tunnel stand. */
static enum session_answer
sit_down_again(struct conn *c)
{
	char text[ADDR_TEXT];
	struct session_ask ask =
	    identity_ask(c->x->snapshot, c->x->grant, str_of(conn_share(c, text)));

	ask.turns_concurrent = true;
	ask.bind = SESSION_BIND_NONE;
	ask.is_armed = c->who->is_armed;
	return sit_down(c, c->x->grant, &ask, session_ref(c->who->session));
}

/* A request inside a tunnel is its CONNECT's; what its ancestors may is looked up anew.
 */
static enum next
inherit(struct conn *c)
{
	const struct caller *outer = c->outer->who;
	enum session_answer a = SESSION_OK;

	if (outer == NULL)
		return admit(c);
	c->x->grant = grant_ref(outer->grant);
	if (c->who == NULL) /* a seat refused earlier does not make it anonymous */
		return refuse(
		    c, REASON_SESSION_INVALID, "the tunnel has lost its session");
	if (c->who->deadline <= clock_wall_ms()) /* only what streams may outlast it */
		return refuse(c, end_reason(c->who), "the session's time is over");
	if (!is_still(c->who, c->x->grant, c->who->is_armed))
		a = sit_down_again(c);
	return a == SESSION_OK ? count_and_begin(c)
			       : refuse(c, reason_of(a), session_answer_text(a));
}

enum next
who_stage(struct conn *c)
{
	if (!c->x->has_place)
		return answer_refuse(c, REASON_AUDIT_UNAVAILABLE);
	if (c->e->is_draining)
		return answer_refuse(c, REASON_DRAINING);
	if (is_delayed(c))
		return WAIT;
	if (c->is_surplus)
		return answer_refuse(c, REASON_CONCURRENCY_LIMITED);
	if (remake_is_loop(c->x->head, c->x->snapshot->settings->name))
		return answer_refuse(c, REASON_LOOP_DETECTED);
	if (c->outer != NULL)
		return inherit(c);
	if (!snapshot_has_sessions(c->x->snapshot) &&
	    !c->x->snapshot->settings->sessions_required)
		return admit(c);
	return identify(c);
}
