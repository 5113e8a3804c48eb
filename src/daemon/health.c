/*
 * health.c - /healthz, /readyz and /metrics, and nothing else
 */
#include "daemon/health.h"

#include <stdlib.h>

#include "daemon/metrics.h"
#include "daemon/pages.h"

struct health {
	struct pages *pages;
	const char *(*unready)(void *arg);
	void *arg;
};

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
	const char *why = h->unready(h->arg);

	if (why == NULL)
		buf_text(to, "ok\n");
	else
		buf_fmt(to, "not ready: %s\n", why);
	return why == NULL ? 200 : 503;
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

static void
on_ask(void *arg, struct visit *v, const struct http_head *head, struct str body)
{
	const char *type;
	struct buf page;

	(void)body;
	buf_init(&page, (size_t)1 << 20);
	int status = print_page(arg, head, &page, &type);
	visit_type(v, type);
	visit_answer(v, status, buf_view(&page));
	buf_fini(&page);
}

struct health *
health_new(struct loop *l, const char *(*unready)(void *arg), void *arg)
{
	struct health *h = mem_zalloc(sizeof(*h));
	struct pages_options o = {
		.type = PLAIN,
		.ask = on_ask,
		.arg = h,
	};

	h->unready = unready;
	h->arg = arg;
	h->pages = pages_new(l, &o);
	return h;
}

void
health_listen(struct health *h, int fd)
{
	pages_listen(h->pages, fd);
}

void
health_free(struct health *h)
{
	if (h == NULL)
		return;
	pages_free(h->pages);
	free(h);
}
