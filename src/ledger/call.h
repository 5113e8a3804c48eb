/*
 * call.h - which scopes a call was reserved in, as its row keeps them
 *
 * For each scope: its row's key (with its window: a call is charged where it was
 * reserved) and the cap that held then.
 */
#ifndef WEIR_LEDGER_CALL_H
#define WEIR_LEDGER_CALL_H

#include "ledger/terms.h"

void call_scope_put(struct buf *to, struct str key, usd_nano cap);
bool call_scope_next(struct str *rest, struct str *key, usd_nano *cap);

#endif
