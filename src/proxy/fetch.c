/*
 * fetch.c - weir's own small client: one question, one small answer
 */
#include "proxy/fetch.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "base/err.h"
#include "proxy/reach.h"
#include "wire/body.h"

#define HEAD_MEMORY ((size_t)256 * 1024) /* of the head, read */
#define INTERIM_MAX 16                   /* 1xx answers */

struct fetch {
	struct engine *e;
	struct snapshot *snapshot;
	struct fetch_order order;
	struct timer deadline;
	msec until;
	struct vetted vetted;
	struct lookup *lookup;
	struct reach *reach;
	struct tls_start *shaking;
	struct origin *origin;
	struct buf up; /* not taken yet */
	struct buf in; /* the head, and what came behind it */
	struct arena arena;
	struct http_reader reader;
	struct http_head head;
	bool has_head;
	unsigned interim;
	struct body_reader framing;
	struct buf body;
	bool is_over; /* done() was called, or never will be */
	fetch_done *done;
	void *arg;
};

/* ---- the end */

static void
let_go(struct fetch *f)
{
	timer_clear(&f->deadline);
	if (f->lookup != NULL)
		lookup_cancel(f->lookup);
	reach_cancel(f->reach);
	tls_cancel(f->shaking);
	origin_close(f->e->loop, f->origin);
	f->lookup = NULL;
	f->reach = NULL;
	f->shaking = NULL;
	f->origin = NULL;
	f->is_over = true;
}

static void
give_back(void *arg)
{
	struct fetch *f = arg;

	buf_fini(&f->up);
	buf_fini(&f->in);
	buf_fini(&f->body);
	arena_fini(&f->arena);
	snapshot_unref(f->snapshot);
	free(f);
}

static void
finish(struct fetch *f, int err)
{
	assert(!f->is_over);
	let_go(f);
	loop_free_later(f->e->loop, give_back, f);
	f->done(f->arg, err, f->head.status, err == 0 ? buf_view(&f->body) : STR_NONE);
}

void
fetch_cancel(struct fetch *f)
{
	if (f == NULL)
		return;
	assert(!f->is_over);
	let_go(f);
	loop_free_later(f->e->loop, give_back, f);
}

static void
on_deadline(void *arg)
{
	finish(arg, ERR_TIMEOUT);
}

/* ---- the answer */

/* 0: it goes on; 1: it is whole; else an error. */
static int
take_body(struct fetch *f, struct str in)
{
	for (;;) {
		size_t used;
		struct str piece;
		enum body_result r = body_read(&f->framing, in, &used, &piece);
		in = str_sub(in, used, in.n);
		switch (r) {
		case BODY_DATA:
			buf_str(&f->body, piece);
			if (f->body.is_over)
				return ERR_INVALID;
			break;
		case BODY_DONE:
			return 1;
		case BODY_BAD:
			return ERR_INVALID;
		case BODY_MORE:
			return 0;
		}
	}
}

static bool
is_coded(const struct http_head *h)
{
	const struct http_field *f = http_field(h, STR("Content-Encoding"));

	return f != NULL && f->value.n > 0 && !str_eq_nocase(f->value, STR("identity"));
}

static int
take_head(struct fetch *f)
{
	http_response_for(&f->head, STR("POST"));
	if (f->head.status == 101 || is_coded(&f->head) ||
	    (f->head.status < 200 && ++f->interim > INTERIM_MAX))
		return ERR_INVALID;
	f->has_head = f->head.status >= 200;
	if (f->has_head)
		body_reader_init(&f->framing, &f->head);
	else
		http_reader_init(&f->reader, HTTP_RESPONSE, &f->snapshot->response_limit);
	return 0;
}

static int
take(struct fetch *f, struct str in)
{
	int err = 0;

	if (f->has_head)
		return take_body(f, in);
	buf_str(&f->in, in);
	while (!f->has_head && err == 0 && f->in.n > 0) {
		size_t used;
		enum http_result r =
		    http_read(&f->reader, buf_view(&f->in), &f->arena, &f->head, &used);
		if (r == HTTP_MORE && !f->in.is_over)
			return 0;
		if (r != HTTP_DONE)
			return ERR_INVALID;
		err = take_head(f);
		if (err == 0 && f->has_head)
			err = take_body(f, str_sub(buf_view(&f->in), used, f->in.n));
		buf_drop(&f->in, used);
	}
	return err;
}

static int
ended(const struct fetch *f, bool is_clean)
{
	if (!is_clean)
		return ERR_IO;
	return f->has_head && body_may_end(&f->framing) ? 1 : ERR_INVALID;
}

/* ---- both ways */

static int
flush(struct fetch *f)
{
	while (f->up.n > 0) {
		struct iovec v = { f->up.p, f->up.n };
		ssize_t n = stream_write(&f->origin->stream, &v, 1);
		if (n == -EAGAIN)
			return 0;
		if (n <= 0)
			return ERR_IO;
		buf_drop(&f->up, (size_t)n);
	}
	buf_fini(&f->up);
	return 0;
}

static int
read_on(struct fetch *f)
{
	for (int reads = 0; stream_may_have_ended(&f->origin->stream); reads++) {
		ssize_t n;
		int r;
		if (reads == STREAM_READS) {
			stream_kick(&f->origin->stream);
			return 0;
		}
		n = stream_read(&f->origin->stream, f->e->scratch, SCRATCH);
		if (n == -EAGAIN)
			return 0;
		if (n <= 0)
			return ended(f, n == 0);
		if ((r = take(f, (struct str){ f->e->scratch, (size_t)n })) != 0)
			return r;
	}
	return 0;
}

static void
on_stream(void *arg, unsigned what)
{
	struct fetch *f = arg;
	int r;

	(void)what;
	if ((r = flush(f)) == 0)
		r = read_on(f);
	if (r != 0)
		finish(f, r < 0 ? r : 0);
}

/* ---- the way there */

static msec
time_left(const struct fetch *f)
{
	msec left = f->until - loop_now(f->e->loop);

	return left > 0 ? left : 1;
}

static void
begin(struct fetch *f)
{
	stream_attach(&f->origin->stream, on_stream, f);
	stream_kick(&f->origin->stream);
}

static void
on_shaken(void *arg, int err, const char *why)
{
	struct fetch *f = arg;

	(void)why;
	f->shaking = NULL;
	if (err != 0)
		finish(f, err);
	else
		begin(f);
}

static void
shake(struct fetch *f)
{
	if (f->e->tls == NULL) {
		finish(f, ERR_UNVERIFIED);
		return;
	}
	f->origin->is_secure = true;
	f->shaking = tls_start(f->e->tls, &f->origin->stream, &f->order.host,
	    f->order.port, time_left(f), on_shaken, f);
}

static void
on_early(void *arg, unsigned what)
{
	(void)arg, (void)what; /* the stream remembers what is ready */
}

static void
on_reached(void *arg, int err, const struct endpoint *to, bool is_through_parent)
{
	static const struct endpoint unknown;
	struct fetch *f = arg;

	(void)is_through_parent;
	f->reach = NULL;
	if (err != 0) {
		finish(f, err);
		return;
	}
	origin_connected(f->origin, to != NULL ? to : &unknown, on_early, f);
	if (f->order.is_https)
		shake(f);
	else
		begin(f);
}

static void
reach(struct fetch *f, const struct vetted *to)
{
	struct reach_order order = {
		.host = &f->order.host,
		.port = f->order.port,
		.to = to,
		.asker = f->order.asker,
		.timeout_ms = time_left(f),
	};

	f->origin = origin_new();
	f->reach =
	    reach_start(f->e, f->snapshot, &order, &f->origin->stream, on_reached, f);
}

static void
on_resolved(void *arg, const struct found *found)
{
	struct fetch *f = arg;
	const char *why;

	f->lookup = NULL;
	if (found->err != 0) {
		finish(f, found->err);
		return;
	}
	if (!guard_vet(&f->vetted, found->addr, found->count, f->order.port,
		&f->snapshot->place, &f->order.opened, &why)) {
		finish(f, ERR_INVALID);
		return;
	}
	reach(f, &f->vetted);
}

struct fetch *
fetch_start(struct engine *e, struct snapshot *snapshot, const struct fetch_order *order,
    fetch_done *done, void *arg)
{
	struct fetch *f = mem_zalloc(sizeof(*f));

	f->e = e;
	f->snapshot = snapshot_ref(snapshot);
	f->order = *order;
	f->up = *order->request;
	buf_init(order->request, 0);
	f->order.request = NULL;
	f->done = done;
	f->arg = arg;
	f->until = loop_now(e->loop) + order->timeout_ms;
	buf_init(&f->in, snapshot->response_limit.head + SCRATCH);
	buf_init(&f->body, order->max);
	arena_init(&f->arena, HEAD_MEMORY);
	http_reader_init(&f->reader, HTTP_RESPONSE, &snapshot->response_limit);
	timer_init(&f->deadline, on_deadline, f);
	timer_set(e->loop, &f->deadline, order->timeout_ms);
	if (parent_resolves(snapshot->parent, &order->host))
		reach(f, NULL);
	else
		f->lookup = resolver_start(
		    e->resolver, order->asker, &order->host, on_resolved, f);
	f->order.asker = STR("weir"); /* it was borrowed */
	return f;
}
