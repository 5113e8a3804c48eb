/*
 * url.h - one canonicaliser makes the `struct host`, and only that reaches anyone
 *
 * Every place a host can stand in (CONNECT, an absolute URI, Host, SNI, a DNS
 * name, a policy file) goes through host_parse().  ASCII letters are folded, one
 * trailing dot is dropped; whatever else differs from a plain name or a strict
 * literal is refused: a second parser further on could read it otherwise.
 * Pure; any thread.  RFC 3986 3.2.2, RFC 1035, RFC 4291; rules A1-A6.
 */
#ifndef WEIR_WIRE_URL_H
#define WEIR_WIRE_URL_H

#include "base/addr.h"

#define HOST_MAX 253

struct host {
	char name[HOST_MAX + 1]; /* canonical; of a literal its address text */
	uint8_t len;
	bool is_literal;
	struct addr addr; /* when is_literal */
};

enum host_error {
	HOST_OK,
	HOST_EMPTY,
	HOST_BYTE,  /* a byte no host name has: NUL, %, \, @, space, non-ASCII, ... */
	HOST_LABEL, /* empty, over 63, or begins or ends with '-' */
	HOST_TOO_LONG,
	HOST_NUMBER,   /* looks like an IPv4 address and is not strict dotted decimal */
	HOST_BRACKETS, /* brackets round something else than an IPv6 address, or a zone */
	HOST_PORT,     /* missing, empty, 0, over 65535, sign, leading zero */
	HOST_USERINFO,
	HOST_SCHEME, /* a scheme that is neither http nor https */
	HOST_TARGET, /* fragment, backslash, control byte, or not absolute-form */
};

/* A host as in a URI: a name, a dotted quad, or IPv6 in brackets. */
enum host_error host_parse(struct host *out, struct str text) MUST_CHECK;
/* A name or a bare literal without brackets (policy files, SOCKS, dns.hosts). */
enum host_error host_parse_bare(struct host *out, struct str text) MUST_CHECK;
/* An SNI name: as host_parse, but no trailing dot and no literal (RFC 6066 3). */
enum host_error host_parse_sni(struct host *out, struct str text) MUST_CHECK;
/* "host:port"; port is required unless default_port is not 0. */
enum host_error authority_parse(
    struct host *out, uint16_t *port, struct str text, uint16_t default_port) MUST_CHECK;
/* A sentence that says what would be right. */
const char *host_error_text(enum host_error e);

struct str host_str(const struct host *h); /* the canonical name */
bool host_eq(const struct host *a, const struct host *b);
/* With brackets where a URI needs them, and ":port" unless port is 0 or default_port. */
#define AUTHORITY_TEXT (HOST_MAX + 9)
char *authority_text(char out[static AUTHORITY_TEXT], const struct host *h, uint16_t port,
    uint16_t default_port);
/* A single label, or at or below a name of the closed table; no literal is. */
bool host_is_special(const struct host *h);
/* That name ("svc", "local", ...), or "" for a single label; NULL when ordinary. */
const char *host_special_suffix(struct str name);

/* An absolute-form target; path and query are slices into its text. */
struct url {
	bool is_https;
	struct host host;
	uint16_t port;    /* default filled in */
	bool has_port;    /* it was written */
	struct str path;  /* without the query; may be empty, then "/" */
	struct str query; /* after the '?'; p is NULL when there is none */
};

/* http:// or https://; the latter is right inside a tunnel only: say "use CONNECT". */
enum host_error url_parse(struct url *out, struct str text) MUST_CHECK;

/* No dot segment, //, ;, \, %2f %5c %25 %00, encoded unreserved character (rule H9). */
bool path_is_canonical(struct str path);

#endif
