/*
 * sqlite.h - what the writer and the readers of a SQLite ledger share
 */
#ifndef WEIR_LEDGER_SQLITE_H
#define WEIR_LEDGER_SQLITE_H

#include <sqlite3.h>

#include "ledger/store.h"

/* The file that a URL's path means; free() it. */
char *sqlite_path(struct str where, const char *directory);
/* SQL over a kind's fields: `before` and `after` may name the table, `each` the field. */
void sqlite_print_sql(struct buf *to, enum row_kind kind, const char *before,
    const char *each, const char *after);
/* The row from `column` on, its texts in memory. */
void sqlite_read_row(
    sqlite3_stmt *st, enum row_kind kind, int column, void *row, struct arena *memory);
/* Every row of "SELECT key, fields…". */
void sqlite_walk_rows(sqlite3_stmt *st, enum row_kind kind, store_seen *seen, void *arg);

#endif
