/*
 * pages.c - a small HTTP server for operators: one request a connection
 */
#include "daemon/pages.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "audit/known.h"
#include "net/listener.h"
#include "net/stream.h"

#define VISITS_MAX 64           /* at once; a scraper needs one */
#define VISIT_TIME ((msec)5000) /* all of it */

static const struct http_limits limits = {
	.target = 1024, .head = 8192, .fields = 64, .field = 4096
};

struct pages {
	struct pages_options o;
	struct loop *loop;
	struct listener **listener;
	size_t nlistener;
	struct list visits;
	size_t nvisits;
};

struct visit {
	struct list link;
	struct pages *p;
	struct stream s;
	struct timer timer;
	struct http_reader reader;
	struct arena arena; /* of the head */
	struct http_head head;
	struct buf in, out;
	const char *type; /* of the answer; NULL: that of all */
	bool is_asked, is_answered, is_gone;
};

static void
visit_free(void *arg)
{
	struct visit *v = arg;

	buf_fini(&v->in);
	buf_fini(&v->out);
	arena_fini(&v->arena);
	free(v);
}

/* Who has been asked still answers, into nothing. */
static void
visit_end(struct visit *v)
{
	if (!v->is_gone) {
		v->is_gone = true;
		timer_clear(&v->timer);
		stream_close(&v->s);
	}
	if (v->is_asked && !v->is_answered)
		return;
	list_remove(&v->link);
	v->p->nvisits--;
	loop_free_later(v->p->loop, visit_free, v);
}

static void
on_late(void *arg)
{
	visit_end(arg);
}

static const struct {
	int status;
	const char *phrase;
} phrases[] = {
	{ 200, "OK" },
	{ 400, "Bad Request" },
	{ 403, "Forbidden" },
	{ 404, "Not Found" },
	{ 405, "Method Not Allowed" },
	{ 413, "Content Too Large" },
	{ 503, "Service Unavailable" },
};

static const char *
phrase(int status)
{
	for (size_t i = 0; i < sizeof(phrases) / sizeof(phrases[0]); i++)
		if (phrases[i].status == status)
			return phrases[i].phrase;
	return "Weir";
}

/* True while there is something to wait for. */
static bool
write_answer(struct visit *v)
{
	while (v->out.n > 0) {
		struct iovec piece = { v->out.p, v->out.n };
		ssize_t n = stream_write(&v->s, &piece, 1);
		if (n == -EAGAIN)
			return true;
		if (n <= 0)
			return false;
		buf_drop(&v->out, (size_t)n);
	}
	return false;
}

void
visit_type(struct visit *v, const char *type)
{
	v->type = type;
}

void
visit_answer(struct visit *v, int status, struct str body)
{
	assert(!v->is_answered);
	v->is_answered = true;
	buf_fmt(&v->out,
	    "HTTP/1.1 %d %s\r\n%sContent-Type: %s\r\nCache-Control: no-store\r\n"
	    "Content-Length: %zu\r\nConnection: close\r\n\r\n",
	    status, phrase(status), status == 405 ? "Allow: GET, HEAD\r\n" : "",
	    v->type != NULL ? v->type : v->p->o.type, body.n);
	if (!str_eq(v->head.method, STR("HEAD"))) {
		buf_str(&v->out, body);
		known_hide(v->out.p + v->out.n - body.n, body.n);
	}
	if (v->is_gone || !write_answer(v))
		visit_end(v);
}

static void
ask(struct visit *v, struct str body)
{
	v->is_asked = true;
	v->p->o.ask(v->p->o.arg, v, &v->head, body);
}

/* The head's slices point into what more bytes may move: it is read again with them. */
static void
wait_for_body(struct visit *v)
{
	arena_reset(&v->arena);
	http_reader_init(&v->reader, HTTP_REQUEST, &limits);
	v->head = (struct http_head){ 0 };
}

static void
read_body(struct visit *v, size_t head_len)
{
	const struct http_head *h = &v->head;
	struct str rest = str_sub(buf_view(&v->in), head_len, v->in.n);

	if (h->framing == HTTP_NO_BODY)
		ask(v, STR_NONE);
	else if (h->framing != HTTP_LENGTH || h->length > v->p->o.body_max)
		visit_answer(v, 413, STR_NONE);
	else if (rest.n >= h->length)
		ask(v, str_sub(rest, 0, (size_t)h->length));
	else
		wait_for_body(v);
}

static void
read_request(struct visit *v)
{
	size_t used;

	switch (http_read(&v->reader, buf_view(&v->in), &v->arena, &v->head, &used)) {
	case HTTP_MORE:
		break;
	case HTTP_BAD:
		v->head = (struct http_head){ 0 };
		visit_answer(v, 400, STR_NONE);
		break;
	case HTTP_DONE:
		read_body(v, used);
		break;
	}
}

static void
on_visit(void *arg, unsigned what)
{
	struct visit *v = arg;
	char bytes[2048];

	(void)what;
	while (!v->is_asked && !v->is_answered) {
		ssize_t n = stream_read(&v->s, bytes, sizeof(bytes));
		if (n == -EAGAIN)
			return;
		if (n <= 0) {
			visit_end(v);
			return;
		}
		buf_add(&v->in, bytes, (size_t)n);
		read_request(v);
	}
	if (v->is_answered && !v->is_gone && !write_answer(v))
		visit_end(v);
}

static bool
may_visit(const struct pages *p, const struct peer *peer)
{
	return !p->o.is_private ||
	       (peer->is_unix && (peer->uid == 0 || peer->uid == geteuid()));
}

static void
on_accepted(void *arg, int fd, const struct peer *peer)
{
	struct pages *p = arg;
	struct visit *v;

	if (p->nvisits >= VISITS_MAX || !may_visit(p, peer)) {
		close(fd);
		return;
	}
	v = mem_zalloc(sizeof(*v));
	v->p = p;
	p->nvisits++;
	list_append(&p->visits, &v->link);
	http_reader_init(&v->reader, HTTP_REQUEST, &limits);
	arena_init(&v->arena, 16384);
	buf_init(&v->in, limits.head + p->o.body_max + 4096);
	buf_init(&v->out, (size_t)4 << 20);
	timer_init(&v->timer, on_late, v);
	timer_set(p->loop, &v->timer, VISIT_TIME);
	stream_open(&v->s, p->loop, fd, on_visit, v);
	stream_kick(&v->s); /* the request may be there already */
}

struct pages *
pages_new(struct loop *l, const struct pages_options *o)
{
	struct pages *p = mem_zalloc(sizeof(*p));

	p->o = *o;
	p->loop = l;
	list_init(&p->visits);
	return p;
}

void
pages_listen(struct pages *p, int fd)
{
	size_t n = p->nlistener + 1;

	p->listener = mem_resize(p->listener, n * sizeof(struct listener *));
	p->listener[p->nlistener++] = listener_new(p->loop, fd, on_accepted, p);
}

void
pages_free(struct pages *p)
{
	if (p == NULL)
		return;
	for (size_t i = 0; i < p->nlistener; i++)
		listener_free(p->listener[i]);
	free(p->listener);
	while (!list_is_empty(&p->visits)) {
		struct visit *v = list_entry(p->visits.next, struct visit, link);
		assert(!v->is_asked || v->is_answered);
		visit_end(v);
	}
	free(p);
}
