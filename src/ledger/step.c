/*
 * step.c - what one question does to the rows
 *
 * A step reads what it needs, decides, and only then writes.
 */
#include "ledger/step.h"

#include <assert.h>

#include "ledger/call.h"
#include "ledger/charge.h"
#include "ledger/forget.h"
#include "ledger/scope.h"
#include "ledger/totals.h"
#include "ledger/who.h"

#define SWEEP_MAX 64 /* leases charged in one step; the next sweep does the rest */

/* ---- reserve */

static void
repeat_grant(struct stepper *st, struct ledger_op *op, const struct row_call *call)
{
	op->reply.is_repeat = true;
	op->reply.answer = call->state == CALL_HELD ? LEDGER_OK : LEDGER_SETTLED;
	op->reply.granted = call->amount;
	charge_scopes(st, &op->reply, call, 0, 0, 0);
}

/* The rows as they are now, and what tokens have claimed; which is kept, come what may.
 */
static void
load_scopes(struct stepper *st, struct ledger_op *op, struct str *keys,
    struct row_scope *rows, usd_nano *caps)
{
	for (size_t i = 0; i < op->nscope; i++) {
		const struct op_scope *s = &op->scope[i];
		struct buf key;

		buf_init(&key, 1024);
		buf_str(&key, s->key);
		key_window(&key, s->window, window_number(s->window, st->meta.clock));
		keys[i] = op_text(op, buf_view(&key));
		buf_fini(&key);
		rows[i] = charge_scope_of(st, keys[i]);
		if (scope_remember(&rows[i], s->claim, s->gen) && op->kind != OP_LOOK)
			stepper_put(st, ROW_SCOPE, keys[i], &rows[i]);
		caps[i] = scope_cap(&rows[i], s);
	}
}

static struct row_call
new_call(const struct stepper *st, const struct ledger_op *op, struct str scopes)
{
	return (struct row_call){
		.reserved_at = st->meta.clock,
		.session = op->who.session,
		.turn = op->who.turn,
		.scopes = scopes,
		.provider = op->provider,
		.model = op->model,
		.prices = op->prices,
	};
}

static void
hold(struct stepper *st, struct ledger_op *op, const struct str *keys,
    struct row_scope *rows, const usd_nano *caps, usd_nano amount)
{
	struct row_call call;
	struct buf scopes;

	buf_init(&scopes, LEDGER_SCOPES * 1024);
	for (size_t i = 0; i < op->nscope; i++) {
		scope_hold(&rows[i], amount);
		stepper_put(st, ROW_SCOPE, keys[i], &rows[i]);
		call_scope_put(&scopes, keys[i], caps[i]);
	}
	call = new_call(st, op, buf_view(&scopes));
	call.amount = amount;
	call.expires = st->meta.lease + op->lease_us;
	stepper_put(st, ROW_CALL, op->call, &call);
	buf_fini(&scopes);
}

static void
step_reserve(struct stepper *st, struct ledger_op *op)
{
	struct ledger_reply *reply = &op->reply;
	struct str keys[LEDGER_SCOPES];
	struct row_scope rows[LEDGER_SCOPES];
	usd_nano caps[LEDGER_SCOPES];
	struct ruling ruling;
	struct row_call call;

	if (stepper_get(st, ROW_CALL, op->call, &call)) {
		repeat_grant(st, op, &call);
		return;
	}
	if ((reply->answer = who_judge(st, op)) != LEDGER_OK)
		return;
	load_scopes(st, op, keys, rows, caps);
	ruling = scope_rule(op, rows, caps);
	reply->answer = ruling.answer;
	reply->granted = ruling.granted;
	reply->refused = ruling.refused;
	reply->is_in_flight = ruling.is_in_flight;
	if (ruling.answer == LEDGER_OK)
		hold(st, op, keys, rows, caps, ruling.granted);
	for (size_t i = 0; i < op->nscope; i++)
		charge_say_room(reply, caps[i], &rows[i]);
}

static void
step_look(struct stepper *st, struct ledger_op *op)
{
	struct str keys[LEDGER_SCOPES];
	struct row_scope rows[LEDGER_SCOPES];
	usd_nano caps[LEDGER_SCOPES];

	load_scopes(st, op, keys, rows, caps);
	for (size_t i = 0; i < op->nscope; i++)
		charge_say_room(&op->reply, caps[i], &rows[i]);
	op->reply.answer = LEDGER_OK;
}

/* ---- settle */

static int64_t
tokens_of(const struct ledger_op *op)
{
	int64_t sum;

	return __builtin_add_overflow(op->input, op->output, &sum) ? INT64_MAX : sum;
}

static void
note_usage(const struct stepper *st, const struct ledger_op *op, struct row_call *call)
{
	call->cost = op->cost;
	call->input = op->input;
	call->cached = op->cached;
	call->output = op->output;
	call->flags |= op->flags;
	call->settled_at = st->meta.clock;
	if (op->usage.n > 0)
		call->usage = op->usage;
	if (op->prices.n > 0)
		call->prices = op->prices;
	if (op->model.n > 0)
		call->model = op->model;
}

static void
settle_held(struct stepper *st, struct ledger_op *op, struct row_call *call)
{
	note_usage(st, op, call);
	call->state = CALL_SETTLED;
	call->charged = op->cost;
	if (op->cost > call->amount)
		call->flags |= LEDGER_OVER_HOLD;
	charge_scopes(st, &op->reply, call, call->amount, call->charged, tokens_of(op));
	stepper_put(st, ROW_CALL, op->call, call);
}

/* It was charged in full, or given back; what it has cost beyond that is charged now. */
static void
settle_late(struct stepper *st, struct ledger_op *op, struct row_call *call)
{
	usd_nano more = op->cost > call->charged ? op->cost - call->charged : 0;

	note_usage(st, op, call);
	call->state = CALL_SETTLED;
	call->charged += more;
	call->flags |= LEDGER_LATE;
	if (op->cost > call->amount)
		call->flags |= LEDGER_OVER_HOLD;
	charge_scopes(st, &op->reply, call, 0, more, tokens_of(op));
	stepper_put(st, ROW_CALL, op->call, call);
}

/* A store that lost the reservation (a restored copy, a failed-over replica). */
static void
settle_unheld(struct stepper *st, struct ledger_op *op)
{
	struct str keys[LEDGER_SCOPES];
	struct row_scope rows[LEDGER_SCOPES];
	usd_nano caps[LEDGER_SCOPES];
	struct row_call call;
	struct buf scopes;

	if (op->nscope == 0) {
		op->reply.answer = LEDGER_NOT_HELD;
		return;
	}
	if (op->who.is_any && who_is_forgotten(st, &op->who)) {
		op->reply.answer =
		    LEDGER_FORGOTTEN; /* it was charged when that happened */
		return;
	}
	load_scopes(st, op, keys, rows, caps);
	buf_init(&scopes, LEDGER_SCOPES * 1024);
	for (size_t i = 0; i < op->nscope; i++)
		call_scope_put(&scopes, keys[i], caps[i]);
	call = new_call(st, op, buf_view(&scopes));
	call.flags = LEDGER_UNHELD;
	settle_held(st, op, &call);
	buf_fini(&scopes);
}

static void
step_settle(struct stepper *st, struct ledger_op *op)
{
	struct row_call call;

	op->reply.answer = LEDGER_OK;
	if (!stepper_get(st, ROW_CALL, op->call, &call)) {
		settle_unheld(st, op);
		if (op->reply.answer != LEDGER_OK ||
		    !stepper_get(st, ROW_CALL, op->call, &call))
			return;
	} else if (call.state == CALL_HELD) {
		settle_held(st, op, &call);
	} else if (call.state == CALL_SETTLED ||
		   (call.state == CALL_UNSENT && op->cost == 0)) {
		op->reply.is_repeat = true;
		charge_scopes(st, &op->reply, &call, 0, 0, 0);
	} else {
		settle_late(st, op, &call);
	}
	op->reply.charged = call.charged;
	op->reply.flags = (unsigned)call.flags;
}

/* ---- renew, release, sweep */

static void
step_renew(struct stepper *st, struct ledger_op *op)
{
	struct row_call call;

	if (!stepper_get(st, ROW_CALL, op->call, &call)) {
		op->reply.answer = LEDGER_NOT_HELD;
		return;
	}
	if (call.state != CALL_HELD) {
		op->reply.answer = LEDGER_SETTLED;
		return;
	}
	call.expires = st->meta.lease + op->lease_us;
	stepper_put(st, ROW_CALL, op->call, &call);
	op->reply.answer = LEDGER_OK;
}

/* Where the reserve never came, its name is used up: it may still be under way. */
static void
step_release(struct stepper *st, struct ledger_op *op)
{
	struct row_call call;

	op->reply.answer = LEDGER_OK;
	if (!stepper_get(st, ROW_CALL, op->call, &call))
		call = new_call(st, op, STR_NONE);
	else if (call.state != CALL_HELD)
		return;
	call.state = CALL_UNSENT;
	call.flags |= LEDGER_UNSENT;
	call.settled_at = st->meta.clock;
	charge_scopes(st, NULL, &call, call.amount, 0, 0);
	stepper_put(st, ROW_CALL, op->call, &call);
}

static void
step_sweep(struct stepper *st, struct ledger_op *op)
{
	struct str keys[SWEEP_MAX];
	size_t n = st->store->ops->expired(
	    st->store, st->meta.lease, keys, SWEEP_MAX, &st->memory);

	for (size_t i = 0; i < n; i++) {
		struct row_call call;

		if (stepper_get(st, ROW_CALL, keys[i], &call) && call.state == CALL_HELD)
			charge_lost(st, keys[i], &call);
	}
	st->store->ops->prune(st->store, st->meta.clock);
	op->number = (int64_t)n;
	op->reply.answer = LEDGER_OK;
}

/* ---- by hand */

static void
step_adjust(struct stepper *st, struct ledger_op *op)
{
	struct str keys[LEDGER_SCOPES];
	struct row_scope rows[LEDGER_SCOPES];
	usd_nano caps[LEDGER_SCOPES], before;
	struct row_call call;
	struct buf scopes;

	op->reply.answer = LEDGER_OK;
	if (stepper_get(st, ROW_CALL, op->call, &call)) {
		op->reply.is_repeat = true;
		op->reply.charged = call.charged;
		charge_scopes(st, &op->reply, &call, 0, 0, 0);
		return;
	}
	assert(op->nscope == 1);
	load_scopes(st, op, keys, rows, caps);
	before = rows[0].spent;
	scope_charge(&rows[0], 0, op->cost, 0);
	stepper_put(st, ROW_SCOPE, keys[0], &rows[0]);
	buf_init(&scopes, 1024);
	call_scope_put(&scopes, keys[0], caps[0]);
	call = new_call(st, op, buf_view(&scopes));
	call.state = CALL_SETTLED;
	call.charged = rows[0].spent - before;
	call.cost = call.charged;
	call.flags = LEDGER_ADJUSTED;
	call.usage = op->usage;
	call.settled_at = st->meta.clock;
	stepper_put(st, ROW_CALL, op->call, &call);
	buf_fini(&scopes);
	op->reply.charged = call.charged;
	charge_say_room(&op->reply, caps[0], &rows[0]);
}

static void
step_session(struct stepper *st, struct ledger_op *op)
{
	op->reply.answer = who_judge(st, op);
}

static void
step_revoke(struct stepper *st, struct ledger_op *op)
{
	struct row_session row;

	op->reply.answer = LEDGER_OK;
	if (!stepper_get(st, ROW_SESSION, op->session,
		&row)) /* before its first use: no owner yet */
		row = (struct row_session){
			.first_use = st->meta.clock, .gen = -1, .turn_gen = -1
		};
	if (row.revoked)
		return;
	row.revoked = 1;
	stepper_put(st, ROW_SESSION, op->session, &row);
}

/* ---- notes */

/* Nobody takes an object from the session that made it. */
static bool
is_anothers(struct stepper *st, const struct ledger_op *op)
{
	struct row_note row;

	return key_is_object(op->note) && stepper_get(st, ROW_NOTE, op->note, &row) &&
	       row.ends > st->meta.clock && !str_eq(row.session, op->session);
}

static void
step_note_put(struct stepper *st, struct ledger_op *op)
{
	if (is_anothers(st, op)) {
		op->reply.answer = LEDGER_OWNER;
		return;
	}
	stepper_put(st, ROW_NOTE, op->note,
	    &(struct row_note){ op->number, op->until, op->session, op->text });
	op->reply.answer = LEDGER_OK;
}

static void
say_note(struct ledger_op *op, const struct row_note *row)
{
	struct ledger_note *note = &op->reply.note;
	struct str parts = op_text(op, row->session);

	if (!key_next(&parts, &note->issuer) || !key_next(&parts, &note->tenant) ||
	    !key_next(&parts, &note->sid))
		note->issuer = note->tenant = note->sid = STR_NONE;
	note->text = op_text(op, row->text);
	note->number = row->number;
	note->until = row->ends;
	op->reply.answer = LEDGER_OK;
}

static bool
find_note(struct stepper *st, const struct ledger_op *op, struct row_note *row)
{
	return stepper_get(st, ROW_NOTE, op->note, row) && row->ends > st->meta.clock;
}

static void
step_note_get(struct stepper *st, struct ledger_op *op)
{
	struct row_note row;

	if (find_note(st, op, &row))
		say_note(op, &row);
	else
		op->reply.answer = LEDGER_UNKNOWN;
}

static void
step_note_add(struct stepper *st, struct ledger_op *op)
{
	struct row_note row;
	struct buf sums;

	if (!find_note(st, op, &row))
		row = (struct row_note){ .session = op->session };
	buf_init(&sums, TOTALS_TEXT);
	totals_add(row.text, op->text, &sums);
	row.text = buf_view(&sums);
	if (op->until > row.ends)
		row.ends = op->until;
	if (op->text.n > 0)
		stepper_put(st, ROW_NOTE, op->note, &row);
	say_note(op, &row);
	buf_fini(&sums);
}

static void
step_note_delete(struct stepper *st, struct ledger_op *op)
{
	struct row_note row;

	if (!stepper_get(st, ROW_NOTE, op->note, &row)) {
		op->reply.answer = LEDGER_UNKNOWN;
		return;
	}
	stepper_del(st, ROW_NOTE, op->note);
	op->reply.answer = LEDGER_OK;
}

static void (*const steps[OP_KINDS])(struct stepper *, struct ledger_op *) = {
	[OP_RESERVE] = step_reserve,
	[OP_SESSION] = step_session,
	[OP_SETTLE] = step_settle,
	[OP_LOOK] = step_look,
	[OP_RENEW] = step_renew,
	[OP_RELEASE] = step_release,
	[OP_SWEEP] = step_sweep,
	[OP_ADJUST] = step_adjust,
	[OP_FORGET] = step_forget,
	[OP_REVOKE] = step_revoke,
	[OP_NOTE_PUT] = step_note_put,
	[OP_NOTE_GET] = step_note_get,
	[OP_NOTE_DELETE] = step_note_delete,
	[OP_NOTE_ADD] = step_note_add,
};

void
step_run(struct stepper *st, struct ledger_op *op)
{
	st->has_written = false;
	steps[op->kind](st, op);
	if (st->has_written) {
		st->meta.revision++;
		st->is_changed = true;
	}
	op->reply.revision = st->meta.revision;
	op->reply.now = st->meta.clock;
	arena_reset(&st->memory);
}
