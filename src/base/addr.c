#include "base/addr.h"

#include <assert.h>
#include <endian.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#define V4_BITS_BEFORE 96 /* ::ffff:0:0/96 holds IPv4 */
#define GROUPS 8

static const uint8_t v4_head[12] = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff };

static bool
is_within(struct str text, uint64_t min, uint64_t max, uint64_t *out)
{
	return str_decimal(text, out) && *out >= min && *out <= max;
}

static bool
parse_quad(uint8_t out[static 4], struct str text)
{
	struct str piece;
	uint64_t octet;
	size_t n = 0;

	while (str_split(&text, '.', &piece)) {
		if (n == 4 || !is_within(piece, 0, 255, &octet))
			return false;
		out[n++] = (uint8_t)octet;
	}
	return n == 4;
}

static bool
parse_group(uint8_t out[static 2], struct str text)
{
	unsigned value = 0;

	if (text.n < 1 || text.n > 4)
		return false;
	for (size_t i = 0; i < text.n; i++) {
		int digit = ascii_hex_value(text.p[i]);

		if (digit < 0)
			return false;
		value = value << 4 | (unsigned)digit;
	}
	out[0] = (uint8_t)(value >> 8);
	out[1] = (uint8_t)(value & 0xff);
	return true;
}

/* Groups between colons, no "::" among them; the very last may be a dotted quad. */
static bool
parse_groups(uint8_t out[static 16], size_t *n, struct str text, bool is_tail)
{
	struct str piece;
	size_t dot;

	*n = 0;
	if (text.n == 0)
		return true;
	while (str_split(&text, ':', &piece)) {
		bool is_quad = is_tail && text.p == NULL && str_find(piece, '.', &dot);
		size_t size = is_quad ? 4 : 2;

		if (*n + size > 16)
			return false;
		if (is_quad ? !parse_quad(out + *n, piece)
			    : !parse_group(out + *n, piece))
			return false;
		*n += size;
	}
	return true;
}

static bool
find_gap(struct str text, size_t *at)
{
	for (size_t i = 0; i + 1 < text.n; i++)
		if (text.p[i] == ':' && text.p[i + 1] == ':') {
			*at = i;
			return true;
		}
	return false;
}

static bool
parse_v6(struct addr *out, struct str text)
{
	uint8_t head[16], tail[16];
	size_t gap, nhead, ntail;

	if (!find_gap(text, &gap)) {
		if (!parse_groups(head, &nhead, text, true) || nhead != 16)
			return false;
		memcpy(out->b, head, 16);
		return true;
	}
	if (!parse_groups(head, &nhead, str_sub(text, 0, gap), false) ||
	    !parse_groups(tail, &ntail, str_sub(text, gap + 2, text.n), true))
		return false;
	if (nhead + ntail > 14) /* RFC 4291 2.2: "::" stands for at least one group */
		return false;
	*out = (struct addr){ { 0 } };
	memcpy(out->b, head, nhead);
	memcpy(out->b + 16 - ntail, tail, ntail);
	return true;
}

bool
addr_parse(struct addr *out, struct str text)
{
	uint8_t quad[4];
	size_t colon;

	if (str_find(text, ':', &colon))
		return parse_v6(out, text);
	if (!parse_quad(quad, text))
		return false;
	*out = (struct addr)V4(quad[0], quad[1], quad[2], quad[3]);
	return true;
}

bool
addr_is_v4(const struct addr *a)
{
	return memcmp(a->b, v4_head, sizeof(v4_head)) == 0;
}

bool
addr_eq(const struct addr *a, const struct addr *b)
{
	return memcmp(a->b, b->b, sizeof(a->b)) == 0;
}

static unsigned
group_of(const struct addr *a, size_t i)
{
	return (unsigned)a->b[2 * i] << 8 | a->b[2 * i + 1];
}

/* RFC 5952 4.2: the longest run of two or more zero groups, the first of equals. */
static size_t
longest_zeros(const struct addr *a, size_t *length)
{
	size_t best = GROUPS, run = 0;

	*length = 1;
	for (size_t i = 0; i < GROUPS; i++) {
		run = group_of(a, i) == 0 ? run + 1 : 0;
		if (run > *length) {
			*length = run;
			best = i + 1 - run;
		}
	}
	return best;
}

/* Returns the end; printf is half of what a record's addresses cost. */
static char *
put_number(char *to, unsigned n)
{
	char memory[STR_DIGITS];
	struct str digits = str_digits(memory, n);

	memcpy(to, digits.p, digits.n);
	return to + digits.n;
}

static void
put_v4(char *to, const struct addr *a)
{
	for (size_t i = sizeof(v4_head); i < sizeof(a->b); i++) {
		to = put_number(to, a->b[i]);
		*to++ = '.';
	}
	to[-1] = '\0';
}

char *
addr_text(char out[static ADDR_TEXT], const struct addr *a)
{
	size_t length, gap = longest_zeros(a, &length), at = 0;

	if (addr_is_v4(a)) {
		put_v4(out, a);
		return out;
	}
	for (size_t i = 0; i < GROUPS; i++) {
		bool is_gap = i == gap, follows_gap = i == gap + length;

		if (is_gap) {
			at += (size_t)snprintf(out + at, ADDR_TEXT - at, "::");
			i += length - 1;
			continue;
		}
		at += (size_t)snprintf(out + at, ADDR_TEXT - at, "%s%x",
		    i == 0 || follows_gap ? "" : ":", group_of(a, i));
	}
	return out;
}

bool
addr_from_sockaddr(struct endpoint *out, const struct sockaddr *sa)
{
	if (sa->sa_family == AF_INET) {
		struct sockaddr_in in;

		memcpy(&in, sa, sizeof(in));
		out->port = ntohs(in.sin_port);
		memcpy(out->addr.b, v4_head, sizeof(v4_head));
		memcpy(out->addr.b + sizeof(v4_head), &in.sin_addr, 4);
		return true;
	}
	if (sa->sa_family == AF_INET6) {
		struct sockaddr_in6 in6;

		memcpy(&in6, sa, sizeof(in6));
		out->port = ntohs(in6.sin6_port);
		memcpy(out->addr.b, &in6.sin6_addr, 16);
		return true;
	}
	return false;
}

socklen_t
endpoint_sockaddr(const struct endpoint *e, struct sockaddr_storage *out)
{
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_port = htons(e->port) };
	struct sockaddr_in6 in6 = { .sin6_family = AF_INET6,
		.sin6_port = htons(e->port) };

	memset(out, 0, sizeof(*out));
	if (addr_is_v4(&e->addr)) {
		memcpy(&in.sin_addr, e->addr.b + sizeof(v4_head), 4);
		memcpy(out, &in, sizeof(in));
		return sizeof(in);
	}
	memcpy(&in6.sin6_addr, e->addr.b, 16);
	memcpy(out, &in6, sizeof(in6));
	return sizeof(in6);
}

char *
endpoint_text(char out[static ENDPOINT_TEXT], const struct endpoint *e)
{
	bool is_v6 = !addr_is_v4(&e->addr);
	char *end;

	if (is_v6)
		out[0] = '[';
	addr_text(out + is_v6, &e->addr);
	end = out + strlen(out);
	if (is_v6)
		*end++ = ']';
	*end++ = ':';
	*put_number(end, e->port) = '\0';
	return out;
}

/* Brackets hold IPv6, and IPv6 comes in nothing else. */
static bool
parse_host_part(struct addr *out, struct str text)
{
	bool is_bracketed = text.n >= 2 && text.p[0] == '[' && text.p[text.n - 1] == ']';
	struct str bare = is_bracketed ? str_sub(text, 1, text.n - 2) : text;
	size_t colon;

	return str_find(bare, ':', &colon) == is_bracketed && addr_parse(out, bare);
}

bool
endpoint_parse(struct endpoint *out, struct str text)
{
	struct endpoint e;
	size_t colon;

	if (!str_rfind(text, ':', &colon) ||
	    !parse_host_part(&e.addr, str_sub(text, 0, colon)) ||
	    !port_parse(&e.port, str_sub(text, colon + 1, text.n)))
		return false;
	*out = e;
	return true;
}

bool
port_parse(uint16_t *out, struct str text)
{
	uint64_t port;

	if (!is_within(text, 1, UINT16_MAX, &port))
		return false;
	*out = (uint16_t)port;
	return true;
}

bool
prefix_parse(struct prefix *out, struct str text)
{
	struct prefix p;
	struct addr addr;
	uint64_t bits;
	size_t slash, colon;
	bool is_v6;

	if (!str_find(text, '/', &slash) || !addr_parse(&addr, str_sub(text, 0, slash)))
		return false;
	is_v6 = str_find(text, ':', &colon);
	if (!is_within(str_sub(text, slash + 1, text.n), 0, is_v6 ? 128 : 32, &bits))
		return false;
	if (!prefix_of(&p, &addr, (unsigned)bits + (is_v6 ? 0 : V4_BITS_BEFORE)) ||
	    !addr_eq(&p.addr, &addr))
		return false;
	*out = p;
	return true;
}

/* The bits of byte i that a prefix of len bits fixes. */
static uint8_t
mask_at(unsigned len, unsigned i)
{
	if (len >= 8 * (i + 1))
		return 0xff;
	return len <= 8 * i ? 0 : (uint8_t)(0xff00u >> (len - 8 * i));
}

bool
prefix_of(struct prefix *out, const struct addr *a, unsigned len)
{
	if (len > 128)
		return false;
	for (unsigned i = 0; i < 16; i++)
		out->addr.b[i] = (uint8_t)(a->b[i] & mask_at(len, i));
	out->len = (uint8_t)len;
	return true;
}

/* The bits that differ in the eight bytes from `at`, the first one on top. */
static uint64_t
differing(const struct prefix *p, const struct addr *a, size_t at)
{
	uint64_t x, y;

	memcpy(&x, p->addr.b + at, sizeof(x));
	memcpy(&y, a->b + at, sizeof(y));
	return be64toh(x ^ y);
}

/* Each address to be dialled is held against some forty of these. */
bool
prefix_has(const struct prefix *p, const struct addr *a)
{
	/* ::/0 is all of IPv6: nobody who writes it means to open 10.0.0.0/8 */
	if (p->len < V4_BITS_BEFORE && addr_is_v4(a))
		return false;
	if (p->len == 0)
		return true;
	if (p->len <= 64)
		return differing(p, a, 0) >> (64 - p->len) == 0;
	return differing(p, a, 0) == 0 && differing(p, a, 8) >> (128 - p->len) == 0;
}

bool
prefix_covers(const struct prefix *outer, const struct prefix *inner)
{
	return outer->len <= inner->len && prefix_has(outer, &inner->addr);
}

bool
prefixes_have(const struct prefix *list, size_t n, const struct addr *a)
{
	for (size_t i = 0; i < n; i++)
		if (prefix_has(&list[i], a))
			return true;
	return false;
}

char *
prefix_text(char out[static PREFIX_TEXT], const struct prefix *p)
{
	char addr[ADDR_TEXT];
	bool is_v4 = p->len >= V4_BITS_BEFORE && addr_is_v4(&p->addr);
	unsigned bits = is_v4 ? p->len - (unsigned)V4_BITS_BEFORE : p->len;

	snprintf(out, PREFIX_TEXT, "%s/%u", addr_text(addr, &p->addr), bits);
	return out;
}
