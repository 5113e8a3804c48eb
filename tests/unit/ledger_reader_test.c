/* ledger/reader: a ledger is looked at from outside while its one writer goes on */
#include <sqlite3.h>
#include <stdio.h>

#include "ledger/key.h"
#include "ledger/reader.h"
#include "ledger_rig.h"
#include "unit.h"

static struct ledger_reserve
ask(const char *request)
{
	return (struct ledger_reserve){ .call = { str_of(request), 1 },
		.who = { .issuer = STR("app"),
		    .tenant = STR("acme"),
		    .sid = STR("s1"),
		    .sub = STR("u"),
		    .gen = 1,
		    .claim = LEDGER_NO_CLAIM },
		.nscope = 1,
		.scope = { { .kind = LEDGER_SESSION,
		    .issuer = STR("app"),
		    .tenant = STR("acme"),
		    .sid = STR("s1"),
		    .cap = USD_NANO,
		    .claim = LEDGER_NO_CLAIM } },
		.want = 1000,
		.share_ppm = 1000000,
		.lease_ms = 60000,
		.provider = STR("p"),
		.model = STR("m"),
		.prices = STR("d") };
}

/* One call settled, one held. */
static void
fill(struct rig *r)
{
	struct ledger_reserve one = ask("one"), two = ask("two");
	struct ledger_settle s = {
		.call = one.call, .cost = 400, .input = 7, .output = 3, .usage = STR("{}")
	};

	assert_int_equal(rig_reserve(r, &one).answer, LEDGER_OK);
	assert_int_equal(rig_settle(r, &s).answer, LEDGER_OK);
	assert_int_equal(rig_reserve(r, &two).answer, LEDGER_OK);
}

static struct reader *
open_reader(const struct rig *r, const char *url)
{
	return reader_open(&(struct ledger_options){
	    .url = url, .directory = r->directory, .uid = -1, .gid = -1 });
}

static void
on_call(void *arg, struct str key, const void *row)
{
	const struct row_call *c = row;
	int *seen = arg;

	if (str_eq(key, STR("one#1"))) {
		assert_int_equal(c->state, CALL_SETTLED);
		assert_int_equal(c->cost, 400);
		assert_true(str_eq(c->usage, STR("{}")));
		assert_true(str_eq(c->session, STR("3:app4:acme2:s1")));
		*seen |= 1;
	} else {
		assert_true(str_eq(key, STR("two#1")));
		assert_int_equal(c->state, CALL_HELD);
		assert_int_equal(c->amount, 1000);
		*seen |= 2;
	}
}

static void
no_finding(void *arg, const char *what, struct str key, int64_t is, int64_t should_be)
{
	(void)arg, (void)key, (void)is, (void)should_be;
	fail_msg("found: %s", what);
}

static void
look(struct reader *r)
{
	struct verify_sums sums;
	int seen = 0;

	assert_non_null(r);
	assert_true(reader_walk(r, ROW_CALL, on_call, &seen));
	assert_int_equal(seen, 3);
	assert_true(reader_verify(r, &sums, no_finding, NULL));
	assert_int_equal(sums.calls, 2);
	assert_int_equal(sums.held, 1);
	assert_int_equal(sums.sessions, 1);
	assert_int_equal(sums.findings, 0);
	assert_true(sums.revision >= 3);
}

static void
test_rows_are_read_beside_the_writer(void **state)
{
	static const enum rig_kind kinds[] = {
		RIG_SQLITE,
#ifdef HAVE_REDIS
		RIG_REDIS,
#endif
	};

	(void)state;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		struct rig rig;

		rig_init(&rig, kinds[i]);
		rig_open(&rig);
		fill(&rig);
		struct reader *r = open_reader(&rig, rig.url);
		look(r);
		reader_close(r);
		rig_fini(&rig);
	}
}

static void
count(void *arg, struct str key, const void *row)
{
	(void)key, (void)row;
	++*(int *)arg;
}

static void
test_one_moment_is_seen_whatever_is_written_meanwhile(void **state)
{
	struct ledger_reserve more = ask("more");
	struct rig rig;
	int before = 0, after = 0;

	(void)state;
	rig_init(&rig, RIG_SQLITE);
	rig_open(&rig);
	fill(&rig);
	struct reader *r = open_reader(&rig, rig.url);
	reader_moment(r, true);
	assert_true(reader_walk(r, ROW_CALL, count, &before));
	assert_int_equal(rig_reserve(&rig, &more).answer, LEDGER_OK);
	assert_true(reader_walk(r, ROW_CALL, count, &after));
	assert_int_equal(before, 2);
	assert_int_equal(after, 2);
	reader_moment(r, false);
	assert_true(reader_walk(r, ROW_CALL, count, &after));
	assert_int_equal(after, 2 + 3);
	reader_close(r);
	rig_fini(&rig);
}

static void
test_a_backup_opens_as_it_is_and_never_covers_a_file(void **state)
{
	char to[128], url[160];
	struct rig rig;

	(void)state;
	rig_init(&rig, RIG_SQLITE);
	rig_open(&rig);
	fill(&rig);
	struct reader *r = open_reader(&rig, rig.url);
	snprintf(to, sizeof(to), "%s/copy.db", rig.directory);
	assert_true(reader_backup(r, to));
	assert_false(reader_backup(r, to));
	reader_close(r);
	snprintf(url, sizeof(url), "sqlite:%s", to);
	r = open_reader(&rig, url);
	look(r);
	reader_close(r);
	rig_fini(&rig);
}

static void
run_sql(const struct rig *rig, const char *sql)
{
	char path[128];
	sqlite3 *db;

	snprintf(path, sizeof(path), "%s/ledger.db", rig->directory);
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	sqlite3_busy_timeout(db, 60000); /* the ledger may be writing */
	assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(db);
}

static void
on_finding(void *arg, const char *what, struct str key, int64_t is, int64_t should_be)
{
	(void)what, (void)key;
	*(int64_t *)arg += should_be - is;
}

static void
test_what_was_changed_behind_its_back_is_found(void **state)
{
	static const struct {
		const char *sql;
		size_t findings;
	} rows[] = {
		{ "UPDATE scope SET spent = spent - 1", 1 },
		{ "UPDATE scope SET reserved = 0", 1 },
		{ "UPDATE call SET charged = 1 WHERE key = 'one#1'", 2 },
		{ "UPDATE call SET scopes = '9:x' WHERE key = 'two#1'", 2 },
		{ "DELETE FROM scope", 1 },
		{ "DELETE FROM call WHERE key = 'two#1'", 1 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct verify_sums sums;
		int64_t apart = 0;
		struct rig rig;

		rig_init(&rig, RIG_SQLITE);
		rig_open(&rig);
		fill(&rig);
		run_sql(&rig, rows[i].sql);
		struct reader *r = open_reader(&rig, rig.url);
		assert_true(reader_verify(r, &sums, on_finding, &apart));
		if (sums.findings != rows[i].findings)
			fail_msg("%s: %zu findings", rows[i].sql, (size_t)sums.findings);
		reader_close(r);
		rig_fini(&rig);
	}
}

static void
test_what_is_no_ledger_of_this_version_is_not_read(void **state)
{
	struct rig rig;

	(void)state;
	rig_init(&rig, RIG_SQLITE);
	assert_null(open_reader(&rig, rig.url)); /* and none is made */
	assert_null(open_reader(&rig, "memory:"));
	assert_null(open_reader(&rig, "redis+unix:/nowhere/redis.sock"));
	rig_open(&rig);
	run_sql(&rig, "UPDATE meta SET format = 99");
	assert_null(open_reader(&rig, rig.url));
	rig_fini(&rig);
}

static void
test_a_scopes_key_is_read_as_it_was_written(void **state)
{
	static const struct ledger_scope rows[] = {
		{ .kind = LEDGER_TURN,
		    .issuer = STR("app"),
		    .tenant = STR("a:1"),
		    .sid = STR("s"),
		    .turn = STR("d4") },
		{ .kind = LEDGER_SESSION,
		    .issuer = STR("app"),
		    .tenant = STR("m7"),
		    .sid = STR("d7") },
		{ .kind = LEDGER_TENANT, .tenant = STR("acme"), .window = LEDGER_DAY },
		{ .kind = LEDGER_PUBLIC, .window = LEDGER_MONTH },
		{ .kind = LEDGER_TOTAL },
	};
	static const struct str bad[] = { STR(""), STR("x"), STR("s"), STR("s3:ap"),
		STR("ax7"), STR("ad"), STR("ad07"), STR("ad-1") };
	struct ledger_scope s;
	int64_t number;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct buf key;

		buf_init(&key, 1024);
		assert_true(key_scope(&key, &rows[i]));
		key_window(&key, rows[i].window, 20786);
		assert_true(key_scope_read(buf_view(&key), &s, &number));
		assert_int_equal(s.kind, rows[i].kind);
		assert_int_equal(s.window, rows[i].window);
		assert_int_equal(number, s.window == LEDGER_EVER ? 0 : 20786);
		assert_true(str_eq(s.issuer, rows[i].issuer));
		assert_true(str_eq(s.tenant, rows[i].tenant));
		assert_true(str_eq(s.sid, rows[i].sid));
		assert_true(str_eq(s.turn, rows[i].turn));
		buf_fini(&key);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		assert_false(key_scope_read(bad[i], &s, &number));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows_are_read_beside_the_writer),
		cmocka_unit_test(test_one_moment_is_seen_whatever_is_written_meanwhile),
		cmocka_unit_test(test_a_backup_opens_as_it_is_and_never_covers_a_file),
		cmocka_unit_test(test_what_was_changed_behind_its_back_is_found),
		cmocka_unit_test(test_what_is_no_ledger_of_this_version_is_not_read),
		cmocka_unit_test(test_a_scopes_key_is_read_as_it_was_written),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
