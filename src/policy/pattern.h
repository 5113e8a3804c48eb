/*
 * pattern.h - what a rule may say of hosts, ports and paths, and whether it fits
 *
 *	x       that name            *.x    one or more labels under x, never x
 *	**.x    x and all under it   *      any ordinary name
 *	10.1.2.3, 2001:db8::/32      that address, that range
 *
 * A star anywhere else is an error, not a guess.  Pure; any thread.
 */
#ifndef WEIR_POLICY_PATTERN_H
#define WEIR_POLICY_PATTERN_H

#include "base/arena.h"
#include "wire/url.h"

enum pattern_kind {
	PATTERN_NAME,
	PATTERN_BELOW,
	PATTERN_DEEP,
	PATTERN_ANY,
	PATTERN_RANGE
};

struct pattern {
	enum pattern_kind kind;
	bool is_one_address;  /* a RANGE written as a plain address: it opens it too */
	struct str base;      /* canonical, without the stars; empty for ANY and RANGE */
	struct prefix prefix; /* of a RANGE */
};

enum pattern_error {
	PATTERN_OK,
	PATTERN_STAR,    /* a star that is no whole first label */
	PATTERN_DOT,     /* begins with a dot: `*.x` or `**.x`? */
	PATTERN_UNICODE, /* wants punycode_name() */
	PATTERN_CIDR,    /* a slash, but no range: bits past the length, a bad length */
	PATTERN_URL,     /* a scheme, a path or a port in it */
	PATTERN_LITERAL, /* a star before an address */
	PATTERN_HOST,    /* no host name; *host_error says why */
};

/* The base lives in the arena. */
enum pattern_error pattern_parse(struct pattern *out, struct str text, struct arena *a,
    enum host_error *host_error) MUST_CHECK;
/* That host and no other; borrows its text. */
struct pattern pattern_of_host(const struct host *h);
const char *pattern_error_hint(
    enum pattern_error e); /* what would be right; static, or NULL */

bool pattern_is_wildcard(const struct pattern *p);
/*
 * Why this wildcard needs `broad: true` (static), or NULL: `*`, a base of one label,
 * or one under which anyone can register (the Public Suffix List, private section too).
 */
const char *pattern_broad_why(const struct pattern *p);
/* Is every host of `inner` one of `outer`?  Never says yes wrongly. */
bool pattern_covers(const struct pattern *outer, const struct pattern *inner);
bool pattern_eq(const struct pattern *a, const struct pattern *b);

struct ports {
	uint16_t first, last;
};
bool ports_parse(
    struct ports *out, struct str text) MUST_CHECK; /* "443" or "9000-9020" */
bool ports_have(const struct ports *list, size_t n, uint16_t port);

/* Begins with '/' and is canonical (stars are ordinary characters there). */
bool path_pattern_is_valid(struct str pattern);
/* `*` is any run inside a segment, `**` any run; as a segment in the middle also none at
 * all. */
bool path_pattern_fits(struct str pattern, struct str path);

#endif
