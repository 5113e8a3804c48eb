/*
 * forget.h - a session or a tenant leaves the ledger, and what it spent stays spent
 */
#ifndef WEIR_LEDGER_FORGET_H
#define WEIR_LEDGER_FORGET_H

#include "ledger/op.h"
#include "ledger/stepper.h"

void step_forget(struct stepper *st, struct ledger_op *op);
/* Is `key` (of a session) of those that `asked` (whose parts may be empty) names? */
bool forget_names(struct str asked, struct str key);

#endif
