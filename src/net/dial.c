/*
 * dial.c - which of a few addresses answers first?
 */
#include "net/dial.h"

#include <assert.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/count.h"
#include "base/err.h"

#define TRIES_MAX 4
#define HEAD_START_MS 250 /* RFC 8305 5: connection attempt delay */

struct attempt {
	struct dial *dial;
	struct endpoint to;
	int fd; /* -1: not begun, or failed */
	struct event ev;
};

struct dial {
	struct loop *loop;
	struct attempt attempt[TRIES_MAX];
	size_t count, begun;
	struct timer pace; /* the next address may be tried */
	struct timer deadline;
	struct event step; /* made active to go on with the next address, in this turn */
	int err;           /* the failure that says most so far */
	struct stream *into;
	dial_done *done;
	void *arg;
};

/* What the operator learns when several addresses failed: the first of these that
 * occurred. */
static const int telling[] = { ERR_DESCRIPTORS, ERR_REFUSED, ERR_TIMEOUT, ERR_IO,
	ERR_UNROUTABLE };

static const struct {
	int number;
	int err;
} meaning[] = {
	{ ECONNREFUSED, ERR_REFUSED }, { ETIMEDOUT, ERR_TIMEOUT },
	{ EMFILE, ERR_DESCRIPTORS }, { ENFILE, ERR_DESCRIPTORS },
	{ ENOBUFS, ERR_DESCRIPTORS }, { ENOMEM, ERR_DESCRIPTORS },
	{ EAGAIN, ERR_DESCRIPTORS }, /* no local port left */
	{ ENETUNREACH, ERR_UNROUTABLE }, { EHOSTUNREACH, ERR_UNROUTABLE },
	{ ENETDOWN, ERR_UNROUTABLE }, { EHOSTDOWN, ERR_UNROUTABLE },
	{ EADDRNOTAVAIL, ERR_UNROUTABLE }, /* no own address of that family */
	{ EAFNOSUPPORT, ERR_UNROUTABLE },
	{ EACCES, ERR_UNROUTABLE }, /* a firewall's word */
	{ EPERM, ERR_UNROUTABLE },
	{ EINVAL, ERR_UNROUTABLE }, /* link-local without a zone */
};

static int
err_of(int number)
{
	for (size_t i = 0; i < sizeof(meaning) / sizeof(meaning[0]); i++)
		if (meaning[i].number == number)
			return meaning[i].err;
	return ERR_IO;
}

static size_t
rank(int err)
{
	size_t i = 0;

	while (i < sizeof(telling) / sizeof(telling[0]) && telling[i] != err)
		i++;
	return i;
}

static void
note(struct dial *d, int err)
{
	if (d->err == 0 || rank(err) < rank(d->err))
		d->err = err;
}

static void
drop(struct attempt *a)
{
	if (a->fd < 0)
		return;
	event_del(&a->ev);
	close(a->fd);
	a->fd = -1;
}

static void
dial_free(struct dial *d)
{
	for (size_t i = 0; i < d->begun; i++)
		drop(&d->attempt[i]);
	timer_clear(&d->pace);
	timer_clear(&d->deadline);
	event_del(&d->step);
	free(d);
}

static void
fail(struct dial *d)
{
	dial_done *done = d->done;
	void *arg = d->arg;
	int err = d->err;

	dial_free(d);
	count_add(COUNT_DIAL_FAILURES, 1);
	done(arg, err, NULL);
}

static void
on_deadline(void *arg)
{
	struct dial *d = arg;

	note(d, ERR_TIMEOUT);
	fail(d);
}

/*
 * The stream's event is added before the attempt's goes, with the same flags:
 * libevent then need not tell the kernel anything, which saves two system calls
 * for each tunnel.  No edge will repeat what the attempt's event has told, so
 * it is written down here.
 */
static void
hand_over(struct attempt *a, unsigned ready)
{
	struct dial *d = a->dial;

	stream_open(d->into, d->loop, a->fd, NULL, NULL);
	d->into->ready |= (uint8_t)ready;
	event_del(&a->ev);
	a->fd = -1;
}

static void
win(struct attempt *a, unsigned ready)
{
	struct dial *d = a->dial;
	dial_done *done = d->done;
	void *arg = d->arg;
	struct endpoint to = a->to;

	hand_over(a, ready);
	dial_free(d);
	done(arg, 0, &to);
}

/*
 * Writable and nothing else is success.  An error always shows as readable
 * too; then, and when the origin speaks first, the socket is asked.
 */
static void
on_attempt(evutil_socket_t fd, short what, void *arg)
{
	struct attempt *a = arg;
	int number = 0;
	socklen_t len = sizeof(number);
	unsigned ready = STREAM_WRITE;

	if ((what & (EV_READ | EV_CLOSED)) != 0 &&
	    getsockopt(fd, SOL_SOCKET, SO_ERROR, &number, &len) != 0)
		number = errno;
	if (number != 0) {
		note(a->dial, err_of(number));
		drop(a);
		event_active(&a->dial->step, EV_TIMEOUT, 0);
		return;
	}
	if (what & EV_READ)
		ready |= STREAM_READ;
	if (what & EV_CLOSED)
		ready |= STREAM_READ | STREAM_HUP;
	win(a, ready);
}

/* 0, or errno's number. */
static int
begin(struct attempt *a)
{
	struct sockaddr_storage sa;
	socklen_t len = endpoint_sockaddr(&a->to, &sa);
	int fd = socket(sa.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	int on = 1;

	if (fd < 0)
		return errno;
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	if (connect(fd, (struct sockaddr *)&sa, len) != 0 && errno != EINPROGRESS) {
		int number = errno;
		close(fd);
		return number;
	}
	event_assign(&a->ev, loop_base(a->dial->loop), fd,
	    EV_READ | EV_WRITE | EV_CLOSED | EV_ET | EV_PERSIST, on_attempt, a);
	if (event_add(&a->ev, NULL) != 0) {
		close(fd);
		return ENOMEM;
	}
	a->fd = fd;
	return 0;
}

static bool
is_any_live(const struct dial *d)
{
	for (size_t i = 0; i < d->begun; i++)
		if (d->attempt[i].fd >= 0)
			return true;
	return false;
}

/* Goes on to the next address that gives a socket; when none is left and none lives, it
 * is over. */
static void
advance(struct dial *d)
{
	while (d->begun < d->count) {
		int number = begin(&d->attempt[d->begun++]);

		if (number == 0) {
			if (d->begun < d->count)
				timer_set(d->loop, &d->pace, HEAD_START_MS);
			return;
		}
		note(d, err_of(number));
	}
	if (!is_any_live(d))
		fail(d);
}

static void
on_pace(void *arg)
{
	advance(arg);
}

static void
on_step(evutil_socket_t fd, short what, void *arg)
{
	(void)fd, (void)what;
	advance(arg);
}

struct dial *
dial_start(struct loop *l, const struct vetted *to, struct stream *into, msec timeout_ms,
    dial_done *done, void *arg)
{
	struct dial *d = mem_zalloc(sizeof(*d));

	assert(to->count > 0 && to->count <= VETTED_MAX);
	d->loop = l;
	d->into = into;
	d->done = done;
	d->arg = arg;
	d->count = to->count < TRIES_MAX ? to->count : TRIES_MAX;
	for (size_t i = 0; i < d->count; i++)
		d->attempt[i] = (struct attempt){ .dial = d,
			.to = { .addr = to->addr[i], .port = to->port },
			.fd = -1 };
	timer_init(&d->pace, on_pace, d);
	timer_init(&d->deadline, on_deadline, d);
	event_assign(&d->step, loop_base(l), -1, 0, on_step, d);
	timer_set(l, &d->deadline, timeout_ms);
	count_add(COUNT_DIALS, 1);
	event_active(&d->step, EV_TIMEOUT, 0);
	return d;
}

void
dial_cancel(struct dial *d)
{
	if (d != NULL)
		dial_free(d);
}
