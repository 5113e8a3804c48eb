/*
 * reader.h - a ledger looked at from outside: reports, export, verify, backup
 *
 * SQLite is opened read-only beside the weir that writes it; a walk sees one moment of
 * it.  Redis is asked key by key while it goes on: what changes meanwhile may be seen
 * before or after.  Rows are those of row.h, their keys those of key.h.  Blocks; one
 * thread.
 */
#ifndef WEIR_LEDGER_READER_H
#define WEIR_LEDGER_READER_H

#include "ledger/row.h"
#include "ledger/terms.h"

struct reader;
typedef void reader_row(void *arg, struct str key, const void *row);

/* NULL after logging why: it cannot be read, or it is of another version. */
/* Has it a form that reader_open() takes? */
bool reader_knows(const char *url);
struct reader *reader_open(const struct ledger_options *o) MUST_CHECK;
void reader_close(struct reader *r);
/* Every row of a kind, in no order; false after logging why: not all were seen. */
bool reader_walk(
    struct reader *r, enum row_kind kind, reader_row *seen, void *arg) MUST_CHECK;
/* Between the two, all walks see one moment, where the store can; no walk is under way.
 */
void reader_moment(struct reader *r, bool begins);
/* A copy that can be opened as it is; false after logging why.  SQLite only. */
bool reader_backup(struct reader *r, const char *to) MUST_CHECK;

/* What verify found: one line for each thing that does not add up. */
typedef void verify_finding(
    void *arg, const char *what, struct str key, int64_t is, int64_t should_be);

struct verify_sums {
	uint64_t calls, held, scopes, sessions, findings;
	int64_t revision;
};

/*
 * Does each scope's `spent` equal what its calls were charged, and `reserved` what they
 * hold?  Is each row readable?  False after logging why: it could not be looked at.
 */
bool reader_verify(struct reader *r, struct verify_sums *sums, verify_finding *found,
    void *arg) MUST_CHECK;

/* ---- for reader.c: what a store's reader can do */

struct reader_ops {
	bool (*walk)(struct reader *r, enum row_kind kind, reader_row *seen, void *arg);
	bool (*backup)(struct reader *r, const char *to); /* NULL: it cannot */
	/* From begin to end, walks see one moment; NULL: they do not. */
	void (*moment)(struct reader *r, bool begins);
	void (*close)(struct reader *r);
};

struct reader {
	const struct reader_ops *ops;
};

struct reader *reader_sqlite(struct str where, const struct ledger_options *o);
struct reader *reader_redis(struct str where, const struct ledger_options *o);
struct reader *reader_redis_unix(struct str where, const struct ledger_options *o);

#endif
