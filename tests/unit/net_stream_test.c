/*
 * A stream remembers what the kernel tells once, and nothing is called for what is
 * closed.
 */
#include "net/stream.h"

#include "net_wait.h"

struct seen {
	struct loop *loop;
	struct stream *other;
	unsigned what, until; /* the loop stops when all of `until` was seen */
	int times;
};

static void
on_stream(void *arg, unsigned what)
{
	struct seen *seen = arg;

	seen->what |= what;
	seen->times++;
	if ((seen->what & seen->until) == seen->until)
		loop_stop(seen->loop);
}

static void
close_other(void *arg, unsigned what)
{
	struct seen *seen = arg;

	(void)what;
	seen->times++;
	stream_close(seen->other);
}

struct fixture {
	struct loop *loop;
	struct stream stream;
	int peer;
	struct seen seen;
};

static void
fixture_init(struct fixture *f)
{
	int fd[2];

	*f = (struct fixture){ .loop = loop_new() };
	tcp_pair(fd);
	make_nonblocking(fd[0]);
	f->peer = fd[1];
	f->seen = (struct seen){ .loop = f->loop };
	stream_open(&f->stream, f->loop, fd[0], on_stream, &f->seen);
}

static void
fixture_fini(struct fixture *f)
{
	stream_close(&f->stream);
	stream_close(&f->stream); /* fine when closed */
	if (f->peer >= 0)
		close(f->peer);
	loop_free(f->loop);
}

static void
wait_for(struct fixture *f, unsigned until)
{
	f->seen.what = 0;
	f->seen.until = until;
	wait_for_stop(f->loop);
}

static void
test_a_short_read_means_drained(void **state)
{
	struct fixture f;
	char buffer[64];

	(void)state;
	fixture_init(&f);
	wait_for(&f, STREAM_WRITE);
	assert_int_equal(write(f.peer, "hello", 5), 5);
	wait_for(&f, STREAM_READ);
	assert_int_equal(stream_read(&f.stream, buffer, 3), 3);
	assert_false(f.stream.is_short);
	assert_int_equal(f.stream.ready & STREAM_READ, STREAM_READ);
	assert_int_equal(stream_read(&f.stream, buffer, sizeof(buffer)), 2);
	assert_true(f.stream.is_short);
	assert_int_equal(f.stream.ready & STREAM_READ, 0);
	assert_int_equal(write(f.peer, "again", 5), 5);
	wait_for(&f, STREAM_READ); /* a new edge */
	assert_int_equal(stream_read(&f.stream, buffer, sizeof(buffer)), 5);
	assert_int_equal(stream_read(&f.stream, buffer, sizeof(buffer)), -EAGAIN);
	fixture_fini(&f);
}

static void
test_the_end_is_not_lost_behind_a_short_read(void **state)
{
	struct fixture f;
	char buffer[64];

	(void)state;
	fixture_init(&f);
	assert_int_equal(write(f.peer, "bye", 3), 3);
	shutdown(f.peer, SHUT_WR);
	wait_for(&f, STREAM_READ | STREAM_HUP);
	assert_int_equal(stream_read(&f.stream, buffer, sizeof(buffer)), 3);
	assert_int_equal(f.stream.ready & STREAM_READ, STREAM_READ);
	assert_int_equal(stream_read(&f.stream, buffer, sizeof(buffer)), 0);
	assert_int_equal(stream_write(&f.stream, &(struct iovec){ buffer, 1 }, 1), 1);
	fixture_fini(&f);
}

static void
test_room_is_told_again_after_the_peer_took_something(void **state)
{
	struct fixture f;
	static char block[65536];
	struct iovec v[2] = { { block, sizeof(block) }, { block, sizeof(block) } };
	ssize_t n;

	(void)state;
	fixture_init(&f);
	wait_for(&f, STREAM_WRITE);
	while ((n = stream_write(&f.stream, v, 2)) > 0)
		;
	assert_int_equal(n, -EAGAIN);
	assert_int_equal(f.stream.ready & STREAM_WRITE, 0);
	make_nonblocking(f.peer);
	while (read(f.peer, block, sizeof(block)) > 0)
		;
	wait_for(&f, STREAM_WRITE);
	assert_true(stream_write(&f.stream, v, 2) > 0);
	fixture_fini(&f);
}

static void
test_a_kick_tells_what_is_ready_once_more(void **state)
{
	struct fixture f;
	char c;

	(void)state;
	fixture_init(&f);
	assert_int_equal(write(f.peer, "ab", 2), 2);
	wait_for(&f, STREAM_READ | STREAM_WRITE);
	assert_int_equal(stream_read(&f.stream, &c, 1), 1);
	f.seen.times = 0;
	stream_kick(&f.stream);
	assert_int_equal(f.seen.times, 0); /* from the loop */
	wait_for(&f, STREAM_READ | STREAM_WRITE);
	assert_int_equal(f.seen.times, 1);
	run_for(f.loop, 20);
	assert_int_equal(f.seen.times, 1);
	fixture_fini(&f);
}

static void
kick_again(void *arg, unsigned what)
{
	struct seen *seen = arg;

	(void)what;
	seen->times++;
	stream_kick(seen->other);
}

/* Somebody always has more to do; the other is heard all the same, and so is the mailbox.
 */
static void
test_who_kicks_without_end_lets_others_have_their_turn(void **state)
{
	struct fixture f;
	struct stream busy;
	struct seen seen = { .other = &busy };
	int fd[2];

	(void)state;
	fixture_init(&f);
	tcp_pair(fd);
	stream_open(&busy, f.loop, fd[0], kick_again, &seen);
	wait_for(&f, STREAM_WRITE);
	for (int i = 0; i < 10; i++) {
		char c;

		assert_int_equal(write(f.peer, "x", 1), 1);
		wait_for(&f, STREAM_READ); /* it is not out of epoll either */
		assert_int_equal(stream_read(&f.stream, &c, 1), 1);
	}
	assert_true(seen.times >= 10);
	stream_close(&busy);
	seen.times = 0;
	run_for(f.loop, 5);
	assert_int_equal(seen.times, 0);
	close(fd[1]);
	fixture_fini(&f);
}

/* libevent takes an event that timed out from epoll; a kick must not. */
static void
test_a_kicked_stream_hears_of_new_bytes(void **state)
{
	struct fixture f;

	(void)state;
	fixture_init(&f);
	wait_for(&f, STREAM_WRITE);
	for (int i = 0; i < 2; i++) { /* in this turn, and in the next */
		stream_kick(&f.stream);
		wait_for(&f, STREAM_WRITE);
	}
	assert_int_equal(write(f.peer, "x", 1), 1);
	wait_for(&f, STREAM_READ);
	fixture_fini(&f);
}

static void
test_a_new_owner_keeps_what_is_ready_and_hears_the_rest(void **state)
{
	struct fixture f;
	struct seen heir;

	(void)state;
	fixture_init(&f);
	wait_for(&f, STREAM_WRITE);
	f.seen.times = 0;
	heir = (struct seen){ .loop = f.loop, .until = STREAM_READ };
	stream_attach(&f.stream, on_stream, &heir);
	assert_int_equal(f.stream.ready & STREAM_WRITE, STREAM_WRITE);
	assert_int_equal(write(f.peer, "x", 1), 1);
	wait_for_stop(f.loop);
	assert_int_equal(f.seen.times, 0);
	assert_int_equal(heir.times, 1);
	fixture_fini(&f);
}

/* Both are ready in one turn; whoever comes first closes the other. */
static void
test_a_stream_closed_in_the_same_turn_is_not_called(void **state)
{
	struct loop *l = loop_new();
	struct stream a, b;
	struct seen seen_a = { .loop = l, .other = &b },
		    seen_b = { .loop = l, .other = &a };
	int x[2], y[2];

	(void)state;
	tcp_pair(x);
	tcp_pair(y);
	stream_open(&a, l, x[0], close_other, &seen_a);
	stream_open(&b, l, y[0], close_other, &seen_b);
	run_for(l, 20);
	assert_int_equal(seen_a.times + seen_b.times, 1);
	stream_close(&a);
	stream_close(&b);
	close(x[1]);
	close(y[1]);
	loop_free(l);
}

static void
test_a_reset_is_no_clean_end(void **state)
{
	struct fixture f;
	char c;

	(void)state;
	fixture_init(&f);
	stream_reset(&f.stream);
	assert_int_equal(read(f.peer, &c, 1), -1);
	assert_int_equal(errno, ECONNRESET);
	fixture_fini(&f);
}

static void
test_writing_to_a_peer_that_left_is_an_error_and_no_signal(void **state)
{
	struct fixture f;
	char x = 'x';
	ssize_t n = 1;

	(void)state;
	fixture_init(&f);
	close(f.peer);
	f.peer = -1;
	while (n > 0)
		n = stream_write(&f.stream, &(struct iovec){ &x, 1 }, 1);
	assert_true(n == -EPIPE || n == -ECONNRESET);
	fixture_fini(&f);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_short_read_means_drained),
		cmocka_unit_test(test_the_end_is_not_lost_behind_a_short_read),
		cmocka_unit_test(test_room_is_told_again_after_the_peer_took_something),
		cmocka_unit_test(test_a_kick_tells_what_is_ready_once_more),
		cmocka_unit_test(test_who_kicks_without_end_lets_others_have_their_turn),
		cmocka_unit_test(test_a_kicked_stream_hears_of_new_bytes),
		cmocka_unit_test(test_a_new_owner_keeps_what_is_ready_and_hears_the_rest),
		cmocka_unit_test(test_a_stream_closed_in_the_same_turn_is_not_called),
		cmocka_unit_test(test_a_reset_is_no_clean_end),
		cmocka_unit_test(
		    test_writing_to_a_peer_that_left_is_an_error_and_no_signal),
	};

	return cmocka_run_group_tests_name("net/stream", tests, NULL, NULL);
}
