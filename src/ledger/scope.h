/*
 * scope.h - is there room: the rules of one reservation, without a store
 *
 * Pure, 128 bits wide where sums could overflow.  redis.lua has the same rules once
 * more; the conformance suite holds one against the other.
 */
#ifndef WEIR_LEDGER_SCOPE_H
#define WEIR_LEDGER_SCOPE_H

#include "ledger/op.h"
#include "ledger/row.h"

/* The row of a scope that nobody has used. */
#define SCOPE_NEW ((struct row_scope){ .gen = -1 })

/* Takes note of what a token claims; true: the row has changed. */
bool scope_remember(struct row_scope *row, usd_nano claim, int64_t gen);
/* The cap that holds for this question. */
usd_nano scope_cap(const struct row_scope *row, const struct op_scope *asked);

struct ruling {
	enum ledger_answer answer; /* OK, EXHAUSTED or LIMIT */
	usd_nano granted;
	size_t refused;
	bool is_in_flight;
};

/* How much of `op` is granted where the rows are as they are. */
struct ruling scope_rule(
    const struct ledger_op *op, const struct row_scope *rows, const usd_nano *caps);

void scope_hold(struct row_scope *row, usd_nano amount);
/* A call's end in one scope; sums stop at LEDGER_MONEY_MAX and never wrap. */
void scope_charge(struct row_scope *row, usd_nano held, usd_nano charged, int64_t tokens);

#endif
