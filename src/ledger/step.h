/*
 * step.h - what one question does to the rows: the ledger's rules, for any store
 *
 * Redis has the same rules in redis.lua.
 */
#ifndef WEIR_LEDGER_STEP_H
#define WEIR_LEDGER_STEP_H

#include "ledger/op.h"
#include "ledger/stepper.h"

/* Fills op->reply.  `meta.clock` and `meta.lease` are this moment. */
void step_run(struct stepper *st, struct ledger_op *op);

#endif
