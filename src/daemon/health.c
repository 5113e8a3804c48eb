/*
 * health.c - /healthz, /readyz and /metrics, and nothing else
 */
#include "daemon/health.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "daemon/metrics.h"
#include "net/listener.h"
#include "net/stream.h"
#include "wire/http.h"

#define VISITS_MAX 64           /* at once; a scraper needs one */
#define VISIT_TIME ((msec)5000) /* all of it */

static const struct http_limits limits = {
	.target = 1024, .head = 8192, .fields = 64, .field = 4096
};

struct health {
	struct loop *loop;
	struct listener **listener;
	size_t nlistener;
	struct list visits;
	size_t nvisits;
	bool (*ready)(void *arg);
	void *arg;
};

struct visit {
	struct list link;
	struct health *h;
	struct stream s;
	struct timer timer;
	struct http_reader reader;
	struct buf in, out;
	bool is_answered;
};

static void
visit_end(struct visit *v)
{
	timer_clear(&v->timer);
	list_remove(&v->link);
	v->h->nvisits--;
	stream_close(&v->s);
	buf_fini(&v->in);
	buf_fini(&v->out);
	loop_free_later(v->h->loop, free, v);
}

static void
on_late(void *arg)
{
	visit_end(arg);
}

static int
print_healthz(const struct health *h, struct buf *to)
{
	(void)h;
	buf_text(to, "ok\n");
	return 200;
}

static int
print_readyz(const struct health *h, struct buf *to)
{
	bool is_ready = h->ready(h->arg);

	buf_text(to, is_ready ? "ok\n" : "not ready\n");
	return is_ready ? 200 : 503;
}

static int
print_metrics(const struct health *h, struct buf *to)
{
	(void)h;
	metrics_print(to);
	return 200;
}

#define PLAIN "text/plain; charset=utf-8"

static const struct {
	const char *path;
	int (*print)(const struct health *h, struct buf *to); /* the status */
	const char *type;
} pages[] = {
	{ "/healthz", print_healthz, PLAIN },
	{ "/readyz", print_readyz, PLAIN },
	{ "/metrics", print_metrics, "text/plain; version=0.0.4; charset=utf-8" },
};

static int
print_page(const struct health *h, const struct http_head *head, struct buf *to,
    const char **type)
{
	*type = PLAIN;
	if (!str_eq(head->method, STR("GET")) && !str_eq(head->method, STR("HEAD")))
		return 405;
	for (size_t i = 0; i < sizeof(pages) / sizeof(pages[0]); i++)
		if (str_eq(head->target, str_of(pages[i].path))) {
			*type = pages[i].type;
			return pages[i].print(h, to);
		}
	buf_text(to, "there are /healthz, /readyz and /metrics\n");
	return 404;
}

static const char *
phrase(int status)
{
	switch (status) {
	case 200:
		return "OK";
	case 400:
		return "Bad Request";
	case 404:
		return "Not Found";
	case 405:
		return "Method Not Allowed";
	default:
		return "Service Unavailable";
	}
}

static void
answer(
    struct visit *v, int status, const char *type, bool has_body, const struct buf *body)
{
	v->is_answered = true;
	buf_fmt(&v->out,
	    "HTTP/1.1 %d %s\r\n%sContent-Type: %s\r\n"
	    "Cache-Control: no-store\r\nContent-Length: %zu\r\nConnection: close\r\n\r\n",
	    status, phrase(status), status == 405 ? "Allow: GET, HEAD\r\n" : "", type,
	    body->n);
	if (has_body)
		buf_str(&v->out, buf_view(body));
}

static void
read_request(struct visit *v)
{
	struct arena a;
	struct http_head head = { 0 };
	struct buf body;
	const char *type;
	size_t used;
	int status;

	arena_init(&a, 16384);
	buf_init(&body, (size_t)1 << 20);
	switch (http_read(&v->reader, buf_view(&v->in), &a, &head, &used)) {
	case HTTP_MORE:
		break;
	case HTTP_BAD:
		answer(v, 400, PLAIN, true, &body);
		break;
	case HTTP_DONE:
		status = print_page(v->h, &head, &body, &type);
		answer(v, status, type, !str_eq(head.method, STR("HEAD")), &body);
		break;
	}
	buf_fini(&body);
	arena_fini(&a);
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

static void
on_visit(void *arg, unsigned what)
{
	struct visit *v = arg;
	char bytes[2048];

	(void)what;
	while (!v->is_answered) {
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
	if (!write_answer(v))
		visit_end(v);
}

static void
on_accepted(void *arg, int fd, const struct peer *peer)
{
	struct health *h = arg;
	struct visit *v;

	(void)peer;
	if (h->nvisits >= VISITS_MAX) {
		close(fd);
		return;
	}
	v = mem_zalloc(sizeof(*v));
	v->h = h;
	h->nvisits++;
	list_append(&h->visits, &v->link);
	http_reader_init(&v->reader, HTTP_REQUEST, &limits);
	buf_init(&v->in, limits.head + 2048);
	buf_init(&v->out, (size_t)2 << 20);
	timer_init(&v->timer, on_late, v);
	timer_set(h->loop, &v->timer, VISIT_TIME);
	stream_open(&v->s, h->loop, fd, on_visit, v);
	stream_kick(&v->s); /* the request may be there already */
}

struct health *
health_new(struct loop *l, bool (*ready)(void *arg), void *arg)
{
	struct health *h = mem_zalloc(sizeof(*h));

	h->loop = l;
	h->ready = ready;
	h->arg = arg;
	list_init(&h->visits);
	return h;
}

void
health_listen(struct health *h, int fd)
{
	size_t n = h->nlistener + 1;

	h->listener = mem_resize(h->listener, n * sizeof(struct listener *));
	h->listener[h->nlistener++] = listener_new(h->loop, fd, on_accepted, h);
}

void
health_free(struct health *h)
{
	if (h == NULL)
		return;
	for (size_t i = 0; i < h->nlistener; i++)
		listener_free(h->listener[i]);
	free(h->listener);
	while (!list_is_empty(&h->visits))
		visit_end(list_entry(h->visits.next, struct visit, link));
	free(h);
}
