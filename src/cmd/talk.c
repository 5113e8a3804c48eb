/*
 * talk.c - one socket of a probe, and all it does before one deadline
 */
#include "cmd/talk.h"

#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <sys/un.h>
#include <unistd.h>

#include "wire/url.h"

#define IN_MAX ((size_t)65536)

static int
wait_for(const struct talk *t, short what)
{
	struct pollfd p = { .fd = t->fd, .events = what };
	usec left = t->deadline - clock_mono_us();
	int n = left <= 0 ? 0 : poll(&p, 1, (int)(left / 1000) + 1);

	return n > 0 ? 0 : n == 0 ? ETIMEDOUT : errno;
}

/* ---- opening ---- */

static int
connect_to(struct talk *t, int kind, const struct sockaddr *sa, socklen_t len)
{
	int err = 0;
	socklen_t size = sizeof(err);

	t->fd = socket(sa->sa_family, kind | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (t->fd < 0)
		return errno;
	if (connect(t->fd, sa, len) == 0)
		return 0;
	if (errno != EINPROGRESS)
		return errno;
	if ((err = wait_for(t, POLLOUT)) != 0)
		return err;
	return getsockopt(t->fd, SOL_SOCKET, SO_ERROR, &err, &size) == 0 ? err : errno;
}

static int
open_unix(struct talk *t, int kind, struct str path)
{
	struct sockaddr_un sa = { .sun_family = AF_UNIX };

	if (path.n >= sizeof(sa.sun_path))
		return ENAMETOOLONG;
	memcpy(sa.sun_path, path.p, path.n);
	return connect_to(t, kind, (const struct sockaddr *)&sa, sizeof(sa));
}

/* The first address is the one that is tried: a door has one. */
static int
open_name(struct talk *t, int kind, const struct host *host, uint16_t port)
{
	struct addrinfo hints = { .ai_socktype = kind, .ai_flags = AI_NUMERICSERV };
	struct addrinfo *found = NULL;
	char service[8];
	int err;

	snprintf(service, sizeof(service), "%u", port);
	if (getaddrinfo(host->name, service, &hints, &found) != 0)
		return ENOENT;
	err = connect_to(t, kind, found->ai_addr, found->ai_addrlen);
	freeaddrinfo(found);
	return err;
}

static int
open_endpoint(struct talk *t, int kind, const struct addr *addr, uint16_t port)
{
	struct endpoint e = { *addr, port };
	struct sockaddr_storage sa;
	socklen_t len = endpoint_sockaddr(&e, &sa);

	return connect_to(t, kind, (const struct sockaddr *)&sa, len);
}

int
talk_open(struct talk *t, const char *where, int kind, msec timeout_ms)
{
	struct str text = str_of(where), scheme = STR("unix:");
	struct host host;
	uint16_t port;

	*t = (struct talk){ .fd = -1,
		.deadline = clock_mono_us() + (usec)timeout_ms * 1000 };
	buf_init(&t->in, IN_MAX);
	if (str_starts(text, scheme))
		return open_unix(t, kind, str_sub(text, scheme.n, text.n));
	if (authority_parse(&host, &port, text, 0) != HOST_OK)
		return EINVAL;
	return host.is_literal ? open_endpoint(t, kind, &host.addr, port)
			       : open_name(t, kind, &host, port);
}

void
talk_close(struct talk *t)
{
	if (t->fd >= 0)
		close(t->fd);
	t->fd = -1;
	buf_fini(&t->in);
}

/* ---- talking ---- */

int
talk_send(struct talk *t, struct str s)
{
	while (s.n > 0) {
		ssize_t n = send(t->fd, s.p, s.n, MSG_NOSIGNAL);
		int err = n >= 0 ? 0 : errno == EAGAIN ? wait_for(t, POLLOUT) : errno;

		if (err != 0)
			return err;
		if (n > 0)
			s = str_sub(s, (size_t)n, s.n);
	}
	return 0;
}

ssize_t
talk_more(struct talk *t)
{
	char bytes[8192];
	ssize_t n;
	int err;

	while ((n = recv(t->fd, bytes, sizeof(bytes), 0)) < 0) {
		if (errno != EAGAIN)
			return -errno;
		if ((err = wait_for(t, POLLIN)) != 0)
			return -err;
	}
	buf_add(&t->in, bytes, (size_t)n);
	return t->in.is_over ? -EMSGSIZE : n;
}

bool
talk_need(struct talk *t, size_t n)
{
	while (t->in.n < n)
		if (talk_more(t) <= 0)
			return false;
	return true;
}

static bool
has_head(const struct buf *in)
{
	return in->n > 0 && memmem(in->p, in->n, "\r\n\r\n", 4) != NULL;
}

bool
talk_need_head(struct talk *t)
{
	while (!has_head(&t->in))
		if (talk_more(t) <= 0)
			return false;
	return true;
}
