/*
 * datagram.c - questions in one datagram each, and each of them a stream
 */
#include "net/datagram.h"

#include <errno.h>
#include <stdlib.h>

#include "base/count.h"

#define BATCH 64 /* before others have their turn */

/* ---- one of them, as a stream */

/* What hangs on a stream: its ops are this one's. */
struct message {
	struct stream_ops ops; /* the first member */
	int fd;
	struct sockaddr_storage to;
	socklen_t to_len;
	bool is_read, is_shut;
	size_t n;
	char bytes[];
};

static struct message *
message_of(const struct stream *s)
{
	return (struct message *)(uintptr_t)s->ops;
}

/* The client of a datagram never goes away: an end comes only when weir wants no more. */
static ssize_t
message_read(struct stream *s, void *p, size_t n)
{
	struct message *m = message_of(s);

	if (m->is_read) {
		s->ready &= (uint8_t)~STREAM_READ;
		return m->is_shut ? 0 : -EAGAIN;
	}
	m->is_read = true;
	if (m->n < n)
		n = m->n;
	memcpy(p, m->bytes, n);
	return (ssize_t)n;
}

static ssize_t
message_peek(const struct stream *s)
{
	return message_of(s)->is_read ? -EAGAIN : 1;
}

static bool
message_is_quiet(struct stream *s)
{
	return message_of(s)->is_read;
}

/* A socket without room, a client that is gone: it is lost like any datagram. */
static ssize_t
message_write(struct stream *s, const struct iovec *v, int n)
{
	const struct message *m = message_of(s);
	struct msghdr header = { .msg_name = (void *)(uintptr_t)&m->to,
		.msg_namelen = m->to_len,
		.msg_iov = (struct iovec *)(uintptr_t)v,
		.msg_iovlen = (size_t)n };
	ssize_t all = 0;

	for (int i = 0; i < n; i++)
		all += (ssize_t)v[i].iov_len;
	if (sendmsg(m->fd, &header, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
		count_add(COUNT_DATAGRAMS_LOST, 1);
	return all;
}

static void
message_shut(struct stream *s)
{
	message_of(s)->is_shut = true;
	s->ready |= STREAM_READ;
}

static void
message_close(struct stream *s)
{
	free(message_of(s));
}

static const struct stream_ops message_ops = {
	.read = message_read,
	.peek = message_peek,
	.is_quiet = message_is_quiet,
	.write = message_write,
	.shut = message_shut,
	.close = message_close,
};

void
datagram_open(struct stream *s, struct loop *l, const struct datagram *d,
    void (*notify)(void *arg, unsigned what), void *arg)
{
	struct message *m = mem_zalloc(sizeof(*m) + d->bytes.n);

	m->ops = message_ops;
	m->fd = d->fd;
	m->to = d->from;
	m->to_len = d->from_len;
	m->n = d->bytes.n;
	memcpy(m->bytes, d->bytes.p, m->n);
	stream_open_quiet(s, l, m->fd, &m->ops, notify, arg);
}

/* ---- the socket */

struct datagrams {
	struct event ev;
	struct loop *loop;
	int fd;
	bool is_closed;
	datagram_came *fn;
	void *arg;
	size_t most;
	char *bytes; /* most and one more */
};

/* False: there is none. */
static bool
receive(struct datagrams *d, struct datagram *one)
{
	ssize_t n;

	one->fd = d->fd;
	one->from_len = sizeof(one->from);
	n = recvfrom(d->fd, d->bytes, d->most + 1, MSG_DONTWAIT,
	    (struct sockaddr *)&one->from, &one->from_len);
	if (n < 0)
		return false;
	one->bytes = (struct str){ d->bytes, (size_t)n };
	return true;
}

static void
on_ready(evutil_socket_t ready, short what, void *arg)
{
	struct datagrams *d = arg;
	struct datagram one;

	(void)ready, (void)what;
	for (int i = 0; i < BATCH && !d->is_closed && receive(d, &one); i++) {
		if (one.bytes.n > d->most)
			count_add(COUNT_DATAGRAMS_LOST, 1);
		else
			d->fn(d->arg, &one);
	}
}

struct datagrams *
datagrams_new(struct loop *l, int fd, size_t most, datagram_came *fn, void *arg)
{
	struct datagrams *d = mem_zalloc(sizeof(*d));

	d->loop = l;
	d->fd = fd;
	d->most = most;
	d->bytes = mem_alloc(most + 1);
	d->fn = fn;
	d->arg = arg;
	event_assign(&d->ev, loop_base(l), fd, EV_READ | EV_PERSIST, on_ready, d);
	if (event_add(&d->ev, NULL) != 0)
		abort(); /* at the start: there is no service without it */
	return d;
}

static void
drop(void *arg)
{
	struct datagrams *d = arg;

	free(d->bytes);
	free(d);
}

void
datagrams_free(struct datagrams *d)
{
	if (d == NULL)
		return;
	d->is_closed = true;
	event_del(&d->ev);
	loop_free_later(d->loop, drop, d); /* it may be in the middle of a batch */
}
