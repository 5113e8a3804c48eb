/*
 * stepper.h - one transaction's view of the store; what the steps in it share
 */
#ifndef WEIR_LEDGER_STEPPER_H
#define WEIR_LEDGER_STEPPER_H

#include "ledger/store.h"

struct stepper {
	struct store *store;
	struct arena memory; /* texts of rows; reset after each step */
	struct row_meta meta;
	bool has_written; /* this step */
	bool is_changed;  /* this transaction: meta is to be written */
};

bool stepper_get(struct stepper *st, enum row_kind kind, struct str key, void *row);
void stepper_put(struct stepper *st, enum row_kind kind, struct str key, const void *row);
void stepper_del(struct stepper *st, enum row_kind kind, struct str key);

#endif
