/*
 * sqlite.c - the ledger in one file, written by one connection
 *
 * WAL with synchronous=FULL: what is committed is on the disk.  A second connection that
 * writes or checkpoints could meet the WAL-reset bug of the versions before 3.51.3, so
 * there is none: a lock beside the file keeps other writers out, and readers (reader.h)
 * open it read-only.
 *
 * The tables are made from row_shapes: `key` and the row's fields.
 */
#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "ledger/local.h"
#include "ledger/sqlite.h"

#define BUSY_MS 2000
#define CHECKPOINT_PAGES 4000 /* 16 MiB of WAL */

enum statement { GET, PUT, DEL, WALK, STATEMENTS };
enum single { BEGIN, COMMIT, ROLLBACK, EXPIRED, PRUNE_NOTES, PRUNE_TOMBS, SINGLES };

struct sqlite {
	struct store store;
	char *path;
	int lock;
	sqlite3 *db;
	sqlite3_stmt *of_kind[ROW_KINDS][STATEMENTS];
	sqlite3_stmt *single[SINGLES];
	bool is_broken; /* something failed since begin() */
};

static const char *const single_sql[SINGLES] = {
	[BEGIN] = "BEGIN IMMEDIATE",
	[COMMIT] = "COMMIT",
	[ROLLBACK] = "ROLLBACK",
	[EXPIRED] = ("SELECT key FROM call WHERE state = 0 AND expires <= ?1"
		     " ORDER BY expires LIMIT ?2"),
	[PRUNE_NOTES] = "DELETE FROM note WHERE ends < ?1",
	[PRUNE_TOMBS] = "DELETE FROM tomb WHERE ends < ?1",
};

static const char pragmas[] = "PRAGMA trusted_schema = OFF;"
			      "PRAGMA foreign_keys = ON;"
			      "PRAGMA journal_mode = WAL;"
			      "PRAGMA synchronous = FULL;"
			      "PRAGMA mmap_size = 0;";

static const char indexes[] =
    "CREATE INDEX IF NOT EXISTS call_held ON call (expires) WHERE state = 0;"
    "CREATE INDEX IF NOT EXISTS call_session ON call (session);"
    "CREATE INDEX IF NOT EXISTS note_ends ON note (ends);"
    "CREATE INDEX IF NOT EXISTS tomb_ends ON tomb (ends);";

static struct sqlite *
of(struct store *s)
{
	return (struct sqlite *)(void *)s;
}

static bool
complain(struct sqlite *s, const char *what)
{
	log_error("the ledger failed", "file", s->path, "at", what, "err",
	    s->db != NULL ? sqlite3_errmsg(s->db) : "no memory");
	return false;
}

/* ---- statements */

void
sqlite_print_sql(struct buf *to, enum row_kind kind, const char *before, const char *each,
    const char *after)
{
	const struct row_shape *shape = &row_shapes[kind];

	buf_fmt(to, before, shape->name);
	for (size_t i = 0; i < shape->nfield; i++)
		buf_fmt(to, each, shape->field[i].name,
		    shape->field[i].is_text ? "TEXT" : "INTEGER");
	buf_fmt(to, after, shape->name);
}

void
sqlite_read_row(
    sqlite3_stmt *st, enum row_kind kind, int column, void *row, struct arena *memory)
{
	const struct row_shape *shape = &row_shapes[kind];

	memset(row, 0, shape->size);
	for (size_t i = 0; i < shape->nfield; i++, column++) {
		if (!shape->field[i].is_text) {
			row_set_num(
			    row, &shape->field[i], sqlite3_column_int64(st, column));
			continue;
		}
		struct str s = { sqlite3_column_blob(st, column),
			(size_t)sqlite3_column_bytes(st, column) };
		row_set_text(row, &shape->field[i], arena_str(memory, s));
	}
}

static bool
prepare(struct sqlite *s, const char *sql, sqlite3_stmt **out)
{
	return sqlite3_prepare_v3(s->db, sql, -1, SQLITE_PREPARE_PERSISTENT, out, NULL) ==
		   SQLITE_OK ||
	       complain(s, sql);
}

static bool
run_text(struct sqlite *s, const char *sql)
{
	return sqlite3_exec(s->db, sql, NULL, NULL, NULL) == SQLITE_OK ||
	       complain(s, sql);
}

static bool
prepare_kind(struct sqlite *s, enum row_kind kind)
{
	static const char *const parts[STATEMENTS][3] = {
		[GET] = { "SELECT key", ", %s", " FROM %s WHERE key = ?1" },
		[PUT] = { "INSERT OR REPLACE INTO %s VALUES (?", ", ?", ")" },
		[DEL] = { "DELETE FROM %s WHERE key = ?1", "", "" },
		[WALK] = { "SELECT key", ", %s", " FROM %s" },
	};
	bool is_done = true;
	struct buf sql;

	buf_init(&sql, 4096);
	for (size_t i = 0; i < STATEMENTS && is_done; i++) {
		buf_reset(&sql);
		sqlite_print_sql(&sql, kind, parts[i][0], parts[i][1], parts[i][2]);
		is_done = prepare(s, buf_cstr(&sql), &s->of_kind[kind][i]);
	}
	buf_fini(&sql);
	return is_done;
}

static bool
create_table(struct sqlite *s, enum row_kind kind)
{
	struct buf sql;
	bool is_done;

	buf_init(&sql, 4096);
	sqlite_print_sql(&sql, kind,
	    "CREATE TABLE IF NOT EXISTS %s (key TEXT PRIMARY KEY", ", %s %s NOT NULL",
	    ") STRICT, WITHOUT ROWID");
	is_done = run_text(s, buf_cstr(&sql));
	buf_fini(&sql);
	return is_done;
}

/* ---- the store */

/* Runs to its end and makes ready for the next use; false: it failed. */
static bool
step_all(struct sqlite *s, sqlite3_stmt *st)
{
	int result;

	do
		result = sqlite3_step(st);
	while (result == SQLITE_ROW);
	if (sqlite3_reset(st) == SQLITE_OK && result == SQLITE_DONE)
		return true;
	if (!s->is_broken)
		complain(s, sqlite3_sql(st));
	s->is_broken = true;
	return false;
}

static void
bind_text(sqlite3_stmt *st, int at, struct str s)
{
	sqlite3_bind_text64(st, at, s.n > 0 ? s.p : "", s.n, SQLITE_STATIC, SQLITE_UTF8);
}

static bool
sqlite_begin(struct store *store)
{
	struct sqlite *s = of(store);

	s->is_broken = false;
	return step_all(s, s->single[BEGIN]);
}

/* When COMMIT fails the WAL may hold it all the same, for whoever opens it next. */
static bool
sqlite_commit(struct store *store, bool *is_in_doubt)
{
	struct sqlite *s = of(store);

	*is_in_doubt = !s->is_broken;
	if (!s->is_broken && step_all(s, s->single[COMMIT]))
		return true;
	if (!sqlite3_get_autocommit(s->db)) {
		s->is_broken = true; /* says nothing twice */
		(void)step_all(s, s->single[ROLLBACK]);
	}
	return false;
}

static bool
sqlite_get(struct store *store, enum row_kind kind, struct str key, void *row,
    struct arena *memory)
{
	struct sqlite *s = of(store);
	sqlite3_stmt *st = s->of_kind[kind][GET];
	bool is_found;

	if (s->is_broken)
		return false;
	bind_text(st, 1, key);
	is_found = sqlite3_step(st) == SQLITE_ROW;
	if (is_found)
		sqlite_read_row(st, kind, 1, row, memory);
	if (sqlite3_reset(st) != SQLITE_OK) {
		complain(s, sqlite3_sql(st));
		s->is_broken = true;
		return false;
	}
	return is_found;
}

static void
sqlite_put(struct store *store, enum row_kind kind, struct str key, const void *row)
{
	struct sqlite *s = of(store);
	const struct row_shape *shape = &row_shapes[kind];
	sqlite3_stmt *st = s->of_kind[kind][PUT];

	if (s->is_broken)
		return;
	bind_text(st, 1, key);
	for (size_t i = 0; i < shape->nfield; i++) {
		int at = (int)i + 2;

		if (shape->field[i].is_text)
			bind_text(st, at, row_text(row, &shape->field[i]));
		else
			sqlite3_bind_int64(st, at, row_num(row, &shape->field[i]));
	}
	(void)step_all(s, st);
}

static void
sqlite_del(struct store *store, enum row_kind kind, struct str key)
{
	struct sqlite *s = of(store);
	sqlite3_stmt *st = s->of_kind[kind][DEL];

	if (s->is_broken)
		return;
	bind_text(st, 1, key);
	(void)step_all(s, st);
}

/* ROW_FIELDS_MAX numbers or texts are room for any row. */
void
sqlite_walk_rows(sqlite3_stmt *st, enum row_kind kind, store_seen *seen, void *arg)
{
	struct str row[ROW_FIELDS_MAX];
	struct arena memory;

	arena_init(&memory, SIZE_MAX);
	while (sqlite3_step(st) == SQLITE_ROW) {
		struct str key = { (const char *)sqlite3_column_text(st, 0),
			(size_t)sqlite3_column_bytes(st, 0) };

		sqlite_read_row(st, kind, 1, row, &memory);
		seen(arg, arena_str(&memory, key), row);
		arena_reset(&memory);
	}
	arena_fini(&memory);
}

static void
sqlite_walk(struct store *store, enum row_kind kind, store_seen *seen, void *arg)
{
	struct sqlite *s = of(store);
	sqlite3_stmt *st = s->of_kind[kind][WALK];

	if (s->is_broken)
		return;
	sqlite_walk_rows(st, kind, seen, arg);
	if (sqlite3_reset(st) != SQLITE_OK)
		s->is_broken = true;
}

static size_t
sqlite_expired(
    struct store *store, usec now, struct str *keys, size_t max, struct arena *memory)
{
	struct sqlite *s = of(store);
	sqlite3_stmt *st = s->single[EXPIRED];
	size_t n = 0;

	if (s->is_broken)
		return 0;
	sqlite3_bind_int64(st, 1, now);
	sqlite3_bind_int64(st, 2, (sqlite3_int64)max);
	while (sqlite3_step(st) == SQLITE_ROW)
		keys[n++] = arena_str(
		    memory, (struct str){ (const char *)sqlite3_column_text(st, 0),
				(size_t)sqlite3_column_bytes(st, 0) });
	if (sqlite3_reset(st) != SQLITE_OK)
		s->is_broken = true;
	return n;
}

static void
sqlite_prune(struct store *store, usec now)
{
	struct sqlite *s = of(store);

	for (enum single i = PRUNE_NOTES; i <= PRUNE_TOMBS && !s->is_broken; i++) {
		sqlite3_bind_int64(s->single[i], 1, now);
		(void)step_all(s, s->single[i]);
	}
}

static void
sqlite_close(struct store *store)
{
	struct sqlite *s = of(store);

	for (size_t kind = 0; kind < ROW_KINDS; kind++)
		for (size_t i = 0; i < STATEMENTS; i++)
			sqlite3_finalize(s->of_kind[kind][i]);
	for (size_t i = 0; i < SINGLES; i++)
		sqlite3_finalize(s->single[i]);
	if (s->db != NULL && sqlite3_close(s->db) != SQLITE_OK)
		complain(s, "close");
	if (s->lock >= 0)
		close(s->lock);
	free(s->path);
	free(s);
}

static const struct store_ops sqlite_ops = { sqlite_begin, sqlite_commit, sqlite_get,
	sqlite_put, sqlite_del, sqlite_walk, sqlite_expired, sqlite_prune, sqlite_close };

/* ---- opening */

static bool
be_the_only_writer(struct sqlite *s, int uid, int gid)
{
	struct buf path;

	buf_init(&path, 4096);
	buf_fmt(&path, "%s.lock", s->path);
	s->lock = open(buf_cstr(&path), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	buf_fini(&path);
	if (s->lock < 0 || (uid >= 0 && fchown(s->lock, (uid_t)uid, (gid_t)gid) != 0)) {
		log_error("the ledger cannot be locked", "file", s->path, "err",
		    strerror(errno));
		return false;
	}
	if (flock(s->lock, LOCK_EX | LOCK_NB) == 0)
		return true;
	log_error("another weir writes this ledger", "file", s->path, "remedy",
	    "stop it, or use the Redis ledger for many instances");
	return false;
}

static int
on_check(void *arg, int n, char **value, char **name)
{
	(void)n, (void)name;
	*(bool *)arg = value[0] != NULL && strcmp(value[0], "ok") == 0;
	return 0;
}

static bool
is_sound(struct sqlite *s)
{
	bool is_ok = false;

	if (sqlite3_exec(s->db, "PRAGMA quick_check(1)", on_check, &is_ok, NULL) !=
	    SQLITE_OK)
		return complain(s, "quick_check");
	if (!is_ok)
		log_error("the ledger is damaged", "file", s->path, "remedy",
		    "restore it from a backup and look at weir ledger verify");
	return is_ok;
}

/* The files that SQLite makes beside it get the same owner and mode as this one. */
static bool
give_away(const struct sqlite *s, int uid, int gid)
{
	static const char *const suffixes[] = { "", "-wal", "-shm" };
	bool is_done = true;
	struct buf path;

	if (uid < 0)
		return true;
	buf_init(&path, 4096);
	for (size_t i = 0; i < 3; i++) {
		buf_reset(&path);
		buf_fmt(&path, "%s%s", s->path, suffixes[i]);
		if (lchown(buf_cstr(&path), (uid_t)uid, (gid_t)gid) != 0 &&
		    errno != ENOENT)
			is_done = false;
	}
	buf_fini(&path);
	return is_done;
}

static bool
open_database(struct sqlite *s)
{
	mode_t mask = umask(077);
	int result = sqlite3_open_v2(s->path, &s->db,
	    SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOFOLLOW |
		SQLITE_OPEN_NOMUTEX,
	    NULL);

	umask(mask);
	if (result != SQLITE_OK)
		return complain(s, "open");
	sqlite3_extended_result_codes(s->db, 1);
	sqlite3_busy_timeout(s->db, BUSY_MS);
	sqlite3_wal_autocheckpoint(s->db, CHECKPOINT_PAGES);
	return sqlite3_db_config(s->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL) ==
		   SQLITE_OK ||
	       complain(s, "defensive");
}

static bool
set_up(struct sqlite *s)
{
	if (!open_database(s) || !is_sound(s) || !run_text(s, pragmas))
		return false;
	for (enum row_kind kind = 0; kind < ROW_KINDS; kind++)
		if (!create_table(s, kind))
			return false;
	if (!run_text(s, indexes))
		return false;
	for (enum row_kind kind = 0; kind < ROW_KINDS; kind++)
		if (!prepare_kind(s, kind))
			return false;
	for (size_t i = 0; i < SINGLES; i++)
		if (!prepare(s, single_sql[i], &s->single[i]))
			return false;
	return true;
}

struct store *
store_sqlite_open(const char *path, int uid, int gid)
{
	struct sqlite *s = mem_zalloc(sizeof(*s));

	s->store.ops = &sqlite_ops;
	s->path = mem_strdup(path);
	s->lock = -1;
	if (be_the_only_writer(s, uid, gid) && set_up(s)) {
		if (give_away(s, uid, gid))
			return &s->store;
		log_error("the ledger cannot be given to weir's user", "file", path,
		    "err", strerror(errno));
	}
	sqlite_close(&s->store);
	return NULL;
}

char *
sqlite_path(struct str where, const char *directory)
{
	struct buf path;
	char *text;

	buf_init(&path, 4096);
	if (where.n > 0 && where.p[0] != '/' && directory != NULL)
		buf_fmt(&path, "%s/", directory);
	buf_str(&path, where);
	text = mem_strdup(buf_cstr(&path));
	buf_fini(&path);
	return text;
}

struct backend *
backend_sqlite(
    struct str where, const struct ledger_options *o, const struct backend_host *host)
{
	char *path = sqlite_path(where, o->directory);
	struct store *store = store_sqlite_open(path, o->uid, o->gid);

	free(path);
	return store != NULL ? local_new(store, o, host) : NULL;
}
