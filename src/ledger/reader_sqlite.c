/*
 * reader_sqlite.c - a SQLite ledger, read-only
 *
 * It never writes and never checkpoints: the one connection that does is the weir's.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "ledger/reader.h"
#include "ledger/sqlite.h"

#define BUSY_MS 5000

struct sqlite_reader {
	struct reader reader;
	char *path;
	sqlite3 *db;
};

static struct sqlite_reader *
of(struct reader *r)
{
	return (struct sqlite_reader *)(void *)r;
}

static bool
complain(const struct sqlite_reader *r, const char *what)
{
	log_error("the ledger cannot be read", "file", r->path, "at", what, "err",
	    r->db != NULL ? sqlite3_errmsg(r->db) : "no memory");
	return false;
}

static bool
sqlite_walk(struct reader *reader, enum row_kind kind, reader_row *seen, void *arg)
{
	struct sqlite_reader *r = of(reader);
	sqlite3_stmt *st = NULL;
	struct buf sql;
	bool is_done;

	buf_init(&sql, 4096);
	sqlite_print_sql(&sql, kind, "SELECT key", ", %s", " FROM %s");
	is_done = sqlite3_prepare_v2(r->db, buf_cstr(&sql), -1, &st, NULL) == SQLITE_OK;
	if (is_done)
		sqlite_walk_rows(st, kind, seen, arg);
	is_done = sqlite3_finalize(st) == SQLITE_OK && is_done;
	buf_fini(&sql);
	return is_done || complain(r, "reading");
}

static void
sqlite_moment(struct reader *reader, bool begins)
{
	struct sqlite_reader *r = of(reader);

	if (sqlite3_exec(r->db, begins ? "BEGIN" : "ROLLBACK", NULL, NULL, NULL) !=
	    SQLITE_OK)
		complain(r, "transaction");
}

/* A new file, of nobody else's to read; never one that is there. */
static bool
sqlite_backup(struct reader *reader, const char *to)
{
	struct sqlite_reader *r = of(reader);
	int fd = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	sqlite3_backup *copy = NULL;
	sqlite3 *db = NULL;
	bool is_done;

	if (fd < 0) {
		log_error("the backup cannot be made", "file", to, "why",
		    "it is there already, or its directory is not to be written");
		return false;
	}
	close(fd);
	is_done = sqlite3_open_v2(to, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOFOLLOW,
		      NULL) == SQLITE_OK &&
		  (copy = sqlite3_backup_init(db, "main", r->db, "main")) != NULL &&
		  sqlite3_backup_step(copy, -1) == SQLITE_DONE;
	is_done = sqlite3_backup_finish(copy) == SQLITE_OK && is_done;
	if (!is_done)
		log_error("the backup failed", "file", to, "err",
		    db != NULL ? sqlite3_errmsg(db) : "no memory");
	sqlite3_close(db);
	return is_done;
}

static void
sqlite_close(struct reader *reader)
{
	struct sqlite_reader *r = of(reader);

	sqlite3_close(r->db);
	free(r->path);
	free(r);
}

static const struct reader_ops sqlite_ops = { sqlite_walk, sqlite_backup, sqlite_moment,
	sqlite_close };

struct reader *
reader_sqlite(struct str where, const struct ledger_options *o)
{
	struct sqlite_reader *r = mem_zalloc(sizeof(*r));

	r->reader.ops = &sqlite_ops;
	r->path = sqlite_path(where, o->directory);
	if (sqlite3_open_v2(r->path, &r->db,
		SQLITE_OPEN_READONLY | SQLITE_OPEN_NOFOLLOW | SQLITE_OPEN_NOMUTEX,
		NULL) == SQLITE_OK &&
	    sqlite3_busy_timeout(r->db, BUSY_MS) == SQLITE_OK &&
	    sqlite3_exec(r->db, "PRAGMA trusted_schema = OFF", NULL, NULL, NULL) ==
		SQLITE_OK)
		return &r->reader;
	complain(r, "open");
	sqlite_close(&r->reader);
	return NULL;
}
