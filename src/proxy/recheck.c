/*
 * recheck.c - what was revoked at another weir ends here, too
 */
#include "proxy/recheck.h"

#include "base/count.h"
#include "proxy/identity.h"

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

struct ledger_op *
recheck_ask(struct engine *e, const struct grant *g, ledger_done *done, void *arg)
{
	struct ledger_who who = identity_ledger_who(e->snapshot, g);

	count_add(COUNT_SESSION_RECHECKS, 1);
	return ledger_session_start(e->ledger, e->loop, &who, done, arg);
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

static void
on_answer(void *arg, const struct ledger_reply *reply)
{
	struct recheck *r = arg;

	r->asked = NULL;
	if (reply->answer == LEDGER_OK)
		session_confirm(r->session, r->grant->jti, clock_wall_ms());
	recheck_learn(r->e, r->grant, reply->answer);
	rest(r);
}

static void
on_time(void *arg)
{
	struct recheck *r = arg;

	if (recheck_is_due(r->e, r->session, r->grant))
		r->asked = recheck_ask(r->e, r->grant, on_answer, r);
	if (r->asked == NULL)
		rest(r);
}

void
recheck_start(
    struct recheck *r, struct engine *e, struct session *s, const struct grant *g)
{
	if (!is_shared(e))
		return;
	r->e = e;
	r->session = s;
	r->grant = g;
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
	r->e = NULL;
}
