/*
 * audit_journal_test.c - what journal.h promises: nothing lost, nothing twice, one chain
 */
#include "audit/journal.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <openssl/evp.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/count.h"
#include "unit.h"

#define PATIENCE_MS 20000
#define ZEROS "0000000000000000000000000000000000000000000000000000000000000000"

static char directory[] = "/tmp/weir-journal-XXXXXX";

static const char *
path_of(const char *name)
{
	static char text[4][512];
	static unsigned n;
	char *to = text[n++ % 4];

	snprintf(to, sizeof(text[0]), "%s/%s", directory, name);
	return to;
}

static struct buf
read_file(const char *path)
{
	struct buf b;
	char piece[4096];
	size_t n;
	FILE *f = fopen(path, "rb");

	buf_init(&b, 1 << 26);
	while (f != NULL && (n = fread(piece, 1, sizeof(piece), f)) > 0)
		buf_add(&b, piece, n);
	if (f != NULL)
		fclose(f);
	return b;
}

static void
append_file(const char *path, const char *text)
{
	FILE *f = fopen(path, "ab");

	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static size_t
count_lines(const char *path)
{
	struct buf b = read_file(path);
	size_t n = 0;

	for (size_t i = 0; i < b.n; i++)
		n += b.p[i] == '\n';
	buf_fini(&b);
	return n;
}

static size_t
count_bytes(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 ? (size_t)st.st_size : 0;
}

/* Waits for a condition; the test fails when it does not come true. */
#define wait_for(condition) \
	for (int ms_ = 0; !(condition); ms_++) { \
		if (ms_ == PATIENCE_MS) \
			fail_msg("in vain: %s", #condition); \
		nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL); \
	}

static struct journal *
open_journal(const char *path, const char *key, bool drops, size_t places)
{
	struct journal *j = journal_open(&(struct journal_options){
	    .path = path,
	    .key = str_of(key),
	    .drops = drops,
	    .places = places,
	    .uid = -1,
	    .gid = -1,
	});

	if (j != NULL)
		journal_start(j);
	return j;
}

static void
write_line(struct journal *j, const char *text)
{
	char line[256];

	snprintf(line, sizeof(line), "{\"v\":1,\"text\":\"%s\"", text);
	assert_true(journal_reserve(j));
	journal_write(j, str_of(line));
}

static void
hex_of(const unsigned char *digest, char out[static 65])
{
	for (size_t i = 0; i < 32; i++)
		snprintf(out + 2 * i, 3, "%02x", digest[i]);
}

static void
sha256(struct str line, char out[static 65])
{
	unsigned char digest[32];
	size_t n;

	assert_int_equal(
	    EVP_Q_digest(NULL, "SHA256", NULL, line.p, line.n, digest, &n), 1);
	hex_of(digest, out);
}

static void
hmac(const char *key, struct str text, char out[static 65])
{
	unsigned char digest[32];
	size_t n;

	assert_non_null(EVP_Q_mac(NULL, "HMAC", NULL, "SHA256", NULL, key, strlen(key),
	    (const unsigned char *)text.p, text.n, digest, sizeof(digest), &n));
	hex_of(digest, out);
}

static bool
has(struct str line, const char *text)
{
	return memmem(line.p, line.n, text, strlen(text)) != NULL;
}

/* Every whole line names the one before it; returns the head, and counts the lines. */
static size_t
check_chain(struct str text, char head[static 65])
{
	struct str line;
	size_t n = 0;

	while (str_split(&text, '\n', &line)) {
		char member[80];

		if (!str_ends(line, STR("}")))
			continue; /* empty, or torn */
		snprintf(member, sizeof(member), "\"prev\":\"%s\"", head);
		if (!has(line, member))
			fail_msg("line %zu: %.*s", n, STR_ARG(line));
		sha256(line, head);
		n++;
	}
	return n;
}

static size_t
check_file(const char *path)
{
	char head[65] = ZEROS;
	struct buf b = read_file(path);
	size_t n = check_chain(buf_view(&b), head);

	buf_fini(&b);
	return n;
}

static void
test_each_line_names_the_one_before(void **state)
{
	const char *path = path_of("chain");
	struct journal *j = open_journal(path, NULL, false, 10);
	char head[65] = ZEROS, told[65];

	(void)state;
	write_line(j, "one");
	write_line(j, "two");
	assert_true(journal_write_system(j, STR("{\"v\":1,\"kind\":\"system\"")));
	wait_for(count_lines(path) == 3);
	struct buf b = read_file(path);
	assert_int_equal(check_chain(buf_view(&b), head), 3);
	wait_for((journal_head(j, told), strcmp(told, head) == 0));
	assert_true(str_starts(
	    buf_view(&b), STR("{\"v\":1,\"text\":\"one\",\"prev\":\"" ZEROS "\"}\n")));
	buf_fini(&b);
	journal_close(j);
}

static void
test_a_key_authenticates_each_line(void **state)
{
	const char *path = path_of("mac");
	struct journal *j = open_journal(path, "a key", false, 10);
	char mac[65], member[80];

	(void)state;
	write_line(j, "one");
	journal_close(j);
	struct buf b = read_file(path);
	struct str text =
	    str_sub(buf_view(&b), 0, b.n - strlen(",\"mac\":\"" ZEROS "\"}\n"));
	hmac("a key", text, mac);
	snprintf(member, sizeof(member), ",\"mac\":\"%s\"}\n", mac);
	assert_true(str_ends(buf_view(&b), str_of(member)));
	assert_int_equal(check_file(path), 1);
	buf_fini(&b);
}

static void
test_the_chain_goes_on_after_a_restart(void **state)
{
	const char *path = path_of("restart");

	(void)state;
	for (int i = 0; i < 3; i++) {
		struct journal *j =
		    open_journal(path, i == 1 ? "a key" : NULL, false, 10);

		write_line(j, "one");
		write_line(j, "two");
		journal_close(j);
	}
	assert_int_equal(check_file(path), 6);
}

#define TORN "{\"v\":1,\"client\":{\"addr\":\"a\"}"

static void
test_a_torn_line_stays_and_is_named(void **state)
{
	const char *path = path_of("torn");
	struct journal *j = open_journal(path, NULL, false, 10);
	char digest[65];

	(void)state;
	write_line(j, "one");
	journal_close(j);
	append_file(path, TORN);
	sha256(STR(TORN), digest);
	j = open_journal(path, NULL, false, 10);
	write_line(j, "two");
	journal_close(j);

	struct buf b = read_file(path);
	assert_true(has(buf_view(&b), TORN "\n{\"v\":1,\"ts\":\""));
	assert_true(
	    has(buf_view(&b), "\"event\":\"torn_line\",\"bytes\":\"28\",\"sha256\":\""));
	assert_true(has(buf_view(&b), digest));
	/* it is no link of the chain */
	char *torn = memmem(b.p, b.n, TORN, strlen(TORN));
	memset(torn, ' ', strlen(TORN));
	char head[65] = ZEROS;
	assert_int_equal(check_chain(buf_view(&b), head), 3);
	buf_fini(&b);
}

/* It died, and again before it could say so. */
static void
test_each_torn_line_is_named_the_nearest_first(void **state)
{
	static const char again[] = TORN "\n{\"v\":1,\"ts";
	static const char *const tails[] = { again, TORN "\n" };
	static const size_t names[] = { 2, 1 };

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		const char *path = path_of(i == 0 ? "torn twice" : "torn and ended");
		struct journal *j = open_journal(path, NULL, false, 10);
		char digest[65];

		write_line(j, "one");
		journal_close(j);
		append_file(path, tails[i]);
		j = open_journal(path, NULL, false, 10);
		write_line(j, "two");
		journal_close(j);

		struct buf b = read_file(path);
		struct str rest = buf_view(&b);
		char *torn = memmem(b.p, b.n, TORN, strlen(TORN));
		memset(torn, ' ', strlen(tails[i]) - (i == 1));
		char head[65] = ZEROS;
		assert_int_equal(check_chain(rest, head), 2 + names[i]);
		sha256(STR(TORN), digest);
		assert_true(has(rest, digest));
		sha256(STR("{\"v\":1,\"ts"), digest);
		assert_int_equal(has(rest, digest), i == 0);
		buf_fini(&b);
	}
}

static void
test_a_line_that_lacks_only_its_end_is_whole(void **state)
{
	const char *path = path_of("unended");
	struct journal *j = open_journal(path, "a key", false, 10);
	struct stat st;

	(void)state;
	write_line(j, "one");
	journal_close(j);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(truncate(path, st.st_size - 1), 0);
	j = open_journal(path, NULL, false, 10);
	write_line(j, "two");
	journal_close(j);
	assert_int_equal(check_file(path), 2);
	assert_int_equal(count_lines(path), 2);
}

static void
test_reopening_continues_the_chain_in_the_new_file(void **state)
{
	const char *path = path_of("moved");
	const char *old = path_of("moved.1");
	struct journal *j = open_journal(path, NULL, false, 10);
	char head[65] = ZEROS;

	(void)state;
	journal_reopen(j); /* of the same file: nothing happens */
	write_line(j, "one");
	wait_for(count_lines(path) == 1);
	assert_int_equal(rename(path, old), 0);
	journal_reopen(j);
	wait_for(access(path, F_OK) == 0);
	write_line(j, "two");
	wait_for(count_lines(path) == 1);
	journal_close(j);
	struct buf first = read_file(old), second = read_file(path);
	assert_int_equal(check_chain(buf_view(&first), head), 1);
	assert_int_equal(check_chain(buf_view(&second), head), 1);
	buf_fini(&first);
	buf_fini(&second);
}

static void
test_a_removed_file_is_made_again(void **state)
{
	const char *path = path_of("removed");
	struct journal *j = open_journal(path, NULL, false, 1000);

	(void)state;
	write_line(j, "one");
	wait_for(count_lines(path) == 1);
	assert_int_equal(unlink(path), 0);
	/* noticed with the first line a second later */
	wait_for((write_line(j, "two"), access(path, F_OK) == 0));
	wait_for(count_lines(path) >= 2);
	journal_close(j);
	struct buf b = read_file(path);
	assert_true(has(buf_view(&b),
	    "\"event\":\"file_replaced\",\"why\":\"the file was removed\""));
	assert_false(has(buf_view(&b), ZEROS));
	buf_fini(&b);
}

static void
test_what_cannot_be_a_log_is_refused_at_start(void **state)
{
	const char *path = path_of("locked");
	struct journal *j = open_journal(path, NULL, false, 10);
	const char *link = path_of("link");
	const char *foreign = path_of("foreign");

	(void)state;
	assert_null(open_journal(path, NULL, false, 10)); /* one weir writes one file */
	assert_int_equal(symlink(path, link), 0);
	assert_null(open_journal(link, NULL, false, 10));
	assert_null(open_journal(path_of("none/such"), NULL, false, 10));
	assert_null(open_journal(directory, NULL, false, 10));
	append_file(foreign, "x");
	assert_int_equal(truncate(foreign, 1 << 20), 0); /* a megabyte without a line */
	assert_null(open_journal(foreign, NULL, false, 10));
	journal_close(j);
}

static void
test_a_file_is_made_for_its_owner_and_group_only(void **state)
{
	const char *path = path_of("mode");
	struct journal *j = open_journal(path, NULL, false, 10);
	struct stat st;

	(void)state;
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07737, 0600);
	journal_close(j);
}

static void
test_places_bound_what_may_be_open(void **state)
{
	const char *path = path_of("places");
	struct journal *j = open_journal(path, NULL, false, 2);

	(void)state;
	assert_true(journal_reserve(j));
	assert_true(journal_reserve(j));
	assert_false(journal_reserve(j));
	journal_write(j, STR("{\"v\":1"));
	wait_for(journal_reserve(j)); /* once that line is in the file */
	assert_false(journal_reserve(j));
	journal_write(j, STR("{\"v\":1"));
	journal_write(j, STR("{\"v\":1"));
	journal_close(j);
	assert_int_equal(count_lines(path), 3);
}

/* Files may grow up to this many bytes; a write beyond is cut, then fails. */
static void
limit_files(rlim_t bytes)
{
	struct rlimit limit;

	assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
	limit.rlim_cur = bytes;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

static void
test_a_full_disk_refuses_and_loses_nothing(void **state)
{
	const char *path = path_of("full");
	struct journal *j = open_journal(path, NULL, false, 100);

	(void)state;
	write_line(j, "before");
	wait_for(count_lines(path) == 1);
	for (int i = 0; i < 3; i++)
		assert_true(journal_reserve(j)); /* open when the disk fills */
	limit_files(150);                        /* in the middle of the second line */
	journal_write(j, STR("{\"v\":1,\"text\":\"during 1\""));
	wait_for(!journal_is_healthy(j));
	assert_false(journal_reserve(j));
	journal_write(j, STR("{\"v\":1,\"text\":\"during 2\""));
	journal_write(j, STR("{\"v\":1,\"text\":\"during 3\""));
	limit_files(RLIM_INFINITY);
	wait_for(journal_is_healthy(j));
	write_line(j, "after");
	journal_close(j);
	assert_int_equal(check_file(path), 5);
	assert_int_equal(count_lines(path), 5);
}

static void
test_a_disk_that_is_full_when_the_file_moves_cuts_no_line(void **state)
{
	const char *path = path_of("fullmove");
	const char *old = path_of("fullmove.1");
	struct journal *j = open_journal(path, NULL, false, 100);

	(void)state;
	limit_files(50);
	write_line(j, "one");
	wait_for(!journal_is_healthy(j));
	assert_int_equal(rename(path, old), 0);
	journal_reopen(j);
	wait_for(access(path, F_OK) == 0);
	limit_files(RLIM_INFINITY);
	wait_for(journal_is_healthy(j));
	journal_close(j);
	/* begun in the old file: whole in the new one, or ended there, if room came
	 * between; no torn line that none names */
	if (count_bytes(old) > 0)
		assert_true(check_file(old) == 1 && count_bytes(path) == 0);
	else
		assert_int_equal(check_file(path), 1);
}

static void
test_a_line_begun_behind_others_is_taken_back_alone(void **state)
{
	const char *path = path_of("fullmove2");
	const char *old = path_of("fullmove2.1");
	struct journal *j = open_journal(path, NULL, false, 100);
	char head[65] = ZEROS;
	size_t n;

	(void)state;
	write_line(j, "one");
	wait_for(count_lines(path) == 1);
	n = count_bytes(path);
	limit_files(n + 50);
	write_line(j, "two");
	wait_for(!journal_is_healthy(j));
	assert_int_equal(rename(path, old), 0);
	journal_reopen(j);
	wait_for(access(path, F_OK) == 0);
	limit_files(RLIM_INFINITY);
	wait_for(journal_is_healthy(j));
	journal_close(j);
	struct buf first = read_file(old), second = read_file(path);
	bool is_ended_there = first.n > n; /* room came between */
	assert_int_equal(check_chain(buf_view(&first), head), is_ended_there ? 2 : 1);
	assert_int_equal(check_chain(buf_view(&second), head), is_ended_there ? 0 : 1);
	assert_int_equal(second.n == 0, is_ended_there);
	buf_fini(&first);
	buf_fini(&second);
}

static void
test_drop_counts_what_it_drops_and_says_so(void **state)
{
	const char *path = path_of("drop");
	struct journal *j = open_journal(path, NULL, true, 3);
	int64_t before = count_get(COUNT_AUDIT_DROPPED, 0);

	(void)state;
	limit_files(10);
	write_line(j, "kept");
	wait_for(!journal_is_healthy(j));
	for (int i = 0; i < 7; i++)
		write_line(j, "two of these are kept"); /* reserving never fails */
	limit_files(RLIM_INFINITY);
	wait_for(journal_is_healthy(j));
	wait_for(count_lines(path) == 4);
	journal_close(j);
	assert_int_equal(count_get(COUNT_AUDIT_DROPPED, 0) - before, 5);
	struct buf b = read_file(path);
	assert_true(has(buf_view(&b), "\"event\":\"records_dropped\",\"count\":\"5\""));
	buf_fini(&b);
	assert_int_equal(check_file(path), 4);
}

static void
test_a_device_that_takes_nothing_refuses(void **state)
{
	struct journal *j = open_journal("/dev/full", NULL, true, 2);

	(void)state;
	write_line(j, "one");
	wait_for(!journal_is_healthy(j));
	journal_close(j); /* in bounded time */
}

static struct journal *
open_anchored(const char *path, const char *anchor, uint64_t segment)
{
	struct journal *j = journal_open(&(struct journal_options){
	    .path = path,
	    .anchor = anchor,
	    .segment = segment,
	    .places = 10,
	    .uid = -1,
	    .gid = -1,
	});

	assert_non_null(j);
	journal_start(j);
	return j;
}

static int64_t
errors_now(void)
{
	return count_get(COUNT_AUDIT_ERRORS, 0);
}

static void
test_a_checkpoint_that_waits_for_the_log_is_not_tried_all_the_time(void **state)
{
	const char *anchor = path_of("anchor.full");
	struct journal *j = open_anchored("/dev/full", anchor, 0);
	int64_t before = errors_now();
	usec began = clock_mono_us();

	(void)state;
	journal_checkpoint(j);
	wait_for(errors_now() >= before + 4);
	assert_true(
	    clock_mono_us() - began >= 3 * 200000); /* each 250 ms after the other */
	journal_close(j);
	assert_int_equal(count_lines(anchor), 0);
}

static atomic_int syncs_left = INT_MAX; /* until they fail */

/* Of all that is in this program: what the disk says of a sync. */
int
fdatasync(int fd)
{
	if (atomic_fetch_sub(&syncs_left, 1) > 0)
		return (int)syscall(SYS_fdatasync, fd);
	errno = EIO;
	return -1;
}

static void
test_what_cannot_be_synced_is_neither_anchored_nor_cut(void **state)
{
	const char *path = path_of("unsynced"), *anchor = path_of("unsynced.anchor");
	struct journal *j = open_anchored(path, anchor, 64);
	int64_t before = errors_now();

	(void)state;
	atomic_store(&syncs_left, 0);
	write_line(j, "longer than a segment, which is of 64 bytes, may be at all");
	journal_checkpoint(j);
	wait_for(errors_now() >= before + 3);
	assert_false(journal_is_healthy(j));
	assert_int_equal(count_lines(path), 2); /* the line, the checkpoint; not cut */
	assert_int_equal(count_lines(anchor), 0);
	atomic_store(&syncs_left, INT_MAX);
	wait_for(count_lines(anchor) >= 1);
	wait_for(journal_is_healthy(j));
	wait_for(count_lines(path) == 1); /* the next segment's first */
	journal_close(j);
}

/* A pipe whose reader has stopped reading. */
static void
test_a_pipe_nobody_empties_refuses_and_ends(void **state)
{
	const char *path = path_of("pipe");
	struct journal *j;
	int fd, n = 0;

	(void)state;
	assert_int_equal(mkfifo(path, 0600), 0);
	fd = open(path, O_RDWR);
	j = open_journal(path, NULL, false, 100000);
	while (n < 100000 && journal_reserve(j)) {
		journal_write(j, STR("{\"v\":1,\"text\":\"more\""));
		if (++n % 100 == 0)
			nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
	}
	assert_false(journal_is_healthy(j));
	journal_close(j); /* in bounded time */
	close(fd);
}

static void
test_without_a_path_records_go_nowhere(void **state)
{
	struct journal *j = open_journal(NULL, NULL, false, 0);

	(void)state;
	write_line(j, "one");
	assert_true(journal_is_healthy(j));
	journal_close(j);
}

#define WRITERS 4
#define LINES_EACH 3000

static void *
write_many(void *arg)
{
	struct journal *j = arg;
	char line[64];

	for (int i = 0; i < LINES_EACH; i++) {
		while (!journal_reserve(j))
			sched_yield();
		snprintf(line, sizeof(line), "{\"v\":1,\"seq\":%llu",
		    (unsigned long long)journal_next_seq(j));
		journal_write(j, str_of(line));
	}
	return NULL;
}

static void
test_many_threads_write_one_chain(void **state)
{
	const char *path = path_of("many");
	struct journal *j = open_journal(path, NULL, false, 500);
	pthread_t thread[WRITERS];

	(void)state;
	for (size_t i = 0; i < WRITERS; i++)
		assert_int_equal(pthread_create(&thread[i], NULL, write_many, j), 0);
	for (size_t i = 0; i < WRITERS; i++)
		pthread_join(thread[i], NULL);
	assert_int_equal(journal_next_seq(j), WRITERS * LINES_EACH + 1);
	journal_close(j);
	assert_int_equal(check_file(path), WRITERS * LINES_EACH);
}

static int
make_directory(void **state)
{
	(void)state;
	signal(SIGXFSZ, SIG_IGN); /* a full disk says ENOSPC, not a signal */
	return mkdtemp(directory) == NULL;
}

static int
remove_directory(void **state)
{
	DIR *d = opendir(directory);
	const struct dirent *e;

	(void)state;
	if (d == NULL)
		return -1;
	while ((e = readdir(d)) != NULL)
		unlink(path_of(e->d_name)); /* not of . and .. */
	closedir(d);
	return rmdir(directory);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_line_names_the_one_before),
		cmocka_unit_test(test_a_key_authenticates_each_line),
		cmocka_unit_test(test_the_chain_goes_on_after_a_restart),
		cmocka_unit_test(test_a_torn_line_stays_and_is_named),
		cmocka_unit_test(test_each_torn_line_is_named_the_nearest_first),
		cmocka_unit_test(test_a_line_that_lacks_only_its_end_is_whole),
		cmocka_unit_test(test_reopening_continues_the_chain_in_the_new_file),
		cmocka_unit_test(test_a_removed_file_is_made_again),
		cmocka_unit_test(test_what_cannot_be_a_log_is_refused_at_start),
		cmocka_unit_test(test_a_file_is_made_for_its_owner_and_group_only),
		cmocka_unit_test(test_places_bound_what_may_be_open),
		cmocka_unit_test(test_a_full_disk_refuses_and_loses_nothing),
		cmocka_unit_test(
		    test_a_disk_that_is_full_when_the_file_moves_cuts_no_line),
		cmocka_unit_test(test_a_line_begun_behind_others_is_taken_back_alone),
		cmocka_unit_test(test_drop_counts_what_it_drops_and_says_so),
		cmocka_unit_test(test_a_device_that_takes_nothing_refuses),
		cmocka_unit_test(
		    test_a_checkpoint_that_waits_for_the_log_is_not_tried_all_the_time),
		cmocka_unit_test(test_what_cannot_be_synced_is_neither_anchored_nor_cut),
		cmocka_unit_test(test_a_pipe_nobody_empties_refuses_and_ends),
		cmocka_unit_test(test_without_a_path_records_go_nowhere),
		cmocka_unit_test(test_many_threads_write_one_chain),
	};

	return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
