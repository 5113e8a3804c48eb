/*
 * remake.c - heads as weir sends them, made anew from what was understood
 */
#include "proxy/remake.h"

#include <string.h>

#include "policy/rewrite.h"

static void
put_field(struct buf *out, struct str name, struct str value)
{
	buf_str(out, name);
	buf_add(out, ": ", 2);
	buf_str(out, value);
	buf_add(out, "\r\n", 2);
}

static void
put_via(struct buf *out, const char *via)
{
	buf_text(out, "Via: 1.1 ");
	buf_text(out, via);
	buf_text(out, "\r\n");
}

static void
put_framing(struct buf *out, const struct http_head *head, bool is_chunked)
{
	if (is_chunked)
		buf_text(out, "Transfer-Encoding: chunked\r\n");
	else if (head->framing == HTTP_LENGTH)
		buf_fmt(
		    out, "Content-Length: %llu\r\n", (unsigned long long)head->length);
}

static bool
is_named(struct str name, const char *const *list)
{
	for (; *list != NULL; list++)
		if (str_eq_nocase(name, str_of(*list)))
			return true;
	return false;
}

/* Said by weir itself, from what it understood. */
static const char *const remade_in_requests[] = { "Host", "Content-Length", NULL };
static const char *const remade_in_responses[] = { "Content-Length", NULL };
/* RFC 7838: h3 would go round weir.  Proxy-Authentic*: only weir may ask for its own. */
static const char *const closed_in_responses[] = { "Alt-Svc", "Proxy-Authenticate",
	"Proxy-Authentication-Info", NULL };

/* Byte for byte, but for keys that some origins read as another method or path. */
static void
put_query(struct buf *out, struct str query, bool strips)
{
	size_t at = out->n;

	if (query.p == NULL)
		return;
	buf_char(out, '?');
	if (!strips || rewrite_find(NULL, query) == REWRITES_NOTHING) {
		buf_str(out, query);
		return;
	}
	rewrite_strip_query(out, query);
	if (out->n == at + 1)
		out->n = at; /* nothing is left of it */
}

static void
put_request_line(struct buf *out, const struct http_head *head, const struct ask *ask,
    const struct remake *how)
{
	char host[AUTHORITY_TEXT];

	buf_str(out, head->method);
	buf_char(out, ' ');
	buf_str(out, ask->path);
	put_query(out, ask->query, how->strips_rewriters);
	buf_text(out, " HTTP/1.1\r\n");
	put_field(out, STR("Host"),
	    str_of(authority_text(host, &ask->host, ask->port, how->port)));
}

static bool
passes_in_request(const struct http_head *head, size_t i, const struct remake *how)
{
	struct str name = head->field[i].name;

	if (is_named(name, remade_in_requests))
		return false;
	if (how->injection != NULL && injection_drops(how->injection, name))
		return false;
	if (how->strips_rewriters && rewrite_field(name) != REWRITES_NOTHING)
		return false;
	if (how->strips_extensions &&
	    str_eq_nocase(name, STR("Sec-WebSocket-Extensions")))
		return false;
	if (str_eq_nocase(name, STR("Expect")))
		return head->expects_continue;
	return !str_eq_nocase(name, STR("Max-Forwards")) ||
	       !str_eq(head->method, STR("OPTIONS"));
}

/* RFC 9110 7.6.2: counted down; 0 was answered before it came here. */
static void
put_max_forwards(struct buf *out, const struct http_head *head)
{
	const struct http_field *f = http_field(head, STR("Max-Forwards"));
	uint64_t n;

	if (f != NULL && str_eq(head->method, STR("OPTIONS")) &&
	    str_decimal(f->value, &n) && n > 0)
		buf_fmt(out, "Max-Forwards: %llu\r\n", (unsigned long long)(n - 1));
}

/* Under another name: its own would say that all of it is a secret. */
static void
put_beside(struct buf *out, const struct http_field *f, const struct remake *how)
{
	buf_text(out, "Beside: ");
	injection_beside(how->injection, f->value, how->arena, out);
	buf_add(out, "\r\n", 2);
}

static void
put_passed(struct buf *out, const struct http_field *f, const struct remake *how)
{
	if (how->injection == NULL) {
		put_field(out, f->name, f->value);
		return;
	}
	if (how->is_bare && injection_swaps(how->injection, f->value, how->arena)) {
		put_beside(out, f, how);
		return;
	}
	buf_str(out, f->name);
	buf_add(out, ": ", 2);
	injection_value(how->injection, f->value, how->arena, out);
	buf_add(out, "\r\n", 2);
}

bool
remake_request(struct buf *out, const struct http_head *head, const struct ask *ask,
    const struct remake *how)
{
	bool *drop = arena_zalloc(how->arena, head->nfield + 1);

	if (drop == NULL)
		return false;
	http_hop_fields(head, drop);
	put_request_line(out, head, ask, how);
	for (size_t i = 0; i < head->nfield; i++)
		if (!drop[i] && passes_in_request(head, i, how))
			put_passed(out, &head->field[i], how);
	if (how->injection != NULL && !how->is_bare)
		injection_fields(how->injection, out);
	put_max_forwards(out, head);
	put_via(out, how->via);
	if (how->is_upgrade)
		buf_text(out, "Connection: Upgrade\r\nUpgrade: websocket\r\n");
	put_framing(out, head, how->is_chunked);
	buf_text(out, "\r\n");
	return !out->is_over;
}

/* A Proxy-Status member that speaks in our name was not written by us (RFC 9209 2). */
static bool
speaks_for_us(const struct http_field *f, const char *via)
{
	struct str rest = f->value, member;

	if (!str_eq_nocase(f->name, STR("Proxy-Status")))
		return false;
	while (str_split(&rest, ',', &member)) {
		size_t end = 0;
		member = str_trim(member);
		if (str_starts(member, STR("\"")))
			member = str_sub(member, 1, member.n);
		while (end < member.n && strchr("\"; \t", member.p[end]) == NULL)
			end++;
		if (str_eq_nocase(str_sub(member, 0, end), str_of(via)))
			return true;
	}
	return false;
}

static void
put_connection(struct buf *out, int minor, const struct remake *how)
{
	if (how->is_upgrade)
		buf_text(out, "Connection: Upgrade\r\nUpgrade: websocket\r\n");
	else if (!how->is_kept)
		buf_text(out, "Connection: close\r\n");
	else if (minor == 0)
		buf_text(out, "Connection: keep-alive\r\n");
}

/* To HEAD and in 304 the length is a fact about the resource, not framing. */
static void
put_told_length(struct buf *out, const struct http_head *head)
{
	const struct http_field *f = http_field(head, STR("Content-Length"));

	if (f != NULL && head->framing == HTTP_NO_BODY && head->status >= 200 &&
	    head->status != 204)
		put_field(out, STR("Content-Length"), f->value);
}

bool
remake_response(
    struct buf *out, const struct http_head *head, int minor, const struct remake *how)
{
	bool *drop = arena_zalloc(how->arena, head->nfield + 1);

	if (drop == NULL)
		return false;
	http_hop_fields(head, drop);
	buf_fmt(out, "HTTP/1.1 %03d ", head->status);
	buf_str(out, head->phrase);
	buf_text(out, "\r\n");
	for (size_t i = 0; i < head->nfield; i++) {
		const struct http_field *f = &head->field[i];
		if (!drop[i] && !is_named(f->name, remade_in_responses) &&
		    !is_named(f->name, closed_in_responses) &&
		    !speaks_for_us(f, how->via))
			put_field(out, f->name, f->value);
	}
	put_via(out, how->via);
	if (head->status >= 200 || how->is_upgrade)
		put_connection(out, minor, how);
	put_told_length(out, head);
	put_framing(out, head, how->is_chunked);
	buf_text(out, "\r\n");
	return !out->is_over;
}

/* A Via member is "1.1 received-by (comment)"; comments may hold commas. */
static bool
next_via(struct str *rest, struct str *by)
{
	struct str member;
	unsigned depth = 0;
	size_t i = 0, at;

	if (rest->n == 0)
		return false;
	for (; i < rest->n && (depth > 0 || rest->p[i] != ','); i++)
		depth += rest->p[i] == '('                ? 1u
			 : rest->p[i] == ')' && depth > 0 ? (unsigned)-1
							  : 0u;
	member = str_trim(str_sub(*rest, 0, i));
	*rest = str_sub(*rest, i + 1, rest->n);
	*by = STR_NONE;
	if (str_find(member, ' ', &at) || str_find(member, '\t', &at)) {
		*by = str_trim(str_sub(member, at, member.n));
		for (at = 0; at < by->n && strchr(" \t(", by->p[at]) == NULL; at++)
			;
		by->n = at;
	}
	return true;
}

bool
remake_is_loop(const struct http_head *head, const char *via)
{
	for (size_t i = 0; i < head->nfield; i++) {
		struct str rest = head->field[i].value, by;
		if (!str_eq_nocase(head->field[i].name, STR("Via")))
			continue;
		while (next_via(&rest, &by))
			if (str_eq_nocase(by, str_of(via)))
				return true;
	}
	return false;
}
