/*
 * reach.c - a connection to where something goes: straight, or through the parent proxy
 */
#include "proxy/reach.h"

#include <assert.h>
#include <errno.h>
#include <openssl/crypto.h>
#include <stdlib.h>

#include "base/err.h"
#include "net/dial.h"
#include "proxy/parent.h"

#define TRIES_MAX 4 /* addresses that the parent is asked for */
#define ANSWER_MAX ((size_t)16 * 1024)
#define INTERIM_MAX 16 /* 1xx answers */
#define ASK_MAX ((size_t)4096)
#define MEMORY ((size_t)64 * 1024)

struct reach {
	struct engine *e;
	struct snapshot *snapshot;
	const struct vetted *to;
	char name[AUTHORITY_TEXT]; /* what the parent is asked for where it looks it up */
	size_t next;               /* of to->addr */
	msec until;
	struct timer deadline;
	struct vetted parent; /* its addresses */
	struct lookup *lookup;
	struct dial *dial;
	struct tls_start *shaking;
	struct stream *into;
	struct buf up;   /* not taken yet */
	struct buf down; /* of its answer's head, over TLS */
	int interim;     /* 1xx answers, of all that it was asked for */
	reach_done *done;
	void *arg;
};

static const struct parent *
parent_of(const struct reach *r)
{
	return r->snapshot->parent;
}

/* The credential was in it. */
static void
wipe(struct buf *b)
{
	if (b->p != NULL)
		OPENSSL_cleanse(b->p, b->cap);
	buf_fini(b);
}

static void
reach_free(struct reach *r)
{
	timer_clear(&r->deadline);
	if (r->lookup != NULL)
		lookup_cancel(r->lookup);
	dial_cancel(r->dial);
	tls_cancel(r->shaking);
	wipe(&r->up);
	buf_fini(&r->down);
	snapshot_unref(r->snapshot);
	free(r);
}

void
reach_cancel(struct reach *r)
{
	if (r != NULL)
		reach_free(r);
}

static void
finish(struct reach *r, int err, const struct endpoint *to, bool is_through_parent)
{
	reach_done *done = r->done;
	void *arg = r->arg;

	if (r->into->fd >= 0)
		stream_attach(r->into, NULL, NULL);
	reach_free(r);
	done(arg, err, to, is_through_parent);
}

static void
fail(struct reach *r, int err)
{
	finish(r, err, NULL, true);
}

static void
on_deadline(void *arg)
{
	fail(arg, ERR_TIMEOUT);
}

static msec
time_left(const struct reach *r)
{
	msec left = r->until - loop_now(r->e->loop);

	return left > 0 ? left : 1;
}

/* ---- what the parent says */

static void
connected(struct reach *r)
{
	struct endpoint to = { 0 };

	if (r->to == NULL) {
		finish(r, 0, NULL, true);
		return;
	}
	to.addr = r->to->addr[r->next];
	to.port = r->to->port;
	finish(r, 0, &to, true);
}

static void ask_next(struct reach *r);

/* The status that a head has, which ends at *used; 0: it goes on; negative: it is none.
 */
static int
read_head(struct reach *r, struct str text, size_t *used)
{
	struct http_reader reader;
	struct http_head head;
	struct arena arena;
	enum http_result got;
	int status = 0;

	arena_init(&arena, MEMORY);
	http_reader_init(&reader, HTTP_RESPONSE, &r->snapshot->response_limit);
	got = http_read(&reader, text, &arena, &head, used);
	if (got == HTTP_DONE)
		status = head.status;
	else if (got == HTTP_BAD || text.n >= ANSWER_MAX)
		status = ERR_PARENT;
	arena_fini(&arena);
	return status;
}

/* What comes behind the head is not the parent's any more: it stays where it is. */
static int
look_at_answer(struct reach *r)
{
	ssize_t n = stream_look(r->into, r->e->scratch, ANSWER_MAX);
	size_t used = 0;
	int status;

	if (n <= 0)
		return n == -EAGAIN ? 0 : ERR_PARENT;
	status = read_head(r, (struct str){ r->e->scratch, (size_t)n }, &used);
	if (status > 0 && stream_read(r->into, r->e->scratch, used) != (ssize_t)used)
		return ERR_PARENT;
	return status;
}

/* The same over TLS, which shows nothing without taking it: byte by byte. */
static int
take_answer(struct reach *r)
{
	ssize_t n;
	char c;

	while ((n = stream_read(r->into, &c, 1)) == 1) {
		size_t used;
		int status;

		buf_char(&r->down, c);
		if (c != '\n' && r->down.n < ANSWER_MAX)
			continue;
		status = read_head(r, buf_view(&r->down), &used);
		if (status != 0) {
			buf_reset(&r->down);
			return status;
		}
	}
	return n == -EAGAIN ? 0 : ERR_PARENT;
}

/* Its answer's status; 0: there is more to come; negative: it is none. */
static int
read_answer(struct reach *r)
{
	return parent_of(r)->is_tls ? take_answer(r) : look_at_answer(r);
}

static int
refusal(int status)
{
	if (status == 504)
		return ERR_TIMEOUT;
	return status == 407 ? ERR_PARENT_CREDENTIAL : ERR_PARENT;
}

/* It may be that it reaches another address; but who says no to us says so to all. */
static void
refused(struct reach *r, int status)
{
	bool is_more = r->to != NULL && r->next + 1 < r->to->count &&
		       r->next + 1 < TRIES_MAX && status >= 500;

	if (!is_more) {
		fail(r, refusal(status));
		return;
	}
	stream_close(r->into);
	r->next++;
	ask_next(r);
}

static bool
is_interim(int status)
{
	return status > 0 && status < 200 && status != 101;
}

static void
on_answer(struct reach *r)
{
	int status;

	do
		status = read_answer(r);
	while (is_interim(status) && ++r->interim <= INTERIM_MAX);
	if (is_interim(status))
		status = ERR_PARENT;
	if (status < 0)
		fail(r, status);
	else if (status >= 200 && status < 300)
		connected(r);
	else if (status > 0)
		refused(r, status);
}

/* False: it is over. */
static bool
flush(struct reach *r)
{
	while (r->up.n > 0) {
		struct iovec v = { r->up.p, r->up.n };
		ssize_t n = stream_write(r->into, &v, 1);
		if (n == -EAGAIN)
			return true;
		if (n <= 0) {
			fail(r, ERR_PARENT);
			return false;
		}
		buf_drop(&r->up, (size_t)n);
	}
	return true;
}

static void
on_stream(void *arg, unsigned what)
{
	struct reach *r = arg;

	(void)what;
	if (flush(r) && r->up.n == 0 && stream_may_have_ended(r->into))
		on_answer(r);
}

/* ---- the way to it */

static void
ask(struct reach *r)
{
	char text[ENDPOINT_TEXT];
	struct endpoint to;

	wipe(&r->up);
	(void)buf_room(&r->up, ASK_MAX); /* so that it leaves no copy as it grows */
	if (r->to == NULL) {
		parent_ask(parent_of(r), r->name, &r->up);
	} else {
		to = (struct endpoint){ r->to->addr[r->next], r->to->port };
		parent_ask(parent_of(r), endpoint_text(text, &to), &r->up);
	}
	stream_attach(r->into, on_stream, r);
	stream_kick(r->into);
}

static void
on_secure(void *arg, int err, const char *why)
{
	struct reach *r = arg;

	(void)why; /* a line for the operator would be one for each connection */
	r->shaking = NULL;
	if (err != 0)
		fail(r, err == ERR_TIMEOUT ? err : ERR_PARENT_TLS);
	else
		ask(r);
}

static void
shake(struct reach *r)
{
	const struct parent *p = parent_of(r);

	r->shaking =
	    tls_start(r->e->tls, r->into, &p->host, p->port, time_left(r), on_secure, r);
}

static void
on_parent(void *arg, int err, const struct endpoint *at)
{
	struct reach *r = arg;

	(void)at;
	r->dial = NULL;
	if (err != 0)
		fail(r, err == ERR_TIMEOUT || err == ERR_DESCRIPTORS ? err : ERR_PARENT);
	else if (!parent_of(r)->is_tls)
		ask(r);
	else if (r->e->tls != NULL)
		shake(r);
	else
		fail(r, ERR_PARENT_TLS); /* a reload took the roots away meanwhile */
}

static void
ask_next(struct reach *r)
{
	r->dial = dial_start(r->e->loop, &r->parent, r->into, time_left(r), on_parent, r);
}

static void
on_resolved(void *arg, const struct found *found)
{
	struct reach *r = arg;
	const struct parent *p = parent_of(r);
	struct opened opened = parent_opened(p, r->snapshot->settings);
	const char *why;

	r->lookup = NULL;
	if (found->err != 0) {
		fail(r, ERR_PARENT);
		return;
	}
	if (!guard_vet(&r->parent, found->addr, found->count, p->port,
		&r->snapshot->parent_place, &opened, &why)) {
		fail(r, ERR_PARENT);
		return;
	}
	ask_next(r);
}

/* ---- straight */

static void
on_straight(void *arg, int err, const struct endpoint *to)
{
	struct reach *r = arg;

	r->dial = NULL;
	finish(r, err, to, false);
}

struct reach *
reach_start(struct engine *e, struct snapshot *s, const struct reach_order *order,
    struct stream *into, reach_done *done, void *arg)
{
	struct reach *r = mem_zalloc(sizeof(*r));

	r->e = e;
	r->snapshot = snapshot_ref(s);
	r->to = order->to;
	r->into = into;
	r->until = loop_now(e->loop) + order->timeout_ms;
	r->done = done;
	r->arg = arg;
	buf_init(&r->up, ASK_MAX);
	buf_init(&r->down, ANSWER_MAX + 1);
	timer_init(&r->deadline, on_deadline, r);
	if (!parent_takes(s->parent, order->host, order->to)) {
		assert(order->to != NULL);
		r->dial = dial_start(
		    e->loop, order->to, into, order->timeout_ms, on_straight, r);
		return r;
	}
	(void)authority_text(r->name, order->host, order->port, 0);
	timer_set(e->loop, &r->deadline, order->timeout_ms);
	r->lookup =
	    resolver_start(e->resolver, order->asker, &s->parent->host, on_resolved, r);
	return r;
}
