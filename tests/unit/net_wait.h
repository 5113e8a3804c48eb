/*
 * net_wait.h - what tests of the net layer share: sockets, and a loop that is waited for
 */
#ifndef WEIR_TESTS_NET_WAIT_H
#define WEIR_TESTS_NET_WAIT_H

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/addr.h"
#include "base/loop.h"
#include "unit.h"

#define PATIENCE_MS 20000

static inline void
wait_is_over(void *arg)
{
	(void)arg;
	fail_msg("waited in vain");
}

/* Until something calls loop_stop(). */
static inline void
wait_for_stop(struct loop *l)
{
	struct timer limit;

	timer_init(&limit, wait_is_over, NULL);
	timer_set(l, &limit, PATIENCE_MS);
	loop_run(l);
	timer_clear(&limit);
}

static inline void
stop_loop(void *arg)
{
	loop_stop(arg);
}

/* What is ready now has its turn. */
static inline void
turn(struct loop *l)
{
	loop_post(l, stop_loop, l);
	wait_for_stop(l);
}

/* The loop turns for that long: for what must not happen. */
static inline void
run_for(struct loop *l, msec ms)
{
	struct timer end;

	timer_init(&end, stop_loop, l);
	timer_set(l, &end, ms);
	wait_for_stop(l);
}

static inline struct addr
address(const char *text)
{
	struct addr a;

	assert_true(addr_parse(&a, str_of(text)));
	return a;
}

/* A TCP listener on that address; port 0 is any, and *port is which. */
static inline int
listen_on(const char *text, uint16_t *port, int backlog)
{
	struct endpoint at = { .addr = address(text), .port = *port };
	struct sockaddr_storage sa;
	socklen_t len = endpoint_sockaddr(&at, &sa);
	int fd = socket(sa.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;

	assert_true(fd >= 0);
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	assert_int_equal(bind(fd, (struct sockaddr *)&sa, len), 0);
	assert_int_equal(listen(fd, backlog), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&sa, &len), 0);
	assert_true(addr_from_sockaddr(&at, (struct sockaddr *)&sa));
	*port = at.port;
	return fd;
}

static inline int
connect_to(const char *text, uint16_t port)
{
	struct endpoint to = { .addr = address(text), .port = port };
	struct sockaddr_storage sa;
	socklen_t len = endpoint_sockaddr(&to, &sa);
	int fd = socket(sa.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	assert_int_equal(connect(fd, (struct sockaddr *)&sa, len), 0);
	return fd;
}

static inline void
make_nonblocking(int fd)
{
	assert_int_equal(fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK), 0);
}

/* Two ends of a TCP connection over loopback. */
static inline void
tcp_pair(int fd[2])
{
	uint16_t port = 0;
	int listener = listen_on("127.0.0.1", &port, 1), on = 1;

	fd[0] = connect_to("127.0.0.1", port);
	fd[1] = accept(listener, NULL, NULL);
	assert_true(fd[1] >= 0);
	close(listener);
	for (int i = 0; i < 2; i++)
		setsockopt(fd[i], IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
}

#endif
