/*
 * relay.c - how bytes get from one socket to the other at the least cost
 *
 * Each direction (a way) copies through the worker's buffer, one recv and one
 * send for a message, until a read fills the buffer; then it splices through a
 * pipe until reads are small again.  What the taker has no room for waits in a
 * pipe (or, when the pool is dry, in a block), and nothing more is read.
 */
#include "net/relay.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BUFFER (64 * 1024)          /* one read; a read that fills it begins splicing */
#define LARGE (16 * 1024)           /* a splice that is worth it */
#define BULK_PATIENCE 8             /* so many small ones, and copying is cheaper again */
#define TURN_MOST (4 * 1024 * 1024) /* one way in one turn: others are waiting */
#define IDLE_PIPES 8                /* kept for the next who needs one */
#define SETTLE_MS 250

struct pipe {
	struct list link;
	int in, out;
	uint32_t size;
};

struct block {
	uint32_t from; /* what is before it has been taken */
	char bytes[];
};

struct pipes {
	struct list idle; /* empty pipes */
	size_t nidle, total, max;
	char buffer[BUFFER];
};

/* ---- pipes */

struct pipes *
pipes_new(size_t max_pipes)
{
	struct pipes *p = mem_zalloc(sizeof(*p));

	signal(SIGPIPE, SIG_IGN); /* splice(2) has no MSG_NOSIGNAL */
	p->max = max_pipes;
	list_init(&p->idle);
	return p;
}

static void
pipe_free(struct pipes *p, struct pipe *pipe)
{
	close(pipe->in);
	close(pipe->out);
	free(pipe);
	p->total--;
}

void
pipes_free(struct pipes *p)
{
	if (p == NULL)
		return;
	while (!list_is_empty(&p->idle)) {
		struct pipe *pipe = list_entry(p->idle.next, struct pipe, link);

		list_remove(&pipe->link);
		pipe_free(p, pipe);
	}
	free(p);
}

/*
 * Each byte costs a third less through 1 MiB than through 256 KiB, and that a
 * tenth less than through 64 KiB.  A user's pipes share one allowance, though
 * (fs.pipe-user-pages-soft): beyond it a pipe does not grow, which is fine, or
 * is made tiny, and then copying is better.
 */
static int
grow(int fd)
{
	static const int sizes[] = { 1024 * 1024, 256 * 1024 };

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		int size = fcntl(fd, F_SETPIPE_SZ, sizes[i]);

		if (size > 0)
			return size;
	}
	return fcntl(fd, F_GETPIPE_SZ);
}

static struct pipe *
pipe_new(struct pipes *p)
{
	int fd[2], size;
	struct pipe *pipe;

	if (p->total >= p->max || pipe2(fd, O_NONBLOCK | O_CLOEXEC) != 0)
		return NULL;
	size = grow(fd[1]);
	if (size < BUFFER) {
		close(fd[0]);
		close(fd[1]);
		return NULL;
	}
	pipe = mem_alloc(sizeof(*pipe));
	*pipe = (struct pipe){ .in = fd[1], .out = fd[0], .size = (uint32_t)size };
	p->total++;
	return pipe;
}

static struct pipe *
pipe_lend(struct pipes *p)
{
	struct pipe *pipe;

	if (list_is_empty(&p->idle))
		return pipe_new(p);
	pipe = list_entry(p->idle.next, struct pipe, link);
	list_remove(&pipe->link);
	p->nidle--;
	return pipe;
}

/* Empty again. */
static void
pipe_return(struct pipes *p, struct pipe *pipe)
{
	if (p->nidle >= IDLE_PIPES) {
		pipe_free(p, pipe);
		return;
	}
	list_append(&p->idle, &pipe->link);
	p->nidle++;
}

/* ---- bytes that wait */

static struct stream *
giver(const struct relay *r, int i)
{
	return i == RELAY_UP ? r->client : r->origin;
}

static struct stream *
taker(const struct relay *r, int i)
{
	return i == RELAY_UP ? r->origin : r->client;
}

static void
set_timer(struct relay *r)
{
	msec at = INT64_MAX;

	if (r->idle_ms > 0)
		at = r->last + r->idle_ms;
	if (!r->is_settled && r->last + SETTLE_MS < at)
		at = r->last + SETTLE_MS;
	for (int i = 0; i < 2; i++)
		if (r->stall_ms > 0 && r->way[i].pending > 0 &&
		    r->way[i].since + r->stall_ms < at)
			at = r->way[i].since + r->stall_ms;
	if (at == INT64_MAX)
		timer_clear(&r->timer);
	else
		timer_set(r->loop, &r->timer, at - loop_now(r->loop));
}

/* The timer is left alone while a relay is busy: it fires, looks at `last`, and is set
 * anew. */
static void
touch(struct relay *r)
{
	r->last = loop_now(r->loop);
	if (!r->is_settled)
		return;
	r->is_settled = false;
	set_timer(r);
}

static void
count(struct relay *r, int i, size_t n)
{
	*(i == RELAY_UP ? &r->up : &r->down) += n;
	touch(r);
}

/* Gives back what holds bytes; a pipe that still has some is of no use to another. */
static void
let_go(struct relay *r, struct relay_way *w)
{
	if (w->held == NULL)
		return;
	if (w->is_block)
		free(w->held);
	else if (w->pending > 0)
		pipe_free(r->pipes, w->held);
	else
		pipe_return(r->pipes, w->held);
	w->held = NULL;
	w->pending = 0;
}

static void
hold(struct relay *r, struct relay_way *w, void *held, bool is_block, size_t n)
{
	assert(w->held == NULL);
	w->held = held;
	w->is_block = is_block;
	w->pending = (uint32_t)n;
	w->since = loop_now(r->loop);
	touch(r);
}

/* What a pipe does not take whole (the first bytes may be many) goes into a block. */
static void
park(struct relay *r, struct relay_way *w, const char *p, size_t n)
{
	struct pipe *pipe = r->is_copied ? NULL : pipe_lend(r->pipes);
	struct block *block;

	if (pipe != NULL && write(pipe->in, p, n) == (ssize_t)n) {
		hold(r, w, pipe, false, n);
		return;
	}
	if (pipe != NULL) /* part of it may be in there */
		pipe_free(r->pipes, pipe);
	block = mem_alloc(sizeof(*block) + n);
	block->from = 0;
	memcpy(block->bytes, p, n);
	hold(r, w, block, true, n);
}

static ssize_t
take_held(struct relay_way *w, struct stream *to)
{
	struct pipe *pipe = w->held;
	struct block *block = w->held;
	size_t may;
	ssize_t n;

	if (w->is_block) {
		struct iovec v = { block->bytes + block->from, w->pending };

		if ((n = stream_write(to, &v, 1)) > 0)
			block->from += (uint32_t)n;
		return n;
	}
	if ((may = quota_ask(to->quota, w->pending)) == 0)
		return -EDQUOT;
	n = splice(pipe->out, NULL, to->fd, NULL, may, SPLICE_F_NONBLOCK | SPLICE_F_MOVE);
	if (n < 0)
		return -errno;
	quota_passed(to->quota, (size_t)n);
	return n;
}

/* 0: nothing waits any more; -EAGAIN: the taker is full; else it takes no more. */
static ssize_t
flush(struct relay *r, int i)
{
	struct relay_way *w = &r->way[i];

	while (w->pending > 0) {
		ssize_t n = take_held(w, taker(r, i));

		if (n <= 0)
			return n == 0 ? -EIO : n;
		w->pending -= (uint32_t)n;
		w->since = loop_now(r->loop);
		count(r, i, (size_t)n);
	}
	let_go(r, w);
	return 0;
}

/* ---- one way */

static void
end_way(struct relay *r, int i)
{
	r->way[i].state = WAY_OVER;
	let_go(r, &r->way[i]);
}

static void
blame(struct relay *r, const struct stream *s)
{
	if (r->how == RELAY_DONE)
		r->how = s == r->client ? RELAY_CLIENT_GONE : RELAY_ORIGIN_GONE;
}

/*
 * It takes no more, but what it sent before (an early answer to an upload) may
 * still be read: the other way goes on until the end shows there.
 */
static void
taker_is_gone(struct relay *r, int i)
{
	struct stream *gone = taker(r, i);

	blame(r, gone);
	end_way(r, i);
	gone->ready |= STREAM_READ | STREAM_HUP;
	stream_kick(gone);
}

static void
giver_is_gone(struct relay *r, int i)
{
	blame(r, giver(r, i));
	end_way(r, i);
	end_way(r, !i);
}

static void
end_spent(struct relay *r)
{
	r->how = RELAY_SPENT;
	end_way(r, RELAY_UP);
	end_way(r, RELAY_DOWN);
	stream_kick(r->client); /* within start, too, the owner is told from the loop */
}

static void
end_caught(struct relay *r)
{
	r->how = RELAY_CAUGHT;
	r->was_pending = r->way[RELAY_DOWN].pending > 0;
	end_way(r, RELAY_UP);
	end_way(r, RELAY_DOWN);
}

static void
taker_takes_no_more(struct relay *r, int i, ssize_t err)
{
	if (err == -EDQUOT)
		end_spent(r);
	else
		taker_is_gone(r, i);
}

static void
pass_end(struct relay *r, int i)
{
	bool is_last = r->way[!i].state == WAY_OVER;

	if (!is_last || r->is_copied) /* else the owner's close says it, too */
		stream_shut(taker(r, i));
	end_way(r, i);
}

/* A plain stream that took less is full; TLS takes a record at a time. */
static ssize_t
give(struct stream *to, const char *p, size_t n, size_t *taken)
{
	ssize_t more;

	*taken = 0;
	do {
		more = stream_write(to,
		    &(struct iovec){ (void *)(uintptr_t)(p + *taken), n - *taken }, 1);
		*taken += more > 0 ? (size_t)more : 0;
	} while (more > 0 && *taken < n && !to->ops->is_plain);
	return more;
}

static ssize_t
copy(struct relay *r, int i)
{
	struct relay_way *w = &r->way[i];
	char *buffer = r->pipes->buffer;
	ssize_t n, err = 0;
	size_t taken = 0;
	struct str out;

	if ((n = stream_read(giver(r, i), buffer, BUFFER)) <= 0)
		return n;
	if (n == BUFFER)
		w->bulk = BULK_PATIENCE;
	out = (struct str){ buffer, (size_t)n };
	if (r->pass != NULL && !r->pass(r->pass_arg, i, out, &out)) {
		end_caught(r);
		return n;
	}
	if (out.n > 0)
		err = give(taker(r, i), out.p, out.n, &taken);
	count(r, i, taken);
	if (err < 0 && err != -EAGAIN)
		taker_takes_no_more(r, i, err);
	else if (taken < out.n)
		park(r, w, out.p + taken, out.n - taken);
	return n;
}

/* The bytes wait in the pipe; the caller's flush passes them on. */
static ssize_t
pull(struct relay *r, int i, struct pipe *pipe)
{
	struct relay_way *w = &r->way[i];
	struct stream *from = giver(r, i);
	ssize_t n = splice(from->fd, NULL, pipe->in, NULL, pipe->size,
	    SPLICE_F_NONBLOCK | SPLICE_F_MOVE);
	int err = n < 0 ? errno : 0;

	if (n > 0) {
		w->bulk = n >= LARGE ? BULK_PATIENCE : (uint8_t)(w->bulk - 1);
		hold(r, w, pipe, false, (size_t)n);
		return n;
	}
	pipe_return(r->pipes, pipe);
	if (err == EAGAIN)
		from->ready &= (uint8_t)~STREAM_READ;
	if (err == EINVAL) { /* a kind of socket that cannot be spliced */
		r->is_copied = true;
		return copy(r, i);
	}
	return -err;
}

static ssize_t
receive(struct relay *r, int i)
{
	struct pipe *pipe = NULL;

	if (r->way[i].bulk > 0 && !r->is_copied)
		pipe = pipe_lend(r->pipes);
	return pipe != NULL ? pull(r, i, pipe) : copy(r, i);
}

/* Moves what can be moved, from a giver that has something to a taker that has room. */
static void
pump(struct relay *r, int i)
{
	struct relay_way *w = &r->way[i];
	ssize_t n, left = TURN_MOST;
	int reads = 0;

	while (w->state != WAY_OVER) {
		if (w->pending > 0 && (n = flush(r, i)) != 0) {
			if (n != -EAGAIN)
				taker_takes_no_more(r, i, n);
			return;
		}
		if (w->state == WAY_ENDED) {
			pass_end(r, i);
			return;
		}
		if ((giver(r, i)->ready & STREAM_READ) == 0)
			return;
		if (left <= 0 || reads++ == STREAM_READS) {
			stream_kick(giver(r, i));
			return;
		}
		if ((n = receive(r, i)) == 0) {
			r->is_origin_first |=
			    i == RELAY_DOWN && r->way[RELAY_UP].state == WAY_OPEN;
			w->state = WAY_ENDED;
		}
		if (n == -EAGAIN)
			return;
		if (n < 0)
			giver_is_gone(r, i);
		else
			left -= n;
	}
}

/* ---- both */

static void
release(struct relay *r)
{
	timer_clear(&r->timer);
	let_go(r, &r->way[RELAY_UP]);
	let_go(r, &r->way[RELAY_DOWN]);
	stream_attach(r->client, NULL, NULL);
	stream_attach(r->origin, NULL, NULL);
}

static void
finish(struct relay *r, enum relay_end how)
{
	release(r);
	r->done(r->arg, how);
}

/* The relay may be gone afterwards. */
static void
finish_when_over(struct relay *r)
{
	if (r->way[RELAY_UP].state == WAY_OVER && r->way[RELAY_DOWN].state == WAY_OVER)
		finish(r, r->how);
}

/* `gives` is the way this stream is read for, `takes` the one it is written for. */
static void
on_stream(struct relay *r, unsigned what, int gives, int takes)
{
	if (what & (STREAM_READ | STREAM_HUP))
		pump(r, gives);
	if ((what & STREAM_WRITE) && r->way[takes].pending > 0)
		pump(r, takes);
	finish_when_over(r);
}

static void
on_client(void *arg, unsigned what)
{
	on_stream(arg, what, RELAY_UP, RELAY_DOWN);
}

static void
on_origin(void *arg, unsigned what)
{
	on_stream(arg, what, RELAY_DOWN, RELAY_UP);
}

/*
 * libevent folds EPOLLERR into "readable and writable", so a reset that comes in
 * the same turn as the last bytes looks like a socket that was drained.  So a
 * relay that has fallen silent is looked at once.
 */
static void
look(struct relay *r)
{
	struct pollfd fds[2] = { { r->client->fd, POLLRDHUP, 0 },
		{ r->origin->fd, POLLRDHUP, 0 } };

	r->is_settled = true;
	if (r->way[RELAY_UP].pending == 0)
		quota_rest(r->origin->quota);
	if (poll(fds, 2, 0) <= 0)
		return;
	for (int i = 0; i < 2; i++) {
		if (fds[i].revents == 0)
			continue;
		giver(r, i)->ready |= STREAM_READ | STREAM_HUP;
		if (r->way[i].state == WAY_OPEN)
			pump(r, i);
		else if (fds[i].revents & POLLERR) /* reset after its end */
			giver_is_gone(r, i);
	}
}

static bool
is_stalled(const struct relay *r, msec now)
{
	for (int i = 0; i < 2; i++)
		if (r->stall_ms > 0 && r->way[i].pending > 0 &&
		    now - r->way[i].since >= r->stall_ms)
			return true;
	return false;
}

static void
on_timer(void *arg)
{
	struct relay *r = arg;
	msec now = loop_now(r->loop);

	if (is_stalled(r, now)) {
		finish(r, RELAY_STALLED);
		return;
	}
	if (r->idle_ms > 0 && now - r->last >= r->idle_ms) {
		finish(r, RELAY_IDLE);
		return;
	}
	if (!r->is_settled && now - r->last >= SETTLE_MS)
		look(r);
	set_timer(r);
	finish_when_over(r);
}

static void
send_first(struct relay *r, int i, struct str first)
{
	while (first.n > 0 && r->way[i].state == WAY_OPEN) {
		struct iovec v = { (void *)(uintptr_t)first.p, first.n };
		ssize_t n = stream_write(taker(r, i), &v, 1);

		if (n == -EAGAIN) {
			park(r, &r->way[i], first.p, first.n);
			return;
		}
		if (n <= 0) {
			taker_takes_no_more(r, i, n);
			return;
		}
		count(r, i, (size_t)n);
		first = str_sub(first, (size_t)n, first.n);
	}
}

void
relay_start(struct relay *r, struct loop *l, struct pipes *p, struct stream *client,
    struct stream *origin, struct str first_up, struct str first_down, msec idle_ms,
    msec stall_ms, void (*done)(void *arg, enum relay_end how), void *arg)
{
	*r = (struct relay){ .client = client,
		.origin = origin,
		.loop = l,
		.pipes = p,
		.idle_ms = (uint32_t)idle_ms, /* settings stay below a month */
		.stall_ms = (uint32_t)stall_ms,
		.last = loop_now(l),
		.done = done,
		.arg = arg };
	r->is_copied = !client->ops->is_plain || !origin->ops->is_plain;
	timer_init(&r->timer, on_timer, r);
	stream_attach(client, on_client, r);
	stream_attach(origin, on_origin, r);
	send_first(r, RELAY_UP, first_up);
	send_first(r, RELAY_DOWN, first_down);
	set_timer(r);
	if (client->ready & STREAM_READ)
		stream_kick(client);
	if (origin->ready & STREAM_READ)
		stream_kick(origin);
}

void
relay_filter(struct relay *r, relay_pass *pass, void *arg)
{
	r->pass = pass;
	r->pass_arg = arg;
	r->is_copied = true; /* what is spliced nobody sees */
}

void
relay_cancel(struct relay *r)
{
	release(r);
}
