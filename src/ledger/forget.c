/*
 * forget.c - a session or a tenant leaves the ledger, and what it spent stays spent
 *
 * Its rows go.  What it spent stays in the scopes it shared with others (their `base`),
 * what it had reserved is charged there in full, and a tombstone keeps its name from
 * coming back with an empty account.
 */
#include "ledger/forget.h"

#include <stdlib.h>
#include <string.h>

#include "ledger/call.h"
#include "ledger/charge.h"
#include "ledger/scope.h"

#define PARTS 3 /* issuer, tenant, sid */

static size_t
split(struct str key, struct str parts[static PARTS])
{
	size_t n = 0;

	while (n < PARTS && key_next(&key, &parts[n]))
		n++;
	return n;
}

bool
forget_names(struct str asked, struct str key)
{
	struct str want[PARTS], got[PARTS];
	size_t n = split(key, got);

	if (split(asked, want) != PARTS || n < 2)
		return false;
	if (want[2].n > 0 && (n < PARTS || !str_eq(want[2], got[2])))
		return false;
	return (want[0].n == 0 || str_eq(want[0], got[0])) && str_eq(want[1], got[1]);
}

/* What is to go is found first, since a store may not change under a walk. */
struct found {
	struct str asked;
	enum row_kind kind;
	struct arena memory;
	struct str *key;
	size_t n, cap;
};

static struct str
owner_of(enum row_kind kind, struct str key, const void *row)
{
	struct str parts = STR_NONE;

	switch (kind) {
	case ROW_SESSION:
		return key;
	case ROW_CALL:
		return ((const struct row_call *)row)->session;
	case ROW_NOTE:
		return ((const struct row_note *)row)->session;
	case ROW_SCOPE:
		return key_scope_parts(key, &parts) ? parts : STR_NONE;
	case ROW_META:
	case ROW_TOMB:
	case ROW_KINDS:
		break;
	}
	return STR_NONE;
}

static void
on_row(void *arg, struct str key, const void *row)
{
	struct found *f = arg;

	if (!forget_names(f->asked, owner_of(f->kind, key, row)))
		return;
	if (f->n == f->cap) {
		f->cap = f->cap == 0 ? 64 : 2 * f->cap;
		f->key = mem_resize(f->key, f->cap * sizeof(*f->key));
	}
	f->key[f->n++] = arena_str(&f->memory, key);
}

/* The scopes it shared keep what it spent; those of its own go anyway. */
static void
keep_charge(struct stepper *st, const struct row_call *call)
{
	struct str rest = call->scopes, key;
	usd_nano cap;

	while (call_scope_next(&rest, &key, &cap)) {
		struct row_scope row;

		if (!stepper_get(st, ROW_SCOPE, key, &row))
			continue;
		if (__builtin_add_overflow(row.base, call->charged, &row.base))
			row.base = LEDGER_MONEY_MAX;
		stepper_put(st, ROW_SCOPE, key, &row);
	}
}

static void
end_call(struct stepper *st, struct str key)
{
	struct row_call call;

	if (!stepper_get(st, ROW_CALL, key, &call))
		return;
	if (call.state == CALL_HELD)
		charge_lost(st, key, &call);
	keep_charge(st, &call);
}

static size_t
forget_rows(struct stepper *st, struct str asked, enum row_kind kind)
{
	struct found f = { .asked = asked, .kind = kind };

	arena_init(&f.memory, SIZE_MAX);
	st->store->ops->walk(st->store, kind, on_row, &f);
	for (size_t i = 0; i < f.n; i++) {
		if (kind == ROW_CALL)
			end_call(st, f.key[i]);
		stepper_del(st, kind, f.key[i]);
		arena_reset(&st->memory);
	}
	arena_fini(&f.memory);
	free(f.key);
	return f.n;
}

/* Calls first: they are charged to scopes that go after them. */
void
step_forget(struct stepper *st, struct ledger_op *op)
{
	static const enum row_kind kinds[] = { ROW_CALL, ROW_NOTE, ROW_SCOPE,
		ROW_SESSION };
	struct row_tomb tomb = { st->meta.clock + op->keep_us };

	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		op->number += (int64_t)forget_rows(st, op->session, kinds[i]);
	stepper_put(st, ROW_TOMB, op->who.tomb[0], &tomb);
	op->reply.answer = LEDGER_OK;
}
