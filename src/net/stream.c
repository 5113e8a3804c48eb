/*
 * stream.c - a plain socket as a stream
 */
#include "net/stream.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

static void
on_event(evutil_socket_t fd, short what, void *arg)
{
	struct stream *s = arg;
	unsigned seen = 0;

	(void)fd;
	if (what & EV_READ)
		seen |= STREAM_READ;
	if (what & EV_WRITE)
		seen |= STREAM_WRITE;
	if (what & EV_CLOSED)
		seen |= STREAM_READ | STREAM_HUP; /* the end is there to be read */
	if (s->ops->seen != NULL)
		seen = s->ops->seen(s, seen);
	s->ready |= (uint8_t)seen;
	s->is_kicked = (what & EV_TIMEOUT) != 0;
	if (s->is_kicked)
		seen = s->ready;
	if (s->notify != NULL)
		s->notify(s->arg, seen);
}

/*
 * A read that got less than it asked has drained the socket, so the recv that
 * would only say EAGAIN is saved: what comes later is a new edge.  Not after
 * HUP: the end came with an edge that has been told.
 */
static ssize_t
plain_read(struct stream *s, void *p, size_t n)
{
	ssize_t got = recv(s->fd, p, n, 0);

	if (got < 0) {
		s->is_short = false;
		s->ready &= (uint8_t)~STREAM_READ;
		return -errno;
	}
	s->is_short = (size_t)got < n;
	if (s->is_short && (s->ready & STREAM_HUP) == 0)
		s->ready &= (uint8_t)~STREAM_READ;
	return got;
}

static ssize_t
plain_peek(const struct stream *s)
{
	char byte;
	ssize_t n = recv(s->fd, &byte, 1, MSG_PEEK);

	return n < 0 ? -errno : n;
}

static bool
plain_is_quiet(struct stream *s)
{
	if ((s->ready & STREAM_HUP) != 0 || plain_peek(s) != -EAGAIN)
		return false;
	s->ready &= (uint8_t)~STREAM_READ;
	return true;
}

static ssize_t
plain_write(struct stream *s, const struct iovec *v, int n)
{
	struct msghdr message = { .msg_iov = (struct iovec *)(uintptr_t)v,
		.msg_iovlen = (size_t)n };
	ssize_t sent = n == 1 ? send(s->fd, v->iov_base, v->iov_len, MSG_NOSIGNAL)
			      : sendmsg(s->fd, &message, MSG_NOSIGNAL);

	if (sent >= 0)
		return sent;
	s->ready &= (uint8_t)~STREAM_WRITE;
	return -errno;
}

static void
plain_shut(struct stream *s)
{
	shutdown(s->fd, SHUT_WR);
}

static void
plain_close(struct stream *s)
{
	close(s->fd);
}

static const struct stream_ops plain = {
	.read = plain_read,
	.peek = plain_peek,
	.is_quiet = plain_is_quiet,
	.write = plain_write,
	.shut = plain_shut,
	.close = plain_close,
	.is_plain = true,
};

void
stream_open(struct stream *s, struct loop *l, int fd,
    void (*notify)(void *arg, unsigned what), void *arg)
{
	*s = (struct stream){ .fd = fd, .ops = &plain, .notify = notify, .arg = arg };
	event_assign(&s->ev, loop_base(l), fd,
	    EV_READ | EV_WRITE | EV_CLOSED | EV_ET | EV_PERSIST, on_event, s);
	if (event_add(&s->ev, NULL) == 0)
		return;
	/* a socket that cannot be watched (fs.epoll.max_user_watches) is one that ended
	 */
	shutdown(fd, SHUT_RDWR);
	event_active(&s->ev, EV_READ | EV_CLOSED, 0);
}

void
stream_open_quiet(struct stream *s, struct loop *l, int fd, const struct stream_ops *ops,
    void (*notify)(void *arg, unsigned what), void *arg)
{
	*s = (struct stream){ .fd = fd, .ops = ops, .notify = notify, .arg = arg };
	event_assign(&s->ev, loop_base(l), -1, 0, on_event, s);
}

void
stream_attach(struct stream *s, void (*notify)(void *arg, unsigned what), void *arg)
{
	s->notify = notify;
	s->arg = arg;
}

ssize_t
stream_read(struct stream *s, void *p, size_t n)
{
	assert(s->fd >= 0 && n > 0);
	return s->ops->read(s, p, n);
}

ssize_t
stream_peek(const struct stream *s)
{
	assert(s->fd >= 0);
	return s->ops->peek(s);
}

ssize_t
stream_look(const struct stream *s, void *p, size_t n)
{
	ssize_t got;

	assert(s->fd >= 0 && s->ops->is_plain);
	got = recv(s->fd, p, n, MSG_PEEK);
	return got < 0 ? -errno : got;
}

bool
stream_is_quiet(struct stream *s)
{
	assert(s->fd >= 0);
	return s->ops->is_quiet(s);
}

/* As many of the pieces as fit, or the beginning of the first one. */
static ssize_t
write_less(struct stream *s, const struct iovec *v, size_t most)
{
	struct iovec first = { v->iov_base, most };
	int whole = 0;

	if (v->iov_len > most)
		return s->ops->write(s, &first, 1);
	while (v[whole].iov_len <= most)
		most -= v[whole++].iov_len;
	return s->ops->write(s, v, whole);
}

ssize_t
stream_write(struct stream *s, const struct iovec *v, int n)
{
	size_t sum = 0, may;
	ssize_t sent;

	assert(s->fd >= 0);
	if (s->quota == NULL)
		return s->ops->write(s, v, n);
	for (int i = 0; i < n; i++)
		sum += v[i].iov_len;
	if ((may = quota_ask(s->quota, sum)) == 0 && sum > 0)
		return -EDQUOT;
	sent = may == sum ? s->ops->write(s, v, n) : write_less(s, v, may);
	if (sent > 0)
		quota_passed(s->quota, (size_t)sent);
	return sent;
}

void
stream_limit(struct stream *s, struct quota *q)
{
	s->quota = q;
}

static void
on_later(evutil_socket_t fd, short what, void *arg)
{
	struct stream *s = arg;

	event_free(s->later);
	s->later = NULL;
	on_event(fd, what, s);
}

/* Not a time-out of the stream's own event: libevent takes an event that timed out from
 * epoll. */
void
stream_kick(struct stream *s)
{
	if (!s->is_kicked) {
		event_active(&s->ev, EV_TIMEOUT, 0);
		return;
	}
	if (s->later != NULL)
		return;
	s->later = event_new(event_get_base(&s->ev), -1, 0, on_later, s);
	if (s->later == NULL || event_add(s->later, &(struct timeval){ 0, 0 }) != 0)
		abort(); /* out of memory */
}

void
stream_shut(struct stream *s)
{
	s->ops->shut(s);
}

/* A callback that is due in this turn is called off, too. */
static void
unwatch(struct stream *s)
{
	event_del(&s->ev);
	if (s->later != NULL)
		event_free(s->later);
	s->later = NULL;
}

static void
forget(struct stream *s)
{
	s->fd = -1;
	s->ready = 0;
	s->notify = NULL;
}

void
stream_close(struct stream *s)
{
	if (s->fd < 0)
		return;
	unwatch(s);
	s->ops->close(s);
	forget(s);
}

struct stream_left
stream_leave(struct stream *s)
{
	struct stream_left left = { .stream = { .fd = s->fd, .ops = s->ops } };

	assert(s->fd >= 0);
	unwatch(s);
	forget(s);
	return left;
}

void
stream_left_close(struct stream_left *left)
{
	left->stream.ops->close(&left->stream);
}

void
stream_reset(struct stream *s)
{
	struct linger now = { .l_onoff = 1, .l_linger = 0 };

	if (s->fd < 0)
		return;
	setsockopt(s->fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
	stream_close(s);
}
