/*
 * step.h - what one question does to the rows: the ledger's rules, for any store
 *
 * Redis has the same rules in redis.lua.
 */
#ifndef WEIR_LEDGER_STEP_H
#define WEIR_LEDGER_STEP_H

#include "ledger/op.h"
#include "ledger/store.h"

/* One transaction's view of the store; what the steps in it share. */
struct stepper {
	struct store *store;
	struct arena memory; /* texts of rows; reset after each step */
	struct row_meta meta;
	bool has_written; /* this step */
	bool is_changed;  /* this transaction: meta is to be written */
};

/* Fills op->reply.  `meta.clock` and `meta.lease` are this moment. */
void step_run(struct stepper *st, struct ledger_op *op);

#endif
