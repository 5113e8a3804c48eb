#include "base/guard.h"

#include <string.h>

/* Leading bytes; the rest is zero. */
/* clang-format off */
#define V6(...) { { __VA_ARGS__ } }
/* clang-format on */
#define COUNT_OF(table) (sizeof(table) / sizeof(*(table)))

struct row {
	struct prefix range;
	const char *why;
};

/* RFC 6052 2.1, the well-known prefix; dns.nat64 adds a network's own. */
static const struct prefix nat64 = { V6(0x00, 0x64, 0xff, 0x9b), 96 };

/* Loopback is this host, not a range: production never dials it. */
static const struct prefix loopback[] = {
	V4_PREFIX(127, 0, 0, 0, 8),
	{ V6(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1), 128 },
};

static const struct prefix link_local[] = {
	V4_PREFIX(169, 254, 0, 0, 16),
	{ V6(0xfe, 0x80), 10 },
};

/*
 * No unicast destination, or a form that hides an IPv4 address from this table
 * behind a router's translation: no rule opens these.
 */
static const struct row never[] = {
	{ V4_PREFIX(0, 0, 0, 0, 8), "address is unspecified" },
	{ V4_PREFIX(224, 0, 0, 0, 4), "address is multicast" },
	{ V4_PREFIX(240, 0, 0, 0, 4), "address is reserved or broadcast" },
	{ { V6(0), 128 }, "address is unspecified" },
	{ { V6(0xff), 8 }, "address is multicast" },
	{ { V6(0), 96 }, "address is an IPv4-compatible form" },
	{ { V6(0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff), 96 },
	    "address is an IPv4-translated form" },
	{ { V6(0x00, 0x64, 0xff, 0x9b, 0x00, 0x01), 48 },
	    "address is a local translation form" },
	{ { V6(0x20, 0x01, 0x00, 0x00), 32 }, "address is a Teredo form" },
	{ { V6(0x20, 0x02), 16 }, "address is a 6to4 form" },
};

/* The IANA special-purpose registries; the first that has the address gives its why. */
static const struct row special[] = {
	{ V4_PREFIX(10, 0, 0, 0, 8), "address is on a private network" },
	{ V4_PREFIX(100, 64, 0, 0, 10), "address is on a carrier's shared network" },
	{ V4_PREFIX(127, 0, 0, 0, 8), "address is loopback" },
	{ V4_PREFIX(169, 254, 0, 0, 16), "address is link-local" },
	{ V4_PREFIX(172, 16, 0, 0, 12), "address is on a private network" },
	{ V4_PREFIX(192, 0, 0, 0, 24), "address is for protocol assignments" },
	{ V4_PREFIX(192, 0, 2, 0, 24), "address is for documentation" },
	{ V4_PREFIX(192, 88, 99, 0, 24), "address is a 6to4 relay" },
	{ V4_PREFIX(192, 168, 0, 0, 16), "address is on a private network" },
	{ V4_PREFIX(198, 18, 0, 0, 15), "address is for benchmarks" },
	{ V4_PREFIX(198, 51, 100, 0, 24), "address is for documentation" },
	{ V4_PREFIX(203, 0, 113, 0, 24), "address is for documentation" },
	{ { V6(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1), 128 },
	    "address is loopback" },
	{ { V6(0x01, 0x00), 64 }, "address is for discarding" },
	{ { V6(0x20, 0x01, 0x00, 0x00), 23 }, "address is for protocol assignments" },
	{ { V6(0x20, 0x01, 0x0d, 0xb8), 32 }, "address is for documentation" },
	{ { V6(0x3f, 0xff), 20 }, "address is for documentation" },
	{ { V6(0x5f, 0x00), 16 }, "address is a segment identifier" },
	{ { V6(0xfc), 7 }, "address is on a private network" },
	{ { V6(0xfe, 0x80), 10 }, "address is link-local" },
	{ { V6(0xfe, 0xc0), 10 }, "address is site-local" },
};

static const struct prefix global_v6 = { V6(0x20), 3 };

static const struct addr metadata[] = {
	V4(169, 254, 169, 254), /* nearly all clouds */
	V4(169, 254, 170, 2),   /* AWS, task credentials */
	V4(169, 254, 170, 23),  /* AWS, pod identity */
	V4(100, 100, 100, 200), /* Alibaba */
	V4(168, 63, 129, 16),   /* Azure, an address that looks public */
	V4(192, 0, 0, 192),     /* Oracle */
	V6(0xfd, 0x00, 0x0e, 0xc2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x02, 0x54), /* AWS */
	V6(0xfd, 0x00, 0x0e, 0xc2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x00,
	    0x23), /* AWS, pods */
	V6(0xfd, 0x20, 0x00, 0xce, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x02, 0x54), /* Google */
};

static const char metadata_why[] = "address is a cloud metadata service";
static const char own_why[] = "address is the proxy's own";

static const char *
row_why(const struct row *rows, size_t n, const struct addr *a)
{
	for (size_t i = 0; i < n; i++)
		if (prefix_has(&rows[i].range, a))
			return rows[i].why;
	return NULL;
}

static bool
is_loopback(const struct addr *a)
{
	return prefixes_have(loopback, COUNT_OF(loopback), a);
}

/* RFC 5214 6.1: an interface identifier that is routed to the IPv4 host in it. */
static bool
is_isatap(const struct addr *a)
{
	static const uint8_t local[4] = { 0x00, 0x00, 0x5e, 0xfe };
	static const uint8_t global[4] = { 0x02, 0x00, 0x5e, 0xfe };

	return memcmp(a->b + 8, local, 4) == 0 || memcmp(a->b + 8, global, 4) == 0;
}

static const char *
never_why(const struct addr *a)
{
	if (is_loopback(a)) /* ::1 lies among the compatible forms */
		return NULL;
	return is_isatap(a) ? "address is an ISATAP form"
			    : row_why(never, COUNT_OF(never), a);
}

static const char *
special_why(const struct addr *a)
{
	const char *why = row_why(special, COUNT_OF(special), a);

	if (why == NULL && !addr_is_v4(a) && !prefix_has(&global_v6, a))
		why = "address is not global unicast";
	return why;
}

bool
guard_is_metadata(const struct addr *a)
{
	for (size_t i = 0; i < COUNT_OF(metadata); i++)
		if (addr_eq(&metadata[i], a))
			return true;
	return false;
}

/* The IPv4 address that a translator would reach for `a`; false: no NAT64 form. */
static bool
unwrap(struct addr *inner, const struct addr *a, const struct prefix *more, size_t nmore)
{
	if (!prefix_has(&nat64, a) && !prefixes_have(more, nmore, a))
		return false;
	*inner = (struct addr)V4(a->b[12], a->b[13], a->b[14], a->b[15]);
	return true;
}

static bool
is_own(const struct place *place, const struct addr *a)
{
	for (size_t i = 0; i < place->nown; i++)
		if (addr_eq(&place->own[i], a))
			return true;
	return false;
}

static bool
is_every_own(const struct addr *a) /* as a listener says it: 0.0.0.0 or :: */
{
	static const struct addr any4 = V4(0, 0, 0, 0), any6;

	return addr_eq(a, &any4) || addr_eq(a, &any6);
}

static bool
is_service(const struct place *place, const struct addr *a, uint16_t port)
{
	for (size_t i = 0; i < place->nservice; i++) {
		const struct endpoint *service = &place->service[i];

		if (service->port != port)
			continue;
		if (addr_eq(&service->addr, a))
			return true;
		if (is_every_own(&service->addr) && (is_loopback(a) || is_own(place, a)))
			return true;
	}
	return false;
}

/* What no rule opens, because of where this weir stands. */
static const char *
place_why(const struct place *place, const struct addr *a, uint16_t port)
{
	if (is_service(place, a, port))
		return "address and port are a service of the proxy's own";
	if (is_loopback(a) ? !place->is_loopback_own_ok : is_own(place, a))
		return own_why;
	if (prefixes_have(place->closed, place->nclosed, a))
		return "address is in addresses.closed";
	return NULL;
}

struct question {
	uint16_t port;
	const struct place *place;
	const struct opened *opened;
};

/* `outer` is the address as it came; `a` is the same, or the IPv4 address in it. */
static const char *
judge(const struct question *q, const struct addr *a, const struct addr *outer)
{
	const struct opened *opened = q->opened;
	const char *why;

	if ((why = never_why(a)) != NULL ||
	    (why = place_why(q->place, a, q->port)) != NULL)
		return why;
	if (guard_is_metadata(a)) /* before ranges: none opens it by accident */
		return opened->metadata ? NULL : metadata_why;
	if (prefixes_have(opened->private, opened->nprivate, a) ||
	    prefixes_have(opened->private, opened->nprivate, outer))
		return NULL;
	if ((why = special_why(a)) != NULL)
		return why;
	if (prefixes_have(q->place->onlink, q->place->nonlink, a))
		return "address is on the proxy's own network";
	return NULL;
}

static const char *
refusal(const struct question *q, const struct addr *a)
{
	struct addr inner;
	const char *why;

	if (!unwrap(&inner, a, q->place->nat64, q->place->nnat64))
		return judge(q, a, a);
	/* the form itself is outside global unicast, and need not be opened for that */
	if ((why = place_why(q->place, a, q->port)) != NULL)
		return why;
	if (guard_is_metadata(a))
		return metadata_why;
	return judge(q, &inner, a);
}

bool
guard_vet(struct vetted *out, const struct addr *found, size_t n, uint16_t port,
    const struct place *place, const struct opened *opened, const char **why)
{
	struct question q = { port, place, opened };

	*out = (struct vetted){ .count = 0 };
	*why = n > 0 ? NULL : "name has no address";
	for (size_t i = 0; i < n && *why == NULL; i++)
		*why = refusal(&q, &found[i]);
	if (*why != NULL)
		return false;
	out->port = port;
	out->count = n < VETTED_MAX ? n : VETTED_MAX;
	memcpy(out->addr, found, out->count * sizeof(*found));
	return true;
}

struct addr
guard_unwrap(const struct addr *a, const struct place *place)
{
	struct addr inner;

	return unwrap(&inner, a, place->nat64, place->nnat64) ? inner : *a;
}

/* The same range as NAT64 spells it; IPv6 has no such spelling and stays. */
static struct prefix
wrapped(const struct prefix *p)
{
	struct prefix form = { nat64.addr, p->len };

	if (!addr_is_v4(&p->addr))
		return *p;
	memcpy(form.addr.b + 12, p->addr.b + 12, 4);
	return form;
}

static bool
overlaps(const struct prefix *a, const struct prefix *b)
{
	return prefix_covers(a, b) || prefix_covers(b, a);
}

static bool
touches(const struct prefix *p, const struct prefix *range)
{
	struct prefix form = wrapped(range);

	return overlaps(p, range) || overlaps(p, &form);
}

bool
guard_touches_metadata(const struct prefix *p)
{
	for (size_t i = 0; i < COUNT_OF(metadata); i++)
		if (touches(p, &(struct prefix){ metadata[i], 128 }))
			return true;
	return false;
}

bool
guard_touches_loopback(const struct prefix *p)
{
	for (size_t i = 0; i < COUNT_OF(loopback); i++)
		if (touches(p, &loopback[i]))
			return true;
	for (size_t i = 0; i < COUNT_OF(link_local); i++)
		if (touches(p, &link_local[i]))
			return true;
	return false;
}
