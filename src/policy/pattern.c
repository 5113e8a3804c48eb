/*
 * pattern.c - what a rule may say of hosts, ports and paths, and whether it fits
 */
#include "policy/pattern.h"

#include <libpsl.h>
#include <string.h>

static bool
has_byte(struct str s, char c)
{
	size_t at;

	return str_find(s, c, &at);
}

static bool
is_ascii(struct str s)
{
	for (size_t i = 0; i < s.n; i++)
		if ((unsigned char)s.p[i] >= 0x80)
			return false;
	return true;
}

static enum pattern_error
parse_range(struct pattern *out, struct str text)
{
	out->kind = PATTERN_RANGE;
	return prefix_parse(&out->prefix, text) ? PATTERN_OK : PATTERN_CIDR;
}

static void
take_address(struct pattern *out, const struct addr *addr)
{
	out->kind = PATTERN_RANGE;
	out->is_one_address = true;
	out->prefix = (struct prefix){ *addr, 128 };
}

/* After the stars: a name, or an address where no star stood. */
static enum pattern_error
parse_base(
    struct pattern *out, struct str text, struct arena *a, enum host_error *host_error)
{
	struct host host;
	struct addr addr;

	if (has_byte(text, '*'))
		return PATTERN_STAR;
	if (text.n > 0 && text.p[0] == '.')
		return PATTERN_DOT;
	if (!is_ascii(text))
		return PATTERN_UNICODE;
	if (out->kind == PATTERN_NAME && addr_parse(&addr, text)) {
		take_address(out, &addr);
		return PATTERN_OK;
	}
	if (out->kind == PATTERN_NAME && has_byte(text, '/'))
		return memmem(text.p, text.n, "//", 2) == NULL ? parse_range(out, text)
							       : PATTERN_URL;
	if ((*host_error = host_parse_bare(&host, text)) != HOST_OK)
		return has_byte(text, ':') || has_byte(text, '/') ? PATTERN_URL
								  : PATTERN_HOST;
	if (host.is_literal)
		return PATTERN_LITERAL;
	out->base = arena_str(a, host_str(&host));
	return PATTERN_OK;
}

enum pattern_error
pattern_parse(
    struct pattern *out, struct str text, struct arena *a, enum host_error *host_error)
{
	*out = (struct pattern){ .kind = PATTERN_NAME };
	*host_error = HOST_OK;
	if (str_eq(text, STR("*"))) {
		out->kind = PATTERN_ANY;
		return PATTERN_OK;
	}
	if (str_starts(text, STR("**."))) {
		out->kind = PATTERN_DEEP;
		text = str_sub(text, 3, text.n);
	} else if (str_starts(text, STR("*."))) {
		out->kind = PATTERN_BELOW;
		text = str_sub(text, 2, text.n);
	}
	return parse_base(out, text, a, host_error);
}

const char *
pattern_error_hint(enum pattern_error e)
{
	switch (e) {
	case PATTERN_OK:
	case PATTERN_HOST:
	case PATTERN_UNICODE: /* the punycode itself is the hint */
		return NULL;
	case PATTERN_STAR:
		return "a star is a whole first label: *.example.com, **.example.com, or "
		       "* alone";
	case PATTERN_DOT:
		return "write *.example.com for all names under it, **.example.com to "
		       "have "
		       "example.com too";
	case PATTERN_CIDR:
		return "write a range as ADDRESS/LENGTH with no bit set past the length, "
		       "such as "
		       "10.1.2.0/24";
	case PATTERN_URL:
		return "write the host alone; ports, protocol and paths have keys of "
		       "their own";
	case PATTERN_LITERAL:
		return "write a range of addresses as ADDRESS/LENGTH";
	}
	return NULL;
}

struct pattern
pattern_of_host(const struct host *h)
{
	if (h->is_literal)
		return (
		    struct pattern){ .kind = PATTERN_RANGE, .prefix = { h->addr, 128 } };
	return (struct pattern){ .kind = PATTERN_NAME, .base = host_str(h) };
}

bool
pattern_is_wildcard(const struct pattern *p)
{
	return p->kind == PATTERN_BELOW || p->kind == PATTERN_DEEP ||
	       p->kind == PATTERN_ANY;
}

const char *
pattern_broad_why(const struct pattern *p)
{
	const psl_ctx_t *list = psl_builtin();

	if (p->kind == PATTERN_ANY)
		return "* is every ordinary name";
	if (!pattern_is_wildcard(p))
		return NULL;
	if (!has_byte(p->base, '.'))
		return "its base has one label";
	if (list == NULL) /* a libpsl without its list cannot vouch for any base */
		return "no list of public suffixes is there to check its base with";
	if (psl_is_public_suffix2(list, p->base.p, PSL_TYPE_ANY))
		return "its base is a public suffix: anyone can register names under it";
	return NULL;
}

static bool
is_below(struct str name, struct str base)
{
	return name.n > base.n + 1 && name.p[name.n - base.n - 1] == '.' &&
	       str_ends(name, base);
}

bool
pattern_eq(const struct pattern *a, const struct pattern *b)
{
	if (a->kind != b->kind || !str_eq(a->base, b->base))
		return false;
	return a->kind != PATTERN_RANGE || (a->prefix.len == b->prefix.len &&
					       addr_eq(&a->prefix.addr, &b->prefix.addr));
}

bool
pattern_covers(const struct pattern *outer, const struct pattern *inner)
{
	bool is_same_base = str_eq(outer->base, inner->base);

	if (outer->kind == PATTERN_RANGE || inner->kind == PATTERN_RANGE)
		return outer->kind == inner->kind &&
		       prefix_covers(&outer->prefix, &inner->prefix);
	switch (outer->kind) {
	case PATTERN_NAME:
		return inner->kind == PATTERN_NAME && is_same_base;
	case PATTERN_BELOW:
		return inner->kind != PATTERN_ANY &&
		       (is_below(inner->base, outer->base) ||
			   (is_same_base && inner->kind == PATTERN_BELOW));
	case PATTERN_DEEP:
		return inner->kind != PATTERN_ANY &&
		       (is_same_base || is_below(inner->base, outer->base));
	case PATTERN_ANY: /* never special names, and whether all of `inner` are is not
			     asked */
		return inner->kind == PATTERN_ANY ||
		       (has_byte(inner->base, '.') &&
			   host_special_suffix(inner->base) == NULL);
	case PATTERN_RANGE:
		break;
	}
	return false;
}

bool
ports_parse(struct ports *out, struct str text)
{
	size_t at;

	if (!str_find(text, '-', &at)) {
		if (!port_parse(&out->first, text))
			return false;
		out->last = out->first;
		return true;
	}
	return port_parse(&out->first, str_sub(text, 0, at)) &&
	       port_parse(&out->last, str_sub(text, at + 1, text.n)) &&
	       out->first <= out->last;
}

bool
ports_have(const struct ports *list, size_t n, uint16_t port)
{
	for (size_t i = 0; i < n; i++)
		if (list[i].first <= port && port <= list[i].last)
			return true;
	return false;
}

bool
path_pattern_is_valid(struct str pattern)
{
	return pattern.n > 0 && pattern.p[0] == '/' && path_is_canonical(pattern) &&
	       memmem(pattern.p, pattern.n, "***", 3) == NULL;
}

/* Where to go on from when what followed a star did not fit. */
struct retry {
	bool is_set;
	size_t pattern, path;
};

/* One step of a star: `**` before a slash takes whole segments, else any byte; `*` no
 * slash. */
static bool
widen(struct retry *r, struct str path, bool is_deep, bool is_segments)
{
	if (!r->is_set || r->path >= path.n || (!is_deep && path.p[r->path] == '/'))
		return false;
	if (is_segments)
		while (r->path < path.n && path.p[r->path] != '/')
			r->path++;
	if (r->path >= path.n)
		return false;
	r->path++;
	return true;
}

/*
 * Only the last star of each kind is ever widened: what an earlier one could
 * reach by taking more, a later one of the same kind reaches too.  So the work
 * is bounded by the product of both lengths.
 */
bool
path_pattern_fits(struct str pattern, struct str path)
{
	struct retry star = { 0 }, deep = { 0 };
	bool is_segments = false;
	size_t p = 0, i = 0;

	while (i < path.n || p < pattern.n) {
		if (p < pattern.n && pattern.p[p] == '*') {
			bool is_deep = p + 1 < pattern.n && pattern.p[p + 1] == '*';
			if (!is_deep) {
				star = (struct retry){ true, ++p, i };
				continue;
			}
			is_segments = p > 0 && pattern.p[p - 1] == '/' &&
				      p + 2 < pattern.n && pattern.p[p + 2] == '/';
			p += is_segments ? 3 : 2;
			deep = (struct retry){ true, p, i };
			star.is_set = false;
			continue;
		}
		if (p < pattern.n && i < path.n && pattern.p[p] == path.p[i]) {
			p++;
			i++;
			continue;
		}
		if (widen(&star, path, false, false)) {
			p = star.pattern;
			i = star.path;
			continue;
		}
		if (!widen(&deep, path, true, is_segments))
			return false;
		star.is_set = false;
		p = deep.pattern;
		i = deep.path;
	}
	return true;
}
