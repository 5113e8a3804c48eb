/*
 * Of a few addresses the first that answers wins, within the deadline, and nothing else
 * stays open.
 */
#include "net/dial.h"

#include <dirent.h>
#include <sys/resource.h>

#include "base/err.h"
#include "net_wait.h"

#define NO_DEADLINE INT64_C(600000) /* none that a test would wait for */

struct outcome {
	struct loop *loop;
	struct stream stream; /* closed until it is dialled */
	int times, err;
	struct endpoint to;
};

static void
on_done(void *arg, int err, const struct endpoint *to)
{
	struct outcome *o = arg;

	o->times++;
	o->err = err;
	if (to != NULL)
		o->to = *to;
	loop_stop(o->loop);
}

static struct vetted
vetted(uint16_t port, size_t n, const char *const *text)
{
	struct vetted v = { .count = n, .port = port };

	for (size_t i = 0; i < n; i++)
		v.addr[i] = address(text[i]);
	return v;
}

static size_t
open_descriptors(void)
{
	DIR *dir = opendir("/proc/self/fd");
	size_t n = 0;

	assert_non_null(dir);
	while (readdir(dir) != NULL)
		n++;
	closedir(dir);
	return n;
}

static void
start(struct outcome *o, const struct vetted *to, msec timeout_ms)
{
	o->stream.fd = -1;
	assert_non_null(dial_start(o->loop, to, &o->stream, timeout_ms, on_done, o));
	assert_int_equal(o->times, 0); /* never inside start */
}

/* What would last until the deadline would be waited for in vain. */
static void
dial(struct outcome *o, const struct vetted *to)
{
	*o = (struct outcome){ .loop = loop_new() };
	start(o, to, NO_DEADLINE);
	wait_for_stop(o->loop);
	assert_int_equal(o->times, 1);
}

static void
end(struct outcome *o)
{
	stream_close(&o->stream);
	loop_free(o->loop);
}

/* A listener whose queue is full: the kernel drops what comes, and nobody answers. */
struct silence {
	int listener, filler[2];
};

static void
silence_begin(struct silence *s, const char *text, uint16_t *port)
{
	struct endpoint at = { .addr = address(text) };
	struct sockaddr_storage sa;
	socklen_t len;

	s->listener = listen_on(text, port, 0);
	at.port = *port;
	len = endpoint_sockaddr(&at, &sa);
	s->filler[0] = connect_to(text, *port);
	s->filler[1] =
	    socket(sa.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	assert_int_equal(connect(s->filler[1], (struct sockaddr *)&sa, len), -1);
}

static void
silence_end(struct silence *s)
{
	close(s->listener);
	close(s->filler[0]);
	close(s->filler[1]);
}

static void
test_the_descriptor_is_ready_for_use(void **state)
{
	uint16_t port = 0;
	int listener = listen_on("127.0.0.1", &port, 8), on = 0;
	struct vetted to = vetted(port, 1, (const char *[]){ "127.0.0.1" });
	socklen_t len = sizeof(on);
	size_t before = open_descriptors();
	struct outcome o;

	(void)state;
	dial(&o, &to);
	assert_int_equal(o.err, 0);
	assert_int_equal(o.to.port, port);
	assert_true(addr_eq(&o.to.addr, &to.addr[0]));
	assert_true(fcntl(o.stream.fd, F_GETFL) & O_NONBLOCK);
	assert_true(fcntl(o.stream.fd, F_GETFD) & FD_CLOEXEC);
	assert_int_equal(getsockopt(o.stream.fd, IPPROTO_TCP, TCP_NODELAY, &on, &len), 0);
	assert_int_equal(on, 1);
	end(&o);
	assert_int_equal(open_descriptors(), before);
	close(listener);
}

/* A port that was free a moment ago. */
static uint16_t
closed_port(void)
{
	uint16_t port = 0;

	close(listen_on("127.0.0.1", &port, 1));
	return port;
}

static void
test_why_it_failed_is_told_apart(void **state)
{
	static const struct {
		const char *name;
		const char *to[2];
		size_t n;
		int err;
	} cases[] = {
		{ "nobody listens", { "127.0.0.1" }, 1, ERR_REFUSED },
		{ "no way there", { "255.255.255.255" }, 1, ERR_UNROUTABLE },
		{ "link-local without a zone", { "fe80::1" }, 1, ERR_UNROUTABLE },
		{ "refused says more", { "fe80::1", "127.0.0.1" }, 2, ERR_REFUSED },
		{ "in whatever order", { "127.0.0.1", "fe80::1" }, 2, ERR_REFUSED },
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct vetted to = vetted(closed_port(), cases[i].n, cases[i].to);
		size_t before = open_descriptors();
		struct outcome o;

		dial(&o, &to);
		assert_row(cases[i].name, o.err == cases[i].err);
		assert_row(cases[i].name, o.stream.fd == -1);
		end(&o);
		assert_row(cases[i].name, open_descriptors() == before);
	}
}

static void
test_a_refused_address_gives_way_and_a_silent_one_after_its_head_start(void **state)
{
	uint16_t port = 0;
	struct silence silence;
	struct vetted after_silence, after_refusals;
	struct outcome slow = { .loop = loop_new() }, quick = { .loop = slow.loop };
	int listener;
	msec begun;
	size_t before;

	(void)state;
	silence_begin(&silence, "127.0.0.1", &port);
	listener = listen_on("127.0.0.4", &port, 8);
	after_silence = vetted(port, 2, (const char *[]){ "127.0.0.1", "127.0.0.4" });
	after_refusals = vetted(port, 4,
	    (const char *[]){ "fe80::1", "127.0.0.2", "127.0.0.3", "127.0.0.4" });
	before = open_descriptors();
	begun = loop_now(slow.loop);
	start(&slow, &after_silence, NO_DEADLINE);
	start(&quick, &after_refusals, NO_DEADLINE);
	wait_for_stop(slow.loop);
	assert_int_equal(
	    quick.times, 1); /* three refusals take less than one head start */
	assert_int_equal(slow.times, 0);
	assert_int_equal(quick.err, 0);
	assert_true(addr_eq(&quick.to.addr, &after_refusals.addr[3]));
	wait_for_stop(slow.loop);
	assert_int_equal(slow.err, 0);
	assert_true(addr_eq(&slow.to.addr, &after_silence.addr[1]));
	assert_true(loop_now(slow.loop) - begun >= 250);
	stream_close(&quick.stream);
	stream_close(&slow.stream);
	assert_int_equal(open_descriptors(), before); /* the loser's is closed */
	close(listener);
	silence_end(&silence);
	loop_free(slow.loop);
}

static void
test_the_deadline_is_for_all_addresses_together(void **state)
{
	uint16_t port = 0;
	struct silence one, two;
	struct vetted to;
	struct outcome o = { .loop = loop_new() };
	struct timer late;
	msec begun;

	(void)state;
	silence_begin(&one, "127.0.0.1", &port);
	silence_begin(&two, "127.0.0.2", &port);
	to = vetted(port, 2, (const char *[]){ "127.0.0.1", "127.0.0.2" });
	begun = loop_now(o.loop);
	start(&o, &to, 400);
	timer_init(&late, stop_loop, o.loop);
	timer_set(o.loop, &late, 400 + 2 * WHEEL_TICK_MS);
	wait_for_stop(o.loop);
	assert_int_equal(o.times, 1); /* before `late`, and so not 400 ms for each */
	assert_int_equal(o.err, ERR_TIMEOUT);
	assert_true(loop_now(o.loop) - begun >= 400);
	timer_clear(&late);
	silence_end(&one);
	silence_end(&two);
	loop_free(o.loop);
}

static void
test_only_four_addresses_are_tried(void **state)
{
	uint16_t port = 0;
	int listener = listen_on("127.0.0.5", &port, 8);
	struct vetted to = vetted(port, 5,
	    (const char *[]){
		"127.0.0.1", "127.0.0.2", "127.0.0.3", "127.0.0.4", "127.0.0.5" });

	struct outcome o;

	(void)state;
	dial(&o, &to);
	assert_int_equal(o.err, ERR_REFUSED);
	end(&o);
	close(listener);
}

static void
test_after_cancel_nothing_is_called_and_nothing_is_open(void **state)
{
	uint16_t port = 0;
	int listener = listen_on("127.0.0.1", &port, 8);
	struct vetted there = vetted(port, 1, (const char *[]){ "127.0.0.1" });
	struct vetted nowhere = vetted(1, 1, (const char *[]){ "255.255.255.255" });
	struct outcome o = { .loop = loop_new() };
	size_t before = open_descriptors();

	(void)state;
	dial_cancel(dial_start(o.loop, &there, &o.stream, 5000, on_done, &o));
	dial_cancel(dial_start(o.loop, &nowhere, &o.stream, 5000, on_done, &o));
	dial_cancel(NULL);
	run_for(o.loop, 50);
	assert_int_equal(o.times, 0);
	assert_int_equal(open_descriptors(), before);
	close(listener);
	loop_free(o.loop);
}

static void
test_no_descriptor_left_is_its_own_failure(void **state)
{
	struct vetted to = vetted(closed_port(), 1, (const char *[]){ "127.0.0.1" });
	struct outcome o = { .loop = loop_new() };
	struct rlimit old, none;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
	none = (struct rlimit){ .rlim_cur = 0, .rlim_max = old.rlim_max };
	dial_start(o.loop, &to, &o.stream, 5000, on_done, &o);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	wait_for_stop(o.loop);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
	assert_int_equal(o.err, ERR_DESCRIPTORS);
	loop_free(o.loop);
}

struct greeted {
	struct loop *loop;
	struct stream stream;
	char text[8];
	size_t n;
	bool is_dialled;
};

static void
read_greeting(void *arg, unsigned what)
{
	struct greeted *g = arg;
	ssize_t n;

	(void)what;
	while ((n = stream_read(&g->stream, g->text + g->n, sizeof(g->text) - g->n)) > 0)
		g->n += (size_t)n;
	if (n == 0)
		loop_stop(g->loop);
}

static void
on_dialled(void *arg, int err, const struct endpoint *to)
{
	struct greeted *g = arg;

	(void)to;
	assert_int_equal(err, 0);
	g->is_dialled = true;
	stream_attach(&g->stream, read_greeting, g);
	if (g->stream.ready & STREAM_READ)
		read_greeting(g, STREAM_READ);
	else
		loop_stop(g->loop);
}

static void
greet(int listener)
{
	int fd = accept(listener, NULL, NULL);

	assert_int_equal(write(fd, "220", 3), 3);
	close(fd);
}

/* One turn connects; what the origin says before the next turn, or after it, is read. */
static void
test_what_an_origin_says_first_is_not_lost_in_the_handover(void **state)
{
	uint16_t port = 0;
	int listener = listen_on("127.0.0.1", &port, 8);
	struct vetted to = vetted(port, 1, (const char *[]){ "127.0.0.1" });

	(void)state;
	for (int is_late = 0; is_late < 2; is_late++) {
		struct greeted g = { .loop = loop_new() };

		dial_start(g.loop, &to, &g.stream, 5000, on_dialled, &g);
		turn(g.loop);
		if (is_late && !g.is_dialled)
			wait_for_stop(g.loop);
		greet(listener);
		wait_for_stop(g.loop);
		if (g.n == 0) /* it was stopped for being dialled */
			wait_for_stop(g.loop);
		assert_int_equal(g.n, 3);
		assert_memory_equal(g.text, "220", 3);
		stream_close(&g.stream);
		loop_free(g.loop);
	}
	close(listener);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_descriptor_is_ready_for_use),
		cmocka_unit_test(test_why_it_failed_is_told_apart),
		cmocka_unit_test(
		    test_a_refused_address_gives_way_and_a_silent_one_after_its_head_start),
		cmocka_unit_test(test_the_deadline_is_for_all_addresses_together),
		cmocka_unit_test(test_only_four_addresses_are_tried),
		cmocka_unit_test(test_after_cancel_nothing_is_called_and_nothing_is_open),
		cmocka_unit_test(test_no_descriptor_left_is_its_own_failure),
		cmocka_unit_test(
		    test_what_an_origin_says_first_is_not_lost_in_the_handover),
	};

	return cmocka_run_group_tests_name("net/dial", tests, NULL, NULL);
}
