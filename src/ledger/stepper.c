/*
 * stepper.c - one transaction's view of the store
 */
#include "ledger/stepper.h"

bool
stepper_get(struct stepper *st, enum row_kind kind, struct str key, void *row)
{
	return st->store->ops->get(st->store, kind, key, row, &st->memory);
}

void
stepper_put(struct stepper *st, enum row_kind kind, struct str key, const void *row)
{
	st->store->ops->put(st->store, kind, key, row);
	st->has_written = true;
}

void
stepper_del(struct stepper *st, enum row_kind kind, struct str key)
{
	st->store->ops->del(st->store, kind, key);
	st->has_written = true;
}
