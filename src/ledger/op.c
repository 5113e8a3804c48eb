/*
 * op.c - questions to the store, checked and with their keys built
 */
#include "ledger/op.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define REQUEST_MAX 64
#define TEXT_MAX 8192
#define USAGE_MAX 4096
#define NAME_MAX_BYTES 512
#define PPM 1000000
#define NUMBER_MAX (INT64_C(1) << 53) /* exact in Lua, too */

struct str
op_text(struct ledger_op *op, struct str s)
{
	return arena_str(&op->memory, s);
}

struct ledger_op *
op_new(enum op_kind kind)
{
	struct ledger_op *op = mem_zalloc(sizeof(*op));

	op->kind = kind;
	list_init(&op->link);
	arena_init(&op->memory, SIZE_MAX); /* all of it is capped one by one */
	return op;
}

void
op_free(struct ledger_op *op)
{
	if (op == NULL)
		return;
	arena_fini(&op->memory);
	free(op);
}

struct ledger_op *
op_split(struct ledger_op *op)
{
	struct ledger_op *heir = op_new(op->kind);
	const size_t at = offsetof(struct ledger_op, link);

	heir->ledger = op->ledger;
	memcpy((char *)heir + at, (char *)op + at, sizeof(*op) - at);
	list_init(&heir->link);
	arena_init(&op->memory, SIZE_MAX);
	return heir;
}

/* ---- parts */

static struct str
take_key(struct ledger_op *op, struct buf *key)
{
	struct str s = op_text(op, buf_view(key));

	buf_fini(key);
	return s;
}

static struct str
session_key(struct ledger_op *op, struct str issuer, struct str tenant, struct str sid)
{
	struct buf key;

	buf_init(&key, 2 * TEXT_MAX);
	key_put(&key, issuer);
	key_put(&key, tenant);
	key_put(&key, sid);
	return take_key(op, &key);
}

static bool
set_call(struct ledger_op *op, const struct ledger_call *c)
{
	struct buf key;

	if (c->request.n == 0 || c->request.n > REQUEST_MAX || c->attempt < 0)
		return false;
	buf_init(&key, 2 * REQUEST_MAX);
	buf_str(&key, c->request);
	buf_fmt(&key, "#%lld", (long long)c->attempt);
	op->call = take_key(op, &key);
	return true;
}

static bool
is_part(struct str s)
{
	return s.n > 0 && s.n <= KEY_PART_MAX;
}

static bool
is_claim(usd_nano claim, int64_t gen)
{
	return claim == LEDGER_NO_CLAIM ||
	       (claim >= 0 && claim <= LEDGER_MONEY_MAX && gen >= 0 && gen < NUMBER_MAX);
}

static bool
add_scope(struct ledger_op *op, const struct ledger_scope *s)
{
	struct op_scope *to = &op->scope[op->nscope];
	struct buf key;

	buf_init(&key, 1024);
	if (!key_scope(&key, s) || s->cap < 0 || s->cap > LEDGER_MONEY_MAX ||
	    !is_claim(s->claim, s->gen) || (unsigned)s->window > LEDGER_MONTH) {
		buf_fini(&key);
		return false;
	}
	*to = (struct op_scope){ take_key(op, &key), s->window, s->cap, s->claim, s->gen,
		s->max_calls, s->max_tokens };
	for (size_t i = 0; i < op->nscope; i++) /* twice would be held twice */
		if (str_eq(op->scope[i].key, to->key) &&
		    op->scope[i].window == to->window)
			return false;
	op->nscope++;
	return true;
}

static bool
add_scopes(struct ledger_op *op, size_t n, const struct ledger_scope *scope)
{
	if (n > LEDGER_SCOPES)
		return false;
	for (size_t i = 0; i < n; i++)
		if (!add_scope(op, &scope[i]))
			return false;
	return true;
}

static struct str
tomb_key(struct ledger_op *op, struct str issuer, struct str tenant, struct str sid)
{
	char digest[KEY_TOMB];

	key_tomb(digest, issuer, tenant, sid);
	return op_text(op, str_of(digest));
}

static void
set_tombs(struct ledger_op *op)
{
	struct op_who *who = &op->who;

	who->tomb[0] = tomb_key(op, who->issuer, who->tenant, who->sid);
	who->tomb[1] = tomb_key(op, who->issuer, who->tenant, STR_NONE);
	who->tomb[2] = tomb_key(op, STR_NONE, who->tenant, who->sid);
	who->tomb[3] = tomb_key(op, STR_NONE, who->tenant, STR_NONE);
}

static struct str
note_key(struct ledger_op *op, enum ledger_note_kind kind, struct str name)
{
	struct buf key;

	buf_init(&key, 2 * TEXT_MAX);
	buf_char(&key, key_note_letters[kind]);
	buf_str(&key, name);
	return take_key(op, &key);
}

static void
name_session(struct ledger_op *op, struct str issuer, struct str tenant, struct str sid)
{
	struct op_who *to = &op->who;

	to->is_any = true;
	to->issuer = op_text(op, issuer);
	to->tenant = op_text(op, tenant);
	to->sid = op_text(op, sid);
	to->session = session_key(op, issuer, tenant, sid);
	set_tombs(op);
}

static bool
set_who(struct ledger_op *op, const struct ledger_who *w)
{
	struct op_who *to = &op->who;
	struct buf scope;

	to->claim = LEDGER_NO_CLAIM;
	if (w->sid.n == 0)
		return true;
	if (!is_part(w->issuer) || !is_part(w->tenant) || !is_part(w->sid) ||
	    !is_part(w->sub) || w->par.n > KEY_PART_MAX || w->turn.n > KEY_PART_MAX ||
	    w->jti.n > KEY_PART_MAX || w->claims.n > TEXT_MAX || w->gen < 0 ||
	    w->gen >= NUMBER_MAX || w->expires < 0 || w->expires >= NUMBER_MAX ||
	    !is_claim(w->claim, w->gen))
		return false;
	name_session(op, w->issuer, w->tenant, w->sid);
	buf_init(&scope, 1024);
	buf_char(&scope, 's');
	buf_str(&scope, to->session);
	to->scope = take_key(op, &scope);
	if (w->jti.n > 0)
		to->jti = note_key(
		    op, LEDGER_NOTE_JTI, session_key(op, w->issuer, w->tenant, w->jti));
	to->sub = op_text(op, w->sub);
	to->par = op_text(op, w->par);
	to->turn = op_text(op, w->turn);
	to->claims = op_text(op, w->claims);
	to->gen = w->gen;
	to->expires = w->expires;
	to->claim = w->claim;
	to->turns_concurrent = w->turns_concurrent;
	return true;
}

static bool
set_names(struct ledger_op *op, struct str provider, struct str model, struct str prices)
{
	if (provider.n > KEY_PART_MAX || prices.n > KEY_PART_MAX)
		return false;
	op->provider = op_text(op, provider);
	/* a model's name is the client's: cut, since it only says what is in the row */
	op->model = op_text(op, str_sub(model, 0, KEY_PART_MAX));
	op->prices = op_text(op, prices);
	return true;
}

static struct ledger_op *
or_free(struct ledger_op *op, bool is_valid)
{
	if (is_valid)
		return op;
	op_free(op);
	return NULL;
}

static struct ledger_op *
or_invalid(struct ledger_op *op, bool is_valid)
{
	if (!is_valid)
		op->reply.answer = LEDGER_INVALID;
	return op;
}

/* ---- each kind */

struct ledger_op *
op_reserve(const struct ledger_reserve *r)
{
	struct ledger_op *op = op_new(OP_RESERVE);

	op->want = r->want;
	op->floor = r->floor;
	op->share_ppm = r->share_ppm;
	op->lease_us = (usec)r->lease_ms * 1000;
	return or_free(op,
	    set_call(op, &r->call) && set_who(op, &r->who) &&
		add_scopes(op, r->nscope, r->scope) &&
		set_names(op, r->provider, r->model, r->prices) && r->floor >= 0 &&
		r->want >= r->floor && r->want <= LEDGER_COST_MAX && r->share_ppm > 0 &&
		r->share_ppm <= PPM && r->lease_ms > 0 && r->lease_ms < INT32_MAX);
}

struct ledger_op *
op_session(const struct ledger_who *who)
{
	struct ledger_op *op = op_new(OP_SESSION);

	return or_free(op, who->sid.n > 0 && set_who(op, who));
}

/* Whose scopes these are, for the tombstones. */
static void
set_owner(struct ledger_op *op, size_t n, const struct ledger_scope *scope)
{
	for (size_t i = 0; i < n && !op->who.is_any; i++)
		if (scope[i].kind == LEDGER_SESSION)
			name_session(op, scope[i].issuer, scope[i].tenant, scope[i].sid);
}

static bool
is_usage(const struct ledger_settle *s)
{
	return s->input >= 0 && s->input < NUMBER_MAX && s->cached >= 0 &&
	       s->cached < NUMBER_MAX && s->output >= 0 && s->output < NUMBER_MAX &&
	       s->usage.n <= USAGE_MAX && s->cost >= 0;
}

struct ledger_op *
op_settle(const struct ledger_settle *s)
{
	struct ledger_op *op = op_new(OP_SETTLE);
	bool is_valid = set_call(op, &s->call) && is_usage(s) &&
			add_scopes(op, s->nscope, s->scope) &&
			set_names(op, STR_NONE, s->model, s->prices);

	op->cost = s->cost < LEDGER_COST_MAX ? s->cost : LEDGER_COST_MAX;
	op->input = s->input;
	op->cached = s->cached;
	op->output = s->output;
	op->flags = s->flags &
		    (LEDGER_ESTIMATED | LEDGER_REPORTED | LEDGER_MALFORMED | LEDGER_CUT);
	if (is_valid) {
		op->usage = op_text(op, s->usage);
		set_owner(op, s->nscope, s->scope);
	}
	return or_invalid(op, is_valid);
}

struct ledger_op *
op_look(const struct ledger_look *q)
{
	struct ledger_op *op = op_new(OP_LOOK);

	return or_invalid(op, add_scopes(op, q->nscope, q->scope));
}

struct ledger_op *
op_renew(const struct ledger_renew *r)
{
	struct ledger_op *op = op_new(OP_RENEW);

	op->lease_us = (usec)r->lease_ms * 1000;
	return or_invalid(
	    op, set_call(op, &r->call) && r->lease_ms > 0 && r->lease_ms < INT32_MAX);
}

struct ledger_op *
op_release(const struct ledger_op *reserve)
{
	struct ledger_op *op = op_new(OP_RELEASE);

	op->call = op_text(op, reserve->call);
	op->who.session = op_text(op, reserve->who.session);
	op->who.turn = op_text(op, reserve->who.turn);
	op->provider = op_text(op, reserve->provider);
	op->model = op_text(op, reserve->model);
	return op;
}

struct ledger_op *
op_adjust(const struct ledger_adjust *a)
{
	struct ledger_op *op = op_new(OP_ADJUST);
	bool is_valid = set_call(op, &a->call) && add_scope(op, &a->scope) &&
			a->delta >= -LEDGER_COST_MAX && a->delta <= LEDGER_COST_MAX &&
			a->why.n <= USAGE_MAX;

	op->cost = a->delta;
	if (is_valid) {
		op->usage = op_text(op, a->why);
		op->who.session =
		    session_key(op, a->scope.issuer, a->scope.tenant, a->scope.sid);
	}
	return or_invalid(op, is_valid);
}

struct ledger_op *
op_forget(const struct ledger_forget *f)
{
	struct ledger_op *op = op_new(OP_FORGET);
	bool is_valid = f->issuer.n <= KEY_PART_MAX && is_part(f->tenant) &&
			f->sid.n <= KEY_PART_MAX && f->keep_ms >= 0 &&
			f->keep_ms < NUMBER_MAX / 2000;

	op->keep_us = f->keep_ms * 1000;
	if (is_valid) {
		op->session = session_key(op, f->issuer, f->tenant, f->sid);
		op->who.tomb[0] = tomb_key(op, f->issuer, f->tenant, f->sid);
	}
	return or_invalid(op, is_valid);
}

struct ledger_op *
op_revoke(struct str issuer, struct str tenant, struct str sid)
{
	struct ledger_op *op = op_new(OP_REVOKE);
	bool is_valid = is_part(issuer) && is_part(tenant) && is_part(sid);

	if (is_valid)
		op->session = session_key(op, issuer, tenant, sid);
	return or_invalid(op, is_valid);
}

struct ledger_op *
op_note(enum op_kind kind, const struct ledger_note *n)
{
	struct ledger_op *op = op_new(kind);
	bool is_valid = (unsigned)n->kind < LEDGER_NOTE_KINDS && n->name.n > 0 &&
			n->name.n <= NAME_MAX_BYTES && n->text.n <= TEXT_MAX &&
			n->issuer.n <= KEY_PART_MAX && n->tenant.n <= KEY_PART_MAX &&
			n->sid.n <= KEY_PART_MAX && n->until >= 0 &&
			n->until < NUMBER_MAX && n->number >= 0 && n->number < NUMBER_MAX;

	if (is_valid) {
		op->session = session_key(op, n->issuer, n->tenant, n->sid);
		op->note = note_key(op, n->kind, n->name);
		op->text = op_text(op, n->text);
		op->number = n->number;
		op->until = n->until;
	}
	return or_invalid(op, is_valid);
}
