/*
 * ledger_trouble_test.c - stores that are away, older than they were, damaged, or shared
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ledger_rig.h"
#include "unit.h"

static struct rig rig;

static struct ledger_scope
scope_of(const char *sid)
{
	return (struct ledger_scope){ .kind = LEDGER_SESSION,
		.issuer = STR("iss"),
		.tenant = STR("acme"),
		.sid = str_of(sid),
		.cap = 100,
		.claim = LEDGER_NO_CLAIM };
}

static struct ledger_reserve
reservation(const char *request, usd_nano amount)
{
	return (struct ledger_reserve){ .call = { str_of(request), 0 },
		.nscope = 1,
		.scope = { scope_of("s") },
		.want = amount,
		.floor = amount,
		.share_ppm = 1000000,
		.lease_ms = 3600000 };
}

static enum ledger_answer
ask_of(struct rig *r, const char *request, usd_nano amount)
{
	struct ledger_reserve q = reservation(request, amount);

	return rig_reserve(r, &q).answer;
}

static enum ledger_answer
ask(const char *request, usd_nano amount)
{
	return ask_of(&rig, request, amount);
}

static enum ledger_answer
settle(const char *request, usd_nano cost)
{
	struct ledger_settle s = { .call = { str_of(request), 0 }, .cost = cost };

	return rig_settle(&rig, &s).answer;
}

static struct ledger_room
room(void)
{
	struct ledger_scope scope = scope_of("s");

	return rig_look(&rig, &scope).room[0];
}

static void
path_in(char *out, size_t n, const char *name)
{
	snprintf(out, n, "%s/%s", rig.directory, name);
}

static void
copy(const char *from, const char *to)
{
	char piece[65536], path[128];
	ssize_t n;
	int in, out;

	path_in(path, sizeof(path), from);
	in = open(path, O_RDONLY);
	path_in(path, sizeof(path), to);
	out = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	assert_true(in >= 0 && out >= 0);
	while ((n = read(in, piece, sizeof(piece))) > 0)
		assert_int_equal(write(out, piece, (size_t)n), n);
	close(in);
	close(out);
}

static void
start_sqlite(void)
{
	rig_init(&rig, RIG_SQLITE);
	rig_open(&rig);
}

/* ---- SQLite */

static void
test_a_restored_ledger_is_refused_until_somebody_accepts_the_loss(void **state)
{
	char seen[128];

	(void)state;
	start_sqlite();
	ask("a", 10);
	rig_close(&rig);
	copy("ledger.db", "backup.db");
	rig_open(&rig);
	ask("b", 90);
	settle("b", 90);
	rig_close(&rig);
	copy("backup.db", "ledger.db");
	assert_non_null(rig_try_open(&rig));
	rig_wait_health(&rig, LEDGER_ROLLED_BACK);
	assert_int_equal(ask("c", 1), LEDGER_ROLLED_BACK);
	rig_close(&rig);
	path_in(seen, sizeof(seen), "ledger.seen");
	assert_int_equal(unlink(seen), 0);
	rig_open(&rig);
	assert_int_equal(ask("c", 1), LEDGER_OK);
	rig_fini(&rig);
}

static void
test_a_ledger_that_was_removed_does_not_begin_anew(void **state)
{
	char path[128];

	(void)state;
	start_sqlite();
	ask("a", 10);
	rig_close(&rig);
	path_in(path, sizeof(path), "ledger.db");
	assert_int_equal(unlink(path), 0);
	assert_non_null(rig_try_open(&rig));
	rig_wait_health(&rig, LEDGER_ROLLED_BACK);
	assert_int_equal(ask("c", 1), LEDGER_ROLLED_BACK);
	rig_fini(&rig);
}

static void
test_only_one_writes_a_file(void **state)
{
	struct rig second;

	(void)state;
	start_sqlite();
	second = rig;
	assert_null(rig_try_open(&second));
	assert_int_equal(ask("a", 10), LEDGER_OK);
	rig_fini(&rig);
}

static void
test_a_link_is_not_followed(void **state)
{
	char path[128];

	(void)state;
	rig_init(&rig, RIG_SQLITE);
	path_in(path, sizeof(path), "ledger.db");
	assert_int_equal(symlink("/tmp/weir-ledger-elsewhere", path), 0);
	assert_null(rig_try_open(&rig));
	rig_fini(&rig);
}

static void
test_a_damaged_file_is_refused(void **state)
{
	char path[128];
	int fd;

	(void)state;
	start_sqlite();
	for (int i = 0; i < 200; i++) {
		char request[16];

		snprintf(request, sizeof(request), "r%d", i);
		ask(request, 0);
	}
	rig_close(&rig);
	path_in(path, sizeof(path), "ledger.db");
	fd = open(path, O_WRONLY);
	assert_true(fd >= 0);
	for (int page = 2; page < 12; page++)
		assert_int_equal(pwrite(fd, "damaged damaged", 15, page * 4096), 15);
	close(fd);
	assert_null(rig_try_open(&rig));
	rig_fini(&rig);
}

static void
test_files_are_nobody_elses_to_read(void **state)
{
	static const char *const names[] = { "ledger.db", "ledger.db-wal",
		"ledger.db-shm", "ledger.db.lock", "ledger.seen" };

	(void)state;
	start_sqlite();
	ask("a", 10);
	for (size_t i = 0; i < COUNT_OF(names); i++) {
		char path[128];
		struct stat st;

		path_in(path, sizeof(path), names[i]);
		assert_int_equal(stat(path, &st), 0);
		assert_row(names[i], (st.st_mode & 077) == 0);
	}
	rig_fini(&rig);
}

static void
test_what_is_not_a_ledger_is_refused(void **state)
{
	static const char *const urls[] = { "", "sqlite", "mysql:x", "redis://",
		"redis://h:0/0", "redis://h:1/x", "sqlite:no/such/directory/l.db" };

	(void)state;
	rig_init(&rig, RIG_SQLITE);
	for (size_t i = 0; i < COUNT_OF(urls); i++) {
		snprintf(rig.url, sizeof(rig.url), "%s", urls[i]);
		assert_row(urls[i], rig_try_open(&rig) == NULL);
	}
	rig_fini(&rig);
}

/* ---- Redis */

#ifdef HAVE_REDIS

static void
start_redis(void)
{
	rig_init(&rig, RIG_REDIS);
	rig.patience_ms = 400;
	rig_open(&rig);
}

static void
test_a_ledger_that_is_away_refuses_and_keeps_what_was_settled(void **state)
{
	(void)state;
	start_redis();
	assert_int_equal(ask("a", 60), LEDGER_OK);
	redis_kill(&rig);
	rig_wait_health(&rig, LEDGER_AWAY);
	assert_int_equal(ask("b", 1), LEDGER_AWAY);
	assert_int_equal(settle("a", 30), LEDGER_AWAY); /* after some patience */
	assert_int_equal(ledger_waiting(rig.ledger), 1);
	redis_start(&rig);
	rig_wait_health(&rig, LEDGER_OK);
	while (room().spent != 30)
		;
	assert_int_equal(room().reserved, 0);
	assert_int_equal(ask("c", 70), LEDGER_OK);
	assert_int_equal(ledger_waiting(rig.ledger), 0);
	rig_fini(&rig);
}

static void
on_reserved(void *arg, const struct ledger_reply *reply)
{
	assert_int_equal(reply->answer, LEDGER_AWAY);
	*(bool *)arg = true;
	loop_stop(rig.loop);
}

static void
test_a_reserve_in_doubt_is_given_back(void **state)
{
	struct ledger_reserve q = reservation("a", 100);
	bool is_done = false;

	(void)state;
	start_redis();
	kill(rig.redis, SIGSTOP);
	assert_non_null(
	    ledger_reserve_start(rig.ledger, rig.loop, &q, on_reserved, &is_done));
	ledger_cancel(ledger_renew_start(rig.ledger, rig.loop,
	    &(struct ledger_renew){ { STR("x"), 0 }, 1 }, NULL, NULL));
	redis_kill(&rig);
	rig_run_until(&rig, &is_done);
	redis_start(&rig);
	rig_wait_health(&rig, LEDGER_OK);
	while (ask("b", 100) != LEDGER_OK)
		;
	rig_fini(&rig);
}

static void
test_an_emptied_redis_gives_no_money_back(void **state)
{
	(void)state;
	start_redis();
	ask("a", 100);
	settle("a", 100);
	redis_kill(&rig);
	redis_empty(&rig);
	redis_start(&rig);
	rig_wait_health(&rig, LEDGER_ROLLED_BACK);
	assert_int_equal(ask("b", 1), LEDGER_ROLLED_BACK);
	rig_fini(&rig);
}

static void
test_two_instances_share_one_budget_exactly(void **state)
{
	struct rig second;

	(void)state;
	start_redis();
	rig_join(&second, &rig);
	rig_open(&second);
	assert_int_equal(ask("a", 60), LEDGER_OK);
	assert_int_equal(ask_of(&second, "b", 41), LEDGER_EXHAUSTED);
	assert_int_equal(ask_of(&second, "c", 40), LEDGER_OK);
	assert_int_equal(ask("d", 1), LEDGER_EXHAUSTED);
	rig_fini(&second);
	rig_fini(&rig);
}

#endif

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
		    test_a_restored_ledger_is_refused_until_somebody_accepts_the_loss),
		cmocka_unit_test(test_a_ledger_that_was_removed_does_not_begin_anew),
		cmocka_unit_test(test_only_one_writes_a_file),
		cmocka_unit_test(test_a_link_is_not_followed),
		cmocka_unit_test(test_a_damaged_file_is_refused),
		cmocka_unit_test(test_files_are_nobody_elses_to_read),
		cmocka_unit_test(test_what_is_not_a_ledger_is_refused),
#ifdef HAVE_REDIS
		cmocka_unit_test(
		    test_a_ledger_that_is_away_refuses_and_keeps_what_was_settled),
		cmocka_unit_test(test_a_reserve_in_doubt_is_given_back),
		cmocka_unit_test(test_an_emptied_redis_gives_no_money_back),
		cmocka_unit_test(test_two_instances_share_one_budget_exactly),
#endif
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
