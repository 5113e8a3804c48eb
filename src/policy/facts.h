/*
 * facts.h - what is asked of policy
 *
 * Made by a door from bytes, or by `weir explain` from its arguments: the same
 * struct, so both get the same answer.  Zeroed means: nothing is known yet.
 */
#ifndef WEIR_POLICY_FACTS_H
#define WEIR_POLICY_FACTS_H

#include "wire/http.h"
#include "wire/url.h"

/* How an exchange came in.  DNS asks whether a name may be reached at all: port 0. */
enum via { VIA_CONNECT, VIA_HTTP, VIA_DNS };

/* What a rule lets be spoken; also a bit set of what may still be spoken. */
enum protocol { PROTOCOL_HTTP = 1, PROTOCOL_HTTPS = 2, PROTOCOL_TCP = 4 };
#define PROTOCOL_ANY 7u
const char *protocol_name(enum protocol p); /* "http", "https", "tcp" */

/* How tightly an exchange is bound to its destination; larger is tighter. */
enum assurance { ASSURE_NAME, ASSURE_ADDRESS, ASSURE_SNI, ASSURE_ORIGIN, ASSURE_HOST };
const char *assurance_name(enum assurance a);

/* What becomes of a request with something in it that looks like a secret. */
enum dlp { DLP_NONE, DLP_MARK, DLP_BLOCK };

struct facts {
	enum via via;
	const struct host *host; /* the ask's; borrowed */
	uint16_t port;

	/* The set narrows: absolute-form is HTTP from the start, a tunnel when its first
	 * bytes came. */
	unsigned protocols;

	/* First bytes of TLS, once read */
	bool has_hello, has_sni, has_ech;
	bool is_sni_equal; /* the SNI is the ask's host */

	/* A request in sight */
	bool has_request;
	struct str method;
	/* raw, without query; "/" when the target had none, "*" for OPTIONS of a server
	 */
	struct str path;
	struct str query;             /* p is NULL when none */
	const struct http_head *head; /* its fields; NULL: none were given (explain) */
	bool wants_websocket;
	int64_t length; /* of the body when announced, else -1 */
};

#endif
