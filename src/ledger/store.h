/*
 * store.h - rows that are read and written in one step: what memory and SQLite can do
 *
 * What a step does is in step.h, once for all of them; a store only keeps rows.  From
 * begin() to commit() is one transaction over any number of steps.  A store that fails
 * in between says so in commit(): nothing of it has happened then.  One thread.
 */
#ifndef WEIR_LEDGER_STORE_H
#define WEIR_LEDGER_STORE_H

#include "base/loop.h"
#include "ledger/row.h"

struct store;

typedef void store_seen(void *arg, struct str key, const void *row);

struct store_ops {
	bool (*begin)(struct store *s);
	/* False: nothing has changed; *is_in_doubt: unless it has. */
	bool (*commit)(struct store *s, bool *is_in_doubt);
	/* Texts of the row are in `memory`; false: no such row. */
	bool (*get)(struct store *s, enum row_kind kind, struct str key, void *row,
	    struct arena *memory);
	void (*put)(struct store *s, enum row_kind kind, struct str key, const void *row);
	void (*del)(struct store *s, enum row_kind kind, struct str key);
	/* Every row of a kind; the store must not change meanwhile. */
	void (*walk)(struct store *s, enum row_kind kind, store_seen *seen, void *arg);
	/* Calls that are held and whose lease ended at `now` or before: the first `max`.
	 */
	size_t (*expired)(struct store *s, usec now, struct str *keys, size_t max,
	    struct arena *memory);
	/* Notes and tombs that ended before `now` go. */
	void (*prune)(struct store *s, usec now);
	void (*close)(struct store *s);
};

struct store {
	const struct store_ops *ops;
};

struct store *store_memory_new(void);
/* NULL after logging why. */
struct store *store_sqlite_open(const char *path, int uid, int gid) MUST_CHECK;

#endif
