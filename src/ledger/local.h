/*
 * local.h - a backend over rows of this process: memory or SQLite
 *
 * A batch is one transaction: what comes while it is committed makes up the next one.
 */
#ifndef WEIR_LEDGER_LOCAL_H
#define WEIR_LEDGER_LOCAL_H

#include "ledger/backend.h"
#include "ledger/store.h"

/* Takes over the store (even when it fails). */
struct backend *local_new(
    struct store *store, const struct ledger_options *o, const struct backend_host *host);

#endif
