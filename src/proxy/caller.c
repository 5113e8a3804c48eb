/*
 * caller.c - on whose behalf: a session, and all that it may do here and now
 */
#include "proxy/caller.h"

#include <stdlib.h>

static void
drop(void *arg)
{
	struct caller *c = arg;

	for (size_t i = 0; i < c->nkin; i++)
		grant_unref(c->kin[i]);
	grant_unref(c->grant);
	writer_unref(c->writer);
	session_unref(c->session);
	free(c);
}

struct caller *
caller_ref(struct caller *c)
{
	c->refs++;
	return c;
}

void
caller_unref(struct caller *c)
{
	if (c == NULL || --c->refs > 0)
		return;
	if (atomic_load(&c->is_told)) /* on_told is in the mailbox, or was */
		loop_post(c->loop, drop, c);
	else
		drop(c);
}

static void
on_told(void *arg)
{
	struct caller *c = arg;

	if (c->arg != NULL)
		c->ended(c->arg, c->why);
}

/* On any thread, with the session's lock held. */
static void
told(void *arg, enum session_answer why)
{
	struct caller *c = arg;

	c->why = why;
	atomic_store(&c->is_told, true);
	loop_post(c->loop, on_told, c);
}

struct caller *
caller_new(const struct caller *of, const struct session_ask *ask, struct loop *loop,
    void (*ended)(void *arg, enum session_answer why), void *arg,
    enum session_answer *why)
{
	struct caller *c = mem_zalloc(sizeof(*c));

	c->refs = 1;
	c->session = of->session;
	c->grant = of->grant;
	c->writer = of->writer;
	c->nkin = of->nkin;
	for (size_t i = 0; i < of->nkin; i++)
		c->kin[i] = of->kin[i];
	c->deadline = session_deadline(c->session, c->grant->expires == GRANT_FOREVER
						       ? SESSION_FOREVER
						       : c->grant->expires * 1000);
	c->is_armed = ask->is_armed;
	c->loop = loop;
	c->ended = ended;
	c->arg = arg;
	*why = seat_take(&c->seat, c->session, ask, clock_wall_ms(), told, c);
	if (*why == SESSION_OK)
		return c;
	drop(c);
	return NULL;
}

void
caller_leave(struct caller *c)
{
	if (c == NULL)
		return;
	recheck_stop(&c->recheck);
	seat_leave(&c->seat, clock_wall_ms());
	c->arg = NULL;
	caller_unref(c);
}
