/*
 * chore.c - what takes long, such as a step of a handshake, is done beside a loop
 */
#include "base/chore.h"

#include <assert.h>
#include <stdlib.h>

#include "base/background.h"

/*
 * Handed over at a time: enough that the thread need not wait for the loop to hand it the
 * next one, and few, since what was handed over cannot be called off.
 */
#define AWAY_MOST 4

struct chores {
	struct loop *home;
	struct background beside;
	struct list waiting;
	struct list back; /* and wanted again; it waits once `done` has been told */
	size_t naway;
};

struct chores *
chores_new(struct loop *home)
{
	struct chores *cs = mem_zalloc(sizeof(*cs));

	cs->home = home;
	background_init(&cs->beside);
	list_init(&cs->waiting);
	list_init(&cs->back);
	return cs;
}

int
chores_start(struct chores *cs)
{
	return background_start(&cs->beside);
}

void
chores_stop(struct chores *cs)
{
	if (cs->beside.loop != NULL)
		background_fini(&cs->beside);
}

void
chores_free(struct chores *cs)
{
	if (cs == NULL)
		return;
	chores_stop(cs);
	assert(cs->naway == 0);
	free(cs);
}

struct loop *
chores_loop(const struct chores *cs)
{
	return cs->home;
}

/* ---- there and back ---- */

static void hand_over(struct chores *cs);

static void
move_to_end(struct list *to, struct list *link)
{
	list_remove(link);
	list_append(to, link);
}

/* Whoever is told may free it, or ask for it. */
static void
come_back(void *arg)
{
	struct chore *c = arg;
	struct chores *cs = c->of;

	cs->naway--;
	c->is_away = false;
	c->is_waiting = c->is_wanted_again;
	c->is_wanted_again = false;
	if (c->is_waiting)
		list_append(&cs->back, &c->link);
	c->done(c->arg);
	while (!list_is_empty(&cs->back))
		move_to_end(&cs->waiting, cs->back.next);
	hand_over(cs);
}

static void
work_at(void *arg)
{
	struct chore *c = arg;

	c->work(c->arg);
	loop_post(c->of->home, come_back, c);
}

static void
hand_over(struct chores *cs)
{
	while (cs->naway < AWAY_MOST && cs->beside.loop != NULL &&
	       !list_is_empty(&cs->waiting)) {
		struct chore *c = list_entry(cs->waiting.next, struct chore, link);

		list_remove(&c->link);
		c->is_waiting = false;
		c->is_away = true;
		cs->naway++;
		loop_post(cs->beside.loop, work_at, c);
	}
}

/* ---- one of them ---- */

void
chore_init(struct chore *c, struct chores *of, void (*work)(void *arg),
    void (*done)(void *arg), void *arg)
{
	*c = (struct chore){ .of = of, .work = work, .done = done, .arg = arg };
}

void
chore_ask(struct chore *c)
{
	if (c->is_away) {
		c->is_wanted_again = true;
		return;
	}
	if (!c->is_waiting)
		list_append(&c->of->waiting, &c->link);
	c->is_waiting = true;
	hand_over(c->of);
}

bool
chore_clear(struct chore *c)
{
	if (c->is_waiting)
		list_remove(&c->link);
	c->is_waiting = c->is_wanted_again = false;
	return !c->is_away;
}
