/*
 * who.c - may this session spend: owner, turn, parents, revocation
 */
#include "ledger/who.h"

#include "ledger/scope.h"

bool
who_is_forgotten(struct stepper *st, const struct op_who *who)
{
	struct row_tomb tomb;

	for (size_t i = 0; i < OP_TOMBS; i++)
		if (stepper_get(st, ROW_TOMB, who->tomb[i], &tomb) &&
		    tomb.ends > st->meta.clock)
			return true;
	return false;
}

static bool
is_revoked(struct stepper *st, const struct op_who *who)
{
	struct row_note note;

	return who->jti.n > 0 && stepper_get(st, ROW_NOTE, who->jti, &note) &&
	       note.ends > st->meta.clock;
}

/*
 * The chain of parents as it was made by their first uses.  Each one must exist, belong
 * to the same owner, and still be good.
 */
static enum ledger_answer
find_kin(struct stepper *st, struct ledger_op *op, struct str par)
{
	const struct op_who *who = &op->who;
	struct ledger_reply *reply = &op->reply;
	enum ledger_answer answer = LEDGER_OK;
	struct buf key;

	buf_init(&key, 1024);
	while (par.n > 0 && answer == LEDGER_OK) {
		struct row_session row;

		buf_reset(&key);
		key_put(&key, who->issuer);
		key_put(&key, who->tenant);
		key_put(&key, par);
		if (reply->nkin == LEDGER_ANCESTORS || str_eq(par, who->sid) ||
		    !stepper_get(st, ROW_SESSION, buf_view(&key), &row) ||
		    !str_eq(row.sub, who->sub)) {
			answer = LEDGER_KIN;
		} else if (row.revoked) {
			answer = LEDGER_REVOKED;
		} else {
			reply->kin[reply->nkin++] = (struct ledger_kin){ op_text(op, par),
				op_text(op, row.claims), row.first_use };
			par = row.par;
		}
	}
	buf_fini(&key);
	return answer;
}

/* One turn at a time: another one needs a larger gen, and ends those before. */
static bool
is_turn_over(const struct op_who *who, const struct row_session *row)
{
	return who->turn.n > 0 && !who->turns_concurrent && row->turn.n > 0 &&
	       !str_eq(who->turn, row->turn) && who->gen <= row->turn_gen;
}

static bool
renew(struct row_session *row, const struct op_who *who)
{
	bool is_changed = false;

	if (who->gen > row->gen) {
		row->gen = who->gen;
		row->claims = who->claims;
		is_changed = true;
	}
	if (who->expires > row->expires) {
		row->expires = who->expires;
		is_changed = true;
	}
	if (who->turn.n > 0 && !who->turns_concurrent &&
	    (row->turn.n == 0 || who->gen > row->turn_gen)) {
		row->turn = who->turn;
		row->turn_gen = who->gen;
		is_changed = true;
	}
	return is_changed;
}

/* Parents' budgets hold though the call's own token does not name them. */
static void
note_claim(struct stepper *st, const struct op_who *who)
{
	struct row_scope row;

	if (who->claim == LEDGER_NO_CLAIM)
		return;
	if (!stepper_get(st, ROW_SCOPE, who->scope, &row))
		row = SCOPE_NEW;
	if (scope_remember(&row, who->claim, who->gen))
		stepper_put(st, ROW_SCOPE, who->scope, &row);
}

enum ledger_answer
who_judge(struct stepper *st, struct ledger_op *op)
{
	const struct op_who *who = &op->who;
	struct row_session row;
	enum ledger_answer answer;
	bool is_new;

	if (!who->is_any)
		return LEDGER_OK;
	if (who_is_forgotten(st, who))
		return LEDGER_FORGOTTEN;
	if (is_revoked(st, who))
		return LEDGER_REVOKED;
	is_new = !stepper_get(st, ROW_SESSION, who->session, &row);
	if (is_new)
		row = (struct row_session){ .first_use = st->meta.clock,
			.gen = -1,
			.turn_gen = -1,
			.sub = who->sub,
			.par = who->par };
	if (row.revoked)
		return LEDGER_REVOKED;
	if (!str_eq(row.sub, who->sub))
		return LEDGER_OWNER;
	if (!str_eq(row.par, who->par))
		return LEDGER_KIN;
	if ((answer = find_kin(st, op, row.par)) != LEDGER_OK)
		return answer;
	if (is_turn_over(who, &row))
		return LEDGER_TURN_ENDED;
	if (renew(&row, who) || is_new)
		stepper_put(st, ROW_SESSION, who->session, &row);
	note_claim(st, who);
	op->reply.first_use = row.first_use;
	op->reply.gen = row.gen;
	if (row.gen > who->gen)
		op->reply.claims = op_text(op, row.claims);
	return LEDGER_OK;
}
