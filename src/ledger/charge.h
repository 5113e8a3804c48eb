/*
 * charge.h - what a call costs the scopes it was reserved in
 */
#ifndef WEIR_LEDGER_CHARGE_H
#define WEIR_LEDGER_CHARGE_H

#include "ledger/stepper.h"
#include "ledger/terms.h"

/* The row, or that of a scope nobody has used. */
struct row_scope charge_scope_of(struct stepper *st, struct str key);
void charge_say_room(
    struct ledger_reply *reply, usd_nano cap, const struct row_scope *row);
/*
 * Walks the scopes of a call's row: frees `held`, charges `charged`, counts `tokens` in
 * each (or writes nothing, where all are 0), and says what room there is (reply or NULL).
 */
void charge_scopes(struct stepper *st, struct ledger_reply *reply,
    const struct row_call *call, usd_nano held, usd_nano charged, int64_t tokens);
/* A reservation that nobody will settle any more: charged in full. */
void charge_lost(struct stepper *st, struct str key, struct row_call *call);

#endif
