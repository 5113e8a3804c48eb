/*
 * listener.c - from a text in the configuration to clients at the door
 */
#include "net/listener.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/count.h"
#include "base/err.h"
#include "base/log.h"

#define BACKLOG 4096 /* the kernel lowers it to net.core.somaxconn */
#define BATCH 64
#define PAUSE_MS 100
#define UNIX_MODE 0660 /* who may connect: the directory's and this */

/* ---- where */

bool
listen_at_parse(struct listen_at *out, struct str text)
{
	struct str scheme = STR("unix:"), secure = STR("tls:"), path;
	struct listen_at at = { 0 };
	size_t nul;

	if (!str_starts(text, scheme)) {
		at.is_tls = str_starts(text, secure);
		if (!endpoint_parse(
			&at.endpoint, at.is_tls ? str_sub(text, secure.n, text.n) : text))
			return false;
		*out = at;
		return true;
	}
	path = str_sub(text, scheme.n, text.n);
	if (path.n == 0 || path.n >= sizeof(at.path) || str_find(path, '\0', &nul))
		return false;
	at.is_unix = true;
	memcpy(at.path, path.p, path.n);
	*out = at;
	return true;
}

char *
listen_at_text(char out[static 128], const struct listen_at *at)
{
	if (at->is_unix)
		snprintf(out, 128, "unix:%s", at->path);
	else
		endpoint_text(stpcpy(out, at->is_tls ? "tls:" : ""), &at->endpoint);
	return out;
}

/* ---- binding */

#define LOW_PORT \
	"weir may not: choose a port from 1024 up, or give it CAP_NET_BIND_SERVICE"
#define NO_DIRECTORY_RIGHTS "weir may not: let it write to the directory"

static const struct {
	int number;
	const char *tcp, *unix_socket; /* NULL: does not come there */
} remedies[] = {
	{ EADDRINUSE, "another process listens there: stop it, or choose another port",
	    "another process listens there: stop it, or choose another path" },
	{ EACCES, LOW_PORT, NO_DIRECTORY_RIGHTS },
	{ EPERM, LOW_PORT, NO_DIRECTORY_RIGHTS },
	{ EADDRNOTAVAIL, "this host has no such address: choose one of `ip address`",
	    NULL },
	{ EAFNOSUPPORT, "this host has no IPv6: leave this listener out", NULL },
	{ ENOENT, NULL, "the directory does not exist: create it" },
	{ ENOTDIR, NULL, "a part of the path is no directory" },
	{ EROFS, NULL, "the file system is read-only: choose another directory" },
	{ EEXIST, NULL, "a file that is no socket is in the way: remove it" },
	{ EMFILE, "raise the limit of open files (ulimit -n, LimitNOFILE=)",
	    "raise the limit of open files (ulimit -n, LimitNOFILE=)" },
};

static void
explain(struct buf *why, const struct listen_at *at, int number)
{
	buf_text(why, strerror(number));
	for (size_t i = 0; i < sizeof(remedies) / sizeof(remedies[0]); i++) {
		const char *remedy =
		    at->is_unix ? remedies[i].unix_socket : remedies[i].tcp;
		if (remedies[i].number == number && remedy != NULL)
			buf_fmt(why, "; %s", remedy);
	}
}

static int
set(int fd, int level, int option, int value)
{
	return setsockopt(fd, level, option, &value, sizeof(value)) == 0 ? 0 : errno;
}

/* Bound, but nobody can connect yet; over UDP that is all. */
static int
claim(int *out, const struct listen_at *at, bool shares_port)
{
	struct sockaddr_storage sa;
	socklen_t len = endpoint_sockaddr(&at->endpoint, &sa);
	int kind = at->is_udp ? SOCK_DGRAM : SOCK_STREAM;
	int fd = socket(sa.ss_family, kind | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), err;

	if (fd < 0)
		return errno;
	err = at->is_udp ? 0 : set(fd, SOL_SOCKET, SO_REUSEADDR, 1);
	if (err == 0 && shares_port)
		err = set(fd, SOL_SOCKET, SO_REUSEPORT, 1);
	if (err == 0 && sa.ss_family == AF_INET6)
		err = set(fd, IPPROTO_IPV6, IPV6_V6ONLY, 1);
	if (err == 0 && bind(fd, (struct sockaddr *)&sa, len) != 0)
		err = errno;
	if (err != 0)
		close(fd);
	else
		*out = fd;
	return err;
}

/* TPROXY needs it, and the right to it (CAP_NET_RAW); REDIRECT does without. */
static void
take_any_address(int fd, const struct listen_at *at)
{
	if (addr_is_v4(&at->endpoint.addr))
		(void)set(fd, IPPROTO_IP, IP_TRANSPARENT, 1);
	else
		(void)set(fd, IPPROTO_IPV6, IPV6_TRANSPARENT, 1);
}

/*
 * Accepted sockets inherit TCP_NODELAY; TCP_DEFER_ACCEPT: clients speak first, but those
 * that think that they have reached their server.
 */
static int
tune(int fd, const struct listen_at *at)
{
	int err = 0;

	if (at->is_unix || at->is_udp)
		return 0;
	if (at->is_transparent)
		take_any_address(fd, at);
	else
		err = set(fd, IPPROTO_TCP, TCP_DEFER_ACCEPT, 1);
	return err == 0 ? set(fd, IPPROTO_TCP, TCP_NODELAY, 1) : err;
}

static int
bind_tcp(int *out, const struct listen_at *at, bool shares_port)
{
	int fd = -1, err = claim(&fd, at, shares_port);

	if (err != 0)
		return err;
	if ((err = tune(fd, at)) == 0 && listen(fd, BACKLOG) != 0)
		err = errno;
	if (err != 0)
		close(fd);
	else
		*out = fd;
	return err;
}

static struct sockaddr_un
unix_address(const struct listen_at *at)
{
	struct sockaddr_un sa = { .sun_family = AF_UNIX };

	memcpy(sa.sun_path, at->path, sizeof(sa.sun_path) - 1);
	return sa;
}

/* Nobody accepts on a socket whose process died; its file stays behind and is in the way.
 */
static bool
is_stale(const struct listen_at *at)
{
	struct sockaddr_un sa = unix_address(at);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	bool is_refused;

	if (fd < 0)
		return false;
	is_refused =
	    connect(fd, (struct sockaddr *)&sa, sizeof(sa)) != 0 && errno == ECONNREFUSED;
	close(fd);
	return is_refused;
}

static int
clear_path(const struct listen_at *at)
{
	struct stat st;

	if (lstat(at->path, &st) != 0)
		return errno == ENOENT ? 0 : errno;
	if (!S_ISSOCK(st.st_mode))
		return EEXIST;
	if (!is_stale(at))
		return EADDRINUSE;
	return unlink(at->path) == 0 ? 0 : errno;
}

/* The mode is set before there is a file, so that at no moment more may connect than
 * should. */
static int
bind_unix(int *out, const struct listen_at *at)
{
	struct sockaddr_un sa = unix_address(at);
	int err = clear_path(at), fd;

	if (err != 0)
		return err;
	if ((fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)) < 0)
		return errno;
	if (fchmod(fd, UNIX_MODE) == 0 &&
	    bind(fd, (struct sockaddr *)&sa, sizeof(sa)) == 0 &&
	    chmod(at->path, UNIX_MODE) == 0 && listen(fd, BACKLOG) == 0) {
		*out = fd;
		return 0;
	}
	err = errno;
	close(fd);
	return err;
}

int
listener_bind(int *fd, const struct listen_at *at, bool shares_port, struct buf *why)
{
	int number = at->is_unix  ? bind_unix(fd, at)
		     : at->is_udp ? claim(fd, at, shares_port)
				  : bind_tcp(fd, at, shares_port);

	if (number == 0)
		return 0;
	explain(why, at, number);
	return ERR_IO;
}

int
listener_adopt(int fd, const struct listen_at *at, struct buf *why)
{
	int number = tune(fd, at);

	if (number == 0)
		return 0;
	explain(why, at, number);
	return ERR_IO;
}

int
listener_probe(const struct listen_at *at, struct buf *why)
{
	int fd = -1, number = claim(&fd, at, false);

	if (number == 0) {
		close(fd);
		return 0;
	}
	explain(why, at, number);
	return ERR_IO;
}

void
listener_unbind(int fd, const struct listen_at *at)
{
	struct stat st;

	close(fd);
	if (at->is_unix && lstat(at->path, &st) == 0 && S_ISSOCK(st.st_mode) &&
	    is_stale(at))
		unlink(at->path);
}

/* ---- accepting */

struct listener {
	struct loop *loop;
	struct event ev;
	struct timer resume;
	int fd;
	/* given up for a moment to accept, and close, a client we have no descriptor for
	 */
	int spare;
	bool is_unix, is_closed; /* closed: nothing is accepted any more */
	listener_accepted *fn;
	void *arg;
};

static bool
peer_of(struct peer *out, int fd, const struct sockaddr_storage *sa, bool is_unix)
{
	struct ucred cred;
	socklen_t len = sizeof(cred);

	*out = (struct peer){ .is_unix = is_unix };
	if (!is_unix)
		return addr_from_sockaddr(&out->endpoint, (const struct sockaddr *)sa);
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) != 0)
		return false;
	out->uid = cred.uid;
	return true;
}

static int
open_spare(void)
{
	return open("/dev/null", O_RDONLY | O_CLOEXEC);
}

/* Without this a client that cannot be taken would wait, and wait again, in the backlog.
 */
static void
turn_away(struct listener *l)
{
	int fd;

	if (l->spare < 0)
		return;
	close(l->spare);
	if ((fd = accept4(l->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0)
		close(fd);
	l->spare = open_spare();
}

static void
pause_a_while(struct listener *l)
{
	event_del(&l->ev);
	timer_set(l->loop, &l->resume, PAUSE_MS);
}

static void
on_resume(void *arg)
{
	struct listener *l = arg;

	if (l->spare < 0)
		l->spare = open_spare();
	event_add(&l->ev, NULL);
}

/* True: the next may be accepted. */
static bool
accept_failed(struct listener *l, int number)
{
	if (number == EAGAIN)
		return false;
	count_add(COUNT_ACCEPT_ERRORS, 1);
	switch (number) {
	case EMFILE:
	case ENFILE:
		turn_away(l);
		pause_a_while(l);
		return false;
	case ENOBUFS:
	case ENOMEM:
	case EBADF:
	case EINVAL:
	case ENOTSOCK:
	case EOPNOTSUPP:
		/* it would fail again at once, and the loop would spin */
		pause_a_while(l);
		return false;
	default:
		return true; /* accept(2): errors of the network are that one client's */
	}
}

static void
on_ready(evutil_socket_t ready, short what, void *arg)
{
	struct listener *l = arg;

	(void)ready, (void)what;
	for (int i = 0; i < BATCH && !l->is_closed; i++) {
		struct sockaddr_storage sa;
		socklen_t len = sizeof(sa);
		struct peer peer;
		int fd = accept4(
		    l->fd, (struct sockaddr *)&sa, &len, SOCK_NONBLOCK | SOCK_CLOEXEC);

		if (fd < 0) {
			if (!accept_failed(l, errno))
				return;
		} else if (peer_of(&peer, fd, &sa, l->is_unix)) {
			l->fn(l->arg, fd, &peer);
		} else {
			close(fd);
		}
	}
}

struct listener *
listener_new(struct loop *loop, int fd, listener_accepted *fn, void *arg)
{
	struct listener *l = mem_zalloc(sizeof(*l));
	int domain = 0;
	socklen_t len = sizeof(domain);

	getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &len);
	evutil_make_socket_nonblocking(fd); /* an inherited one may not be */
	l->loop = loop;
	l->fd = fd;
	l->is_unix = domain == AF_UNIX;
	l->spare = open_spare();
	l->fn = fn;
	l->arg = arg;
	timer_init(&l->resume, on_resume, l);
	event_assign(&l->ev, loop_base(loop), fd, EV_READ | EV_PERSIST, on_ready, l);
	if (event_add(&l->ev, NULL) != 0)
		timer_set(loop, &l->resume, PAUSE_MS);
	return l;
}

void
listener_pause(struct listener *l)
{
	l->is_closed = true;
	timer_clear(&l->resume);
	event_del(&l->ev);
}

void
listener_free(struct listener *l)
{
	if (l == NULL)
		return;
	listener_pause(l);
	if (l->spare >= 0)
		close(l->spare);
	loop_free_later(l->loop, free, l); /* it may be in the middle of a batch */
}
