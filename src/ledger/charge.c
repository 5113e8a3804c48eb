/*
 * charge.c - what a call costs the scopes it was reserved in
 */
#include "ledger/charge.h"

#include "ledger/call.h"
#include "ledger/scope.h"

struct row_scope
charge_scope_of(struct stepper *st, struct str key)
{
	struct row_scope row;

	return stepper_get(st, ROW_SCOPE, key, &row) ? row : SCOPE_NEW;
}

void
charge_say_room(struct ledger_reply *reply, usd_nano cap, const struct row_scope *row)
{
	reply->room[reply->nroom++] = (struct ledger_room){ cap, row->spent,
		row->reserved, row->calls, row->tokens };
}

void
charge_scopes(struct stepper *st, struct ledger_reply *reply, const struct row_call *call,
    usd_nano held, usd_nano charged, int64_t tokens)
{
	struct str rest = call->scopes, key;
	bool is_charge = held != 0 || charged != 0 || tokens != 0;
	usd_nano cap;

	while (call_scope_next(&rest, &key, &cap)) {
		struct row_scope row = charge_scope_of(st, key);

		if (is_charge) {
			scope_charge(&row, held, charged, tokens);
			stepper_put(st, ROW_SCOPE, key, &row);
		}
		if (reply != NULL && reply->nroom < LEDGER_SCOPES)
			charge_say_room(reply, cap, &row);
	}
}

void
charge_lost(struct stepper *st, struct str key, struct row_call *call)
{
	call->state = CALL_LOST;
	call->flags |= LEDGER_LOST;
	call->cost = call->charged = call->amount;
	call->settled_at = st->meta.clock;
	charge_scopes(st, NULL, call, call->amount, call->charged, 0);
	stepper_put(st, ROW_CALL, key, call);
}
