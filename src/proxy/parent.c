/*
 * parent.c - upstream.proxy: the proxy that is the only way out of here
 */
#include "proxy/parent.h"

#include <assert.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>

#include "proxy/route.h"

#define MEMORY ((size_t)1 << 20)
#define CREDENTIAL_MOST 1024

static bool
read_proxy(struct parent *p, const struct settings *s, struct report *rep)
{
	struct url url;
	enum host_error err = url_parse(&url, str_of(s->upstream_proxy));
	bool is_bare =
	    url.query.p == NULL && (url.path.n == 0 || str_eq(url.path, STR("/")));

	if (err != HOST_OK || !is_bare) {
		settings_refuse(s, rep, "upstream.proxy", "bad_parent",
		    "the parent proxy is written as http://HOST:PORT, or https:// where "
		    "it speaks TLS");
		return false;
	}
	p->is_tls = url.is_https;
	p->host = url.host;
	p->port = url.port;
	p->self = (struct prefix){ url.host.addr, 128 };
	return true;
}

static bool
read_direct(struct parent *p, const struct settings *s, struct report *rep)
{
	const struct texts *list = &s->upstream_no_proxy;
	enum host_error ignored;
	bool is_fine = true;

	p->direct = arena_zalloc(&p->arena, (list->n + 1) * sizeof(*p->direct));
	assert(p->direct != NULL);
	for (size_t i = 0; i < list->n; i++) {
		if (pattern_parse(&p->direct[p->ndirect], str_of(list->p[i]), &p->arena,
			&ignored) == PATTERN_OK) {
			p->ndirect++;
			continue;
		}
		is_fine = false;
		settings_refuse(s, rep, "upstream.no_proxy", "bad_no_proxy",
		    "an entry is no host, pattern, address or range as a policy has "
		    "them");
	}
	return is_fine;
}

static bool
read_credential(struct parent *p, const struct settings *s, struct report *rep)
{
	const struct secret *value = &s->upstream_credential;
	bool is_fine = value->n <= CREDENTIAL_MOST;
	bool has_colon = value->n == 0;

	for (size_t i = 0; i < value->n; i++) {
		is_fine = is_fine && value->bytes[i] >= ' ' && value->bytes[i] != 127;
		has_colon |= value->bytes[i] == ':';
	}
	p->credential = value;
	if (is_fine && has_colon)
		return true;
	settings_refuse(s, rep, "upstream.credential", "bad_credential",
	    "the parent proxy's credential is USER:PASSWORD on one line");
	return false;
}

struct parent *
parent_build(const struct settings *s, struct report *rep)
{
	struct parent *p;
	bool is_fine;

	if (s->upstream_proxy == NULL)
		return NULL;
	p = mem_zalloc(sizeof(*p));
	arena_init(&p->arena, MEMORY);
	p->resolves = !s->upstream_resolve;
	is_fine = read_proxy(p, s, rep);
	is_fine = read_direct(p, s, rep) && is_fine;
	is_fine = read_credential(p, s, rep) && is_fine;
	if (is_fine)
		return p;
	parent_free(p);
	return NULL;
}

void
parent_free(struct parent *p)
{
	if (p == NULL)
		return;
	arena_fini(&p->arena);
	free(p);
}

/* ---- which way */

static bool
is_direct(const struct parent *p, const struct pattern *what)
{
	for (size_t i = 0; i < p->ndirect; i++)
		if (pattern_covers(&p->direct[i], what))
			return true;
	return false;
}

static bool
is_direct_name(const struct parent *p, const struct host *host)
{
	struct pattern name = { .kind = PATTERN_NAME, .base = host_str(host) };

	return !host->is_literal && is_direct(p, &name);
}

/* All of them, for any may be the one that is dialled. */
static bool
are_direct(const struct parent *p, const struct vetted *to)
{
	for (size_t i = 0; i < to->count; i++) {
		struct pattern one = { .kind = PATTERN_RANGE,
			.prefix = { to->addr[i], 128 } };

		if (!is_direct(p, &one))
			return false;
	}
	return to->count > 0;
}

bool
parent_takes(const struct parent *p, const struct host *host, const struct vetted *to)
{
	if (p == NULL)
		return false;
	return !is_direct_name(p, host) && (to == NULL || !are_direct(p, to));
}

bool
parent_resolves(const struct parent *p, const struct host *host)
{
	return p != NULL && p->resolves && !host->is_literal && !is_direct_name(p, host);
}

struct opened
parent_opened(const struct parent *p, const struct settings *s)
{
	if (p->host.is_literal)
		return (struct opened){ &p->self, 1, false };
	return route_opened(s);
}

/* ---- what it is asked */

static void
put_credential(const struct secret *value, struct buf *out)
{
	unsigned char text[CREDENTIAL_MOST * 4 / 3 + 8];
	int n = EVP_EncodeBlock(text, (const unsigned char *)value->bytes, (int)value->n);

	buf_text(out, "Proxy-Authorization: Basic ");
	buf_add(out, (const char *)text, (size_t)n);
	buf_text(out, "\r\n");
	OPENSSL_cleanse(text, sizeof(text));
}

void
parent_ask(const struct parent *p, const char *target, struct buf *out)
{
	buf_fmt(out, "CONNECT %s HTTP/1.1\r\nHost: %s\r\n", target, target);
	if (p->credential->n > 0)
		put_credential(p->credential, out);
	buf_text(out, "\r\n");
}
