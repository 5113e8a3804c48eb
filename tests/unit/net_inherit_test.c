/*
 * Sockets that a service manager hands over are known by where they are bound, and what
 * nobody can listen on is refused.
 */
#include "net/inherit.h"

#include <sys/un.h>

#include "base/err.h"
#include "net_wait.h"

#define FIRST 3

/* Bound; over a descriptor that the test's runner may have left open. */
static void
hand_over(int number, int family, int kind, bool listens)
{
	struct listen_at at = {
		.endpoint = { .addr = address(family == AF_INET ? "127.0.0.1" : "::1") }
	};
	struct sockaddr_storage sa;
	socklen_t len = endpoint_sockaddr(&at.endpoint, &sa);
	int fd = socket(family, kind, 0);

	assert_true(fd >= 0);
	if (family != AF_UNIX)
		assert_int_equal(bind(fd, (struct sockaddr *)&sa, len), 0);
	if (listens)
		assert_int_equal(listen(fd, 1), 0);
	if (fd != number) {
		assert_int_equal(dup2(fd, number), number);
		close(fd);
	}
}

static struct listen_at
place_of(int fd)
{
	struct listen_at at = { 0 };
	struct sockaddr_storage sa;
	socklen_t len = sizeof(sa);

	assert_int_equal(getsockname(fd, (struct sockaddr *)&sa, &len), 0);
	assert_true(addr_from_sockaddr(&at.endpoint, (struct sockaddr *)&sa));
	return at;
}

static void
announce(int pid, const char *n)
{
	char text[16];

	snprintf(text, sizeof(text), "%d", pid);
	setenv("LISTEN_PID", text, 1);
	setenv("LISTEN_FDS", n, 1);
	setenv("LISTEN_FDNAMES", "a:b", 1);
}

static int
opened(struct inherited *in, const char *sentence)
{
	struct buf why;
	int err;

	buf_init(&why, 512);
	err = inherit_open(in, &why);
	assert_true(strstr(buf_cstr(&why), sentence) != NULL);
	buf_fini(&why);
	return err;
}

static void
test_each_is_taken_once_by_its_place_and_kind(void **state)
{
	struct inherited in;

	(void)state;
	hand_over(FIRST, AF_INET, SOCK_STREAM, true);
	hand_over(FIRST + 1, AF_INET6, SOCK_DGRAM, false);
	struct listen_at tcp = place_of(FIRST), udp = place_of(FIRST + 1), other = tcp;
	other.endpoint.port ^= 1;
	announce(getpid(), "2");
	assert_int_equal(opened(&in, ""), 0);
	assert_null(getenv("LISTEN_FDS"));
	assert_null(getenv("LISTEN_FDNAMES"));
	assert_true(fcntl(FIRST, F_GETFL) & O_NONBLOCK);
	assert_true(fcntl(FIRST, F_GETFD) & FD_CLOEXEC);
	assert_int_equal(inherit_take(&in, &other), -1);
	assert_int_equal(inherit_take(&in, &udp), -1); /* that is TCP's */
	udp.is_udp = true;
	assert_int_equal(inherit_take(&in, &udp), FIRST + 1);
	assert_int_equal(inherit_take(&in, &udp), -1);
	assert_int_equal(inherit_left(&in)->endpoint.port, tcp.endpoint.port);
	assert_int_equal(inherit_take(&in, &tcp), FIRST);
	assert_null(inherit_left(&in));
	inherit_close(&in);
	assert_true(fcntl(FIRST, F_GETFD) >= 0); /* the taker's */
	close(FIRST);
	close(FIRST + 1);
}

static void
test_what_nobody_took_is_closed(void **state)
{
	struct inherited in;

	(void)state;
	hand_over(FIRST, AF_INET, SOCK_STREAM, true);
	announce(getpid(), "1");
	assert_int_equal(opened(&in, ""), 0);
	inherit_close(&in);
	assert_int_equal(fcntl(FIRST, F_GETFD), -1);
}

static void
test_what_is_for_another_process_is_not_touched(void **state)
{
	static const char *const numbers[] = { "1", "", "-1", "1000000", "1x" };
	struct inherited in;

	(void)state;
	hand_over(FIRST, AF_INET, SOCK_STREAM, true);
	for (size_t i = 0; i < COUNT_OF(numbers); i++) {
		announce(i == 0 ? getppid() : getpid(), numbers[i]);
		assert_int_equal(opened(&in, ""), 0);
		assert_row(numbers[i], in.n == 0 && getenv("LISTEN_PID") == NULL);
		inherit_close(&in);
	}
	assert_false(fcntl(FIRST, F_GETFD) & FD_CLOEXEC);
	close(FIRST);
}

static void
test_what_cannot_be_listened_on_is_refused(void **state)
{
	static const struct {
		const char *what;
		int family, kind;
	} cases[] = {
		{ "a socket that does not listen", AF_INET, SOCK_STREAM },
		{ "a Unix socket for datagrams", AF_UNIX, SOCK_DGRAM },
		{ "nothing", 0, 0 },
	};
	struct inherited in;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		close(FIRST);
		if (cases[i].family != 0)
			hand_over(FIRST, cases[i].family, cases[i].kind, false);
		announce(getpid(), "1");
		assert_row(cases[i].what,
		    opened(&in, "descriptor 3 is no socket") == ERR_INVALID);
	}
	close(FIRST);
}

static void
test_a_unix_socket_is_known_by_its_path(void **state)
{
	struct sockaddr_un un = { .sun_family = AF_UNIX };
	struct listen_at at = { .is_unix = true }, other = { .is_unix = true };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);
	struct inherited in;

	(void)state;
	snprintf(un.sun_path, sizeof(un.sun_path), "/tmp/weir-inherit-%d", getpid());
	snprintf(at.path, sizeof(at.path), "%s", un.sun_path);
	snprintf(other.path, sizeof(other.path), "/tmp/weir-inherit-%d.", getpid());
	assert_int_equal(bind(fd, (struct sockaddr *)&un, sizeof(un)), 0);
	assert_int_equal(listen(fd, 1), 0);
	if (fd != FIRST) {
		assert_int_equal(dup2(fd, FIRST), FIRST);
		close(fd);
	}
	announce(getpid(), "1");
	assert_int_equal(opened(&in, ""), 0);
	assert_int_equal(inherit_take(&in, &other), -1);
	assert_int_equal(inherit_take(&in, &at), FIRST);
	inherit_close(&in);
	close(FIRST);
	unlink(un.sun_path);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_is_taken_once_by_its_place_and_kind),
		cmocka_unit_test(test_what_nobody_took_is_closed),
		cmocka_unit_test(test_what_is_for_another_process_is_not_touched),
		cmocka_unit_test(test_what_cannot_be_listened_on_is_refused),
		cmocka_unit_test(test_a_unix_socket_is_known_by_its_path),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
