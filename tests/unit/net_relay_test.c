/*
 * A relay hands on every byte in order and each end as an end, holds nothing while idle,
 * and lets no one wait for another.
 */
#include "net/relay.h"

#include <pthread.h>

#include "net_wait.h"

#define PIPES 8

/* client <-> [near client, near origin] <-> origin: the outer ends are the test's. */
struct fixture {
	struct loop *loop;
	struct pipes *pipes;
	struct stream client, origin;
	int outer[2]; /* the client's, the origin's */
	struct relay relay;
	int times;
	enum relay_end how;
};

enum kind { TCP, UNIX, OWN_OPS };

static size_t reads, writes;

static struct stream_ops counting;
static const struct stream_ops *plain;

static ssize_t
count_read(struct stream *s, void *p, size_t n)
{
	reads++;
	return plain->read(s, p, n);
}

/* A TLS record may bring one byte, and another waits behind it. */
static ssize_t
read_crumb(struct stream *s, void *p, size_t n)
{
	(void)s, (void)n;
	reads++;
	*(char *)p = 'x';
	return 1;
}

static ssize_t
count_write(struct stream *s, const struct iovec *v, int n)
{
	writes++;
	return plain->write(s, v, n);
}

static void
on_done(void *arg, enum relay_end how)
{
	struct fixture *f = arg;

	f->times++;
	f->how = how;
	loop_stop(f->loop);
}

static void
open_pair(struct fixture *f, struct stream *s, int *outer, enum kind kind)
{
	int fd[2];

	if (kind == UNIX)
		assert_int_equal(
		    socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd), 0);
	else
		tcp_pair(fd);
	make_nonblocking(fd[0]);
	stream_open(s, f->loop, fd[0], NULL, NULL);
	*outer = fd[1];
	if (kind != OWN_OPS)
		return;
	plain = s->ops;
	counting = *plain;
	counting.read = count_read;
	counting.write = count_write;
	counting.is_plain = false;
	s->ops = &counting;
}

static void
prepare(struct fixture *f, enum kind kind, size_t max_pipes)
{
	*f = (struct fixture){ .loop = loop_new(), .pipes = pipes_new(max_pipes) };
	open_pair(f, &f->client, &f->outer[0], kind);
	open_pair(f, &f->origin, &f->outer[1], kind);
}

static void
start(struct fixture *f, struct str up, struct str down, msec idle_ms, msec stall_ms)
{
	relay_start(&f->relay, f->loop, f->pipes, &f->client, &f->origin, up, down,
	    idle_ms, stall_ms, on_done, f);
	assert_int_equal(f->times, 0); /* never inside start */
}

static void
begin(struct fixture *f, enum kind kind, size_t max_pipes)
{
	prepare(f, kind, max_pipes);
	start(f, STR_NONE, STR_NONE, 0, 0);
}

static void
shut_outer(struct fixture *f, int i)
{
	close(f->outer[i]);
	f->outer[i] = -1;
}

static void
end(struct fixture *f)
{
	stream_close(&f->client);
	stream_close(&f->origin);
	for (int i = 0; i < 2; i++)
		if (f->outer[i] >= 0)
			close(f->outer[i]);
	pipes_free(f->pipes);
	loop_free(f->loop);
}

/* Turns the loop until that many bytes have come. */
static void
expect(struct fixture *f, int fd, const char *text)
{
	char buffer[256];
	size_t n = 0, want = strlen(text);

	while (n < want) {
		ssize_t got = recv(fd, buffer + n, want - n, MSG_DONTWAIT);

		if (got < 0 && f->times > 0)
			fail_msg("over before \"%s\"", text);
		else if (got < 0)
			turn(f->loop);
		else if (got == 0)
			fail_msg("ended before \"%s\"", text);
		else
			n += (size_t)got;
	}
	assert_memory_equal(buffer, text, want);
}

static void
say(int fd, const char *text)
{
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
}

static void
test_each_side_may_end_first_and_the_other_goes_on(void **state)
{
	static const enum kind kinds[] = { TCP, UNIX, OWN_OPS };

	(void)state;
	for (size_t k = 0; k < COUNT_OF(kinds); k++) {
		for (int first = 0; first < 2; first++) {
			struct fixture f;
			int second = !first;
			char c;

			begin(&f, kinds[k], PIPES);
			say(f.outer[first], "hello");
			expect(&f, f.outer[second], "hello");
			shutdown(f.outer[first], SHUT_WR);
			while (recv(f.outer[second], &c, 1, MSG_DONTWAIT) != 0)
				turn(f.loop);
			say(f.outer[second], "late answer");
			expect(&f, f.outer[first], "late answer");
			assert_int_equal(f.times, 0);
			shutdown(f.outer[second], SHUT_WR);
			wait_for_stop(f.loop);
			assert_int_equal(f.how, RELAY_DONE);
			assert_int_equal(f.relay.up, first == 0 ? 5 : 11);
			assert_int_equal(f.relay.down, first == 0 ? 11 : 5);
			end(&f);
		}
	}
}

static void
test_first_bytes_go_before_what_comes_and_are_counted(void **state)
{
	struct fixture f;

	(void)state;
	prepare(&f, TCP, PIPES);
	say(f.outer[0], "-two");
	run_for(f.loop, 5); /* the edge has been told; it must not be waited for */
	start(&f, STR("one"), STR("uno"), 0, 0);
	expect(&f, f.outer[1], "one-two");
	expect(&f, f.outer[0], "uno");
	assert_int_equal(f.relay.up, 7);
	assert_int_equal(f.relay.down, 3);
	relay_cancel(&f.relay);
	end(&f);
}

static void
test_first_bytes_that_do_not_fit_wait(void **state)
{
	static char many[16 * 1024 * 1024];
	struct fixture f;
	size_t n = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(many); i++)
		many[i] = (char)(i * 7 + i / 251);
	prepare(&f, TCP, PIPES);
	start(&f, (struct str){ many, sizeof(many) }, STR_NONE, 0, 0);
	assert_true(f.relay.way[RELAY_UP].pending > 0);
	while (n < sizeof(many)) {
		static char got[65536];
		ssize_t k = recv(f.outer[1], got, sizeof(got), MSG_DONTWAIT);

		if (k < 0) {
			turn(f.loop);
			continue;
		}
		assert_memory_equal(got, many + n, (size_t)k);
		n += (size_t)k;
	}
	assert_null(f.relay.way[RELAY_UP].held);
	relay_cancel(&f.relay);
	end(&f);
}

/* ---- a lot of bytes */

struct mover {
	int fd;
	uint64_t bytes, sum; /* a rolling sum: position matters */
	uint64_t seed;
	bool is_slow;
};

static uint64_t
next(uint64_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;
	return *seed;
}

static uint64_t
add_sum(uint64_t sum, const char *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		sum = (sum ^ (uint8_t)p[i]) * 0x100000001b3u;
	return sum;
}

/* Blocks of every size, so that small and large reads alternate. */
static void *
write_all(void *arg)
{
	struct mover *m = arg;
	static const size_t sizes[] = { 1, 200, 4096, 65536, 65536, 262144, 262144 };
	uint64_t left = m->bytes;
	char *block = malloc(262144);

	for (size_t i = 0; i < 262144 / 8; i++) {
		uint64_t word = next(&m->seed);

		memcpy(block + i * 8, &word, 8);
	}
	while (left > 0) {
		size_t n = sizes[next(&m->seed) % COUNT_OF(sizes)];

		if (n > left)
			n = (size_t)left;
		block[0] = (char)next(&m->seed);
		m->sum = add_sum(m->sum, block, n);
		for (size_t at = 0; at < n;) {
			ssize_t k = send(m->fd, block + at, n - at, MSG_NOSIGNAL);

			if (k < 0)
				goto out;
			at += (size_t)k;
		}
		left -= n;
	}
	shutdown(m->fd, SHUT_WR);
out:
	free(block);
	return NULL;
}

static void *
read_all(void *arg)
{
	struct mover *m = arg;
	char *block = malloc(65536);
	ssize_t n;
	int tick = 0;

	while ((n = read(m->fd, block, m->is_slow ? 5000 : 65536)) > 0) {
		m->bytes += (uint64_t)n;
		m->sum = add_sum(m->sum, block, (size_t)n);
		if (m->is_slow && ++tick % 64 == 0)
			usleep(200); /* slower than the writer: the relay must hold it
					back */
	}
	free(block);
	return NULL;
}

struct bulk_case {
	const char *name;
	enum kind kind;
	size_t pipes;
	bool is_slow;
	uint64_t bytes;
};

static void
carry(const struct bulk_case *c)
{
	struct fixture f;
	struct mover write_up, write_down, read_up, read_down;
	pthread_t thread[4];

	begin(&f, c->kind, c->pipes);
	write_up =
	    (struct mover){ .fd = f.outer[0], .bytes = c->bytes, .seed = 0x9e3779b9 };
	read_up = (struct mover){ .fd = f.outer[1], .is_slow = c->is_slow };
	write_down =
	    (struct mover){ .fd = f.outer[1], .bytes = c->bytes / 3, .seed = 77 };
	read_down = (struct mover){ .fd = f.outer[0] };
	assert_int_equal(pthread_create(&thread[0], NULL, write_all, &write_up), 0);
	assert_int_equal(pthread_create(&thread[1], NULL, read_all, &read_up), 0);
	assert_int_equal(pthread_create(&thread[2], NULL, write_all, &write_down), 0);
	assert_int_equal(pthread_create(&thread[3], NULL, read_all, &read_down), 0);
	wait_for_stop(f.loop);
	assert_row(c->name, f.how == RELAY_DONE);
	assert_row(c->name, f.relay.up == c->bytes && f.relay.down == c->bytes / 3);
	stream_close(&f.client);
	stream_close(&f.origin);
	for (int i = 0; i < 4; i++)
		pthread_join(thread[i], NULL);
	assert_row(c->name, read_up.bytes == c->bytes && read_up.sum == write_up.sum);
	assert_row(c->name, read_down.sum == write_down.sum);
	end(&f);
}

static void
test_many_bytes_arrive_unchanged(void **state)
{
	static const struct bulk_case cases[] = {
		{ "tcp", TCP, PIPES, false, 64 << 20 },
		{ "tcp, slow reader", TCP, PIPES, true, 16 << 20 },
		{ "unix", UNIX, PIPES, false, 16 << 20 },
		{ "no pipe in the pool", TCP, 0, true, 16 << 20 },
		{ "one pipe for two directions", TCP, 1, true, 16 << 20 },
		{ "a stream that cannot be spliced", OWN_OPS, PIPES, true, 16 << 20 },
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++)
		carry(&cases[i]);
}

/* ---- cost */

static void
test_a_message_costs_one_read_and_one_write(void **state)
{
	struct fixture f;
	char text[201];

	(void)state;
	memset(text, 'x', 200);
	text[200] = '\0';
	begin(&f, OWN_OPS, PIPES);
	run_for(f.loop, 5);
	reads = writes = 0;
	for (int i = 0; i < 10; i++) {
		say(f.outer[0], text);
		expect(&f, f.outer[1], text);
		say(f.outer[1], text);
		expect(&f, f.outer[0], text);
	}
	assert_int_equal(reads, 20);
	assert_int_equal(writes, 20);
	relay_cancel(&f.relay);
	end(&f);
}

static void
test_an_idle_relay_holds_nothing(void **state)
{
	struct fixture f;
	static char block[1 << 20];

	(void)state;
	begin(&f, TCP, PIPES);
	make_nonblocking(f.outer[0]);
	while (write(f.outer[0], block, sizeof(block)) > 0 ||
	       f.relay.way[RELAY_UP].pending == 0) /* until the origin is full as well */
		turn(f.loop);
	assert_non_null(f.relay.way[RELAY_UP].held);
	make_nonblocking(f.outer[1]);
	for (int quiet = 0; quiet < 3;) {
		if (read(f.outer[1], block, sizeof(block)) > 0)
			quiet = 0;
		else
			quiet++;
		run_for(f.loop, 2);
	}
	assert_null(f.relay.way[RELAY_UP].held);
	assert_null(f.relay.way[RELAY_DOWN].held);
	relay_cancel(&f.relay);
	end(&f);
}

/* ---- bad ends */

static void
reset_outer(struct fixture *f, int i)
{
	struct linger now = { 1, 0 };

	setsockopt(f->outer[i], SOL_SOCKET, SO_LINGER, &now, sizeof(now));
	shut_outer(f, i);
}

static void
test_a_reset_is_told_as_whose_it_was(void **state)
{
	(void)state;
	for (int i = 0; i < 2; i++) {
		struct fixture f;

		begin(&f, TCP, PIPES);
		say(f.outer[i], "x");
		expect(&f, f.outer[!i], "x");
		reset_outer(&f, i);
		wait_for_stop(f.loop);
		assert_int_equal(f.how, i == 0 ? RELAY_CLIENT_GONE : RELAY_ORIGIN_GONE);
		end(&f);
	}
}

static void
test_a_taker_that_is_lost_in_mid_pour_is_told(void **state)
{
	(void)state;
	for (int i = 0; i < 2; i++) {
		struct fixture f;
		struct mover in;
		pthread_t thread;

		begin(&f, TCP, PIPES);
		in = (struct mover){ .fd = f.outer[i], .bytes = UINT64_MAX, .seed = 9 };
		pthread_create(&thread, NULL, write_all, &in);
		while (f.relay.way[i].pending == 0) /* a pipe is full, and waits */
			turn(f.loop);
		reset_outer(&f, !i);
		wait_for_stop(f.loop);
		assert_int_equal(f.how, i == 0 ? RELAY_ORIGIN_GONE : RELAY_CLIENT_GONE);
		stream_reset(&f.client);
		stream_reset(&f.origin);
		pthread_join(thread, NULL);
		end(&f);
	}
}

/* One epoll turn tells of the bytes and the reset, and libevent hides the latter. */
static void
test_a_reset_in_the_same_turn_as_the_last_bytes_is_noticed(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f, TCP, PIPES);
	run_for(f.loop, 5);
	say(f.outer[0], "last words");
	reset_outer(&f, 0);
	wait_for_stop(f.loop);
	assert_int_equal(f.how, RELAY_CLIENT_GONE);
	expect(&f, f.outer[1], "last words");
	end(&f);
}

static void
test_an_early_answer_is_delivered_though_the_upload_broke(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f, UNIX, PIPES); /* on Unix sockets what was sent outlives the sender */
	say(f.outer[1], "413");
	shut_outer(&f, 1);
	say(f.outer[0], "upload");
	wait_for_stop(f.loop);
	assert_int_equal(f.how, RELAY_ORIGIN_GONE);
	expect(&f, f.outer[0], "413");
	end(&f);
}

static void
test_silence_ends_it_after_idle_and_not_before(void **state)
{
	struct fixture f;
	usec begun;

	(void)state;
	prepare(&f, TCP, PIPES);
	begun = clock_mono_us();
	start(&f, STR_NONE, STR_NONE, 300, 0);
	say(f.outer[1], "x");
	expect(&f, f.outer[0], "x");
	wait_for_stop(f.loop);
	assert_int_equal(f.how, RELAY_IDLE);
	assert_true(clock_mono_us() - begun >= 300000);
	end(&f);
}

static void
test_a_side_that_takes_nothing_stalls_it(void **state)
{
	struct fixture f;
	static char block[1 << 20];

	(void)state;
	prepare(&f, TCP, PIPES);
	start(&f, STR_NONE, STR_NONE, 60000, 200);
	make_nonblocking(f.outer[0]);
	while (f.times == 0) {
		(void)!write(f.outer[0], block, sizeof(block));
		turn(f.loop);
	}
	assert_int_equal(f.how, RELAY_STALLED);
	end(&f);
}

static void
test_after_cancel_nothing_is_called_and_the_streams_are_open(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f, TCP, PIPES);
	run_for(f.loop, 5);
	relay_cancel(&f.relay);
	say(f.outer[0], "x");
	shut_outer(&f, 1);
	run_for(f.loop, 50);
	assert_int_equal(f.times, 0);
	assert_true(f.client.fd >= 0 && f.origin.fd >= 0);
	assert_true(f.client.ready & STREAM_READ);
	end(&f);
}

/* A writer that never stops, and beside it a message now and then. */
static void
test_one_that_pours_does_not_keep_others_waiting(void **state)
{
	struct fixture f;
	struct fixture other;
	struct mover in, out;
	pthread_t thread[2];

	(void)state;
	begin(&f, TCP, PIPES);
	other = (struct fixture){ .loop = f.loop, .pipes = f.pipes };
	open_pair(&other, &other.client, &other.outer[0], TCP);
	open_pair(&other, &other.origin, &other.outer[1], TCP);
	start(&other, STR_NONE, STR_NONE, 0, 0);
	in = (struct mover){ .fd = f.outer[0], .bytes = UINT64_MAX, .seed = 5 };
	out = (struct mover){ .fd = f.outer[1] };
	pthread_create(&thread[0], NULL, write_all, &in);
	pthread_create(&thread[1], NULL, read_all, &out);
	while (f.relay.up < 1 << 20)
		turn(f.loop);
	for (int i = 0; i < 50; i++) {
		uint64_t poured = f.relay.up;

		say(other.outer[0], "ping");
		expect(&other, other.outer[1], "ping");
		assert_true(f.relay.up - poured < 64 << 20); /* a few turns' worth */
	}
	relay_cancel(&f.relay);
	relay_cancel(&other.relay);
	stream_reset(&f.client);
	stream_reset(&f.origin);
	pthread_join(thread[0], NULL);
	pthread_join(thread[1], NULL);
	stream_close(&other.client);
	stream_close(&other.origin);
	close(other.outer[0]);
	close(other.outer[1]);
	end(&f);
}

/* ---- what may go up */

struct allowance {
	struct quota quota; /* first */
	uint64_t left;
};

static void
allow_more(struct quota *q, uint64_t want)
{
	struct allowance *a = (struct allowance *)q;
	uint64_t piece = want - q->left < a->left ? want - q->left : a->left;

	a->left -= piece;
	q->left += piece;
}

static void
take_back(struct quota *q)
{
	((struct allowance *)q)->left += q->left;
	q->left = 0;
}

static void
pour_beyond(enum kind kind, size_t pipes, uint64_t cap)
{
	struct allowance a = { .quota = { .take = allow_more, .give = take_back },
		.left = cap };
	struct mover in, out;
	struct fixture f;
	pthread_t thread[2];

	prepare(&f, kind, pipes);
	stream_limit(&f.origin, &a.quota);
	start(&f, STR("first"), STR_NONE, 0, 0);
	in = (struct mover){ .fd = f.outer[0], .bytes = UINT64_MAX, .seed = 5 };
	out = (struct mover){ .fd = f.outer[1] };
	pthread_create(&thread[0], NULL, write_all, &in);
	pthread_create(&thread[1], NULL, read_all, &out);
	wait_for_stop(f.loop);
	assert_int_equal(f.how, RELAY_SPENT);
	assert_int_equal(f.relay.up, cap);
	stream_close(&f.client);
	stream_close(&f.origin);
	pthread_join(thread[0], NULL);
	pthread_join(thread[1], NULL);
	assert_int_equal(out.bytes, cap);
	end(&f);
}

static void
test_one_that_pours_crumbs_does_not_either(void **state)
{
	struct fixture f;
	size_t before;

	(void)state;
	prepare(&f, OWN_OPS, PIPES);
	counting.read = read_crumb;
	f.client.ready |= STREAM_READ;
	reads = 0;
	start(&f, STR_NONE, STR_NONE, 0, 0);
	for (int i = 0; i < 10; i++) {
		before = reads;
		turn(f.loop);
		/* the event's, and those of kicks before the loop stops */
		assert_in_range(reads - before, 1, (size_t)8 * STREAM_READS);
	}
	relay_cancel(&f.relay);
	end(&f);
}

static void
test_no_byte_goes_beyond_what_the_origin_may_take(void **state)
{
	static const uint64_t caps[] = { 3, 1000, 65536, 3000001 };

	(void)state;
	for (size_t i = 0; i < COUNT_OF(caps); i++) {
		pour_beyond(TCP, PIPES, caps[i]);
		pour_beyond(TCP, 0, caps[i]);
		pour_beyond(OWN_OPS, PIPES, caps[i]);
	}
}

static void
test_what_is_not_used_goes_back_when_nothing_moves(void **state)
{
	struct allowance a = { .quota = { .take = allow_more, .give = take_back },
		.left = 5 };
	struct fixture f;

	(void)state;
	prepare(&f, TCP, PIPES);
	a.quota.left = 1000;
	stream_limit(&f.origin, &a.quota);
	start(&f, STR_NONE, STR_NONE, 0, 0);
	say(f.outer[0], "hello");
	expect(&f, f.outer[1], "hello");
	while (a.quota.left > 0)
		turn(f.loop);
	assert_int_equal(a.left, 1000);
	relay_cancel(&f.relay);
	end(&f);
}

/* Holds back what does not end in '.', and lets no '#' pass. */
struct filter {
	struct buf held, out;
	size_t down;
};

static bool
pass_sentences(void *arg, int way, struct str in, struct str *out)
{
	struct filter *f = arg;

	if (way == RELAY_DOWN) {
		f->down += in.n;
		return true;
	}
	assert_ptr_equal(out->p, in.p);
	buf_str(&f->held, in);
	buf_reset(&f->out);
	if (memchr(f->held.p, '#', f->held.n) != NULL)
		return false;
	if (str_ends(buf_view(&f->held), STR("."))) {
		buf_str(&f->out, buf_view(&f->held));
		buf_reset(&f->held);
	}
	*out = buf_view(&f->out);
	return true;
}

/* Also where it would splice. */
static void
check_filter(enum kind kind)
{
	struct filter filter = { .down = 0 };
	struct fixture f;
	char c;

	buf_init(&filter.held, 1000);
	buf_init(&filter.out, 1000);
	begin(&f, kind, PIPES);
	relay_filter(&f.relay, pass_sentences, &filter);
	say(f.outer[0], "half a sen");
	while (filter.held.n == 0)
		turn(f.loop);
	assert_int_equal(recv(f.outer[1], &c, 1, MSG_DONTWAIT), -1);
	say(f.outer[0], "tence.");
	expect(&f, f.outer[1], "half a sentence.");
	say(f.outer[1], "an answer # of any kind");
	expect(&f, f.outer[0], "an answer # of any kind");
	assert_int_equal(filter.down, strlen("an answer # of any kind"));
	say(f.outer[0], "no # way.");
	wait_for_stop(f.loop);
	assert_int_equal(f.how, RELAY_CAUGHT);
	assert_false(f.relay.was_pending);
	assert_int_equal(recv(f.outer[1], &c, 1, MSG_DONTWAIT), -1);
	assert_int_equal(f.relay.up, strlen("half a sentence."));
	end(&f);
	buf_fini(&filter.held);
	buf_fini(&filter.out);
}

static void
test_a_filter_says_what_passes_and_ends_it(void **state)
{
	(void)state;
	check_filter(TCP);
	check_filter(OWN_OPS);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_side_may_end_first_and_the_other_goes_on),
		cmocka_unit_test(test_first_bytes_go_before_what_comes_and_are_counted),
		cmocka_unit_test(test_first_bytes_that_do_not_fit_wait),
		cmocka_unit_test(test_many_bytes_arrive_unchanged),
		cmocka_unit_test(test_a_message_costs_one_read_and_one_write),
		cmocka_unit_test(test_an_idle_relay_holds_nothing),
		cmocka_unit_test(test_a_reset_is_told_as_whose_it_was),
		cmocka_unit_test(test_a_taker_that_is_lost_in_mid_pour_is_told),
		cmocka_unit_test(
		    test_a_reset_in_the_same_turn_as_the_last_bytes_is_noticed),
		cmocka_unit_test(
		    test_an_early_answer_is_delivered_though_the_upload_broke),
		cmocka_unit_test(test_silence_ends_it_after_idle_and_not_before),
		cmocka_unit_test(test_a_side_that_takes_nothing_stalls_it),
		cmocka_unit_test(
		    test_after_cancel_nothing_is_called_and_the_streams_are_open),
		cmocka_unit_test(test_one_that_pours_does_not_keep_others_waiting),
		cmocka_unit_test(test_one_that_pours_crumbs_does_not_either),
		cmocka_unit_test(test_no_byte_goes_beyond_what_the_origin_may_take),
		cmocka_unit_test(test_what_is_not_used_goes_back_when_nothing_moves),
		cmocka_unit_test(test_a_filter_says_what_passes_and_ends_it),
	};

	return cmocka_run_group_tests_name("net/relay", tests, NULL, NULL);
}
