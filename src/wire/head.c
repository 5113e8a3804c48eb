#include "wire/head.h"

#include <string.h>

#include "wire/chars.h"

/* No client names more in Connection, and each costs a walk over all fields. */
#define NOMINATIONS_MAX 256

enum role { /* fields whose meaning decides where a message ends and who may read it */
	ROLE_HOST,
	ROLE_LENGTH,
	ROLE_CODING,
	ROLE_EXPECT,
	ROLE_N,
	ROLE_NONE = ROLE_N
};

static const struct str role_name[ROLE_N] = {
	[ROLE_HOST] = { "host", 4 },
	[ROLE_LENGTH] = { "content-length", 14 },
	[ROLE_CODING] = { "transfer-encoding", 17 },
	[ROLE_EXPECT] = { "expect", 6 },
};

struct tally {
	struct str value[ROLE_N]; /* the first one's */
	size_t count[ROLE_N];
	bool has_alias;
};

/* RFC 9110 7.6.1, and what only concerns the next hop (RFC 9110 11.7, RFC 7540 3.2.1). */
static const struct str hop_by_hop[] = {
	{ "connection", 10 },
	{ "keep-alive", 10 },
	{ "proxy-connection", 16 },
	{ "proxy-authorization", 19 },
	{ "proxy-authenticate", 18 },
	{ "proxy-authentication-info", 25 },
	{ "te", 2 },
	{ "trailer", 7 },
	{ "transfer-encoding", 17 },
	{ "upgrade", 7 },
	{ "http2-settings", 14 },
};

/* Connection may not take these away: framing, routing, loop detection need them. */
static const struct str protected[] = {
	{ "host", 4 },
	{ "content-length", 14 },
	{ "transfer-encoding", 17 },
	{ "via", 3 },
};

#define COUNT_OF(a) (sizeof(a) / sizeof((a)[0]))

/* Most names differ in length already, and every field is held against every name here.
 */
static inline bool
is_name(struct str a, struct str b)
{
	return a.n == b.n && str_eq_nocase(a, b);
}

bool
http_is_token(struct str s)
{
	return s.n > 0 && chars_span(s.p, s.n, CHAR_TOKEN) == s.n;
}

const struct http_field *
http_field(const struct http_head *h, struct str name)
{
	for (size_t i = 0; i < h->nfield; i++)
		if (is_name(h->field[i].name, name))
			return &h->field[i];
	return NULL;
}

size_t
http_field_count(const struct http_head *h, struct str name)
{
	size_t n = 0;

	for (size_t i = 0; i < h->nfield; i++)
		n += is_name(h->field[i].name, name);
	return n;
}

static bool
is_among(struct str name, const struct str *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (is_name(name, list[i]))
			return true;
	return false;
}

/* Walks the elements of a comma-separated field, over all fields of that name. */
struct elements {
	const struct http_head *head;
	struct str name, rest;
	size_t i;
};

static bool
next_element(struct elements *e, struct str *out)
{
	while (!str_split(&e->rest, ',', out)) {
		while (e->i < e->head->nfield &&
		       !is_name(e->head->field[e->i].name, e->name))
			e->i++;
		if (e->i == e->head->nfield)
			return false;
		e->rest = e->head->field[e->i++].value;
	}
	*out = str_trim(*out);
	return true;
}

/* One of the comma-separated elements of all fields of that name (case-insensitive). */
static bool
has_token(const struct http_head *h, struct str name, struct str token)
{
	struct elements e = { .head = h, .name = name };
	struct str element;

	while (next_element(&e, &element))
		if (is_name(element, token))
			return true;
	return false;
}

/* The same name once '_' is read as '-', as CGI and its heirs do (rule H11). */
static bool
is_alias(struct str name, struct str of)
{
	if (name.n != of.n || memchr(name.p, '_', name.n) == NULL)
		return false;
	for (size_t i = 0; i < name.n; i++)
		if ((name.p[i] == '_' ? '-' : ascii_lower(name.p[i])) != of.p[i])
			return false;
	return true;
}

static void
tally_fields(struct tally *t, const struct http_head *h)
{
	*t = (struct tally){ 0 };
	for (size_t i = 0; i < h->nfield; i++) {
		struct str name = h->field[i].name;

		for (size_t role = 0; role < ROLE_N; role++)
			if (is_name(name, role_name[role]) && t->count[role]++ == 0)
				t->value[role] = h->field[i].value;
		t->has_alias |= is_alias(name, role_name[ROLE_LENGTH]) ||
				is_alias(name, role_name[ROLE_CODING]);
	}
}

/* Other codings before a last "chunked": not wrong, but not spoken here. */
static bool
is_other_coding_then_chunked(struct str value)
{
	struct str rest = value, coding = STR_NONE;
	bool has_other = false;

	while (str_split(&rest, ',', &coding)) {
		coding = str_trim(coding);
		if (rest.p == NULL)
			break;
		if (!http_is_token(coding) || is_name(coding, STR("chunked")))
			return false;
		has_other = true;
	}
	return has_other && is_name(coding, STR("chunked"));
}

static enum http_error
judge_coding(struct http_head *h, const struct tally *t)
{
	struct str value = t->value[ROLE_CODING];

	if (t->count[ROLE_CODING] == 0)
		return HTTP_OK;
	if (t->count[ROLE_LENGTH] > 0) /* RFC 9112 6.3: a smuggling attempt */
		return HTTP_LENGTH_AND_CODING;
	if (t->count[ROLE_CODING] > 1 || h->minor == 0)
		return HTTP_CODING_BAD;
	if (!is_name(value, STR("chunked")))
		return is_other_coding_then_chunked(value) ? HTTP_CODING_UNSUPPORTED
							   : HTTP_CODING_BAD;
	h->framing = HTTP_CHUNKED;
	return HTTP_OK;
}

/* 1-19 digits; zeros may lead, since the number is sent on, not the text (rule F2). */
static bool
length_parse(uint64_t *out, struct str s)
{
	uint64_t n = 0;

	if (s.n == 0 || s.n > 19)
		return false;
	for (size_t i = 0; i < s.n; i++) {
		if (!ascii_is_digit(s.p[i]))
			return false;
		n = n * 10 + (uint64_t)(s.p[i] - '0');
	}
	*out = n;
	return n <= INT64_MAX;
}

static enum http_error
judge_length(struct http_head *h, const struct tally *t)
{
	if (t->count[ROLE_LENGTH] == 0)
		return HTTP_OK;
	if (t->count[ROLE_LENGTH] > 1)
		return HTTP_LENGTH_CONFLICT;
	if (!length_parse(&h->length, t->value[ROLE_LENGTH]))
		return HTTP_LENGTH_BAD;
	h->framing = HTTP_LENGTH;
	return HTTP_OK;
}

static enum http_error
judge_host(struct http_head *h, const struct tally *t)
{
	if (t->count[ROLE_HOST] > 0)
		h->host = t->value[ROLE_HOST];
	if (h->kind == HTTP_RESPONSE)
		return HTTP_OK;
	if (t->count[ROLE_HOST] > 1)
		return HTTP_HOST_TWICE;
	return t->count[ROLE_HOST] == 0 && h->minor > 0 ? HTTP_HOST_MISSING : HTTP_OK;
}

/* A response's are ignored by http_hop_fields(): no one routes by them. */
static enum http_error
judge_nominations(struct http_head *h, const struct tally *t)
{
	struct elements e = { .head = h, .name = STR("connection") };
	struct str name;

	(void)t;
	for (size_t n = 0; next_element(&e, &name); n++)
		if (n == NOMINATIONS_MAX ||
		    (h->kind == HTTP_REQUEST &&
			is_among(name, protected, COUNT_OF(protected))))
			return HTTP_NOMINATION;
	return HTTP_OK;
}

static enum http_error
judge_request(struct http_head *h, const struct tally *t)
{
	bool has_body = h->framing == HTTP_CHUNKED || h->length > 0;

	if (h->kind == HTTP_RESPONSE)
		return HTTP_OK;
	if (t->has_alias)
		return HTTP_ALIAS;
	if (has_body && str_eq(h->method, STR("CONNECT")))
		return HTTP_CONNECT_BODY;
	if (t->count[ROLE_EXPECT] == 0 || h->minor == 0)
		return HTTP_OK;
	if (t->count[ROLE_EXPECT] > 1 ||
	    !is_name(t->value[ROLE_EXPECT], STR("100-continue")))
		return HTTP_EXPECTATION;
	h->expects_continue = has_body;
	return HTTP_OK;
}

/* RFC 9112 9.3; the old Proxy-Connection is what 1.0 clients send to a proxy. */
static bool
persists(const struct http_head *h)
{
	if (has_token(h, STR("connection"), STR("close")))
		return false;
	return h->minor > 0 || has_token(h, STR("connection"), STR("keep-alive")) ||
	       (h->kind == HTTP_REQUEST &&
		   has_token(h, STR("proxy-connection"), STR("keep-alive")));
}

enum http_error
head_settle(struct http_head *h)
{
	static enum http_error (*const judges[])(
	    struct http_head *, const struct tally *) = {
		judge_host,
		judge_coding,
		judge_length,
		judge_nominations,
		judge_request,
	};
	struct tally t;

	tally_fields(&t, h);
	h->framing = h->kind == HTTP_REQUEST ? HTTP_NO_BODY : HTTP_UNTIL_CLOSE;
	for (size_t i = 0; i < COUNT_OF(judges); i++) {
		enum http_error e = judges[i](h, &t);

		if (e != HTTP_OK)
			return e;
	}
	h->is_kept = h->framing != HTTP_UNTIL_CLOSE && persists(h);
	h->is_upgrade = h->minor > 0 && has_token(h, STR("upgrade"), STR("websocket")) &&
			has_token(h, STR("connection"), STR("upgrade"));
	return HTTP_OK;
}

void
http_response_for(struct http_head *response, struct str request_method)
{
	int status = response->status;

	if (status / 100 != 1 && status != 204 && status != 304 &&
	    !str_eq(request_method, STR("HEAD")) &&
	    !(status / 100 == 2 && str_eq(request_method, STR("CONNECT"))))
		return;
	response->framing = HTTP_NO_BODY;
	response->is_kept = persists(response);
}

static bool
is_hop_by_hop(const struct http_head *h, struct str name)
{
	if (is_among(name, hop_by_hop, COUNT_OF(hop_by_hop)))
		return true;
	for (size_t i = 0; i < COUNT_OF(hop_by_hop); i++)
		if (is_alias(name, hop_by_hop[i]))
			return true;
	/* no one behind a proxy can reach the alternative service */
	return h->kind == HTTP_RESPONSE && is_name(name, STR("alt-svc"));
}

static bool
is_own(struct str name)
{
	struct str prefix = str_sub(name, 0, sizeof("x-weir-") - 1);

	return is_name(prefix, STR("x-weir-")) || is_alias(prefix, STR("x-weir-"));
}

void
http_hop_fields(const struct http_head *h, bool *drop)
{
	struct elements e = { .head = h, .name = STR("connection") };
	struct str nominated;

	for (size_t i = 0; i < h->nfield; i++)
		drop[i] = is_own(h->field[i].name) || is_hop_by_hop(h, h->field[i].name);
	while (next_element(&e, &nominated)) {
		if (is_among(nominated, protected, COUNT_OF(protected)))
			continue;
		for (size_t i = 0; i < h->nfield; i++)
			drop[i] |= is_name(h->field[i].name, nominated);
	}
}

int64_t
http_keep_alive_s(const struct http_head *h)
{
	const struct http_field *f = http_field(h, STR("Keep-Alive"));
	struct str rest = f != NULL ? f->value : STR_NONE, piece;
	uint64_t s;

	while (str_split(&rest, ',', &piece)) {
		struct str name = STR_NONE, value = str_trim(piece);
		if (str_split(&value, '=', &name) &&
		    str_eq_nocase(name, STR("timeout")) && str_decimal(value, &s) &&
		    s < 86400)
			return (int64_t)s;
	}
	return -1;
}
