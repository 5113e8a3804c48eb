/*
 * ask.h - a door's bytes -> the question put to policy, or why they are none
 *
 * Every door, and `weir explain`, comes through here, so that all of them read a
 * target alike: one canonical host and port, the path and query byte for byte as
 * they will be sent, and a Host field that says the same as the target.
 *
 * Each function returns REASON_NONE with *out filled, or the reason to refuse
 * with *why a static sentence for the record (*out then says nothing).  Slices
 * point into the caller's bytes (or at static text).  Pure; any thread.
 * RFC 9112 3.2; rules H6-H8, C1, T7.
 */
#ifndef WEIR_POLICY_ASK_H
#define WEIR_POLICY_ASK_H

#include "policy/verdict.h"

struct ask {
	enum via via;
	struct host host;
	uint16_t port;

	/* A request in sight; CONNECT shows none. */
	bool has_request;
	struct str method;
	struct str path;  /* what is sent: "/...", or "*" for OPTIONS without a path */
	struct str query; /* after the '?'; p is NULL when there is none */
	const struct http_head *head; /* borrowed; NULL when only a target was given */
	bool wants_websocket;
	int64_t length; /* of the body; -1 when it is not announced */
};

/* A head on the proxy door: CONNECT in authority-form, anything else in absolute-form. */
enum reason ask_proxy(
    struct ask *out, const struct http_head *head, const char **why) MUST_CHECK;

/*
 * A head inside a tunnel to host:port (plain, or after interception): origin-form,
 * or absolute-form for the same host.  Another Host is HOST_MISDIRECTED, a CONNECT
 * is METHOD_NOT_ALLOWED.  A head without Host (HTTP/1.0) means the tunnel's.
 */
enum reason ask_inside(struct ask *out, const struct host *host, uint16_t port,
    bool is_tls, const struct http_head *head, const char **why) MUST_CHECK;

/* The same from a target alone: "host:port", or "http://host/path". */
enum reason ask_connect(
    struct ask *out, struct str authority, const char **why) MUST_CHECK;
enum reason ask_absolute(
    struct ask *out, struct str method, struct str target, const char **why) MUST_CHECK;

/* A name or a bare literal, and a port, apart: as SOCKS has them. */
enum reason ask_destination(
    struct ask *out, struct str host, uint16_t port, const char **why) MUST_CHECK;

/* A name that is asked for, by whatever means it will be reached; never an address. */
enum reason ask_name(struct ask *out, struct str name, const char **why) MUST_CHECK;

/*
 * The facts before any byte of a tunnel was read: f->host and the slices borrow
 * from the ask.  A request in sight leaves protocol http only, else any.
 */
void ask_facts(struct facts *f, const struct ask *a);

#endif
