/*
 * opening.c - OPEN: in the audit log, before anything of it leaves
 */
#include "proxy/opening.h"

#include "proxy/answer.h"

#define WRITE_MS ((msec)5000) /* a disk may stand still for so long */

bool
opening_say(struct conn *c)
{
	struct exchange *x = c->x;
	enum reason reason = x->reason;
	bool was_allowed = x->verdict.allow, is_said;

	x->reason = REASON_NONE;
	x->verdict.allow = true;
	is_said = conn_says(&x->trailed);
	x->verdict.allow = was_allowed;
	x->reason = reason;
	if (is_said)
		trail_opened(&c->e->trail, &x->trailed);
	return is_said;
}

bool
opening_wait(struct conn *c, void (*done)(void *arg, bool is_written))
{
	c->written = journal_wait_start(c->e->journal, c->e->loop, done, c);
	if (c->written == NULL)
		return false;
	timer_set(c->e->loop, &c->timer, WRITE_MS);
	return true;
}

void
opening_waited(struct conn *c)
{
	journal_wait_cancel(c->written);
	c->written = NULL;
	timer_clear(&c->timer);
}

static void
on_written(void *arg, bool is_written)
{
	struct conn *c = arg;

	c->written = NULL;
	timer_clear(&c->timer);
	conn_go_on(c, is_written ? NEXT : answer_refuse(c, REASON_AUDIT_UNAVAILABLE));
}

enum next
opening_stage(struct conn *c)
{
	if (!opening_say(c))
		return answer_refuse(c, REASON_AUDIT_UNAVAILABLE);
	return opening_wait(c, on_written) ? WAIT : NEXT;
}

enum next
opening_late(struct conn *c)
{
	opening_waited(c);
	return answer_refuse(c, REASON_AUDIT_UNAVAILABLE);
}
