/*
 * counts.c - what a session has sent before, asked of the store where a cap may hold
 */
#include "proxy/counts.h"

#include "base/count.h"
#include "proxy/answer.h"
#include "proxy/identity.h"
#include "proxy/sent.h"

/* Some host, for some of the family. */
static bool
has_cap(const struct conn *c, const struct snapshot *s)
{
	const struct ruleset *rules = snapshot_rules(s, c->who->grant);

	return s->settings->limits_upload > 0 || session_upload(c->who->session) > 0 ||
	       (!conn_door(c)->is_metered && rules != NULL && rules->has_upload);
}

/* Calls to a provider that has a meter, or what the gateway answers by itself. */
static bool
is_uncapped(const struct conn *c)
{
	const struct exchange *x = c->x != NULL ? c->x : c->outer;

	return conn_door(c)->is_metered &&
	       (x->route == NULL || route_is_metered(x->route));
}

static bool
is_due(const struct conn *c, const struct snapshot *s)
{
	struct upload_owner owner;

	if (c->e->ledger == NULL || c->who == NULL || conn_door(c)->is_light ||
	    is_uncapped(c) || !has_cap(c, s))
		return false;
	owner = sent_owner(c->who->session);
	return !sent_is_loaded(c->e->uploads, c->e->ledger, &owner);
}

static struct ledger_op *
ask(struct conn *c, ledger_done *done)
{
	struct upload_owner owner = sent_owner(c->who->session);

	count_add(COUNT_UPLOAD_LOADS, 1);
	return sent_load_start(c->e->ledger, c->e->loop, &owner, done, c);
}

/* False: the store cannot say, and never has. */
static bool
learn(struct conn *c, const struct ledger_reply *reply)
{
	struct upload_owner owner = sent_owner(c->who->session);

	return sent_loaded(c->e->uploads, &owner, reply);
}

/* ---- the exchange under way */

static void
on_counted(void *arg, const struct ledger_reply *reply)
{
	struct conn *c = arg;

	c->asked = NULL;
	if (learn(c, reply)) {
		conn_go_on(c, c->counted(c));
		return;
	}
	c->x->error = ledger_answer_text(reply->answer);
	conn_go_on(c, answer_refuse(c, identity_refusal(reply->answer)));
}

bool
counts_ask(struct conn *c, const struct snapshot *s, enum next (*then)(struct conn *c))
{
	if (!is_due(c, s))
		return false;
	c->counted = then;
	c->asked = ask(c, on_counted);
	return true;
}

/* ---- what is open */

bool
counts_hold(struct conn *c, ledger_done *done)
{
	const struct exchange *x = c->outer != NULL ? c->outer : c->x;

	if (x->lease.upload != NULL || !is_due(c, c->e->snapshot))
		return false;
	if (c->counting == NULL)
		c->counting = ask(c, done);
	return true;
}

bool
counts_told(struct conn *c, const struct ledger_reply *reply)
{
	c->counting = NULL;
	/* meanwhile the session may have ended, or a reload taken the cap away */
	return c->who == NULL || learn(c, reply) || !is_due(c, c->e->snapshot);
}
