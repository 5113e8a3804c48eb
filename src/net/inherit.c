/*
 * inherit.c - listening sockets that a service manager opened for this process
 */
#include "net/inherit.h"

#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/err.h"

#define FIRST 3         /* sd_listen_fds(3) */
#define SOCKETS_MAX 512 /* more than all lists of listeners have room for */

/* How many are for this very process?  A child's children inherit the variables, too. */
static size_t
announced(void)
{
	uint64_t pid, n;
	bool is_ours = str_decimal(str_of(getenv("LISTEN_PID")), &pid) &&
		       pid == (uint64_t)getpid() &&
		       str_decimal(str_of(getenv("LISTEN_FDS")), &n) && n <= SOCKETS_MAX;

	unsetenv("LISTEN_PID");
	unsetenv("LISTEN_FDS");
	unsetenv("LISTEN_FDNAMES");
	return is_ours ? (size_t)n : 0;
}

static int
option_of(int fd, int option)
{
	int value = -1;
	socklen_t len = sizeof(value);

	return getsockopt(fd, SOL_SOCKET, option, &value, &len) == 0 ? value : -1;
}

/* An abstract name, or none, begins with NUL: no configuration could say it. */
static bool
path_of(struct listen_at *out, const struct sockaddr_storage *sa, socklen_t len)
{
	const struct sockaddr_un *un = (const struct sockaddr_un *)sa;
	size_t n = len - offsetof(struct sockaddr_un, sun_path);

	out->is_unix = true;
	n = strnlen(un->sun_path, n < sizeof(out->path) ? n : sizeof(out->path) - 1);
	memcpy(out->path, un->sun_path, n);
	return n > 0;
}

static bool
place_of(struct listen_at *out, int fd)
{
	struct sockaddr_storage sa = { 0 };
	socklen_t len = sizeof(sa);
	int kind = option_of(fd, SO_TYPE);

	*out = (struct listen_at){ .is_udp = kind == SOCK_DGRAM };
	if (getsockname(fd, (struct sockaddr *)&sa, &len) != 0 ||
	    (kind == SOCK_STREAM ? option_of(fd, SO_ACCEPTCONN) != 1
				 : kind != SOCK_DGRAM || sa.ss_family == AF_UNIX))
		return false;
	return sa.ss_family == AF_UNIX
		   ? path_of(out, &sa, len)
		   : addr_from_sockaddr(&out->endpoint, (const struct sockaddr *)&sa);
}

/* As weir's own are; a service manager leaves both off. */
static bool
make_own(int fd)
{
	int flags = fcntl(fd, F_GETFL);

	return flags >= 0 && fcntl(fd, F_SETFL, flags | O_NONBLOCK) == 0 &&
	       fcntl(fd, F_SETFD, FD_CLOEXEC) == 0;
}

int
inherit_open(struct inherited *in, struct buf *why)
{
	size_t n = announced();

	*in = (struct inherited){ .p = mem_zalloc((n + 1) * sizeof(*in->p)) };
	for (; in->n < n; in->n++) {
		struct inherited_socket *one = &in->p[in->n];

		one->fd = FIRST + (int)in->n;
		if (!make_own(one->fd) || !place_of(&one->at, one->fd)) {
			buf_fmt(why,
			    "descriptor %d is no socket that listens at an address or a "
			    "path: ListenStream=, ListenDatagram= and Accept=no make "
			    "such",
			    one->fd);
			inherit_close(in);
			return ERR_INVALID;
		}
	}
	return 0;
}

static bool
is_same_place(const struct listen_at *a, const struct listen_at *b)
{
	if (a->is_unix || b->is_unix)
		return a->is_unix && b->is_unix && strcmp(a->path, b->path) == 0;
	return a->is_udp == b->is_udp && a->endpoint.port == b->endpoint.port &&
	       addr_eq(&a->endpoint.addr, &b->endpoint.addr);
}

int
inherit_take(struct inherited *in, const struct listen_at *at)
{
	for (size_t i = 0; i < in->n; i++) {
		int fd = in->p[i].fd;

		if (fd >= 0 && is_same_place(&in->p[i].at, at)) {
			in->p[i].fd = -1;
			return fd;
		}
	}
	return -1;
}

const struct listen_at *
inherit_left(const struct inherited *in)
{
	for (size_t i = 0; i < in->n; i++)
		if (in->p[i].fd >= 0)
			return &in->p[i].at;
	return NULL;
}

void
inherit_close(struct inherited *in)
{
	for (size_t i = 0; i < in->n; i++)
		if (in->p[i].fd >= 0)
			close(in->p[i].fd);
	free(in->p);
	*in = (struct inherited){ 0 };
}
