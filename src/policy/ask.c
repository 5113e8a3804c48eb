/*
 * ask.c - a door's bytes -> the question put to policy, or why they are none
 */
#include "policy/ask.h"

#include "wire/ws.h"

static enum reason
host_reason(enum host_error err, const char **why)
{
	*why = host_error_text(err);
	switch (err) {
	case HOST_OK:
		return REASON_NONE;
	case HOST_EMPTY:
	case HOST_BYTE:
	case HOST_LABEL:
	case HOST_TOO_LONG:
	case HOST_NUMBER:
	case HOST_BRACKETS:
		return REASON_HOST_INVALID;
	case HOST_PORT:
	case HOST_USERINFO:
	case HOST_SCHEME:
	case HOST_TARGET:
		return REASON_REQUEST_MALFORMED;
	}
	return REASON_REQUEST_MALFORMED;
}

static void
take_request(struct ask *out, struct str method, struct str path, struct str query)
{
	out->has_request = true;
	out->method = method;
	out->path = path;
	out->query = query;
	if (path.n == 0) /* RFC 9112 3.2.4: OPTIONS of a whole server is sent as "*" */
		out->path = query.p == NULL && str_eq(method, STR("OPTIONS")) ? STR("*")
									      : STR("/");
}

/* An upgrade that is almost one could be taken for one further on (rule W5). */
static enum reason
take_head(struct ask *out, const struct http_head *head, const char **why)
{
	out->head = head;
	out->wants_websocket = head->is_upgrade && ws_is_request(head);
	if (head->is_upgrade && !out->wants_websocket) {
		*why = "the websocket upgrade is not as RFC 6455 4.1 has it";
		return REASON_REQUEST_MALFORMED;
	}
	if (head->framing == HTTP_NO_BODY)
		out->length = 0;
	else if (head->framing == HTTP_LENGTH && head->length <= INT64_MAX)
		out->length = (int64_t)head->length;
	return REASON_NONE;
}

static void
ask_init(struct ask *out, enum via via)
{
	*out = (struct ask){ .via = via, .query = STR_NONE, .length = -1 };
}

enum reason
ask_connect(struct ask *out, struct str authority, const char **why)
{
	ask_init(out, VIA_CONNECT);
	return host_reason(authority_parse(&out->host, &out->port, authority, 0), why);
}

enum reason
ask_destination(struct ask *out, struct str host, uint16_t port, const char **why)
{
	ask_init(out, VIA_CONNECT);
	out->port = port;
	if (port == 0)
		return host_reason(HOST_PORT, why);
	return host_reason(host_parse_bare(&out->host, host), why);
}

enum reason
ask_name(struct ask *out, struct str name, const char **why)
{
	enum host_error err;

	ask_init(out, VIA_DNS);
	err = host_parse(&out->host, name);
	return host_reason(
	    err == HOST_OK && out->host.is_literal ? HOST_NUMBER : err, why);
}

enum reason
ask_absolute(struct ask *out, struct str method, struct str target, const char **why)
{
	struct url url;
	enum reason reason;

	ask_init(out, VIA_HTTP);
	if ((reason = host_reason(url_parse(&url, target), why)) != REASON_NONE)
		return reason;
	if (url.is_https) {
		*why = host_error_text(HOST_SCHEME);
		return REASON_REQUEST_MALFORMED;
	}
	out->host = url.host;
	out->port = url.port;
	take_request(out, method, url.path, url.query);
	return REASON_NONE;
}

enum said { SAID_NOTHING, SAID_SAME, SAID_OTHER, SAID_NONSENSE };

/*
 * What the Host field says of the destination.  One without a port is taken for
 * any port: some clients leave it out, and what is sent on is the target's.
 */
static enum said
host_field_says(const struct ask *a, struct str field, const char **why)
{
	struct host host;
	uint16_t port;
	enum host_error err;

	if (field.p == NULL)
		return SAID_NOTHING;
	if (host_parse(&host, field) == HOST_OK)
		return host_eq(&host, &a->host) ? SAID_SAME : SAID_OTHER;
	if ((err = authority_parse(&host, &port, field, a->port)) != HOST_OK) {
		*why = host_error_text(err);
		return SAID_NONSENSE;
	}
	return host_eq(&host, &a->host) && port == a->port ? SAID_SAME : SAID_OTHER;
}

enum reason
ask_proxy(struct ask *out, const struct http_head *head, const char **why)
{
	bool is_connect = str_eq(head->method, STR("CONNECT"));
	enum reason reason = is_connect
				 ? ask_connect(out, head->target, why)
				 : ask_absolute(out, head->method, head->target, why);
	enum said said;

	if (!is_connect && str_starts(head->target, STR("/")))
		*why = "this is a proxy: ask it for http://host/path, or, for https, "
		       "CONNECT host:port";
	if (reason != REASON_NONE)
		return reason;
	said = host_field_says(out, head->host, why);
	if (said == SAID_NONSENSE)
		return REASON_HOST_INVALID;
	/* In a CONNECT only its form counts: undici sends the proxy's own name there. */
	if (said == SAID_OTHER && !is_connect) {
		*why = "the Host field differs from the request target";
		return REASON_HOST_MISMATCH;
	}
	return take_head(out, head, why);
}

/* RFC 9112 3.2.1; the fragment and the backslash are what other parsers stumble over. */
static bool
is_origin_form(struct str target)
{
	if (target.n == 0 || target.p[0] != '/')
		return false;
	for (size_t i = 0; i < target.n; i++)
		if (target.p[i] <= 0x20 || target.p[i] >= 0x7f || target.p[i] == '#' ||
		    target.p[i] == '\\')
			return false;
	return true;
}

/* In TLS it may say http, too: how it is carried is the tunnel's, and is not sent on. */
static enum reason
read_inner_absolute(
    struct ask *out, const struct http_head *head, bool is_tls, const char **why)
{
	struct url url;
	enum reason reason = host_reason(url_parse(&url, head->target), why);

	if (reason != REASON_NONE)
		return reason;
	if (url.is_https && !is_tls) {
		*why = host_error_text(HOST_SCHEME);
		return REASON_REQUEST_MALFORMED;
	}
	if (!url.has_port && url.is_https != is_tls)
		url.port = out->port;
	if (!host_eq(&url.host, &out->host) || url.port != out->port) {
		*why = "the request target names another host than the tunnel";
		return REASON_HOST_MISDIRECTED;
	}
	take_request(out, head->method, url.path, url.query);
	return REASON_NONE;
}

static enum reason
read_inner_target(
    struct ask *out, const struct http_head *head, bool is_tls, const char **why)
{
	struct str target = head->target, path = target, query = STR_NONE;
	size_t at;

	if (str_eq(target, STR("*")) && str_eq(head->method, STR("OPTIONS"))) {
		take_request(out, head->method, target, STR_NONE);
		return REASON_NONE;
	}
	if (is_origin_form(target)) {
		if (str_find(target, '?', &at)) {
			path = str_sub(target, 0, at);
			query = str_sub(target, at + 1, target.n);
		}
		take_request(out, head->method, path, query);
		return REASON_NONE;
	}
	return read_inner_absolute(out, head, is_tls, why);
}

enum reason
ask_inside(struct ask *out, const struct host *host, uint16_t port, bool is_tls,
    const struct http_head *head, const char **why)
{
	enum reason reason;
	enum said said;

	ask_init(out, VIA_CONNECT);
	out->host = *host;
	out->port = port;
	if (str_eq(head->method, STR("CONNECT"))) {
		*why = "a CONNECT inside a tunnel";
		return REASON_METHOD_NOT_ALLOWED;
	}
	if ((reason = read_inner_target(out, head, is_tls, why)) != REASON_NONE)
		return reason;
	said = host_field_says(out, head->host, why);
	if (said == SAID_NONSENSE)
		return REASON_HOST_INVALID;
	if (said == SAID_OTHER) {
		*why = "the Host field names another host than the tunnel";
		return REASON_HOST_MISDIRECTED;
	}
	return take_head(out, head, why);
}

void
ask_facts(struct facts *f, const struct ask *a)
{
	*f = (struct facts){
		.via = a->via,
		.host = &a->host,
		.port = a->port,
		.protocols = a->has_request ? PROTOCOL_HTTP : PROTOCOL_ANY,
		.has_request = a->has_request,
		.method = a->method,
		.path = a->path,
		.query = a->query,
		.head = a->head,
		.wants_websocket = a->wants_websocket,
		.length = a->length,
	};
}
