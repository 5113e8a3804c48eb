/*
 * metered.c - hosts of model providers, which only the gateway reaches
 */
#include "policy/metered.h"

#include <stdlib.h>

#include "conf/text.h"

#define MEMORY_MAX ((size_t)4 << 20)

/* The address a sandbox uses may be another one; the path is the same. */
static const char *
where_text(struct metered *m, const struct settings *s, const struct provider *p)
{
	const struct texts *at = &s->listen_gateway;
	struct str first = str_of(at->n > 0 ? at->p[0] : "unix:");
	bool has_address = !str_starts(first, STR("unix:"));
	bool is_tls = str_starts(first, STR("tls:"));
	struct buf b;
	struct str text;

	buf_init(&b, 1024);
	if (has_address)
		buf_fmt(&b, "take %s%.*s%s for the base URL",
		    is_tls ? "https://" : "http://", STR_ARG(listener_address(first)),
		    p->path);
	else
		buf_fmt(&b, "take the gateway's %s for the base URL", p->path);
	text = arena_str(&m->arena, buf_view(&b));
	buf_fini(&b);
	return text.p != NULL ? text.p : "take the gateway's base URL";
}

static void
add(struct metered *m, struct str host, const char *where, uint16_t port)
{
	struct metered_host *to = &m->p[m->n];
	enum host_error err;

	if (pattern_parse(&to->pattern, host, &m->arena, &err) != PATTERN_OK)
		return;
	to->where = where;
	to->port = port;
	m->n++;
}

static void
add_provider(struct metered *m, const struct settings *s, const struct provider *p)
{
	const char *where = where_text(m, s, p);
	struct url url;
	bool is_url = url_parse(&url, str_of(p->upstream)) == HOST_OK;
	uint16_t port = is_url ? url.port : 443;

	for (size_t i = 0; i < p->hosts.n; i++)
		add(m, str_of(p->hosts.p[i]), where, port);
	if (p->kind != PROVIDER_NONE && is_url)
		add(m, host_str(&url.host), where, port);
}

static struct metered *
gather(const struct settings *s, bool is_sold)
{
	struct metered *m = mem_zalloc(sizeof(*m));
	size_t most = 0;

	arena_init(&m->arena, MEMORY_MAX);
	for (size_t i = 0; i < s->gateway_providers.n; i++)
		most += s->gateway_providers.p[i].hosts.n + 1;
	m->p = mem_zalloc((most + 1) * sizeof(*m->p));
	for (size_t i = 0; i < s->gateway_providers.n; i++)
		if (!is_sold || s->gateway_providers.p[i].kind != PROVIDER_NONE)
			add_provider(m, s, &s->gateway_providers.p[i]);
	return m;
}

struct metered *
metered_new(const struct settings *s)
{
	return gather(s, false);
}

void
metered_free(struct metered *m)
{
	if (m == NULL)
		return;
	arena_fini(&m->arena);
	free(m->p);
	free(m);
}

const struct metered_host *
metered_find(const struct metered *m, const struct host *h)
{
	struct pattern name = pattern_of_host(h);

	if (m == NULL)
		return NULL;
	for (size_t i = 0; i < m->n; i++)
		if (pattern_covers(&m->p[i].pattern, &name))
			return &m->p[i];
	return NULL;
}

bool
metered_sells(const struct settings *s, const struct host *h)
{
	struct metered *sold = gather(s, true);
	bool sells = metered_find(sold, h) != NULL;

	metered_free(sold);
	return sells;
}
