/*
 * who.h - may this session spend: owner, turn, parents, revocation
 */
#ifndef WEIR_LEDGER_WHO_H
#define WEIR_LEDGER_WHO_H

#include "ledger/op.h"
#include "ledger/stepper.h"

/*
 * LEDGER_OK: the session's row says so from now on (first use, turn, gen, claim), and
 * op->reply has first use, gen and kin.  Otherwise nothing is written.
 */
enum ledger_answer who_judge(struct stepper *st, struct ledger_op *op);
bool who_is_forgotten(struct stepper *st, const struct op_who *who);

#endif
