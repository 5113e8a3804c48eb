/*
 * own.c - what a call refers to at the provider, and what it leaves there
 */
#include "proxy/own.h"

#include <assert.h>
#include <string.h>

#include "meter/hosted.h"
#include "proxy/judge.h"

/* ---- whose is what it refers to? */

static const struct reference *
referred_next(const struct spend *s)
{
	return &s->call.reference[s->nreferred];
}

/* What it costs goes by the day and the tier of the call itself. */
static void
recall(struct spend *s, const struct object_note *ran)
{
	s->day = ran->day;
	s->call.tier = ran->tier;
	usage_name(s->model, ran->model);
	if (ran->request.n < SPEND_NAME) {
		memcpy(s->provider_id, ran->request.p, ran->request.n);
		s->provider_id[ran->request.n] = '\0';
	}
}

static void
on_found(void *arg, const struct ledger_reply *r)
{
	struct spend *s = arg;
	struct object_note *o = &s->referred[s->nreferred];
	enum reason reason = object_read(o, r, s->grant, &s->arena);

	s->op = NULL;
	if (reason != REASON_NONE) {
		spend_tell(s, spend_refuse(s, reason, NULL));
		return;
	}
	if (++s->nreferred < s->call.nreference) {
		s->op = object_find_start(
		    s->e, s->route->row->name, referred_next(s)->id, on_found, s);
		return;
	}
	if (spend_ran_on(s) != NULL)
		recall(s, spend_ran_on(s));
	spend_tell(s, !s->is_metered || judge_price(s));
}

void
own_check(struct spend *s, void (*done)(void *arg, bool is_fine), void *arg)
{
	assert(s->call.nreference > 0 && s->nreferred == 0 && s->op == NULL);
	s->done = done;
	s->arg = arg;
	s->op = object_find_start(
	    s->e, s->route->row->name, referred_next(s)->id, on_found, s);
}

/* ---- what it leaves at the provider */

/* What tools made, and what was left unread, no count of tokens tells; and a gateway may
 * leave something out by itself, or send the next call elsewhere. */
static bool
is_plain(const struct spend *s)
{
	const struct call *c = &s->call;

	for (const struct hosted *h = c->hosted; h != NULL; h = h->next)
		if (!h->is_stripped)
			return false;
	return s->route->row->kind == PROVIDER_OPENAI && c->nmodel == 1 && !c->compacts &&
	       !c->truncates && !c->draws;
}

/* Read again it is no longer than what its call read and wrote. */
static int64_t
tokens_of(const struct usage *u, enum reference_kind kind)
{
	struct run total = usage_total(u);

	if (u->state != USAGE_ALL || u->is_absurd || u->nrun != 1)
		return 0;
	return kind == REFERENCE_RESPONSE ? total.input_total + total.output
	       : kind == REFERENCE_ITEM   ? total.output
					  : 0;
}

static struct object_note
new_object(const struct spend *s, const struct usage *u, enum reference_kind kind)
{
	const struct object_note *ran = spend_ran_on(s);
	bool runs_on =
	    s->call.is_background && kind == REFERENCE_RESPONSE && u->state != USAGE_ALL;
	struct object_note o = { .model =
				     ran != NULL ? ran->model : s->call.model[0].name,
		.is_plain = ran != NULL ? ran->is_plain : is_plain(s),
		.call = runs_on ? str_of(s->x->id) : STR_NONE,
		.request = str_of(s->provider_id),
		.day = s->day,
		.tier = s->call.tier };

	o.tokens = o.is_plain ? tokens_of(u, kind) : 0;
	return o;
}

static void
keep_one(struct spend *s, const struct usage *u, const struct kept_object *k)
{
	struct object_note o = new_object(s, u, k->kind);

	for (size_t i = 0; i < s->nreferred && s->is_metered; i++)
		if (str_eq(s->call.reference[i].id, str_of(k->id)))
			o = s->referred[i]; /* an older one: its time begins anew */
	object_put(s->e, s->grant, s->route->row->name, str_of(k->id), &o);
}

void
own_keep_all(struct spend *s, const struct usage *u)
{
	for (size_t i = 0; i < u->nobject; i++)
		keep_one(s, u, &u->object[i]);
}

void
own_keep(struct spend *s, const struct answer *a)
{
	const struct usage *u = &a->usage;

	if (!s->is_metered || a->form != ANSWER_EVENTS || a->has_ended)
		return;
	for (; s->nkept < u->nobject; s->nkept++)
		keep_one(s, u, &u->object[s->nkept]);
}
