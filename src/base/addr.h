/*
 * addr.h - one form for every address
 *
 * IPv4 is kept as its IPv4-mapped IPv6 form, so an address has one spelling,
 * 16 bytes, and ::ffff:127.0.0.1 cannot slip past a rule about 127.0.0.1.
 * Text is strict: dotted quads without leading zeros, RFC 4291 IPv6 without a
 * zone; nothing inet_aton() would also take.  A prefix shorter than the 96 bits
 * before IPv4 is an IPv6 prefix: ::/0 has no IPv4 address.  Pure; any thread.
 */
#ifndef WEIR_BASE_ADDR_H
#define WEIR_BASE_ADDR_H

#include <sys/socket.h>

#include "base/str.h"

struct addr {
	uint8_t b[16];
};

struct endpoint {
	struct addr addr;
	uint16_t port;
};

struct prefix {
	struct addr addr; /* bits past len are zero */
	uint8_t len;      /* 0..128; an IPv4 /8 is 104 */
};

#define ADDR_TEXT 46     /* longest text and its NUL */
#define ENDPOINT_TEXT 56 /* "[addr]:65535" */
#define PREFIX_TEXT 50

/* initialisers */
/* clang-format off */
#define V4(a, b, c, d) { { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, a, b, c, d } }
#define V4_PREFIX(a, b, c, d, bits) { V4(a, b, c, d), 96 + (bits) }
/* clang-format on */

bool addr_parse(struct addr *out, struct str text); /* IPv4 or IPv6, no brackets */
bool addr_is_v4(const struct addr *a); /* native or mapped: they are the same */
bool addr_eq(const struct addr *a, const struct addr *b);
/* RFC 5952 text; IPv4 as a dotted quad.  Returns out. */
char *addr_text(char out[static ADDR_TEXT], const struct addr *a);

/* False: not IP. */
bool addr_from_sockaddr(struct endpoint *out, const struct sockaddr *sa);
socklen_t endpoint_sockaddr(const struct endpoint *e, struct sockaddr_storage *out);
/* "1.2.3.4:80", "[::1]:80"; read strictly. */
char *endpoint_text(char out[static ENDPOINT_TEXT], const struct endpoint *e);
bool endpoint_parse(struct endpoint *out, struct str text);
bool port_parse(uint16_t *out, struct str text); /* 1..65535, decimal, no leading zero */

/* "10.0.0.0/8"; host bits must be zero. */
bool prefix_parse(struct prefix *out, struct str text);
/* Clears host bits; false: len is over 128. */
bool prefix_of(struct prefix *out, const struct addr *a, unsigned len);
bool prefix_has(const struct prefix *p, const struct addr *a);
bool prefix_covers(const struct prefix *outer, const struct prefix *inner);
bool prefixes_have(const struct prefix *list, size_t n, const struct addr *a);
char *prefix_text(char out[static PREFIX_TEXT], const struct prefix *p);

#endif
