/*
 * route.c - gateway.providers: which provider a path leads to, and where that is
 */
#include "proxy/route.h"

#include <stdlib.h>

#include "meter/home.h"
#include "policy/metered.h"

#define PATTERN_MEMORY ((size_t)4096)

static void PRINTF_LIKE(5, 6)
    finding(const struct settings *s, const struct provider *row, struct report *rep,
	const char *code, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	report_vadd(rep, SEVERITY_ERROR, row->mark,
	    s->tree == NULL ? STR_NONE : s->tree->source, code, NULL, fmt, ap);
	va_end(ap);
}

static struct str
without_slash(struct str s)
{
	return str_ends(s, STR("/")) ? str_sub(s, 0, s.n - 1) : s;
}

static bool
read_upstream(struct route *r, const struct settings *s, struct report *rep)
{
	enum host_error err;
	struct url url;

	err = url_parse(&url, str_of(r->row->upstream));
	if (err == HOST_OK && url.query.p == NULL &&
	    (url.path.n == 0 || path_is_canonical(url.path))) {
		r->is_https = url.is_https;
		r->host = url.host;
		r->port = url.port;
		r->base = without_slash(url.path);
		return true;
	}
	finding(s, r->row, rep, "bad_upstream",
	    "the upstream of %s is no URL like https://api.example.com: %s", r->row->name,
	    err != HOST_OK ? host_error_text(err) : "it has no query and a plain path");
	return false;
}

static bool
read_path(struct route *r, const struct settings *s, struct report *rep)
{
	struct str path = str_of(r->row->path);

	r->path = without_slash(path);
	if (r->path.n > 1 && path_is_canonical(path) && !str_eq(r->path, STR("/weir")) &&
	    !str_starts(r->path, STR("/weir/")))
		return true;
	finding(s, r->row, rep, "bad_path",
	    "the path of %s begins with '/' and is a plain one, like /anthropic; /weir "
	    "is weir's own",
	    r->row->name);
	return false;
}

/* Those of a metered kind are what its family has. */
static bool
are_paths_fine(const struct route *r, const struct settings *s, struct report *rep)
{
	bool is_fine = r->row->paths.n == 0 || r->row->kind == PROVIDER_NONE;

	for (size_t i = 0; i < r->row->paths.n; i++)
		is_fine = is_fine && path_pattern_is_valid(str_of(r->row->paths.p[i]));
	if (!is_fine)
		finding(s, r->row, rep, "bad_paths",
		    "the paths of %s are of kind: none alone, and patterns like /v1/**",
		    r->row->name);
	return is_fine;
}

/* A line end in it would be another field. */
static bool
is_credential_fine(const struct route *r, const struct settings *s, struct report *rep)
{
	const struct secret *value = &r->row->credential_value;
	bool is_fine = (value->n > 0) == (r->row->credential_header != NULL);

	for (size_t i = 0; i < value->n; i++)
		is_fine = is_fine && value->bytes[i] > ' ' && value->bytes[i] < 127;
	if (!is_fine)
		finding(s, r->row, rep, "bad_credential",
		    "the credential of %s wants a header and a value of plain characters",
		    r->row->name);
	return is_fine;
}

static struct known *
known_of_one(const struct secret *s)
{
	return known_new(&(struct str){ s->bytes, s->n }, 1);
}

bool
route_is_below(struct str path, struct str base)
{
	return str_starts(path, base) && (path.n == base.n || path.p[base.n] == '/');
}

static void
check_clash(const struct routes *all, const struct settings *s, struct report *rep)
{
	const struct route *last = &all->p[all->n - 1];

	for (size_t i = 0; i + 1 < all->n; i++)
		if (route_is_below(last->path, all->p[i].path) ||
		    route_is_below(all->p[i].path, last->path))
			finding(s, last->row, rep, "path_conflict",
			    "the paths of %s and %s lie in each other",
			    all->p[i].row->name, last->row->name);
}

/* A key that is good for model calls, and nobody counts them: the meter's way round. */
static void
check_unmetered(const struct route *r, const struct prices *prices,
    const struct settings *s, struct report *rep)
{
	const char *home = prices != NULL ? home_of(prices, host_str(&r->host)) : NULL;

	if (r->row->kind != PROVIDER_NONE)
		return;
	if (home == NULL && !metered_sells(s, &r->host))
		return;
	finding(s, r->row, rep, "unmetered_provider",
	    "%s goes to a host of %s, and kind: none counts nothing; say its kind",
	    r->row->name, home != NULL ? home : "a provider that is metered");
}

struct routes *
routes_build(const struct settings *s, const struct prices *prices, struct report *rep)
{
	struct routes *all = mem_zalloc(sizeof(*all));

	all->p = mem_zalloc((s->gateway_providers.n + 1) * sizeof(*all->p));
	for (size_t i = 0; i < s->gateway_providers.n; i++) {
		struct route *r = &all->p[all->n];

		*r = (struct route){ .row = &s->gateway_providers.p[i] };
		if (!read_upstream(r, s, rep) || !read_path(r, s, rep) ||
		    !are_paths_fine(r, s, rep) || !is_credential_fine(r, s, rep))
			continue;
		r->credential = known_of_one(&r->row->credential_value);
		all->n++;
		check_clash(all, s, rep);
		check_unmetered(r, prices, s, rep);
		if (s->gateway_prices == NULL && r->row->kind != PROVIDER_NONE)
			finding(s, r->row, rep, "no_prices",
			    "%s is metered, so gateway.prices must name a price table",
			    r->row->name);
	}
	return all;
}

void
routes_free(struct routes *r)
{
	if (r == NULL)
		return;
	for (size_t i = 0; i < r->n; i++)
		known_free(r->p[i].credential);
	free(r->p);
	free(r);
}

const struct route *
routes_find(const struct routes *r, struct str path)
{
	for (size_t i = 0; i < r->n; i++)
		if (route_is_below(path, r->p[i].path))
			return &r->p[i];
	return NULL;
}

/* The settings' patterns, of which there are a few. */
static bool
is_host_of(const struct route *r, const struct host *h)
{
	struct pattern name = pattern_of_host(h);
	bool is_its = host_eq(&r->host, h);

	for (size_t i = 0; i < r->row->hosts.n && !is_its; i++) {
		struct pattern p;
		enum host_error err;
		struct arena a;
		arena_init(&a, PATTERN_MEMORY);
		is_its = pattern_parse(&p, str_of(r->row->hosts.p[i]), &a, &err) ==
			     PATTERN_OK &&
			 pattern_covers(&p, &name);
		arena_fini(&a);
	}
	return is_its;
}

const struct route *
routes_of_host(const struct routes *r, const struct host *h, uint16_t port)
{
	for (size_t i = 0; i < r->n; i++)
		if ((port == 0 || r->p[i].port == port) && is_host_of(&r->p[i], h))
			return &r->p[i];
	return NULL;
}

bool
route_has_path(const struct route *r, struct str rest)
{
	for (size_t i = 0; i < r->row->paths.n; i++)
		if (path_pattern_fits(str_of(r->row->paths.p[i]), rest))
			return true;
	return r->row->paths.n == 0;
}

struct str
route_rest(const struct route *r, struct str path)
{
	return str_sub(path, r->path.n, path.n);
}

/*
 * The operator wrote the provider's name, and nothing is sent before TLS has proved it:
 * it may be in a private network, but never weir itself or a metadata service.
 */
struct opened
route_opened(const struct settings *s)
{
	static const struct prefix private[] = {
		V4_PREFIX(10, 0, 0, 0, 8),
		V4_PREFIX(172, 16, 0, 0, 12),
		V4_PREFIX(192, 168, 0, 0, 16),
		V4_PREFIX(100, 64, 0, 0, 10),
		{ { { 0xfc } }, 7 },
		/* a laptop's only: */
		V4_PREFIX(127, 0, 0, 0, 8),
		{ { { [15] = 1 } }, 128 },
	};
	struct opened opened = { private, sizeof(private) / sizeof(private[0]), false };

	if (s->production)
		opened.nprivate -= 2;
	return opened;
}
