/*
 * A listener opens what the configuration names or says why not, and never spins or stops
 * for good.
 */
#include "net/listener.h"

#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "base/count.h"
#include "base/err.h"
#include "net_wait.h"

struct guests {
	struct loop *loop;
	struct listener *listener;
	int n, wanted;
	int fd[256];
	struct peer last;
	void (*then)(struct guests *g);
};

static void
on_accept(void *arg, int fd, const struct peer *peer)
{
	struct guests *g = arg;

	g->fd[g->n++] = fd;
	g->last = *peer;
	if (g->then != NULL)
		g->then(g);
	if (g->n == g->wanted)
		loop_stop(g->loop);
}

static void
guests_leave(struct guests *g)
{
	while (g->n > 0)
		close(g->fd[--g->n]);
}

static struct listen_at
at_text(const char *text)
{
	struct listen_at at;

	assert_true(listen_at_parse(&at, str_of(text)));
	return at;
}

static int
must_bind(const struct listen_at *at, bool shares_port)
{
	struct buf why;
	int fd = -1;

	buf_init(&why, 1024);
	if (listener_bind(&fd, at, shares_port, &why) != 0)
		fail_msg("%s", buf_cstr(&why));
	buf_fini(&why);
	return fd;
}

static void
must_not_bind(const struct listen_at *at, const char *sentence)
{
	struct buf why;
	int fd = -1;

	buf_init(&why, 1024);
	assert_int_equal(listener_bind(&fd, at, false, &why), ERR_IO);
	assert_string_equal(buf_cstr(&why), sentence);
	assert_int_equal(fd, -1);
	if (!at->is_unix) {
		buf_reset(&why);
		assert_int_equal(listener_probe(at, &why), ERR_IO);
		assert_string_equal(buf_cstr(&why), sentence);
	}
	buf_fini(&why);
}

static uint16_t
port_of(int fd)
{
	struct sockaddr_storage sa;
	socklen_t len = sizeof(sa);
	struct endpoint at;

	assert_int_equal(getsockname(fd, (struct sockaddr *)&sa, &len), 0);
	assert_true(addr_from_sockaddr(&at, (struct sockaddr *)&sa));
	return at.port;
}

static int
bind_any(uint16_t *port)
{
	struct listen_at at = { .endpoint = { .addr = address("127.0.0.1") } };
	int fd = must_bind(&at, true);

	*port = port_of(fd);
	return fd;
}

/* With TCP_DEFER_ACCEPT a client is accepted when it has said something. */
static int
knock(uint16_t port)
{
	int fd = connect_to("127.0.0.1", port);

	assert_int_equal(write(fd, "x", 1), 1);
	return fd;
}

static const struct listen_at *
unix_at(const char *name)
{
	static struct listen_at at;
	static char directory[] = "/tmp/weir-listener-XXXXXX";
	static bool is_made;
	char text[128];

	if (!is_made)
		assert_non_null(mkdtemp(directory));
	is_made = true;
	if (name == NULL) {
		rmdir(directory);
		return NULL;
	}
	snprintf(text, sizeof(text), "unix:%s/%s", directory, name);
	at = at_text(text);
	return &at;
}

static int
connect_unix(const char *path)
{
	struct sockaddr_un sa = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	snprintf(sa.sun_path, sizeof(sa.sun_path), "%s", path);
	assert_int_equal(connect(fd, (struct sockaddr *)&sa, sizeof(sa)), 0);
	return fd;
}

static void
test_where_to_listen_has_three_forms(void **state)
{
	static const struct {
		const char *text;
		bool is_ok;
	} cases[] = {
		{ "127.0.0.1:3128", true },
		{ "[::1]:3128", true },
		{ "unix:/run/weir/proxy.sock", true },
		{ "tls:127.0.0.1:3129", true },
		{ "tls:[::1]:3129", true },
		{ "tls:", false },
		{ "tls:tls:127.0.0.1:3129", false },
		{ "tls:unix:/run/weir/proxy.sock", false },
		{ "", false },
		{ "127.0.0.1", false },
		{ "127.0.0.1:0", false },
		{ ":3128", false },
		{ "localhost:3128", false },
		{ "unix:", false },
		{ "unix:/a/path/that/is/longer/than/the/hundred/and/seven/bytes/"
		  "that/a/unix/socket/address/has/room/for/so/it/is/refused.sock",
		    false },
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct listen_at at;
		char text[128];

		assert_row(cases[i].text,
		    listen_at_parse(&at, str_of(cases[i].text)) == cases[i].is_ok);
		if (cases[i].is_ok)
			assert_string_equal(listen_at_text(text, &at), cases[i].text);
	}
	assert_false(listen_at_parse(&(struct listen_at){ 0 }, STR("unix:/a\0b")));
}

static void
test_a_client_comes_with_its_address_and_a_quick_socket(void **state)
{
	struct guests g = { .loop = loop_new(), .wanted = 3 };
	uint16_t port;
	int fd = bind_any(&port), client[3], on = 0;
	socklen_t len = sizeof(on);
	struct listener *l = listener_new(g.loop, fd, on_accept, &g);

	(void)state;
	for (int i = 0; i < 3; i++)
		client[i] = knock(port);
	wait_for_stop(g.loop);
	assert_false(g.last.is_unix);
	assert_true(addr_eq(&g.last.endpoint.addr, &(struct addr)V4(127, 0, 0, 1)));
	assert_int_equal(g.last.endpoint.port, port_of(client[2]));
	assert_true(fcntl(g.fd[0], F_GETFL) & O_NONBLOCK);
	assert_true(fcntl(g.fd[0], F_GETFD) & FD_CLOEXEC);
	getsockopt(g.fd[0], IPPROTO_TCP, TCP_NODELAY, &on, &len);
	assert_int_equal(on, 1);
	for (int i = 0; i < 3; i++)
		close(client[i]);
	guests_leave(&g);
	listener_free(l);
	close(fd);
	loop_free(g.loop);
}

static const char in_use[] = "Address already in use; another process listens there: "
			     "stop it, or choose another port";

static void
test_workers_share_a_port_and_strangers_do_not(void **state)
{
	uint16_t port;
	int fd = bind_any(&port), second;
	char text[32];
	struct listen_at at;
	struct buf why;

	(void)state;
	snprintf(text, sizeof(text), "127.0.0.1:%u", port);
	at = at_text(text);
	second = must_bind(&at, true);
	must_not_bind(&at, in_use);
	close(fd);
	close(second);
	buf_init(&why, 256);
	assert_int_equal(listener_probe(&at, &why), 0);
	buf_fini(&why);
}

static void
test_an_address_of_another_host_is_named_with_its_remedy(void **state)
{
	struct listen_at at = at_text("192.0.2.1:3128");

	(void)state;
	must_not_bind(&at, "Cannot assign requested address; "
			   "this host has no such address: choose one of `ip address`");
}

static void
test_ipv6_does_not_take_ipv4(void **state)
{
	struct listen_at at = { .endpoint = { .addr = address("::") } };
	int fd = must_bind(&at, false), only = 0;
	socklen_t len = sizeof(only);

	(void)state;
	getsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &only, &len);
	assert_int_equal(only, 1);
	close(fd);
}

static void
test_a_unix_client_comes_with_its_user(void **state)
{
	const struct listen_at *at = unix_at("peer.sock");
	struct guests g = { .loop = loop_new(), .wanted = 1 };
	int fd = must_bind(at, false), client;
	struct listener *l = listener_new(g.loop, fd, on_accept, &g);
	struct stat st;

	(void)state;
	assert_int_equal(stat(at->path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0660);
	client = connect_unix(at->path);
	wait_for_stop(g.loop);
	assert_true(g.last.is_unix);
	assert_int_equal(g.last.uid, getuid());
	close(client);
	guests_leave(&g);
	listener_free(l);
	listener_unbind(fd, at);
	assert_int_equal(stat(at->path, &st), -1); /* it cleans up behind itself */
	loop_free(g.loop);
}

static void
test_a_socket_file_of_the_dead_is_replaced_and_of_the_living_is_not(void **state)
{
	const struct listen_at *at = unix_at("stale.sock");
	int fd = must_bind(at, false), again;
	struct stat st;

	(void)state;
	must_not_bind(at, "Address already in use; another process listens there: "
			  "stop it, or choose another path");
	assert_int_equal(stat(at->path, &st), 0);
	close(fd); /* as if it had died: the file stays */
	again = must_bind(at, false);
	close(connect_unix(at->path));
	listener_unbind(again, at);
}

static void
test_a_file_that_is_no_socket_is_left_alone(void **state)
{
	const struct listen_at *at = unix_at("file");
	int fd = open(at->path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	struct stat st;

	(void)state;
	close(fd);
	must_not_bind(
	    at, "File exists; a file that is no socket is in the way: remove it");
	assert_int_equal(stat(at->path, &st), 0);
	unlink(at->path);
}

static void
limit_descriptors(rlim_t n)
{
	struct rlimit limit;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	limit.rlim_cur = n;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

static void
test_without_descriptors_a_client_is_turned_away_and_others_wait(void **state)
{
	struct guests g = { .loop = loop_new(), .wanted = 1 };
	uint16_t port;
	int fd = bind_any(&port), client[2];
	struct listener *l = listener_new(g.loop, fd, on_accept, &g);
	int64_t before = count_get(COUNT_ACCEPT_ERRORS, 0);
	struct rlimit old;
	char c;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
	for (int i = 0; i < 2; i++)
		client[i] = knock(port);
	limit_descriptors((rlim_t)client[1] + 1); /* all below are in use */
	for (int i = 3; i < client[1]; i++)
		assert_true(fcntl(i, F_GETFD) >= 0);
	run_for(g.loop, 60); /* less than the pause */
	assert_int_equal(g.n, 0);
	assert_int_equal(
	    count_get(COUNT_ACCEPT_ERRORS, 0), before + 1); /* it does not spin */
	assert_true(recv(client[0], &c, 1, MSG_DONTWAIT) == 0 || errno == ECONNRESET);
	limit_descriptors(old.rlim_cur);
	wait_for_stop(g.loop);
	assert_int_equal(g.n, 1); /* the other one */
	for (int i = 0; i < 2; i++)
		close(client[i]);
	guests_leave(&g);
	listener_free(l);
	close(fd);
	loop_free(g.loop);
}

static void
pause_it(struct guests *g)
{
	listener_pause(g->listener);
}

static void
free_it(struct guests *g)
{
	listener_free(g->listener);
	g->listener = NULL;
}

static void
test_it_may_be_paused_or_freed_from_its_callback(void **state)
{
	static void (*const ends[])(struct guests *) = { pause_it, free_it };

	(void)state;
	for (size_t k = 0; k < COUNT_OF(ends); k++) {
		struct guests g = { .loop = loop_new(), .then = ends[k] };
		uint16_t port;
		int fd = bind_any(&port), client[3];

		g.listener = listener_new(g.loop, fd, on_accept, &g);
		for (int i = 0; i < 3; i++)
			client[i] = knock(port);
		run_for(g.loop, 50);
		assert_int_equal(g.n, 1);
		for (int i = 0; i < 3; i++)
			close(client[i]);
		guests_leave(&g);
		listener_free(g.listener);
		close(fd);
		loop_free(g.loop);
	}
}

static int
last(void **state)
{
	(void)state;
	unix_at(NULL);
	return 0;
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_where_to_listen_has_three_forms),
		cmocka_unit_test(test_a_client_comes_with_its_address_and_a_quick_socket),
		cmocka_unit_test(test_workers_share_a_port_and_strangers_do_not),
		cmocka_unit_test(
		    test_an_address_of_another_host_is_named_with_its_remedy),
		cmocka_unit_test(test_ipv6_does_not_take_ipv4),
		cmocka_unit_test(test_a_unix_client_comes_with_its_user),
		cmocka_unit_test(
		    test_a_socket_file_of_the_dead_is_replaced_and_of_the_living_is_not),
		cmocka_unit_test(test_a_file_that_is_no_socket_is_left_alone),
		cmocka_unit_test(
		    test_without_descriptors_a_client_is_turned_away_and_others_wait),
		cmocka_unit_test(test_it_may_be_paused_or_freed_from_its_callback),
	};

	return cmocka_run_group_tests_name("net/listener", tests, NULL, last);
}
