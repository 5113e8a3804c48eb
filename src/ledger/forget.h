/*
 * forget.h - a session or a tenant leaves the ledger, and what it spent stays spent
 */
#ifndef WEIR_LEDGER_FORGET_H
#define WEIR_LEDGER_FORGET_H

#include "ledger/step.h"

void step_forget(struct stepper *st, struct ledger_op *op);
/* A reservation that nobody will settle any more: charged in full. */
void step_lose(struct stepper *st, struct str key, struct row_call *call);
/* Is `key` (of a session) of those that `asked` (whose parts may be empty) names? */
bool forget_names(struct str asked, struct str key);

#endif
