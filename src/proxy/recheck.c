/*
 * recheck.c - what was revoked or disarmed at another weir ends here, too
 */
#include "proxy/recheck.h"

#include <stdlib.h>

#include "base/count.h"
#include "proxy/identity.h"
#include "state/operator.h"

static bool
is_shared(const struct engine *e)
{
	return e->ledger != NULL && ledger_is_shared(e->ledger);
}

/*
 * How old a word may be, and how long until it is looked at again: no word is then older
 * than both together, not even one that was all but too old at the last look.
 */
static int64_t
half(const struct engine *e)
{
	return e->snapshot->settings->sessions_recheck / 2;
}

bool
recheck_is_due(const struct engine *e, struct session *s, const struct grant *g)
{
	return is_shared(e) && session_is_stale(s, g->jti, clock_wall_ms(), half(e));
}

bool
recheck_arm_is_due(const struct engine *e, struct str source)
{
	return is_shared(e) &&
	       sessions_arm_is_stale(e->sessions, source, clock_wall_ms(), half(e));
}

struct ledger_op *
recheck_ask(struct engine *e, const struct grant *g, ledger_done *done, void *arg)
{
	struct ledger_who who = identity_ledger_who(e->snapshot, g);

	count_add(COUNT_SESSION_RECHECKS, 1);
	return ledger_session_start(e->ledger, e->loop, &who, done, arg);
}

struct ledger_op *
recheck_ask_arm(struct engine *e, struct str source, ledger_done *done, void *arg)
{
	const struct ledger_note note = { .kind = LEDGER_NOTE_ARM, .name = source };

	return ledger_note_get_start(e->ledger, e->loop, &note, done, arg);
}

void
recheck_learn(struct engine *e, const struct grant *g, enum ledger_answer a)
{
	unix_ms now = clock_wall_ms();
	unix_ms until = g->expires == GRANT_FOREVER ? SESSION_FOREVER : g->expires * 1000;

	if (a != LEDGER_REVOKED && a != LEDGER_FORGOTTEN)
		return;
	/* whichever of the two it was, the token is of no use any more; the session's
	 * other tokens are asked after by whoever has them */
	if (g->jti.n > 0)
		sessions_revoke_token(e->sessions, g->tenant, g->jti, until, now);
	else
		sessions_revoke(e->sessions, g->tenant, g->sid, until, now);
}

static void
rest(struct recheck *r)
{
	timer_set(r->e->loop, &r->timer, half(r->e));
}

static void look_for_arm(struct recheck *r);

/* One whose token is no good here (any more) opens nothing, and ends nothing. */
static void
on_arm(void *arg, const struct ledger_reply *reply)
{
	struct recheck *r = arg;
	const struct identity_source source = { r->e, r->e->snapshot, str_of(r->source) };
	enum reason reason;
	const char *why;

	r->asked = NULL;
	if ((reply->answer == LEDGER_OK || reply->answer == LEDGER_UNKNOWN) &&
	    !identity_learn_arm(&source, r->arm_seen, reply, &reason, &why))
		look_for_arm(r);
	else
		rest(r);
}

static void
look_for_arm(struct recheck *r)
{
	if (r->source == NULL || !recheck_arm_is_due(r->e, str_of(r->source))) {
		rest(r);
		return;
	}
	r->arm_seen = sessions_arm_changes(r->e->sessions, str_of(r->source));
	count_add(COUNT_SESSION_RECHECKS, 1);
	r->asked = recheck_ask_arm(r->e, str_of(r->source), on_arm, r);
}

static void
on_answer(void *arg, const struct ledger_reply *reply)
{
	struct recheck *r = arg;

	r->asked = NULL;
	if (reply->answer == LEDGER_OK)
		session_confirm(r->session, r->grant->jti, clock_wall_ms());
	recheck_learn(r->e, r->grant, reply->answer);
	look_for_arm(r);
}

static void
on_time(void *arg)
{
	struct recheck *r = arg;

	if (recheck_is_due(r->e, r->session, r->grant))
		r->asked = recheck_ask(r->e, r->grant, on_answer, r);
	if (r->asked == NULL)
		look_for_arm(r);
}

void
recheck_start(struct recheck *r, struct engine *e, struct session *s,
    const struct grant *g, struct str source)
{
	if (!is_shared(e))
		return;
	r->e = e;
	r->session = s;
	r->grant = g;
	r->source = source.n == 0 ? NULL : str_dup(source);
	timer_init(&r->timer, on_time, r);
	rest(r);
}

void
recheck_stop(struct recheck *r)
{
	if (r->e == NULL)
		return;
	timer_clear(&r->timer);
	ledger_cancel(r->asked);
	r->asked = NULL;
	free(r->source);
	r->source = NULL;
	r->e = NULL;
}
