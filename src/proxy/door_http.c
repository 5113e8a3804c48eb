/*
 * door_http.c - the explicit proxy's door: CONNECT, absolute-form, and HTTP in a tunnel
 */
#include <stdio.h>
#include <string.h>

#include "policy/rewrite.h"
#include "proxy/advice.h"
#include "proxy/conn.h"
#include "proxy/origin_way.h"
#include "wire/json.h"

static const enum reason reasons[HTTP_ERROR_N] = {
	[HTTP_VERSION] = REASON_VERSION_UNSUPPORTED,
	[HTTP_CODING_UNSUPPORTED] = REASON_CODING_UNSUPPORTED,
	[HTTP_EXPECTATION] = REASON_EXPECTATION_FAILED,
	[HTTP_TARGET_TOO_LONG] = REASON_TARGET_TOO_LONG,
	[HTTP_HEAD_TOO_LARGE] = REASON_HEAD_TOO_LARGE,
};

void
door_begin(struct hearing *h, const struct snapshot *s)
{
	*h = (struct hearing){ .at = -1 };
	http_reader_init(&h->reader, HTTP_REQUEST, &s->request_limit);
}

static enum heard
bad_head(struct hearing *h, struct exchange *x)
{
	enum http_error e = h->reader.error;

	x->reason = reasons[e] != REASON_NONE ? reasons[e] : REASON_REQUEST_MALFORMED;
	x->error = http_error_text(e);
	h->at = (int64_t)h->reader.at;
	return HEARD_NOTHING;
}

enum heard
door_read_head(struct hearing *h, struct exchange *x, struct str in)
{
	size_t used;

	switch (http_read(&h->reader, in, &x->arena, &h->head, &used)) {
	case HTTP_DONE:
		x->head = &h->head;
		h->used = used;
		return HEARD_ASK;
	case HTTP_BAD:
		return bad_head(h, x);
	case HTTP_MORE:
		return HEARD_MORE;
	}
	return HEARD_NOTHING;
}

/* A host that policy refuses is refused as that; one that it allows is only in the wrong
 * place. */
static void
judge_other(struct exchange *x)
{
	const struct caller *who = x->conn->who;
	struct host other;
	uint16_t port;

	if (host_parse(&other, x->head->host) != HOST_OK &&
	    authority_parse(&other, &port, x->head->host, x->ask.port) != HOST_OK)
		return;
	if (!exchange_knows(x, who == NULL ? NULL : who->grant, &other))
		x->ask.host = other;
}

static enum heard
whole_head(struct exchange *x, const struct exchange *outer)
{
	const char *why = NULL;

	if (str_eq(x->head->method, STR("CONNECT")))
		x->kind = RECORD_CONNECT;
	x->reason = outer == NULL
			? ask_proxy(&x->ask, x->head, &why)
			: ask_inside(&x->ask, &outer->ask.host, outer->ask.port,
			      outer->first.protocols == PROTOCOL_HTTPS, x->head, &why);
	if (x->reason == REASON_NONE)
		return HEARD_ASK;
	x->error = why;
	if (x->reason == REASON_HOST_MISDIRECTED)
		judge_other(x);
	return HEARD_NOTHING;
}

static enum heard
http_hear(
    struct hearing *h, struct exchange *x, const struct exchange *outer, struct str in)
{
	enum heard heard = door_read_head(h, x, in);

	return heard == HEARD_ASK ? whole_head(x, outer) : heard;
}

static enum brought
http_brings(struct auth *out, struct exchange *x)
{
	const struct http_field *f = http_field(x->head, STR("Proxy-Authorization"));

	if (f == NULL)
		return BROUGHT_NOTHING;
	/* two of them: which one is meant? */
	if (http_field_count(x->head, STR("Proxy-Authorization")) != 1 ||
	    !auth_read(out, f->value, &x->arena))
		return BROUGHT_NONSENSE;
	return BROUGHT_CREDENTIAL;
}

/* RFC 9110 7.6.2: an OPTIONS that may go no further is answered here. */
static int
http_answer(struct buf *out, const struct exchange *x)
{
	const struct http_field *f = http_field(x->head, STR("Max-Forwards"));

	if (f == NULL || !str_eq(x->head->method, STR("OPTIONS")) ||
	    !str_eq(f->value, STR("0")))
		return 0;
	buf_fmt(out,
	    "HTTP/1.1 200 OK\r\nProxy-Status: %s\r\nContent-Length: 0\r\n"
	    "Connection: close\r\n\r\n",
	    x->snapshot->settings->name);
	return 200;
}

bool
door_has_body(const struct http_head *h)
{
	return h->framing != HTTP_NO_BODY &&
	       !(h->framing == HTTP_LENGTH && h->length == 0);
}

static bool
http_may_follow(const struct exchange *x)
{
	const struct http_head *h = x->head;

	return reason_row(x->reason)->type != TYPE_MALFORMED &&
	       x->reason != REASON_HEAD_TOO_LARGE &&
	       x->reason != REASON_TARGET_TOO_LONG && !door_has_body(h) && h->is_kept &&
	       !str_eq(h->method, STR("CONNECT"));
}

/* Which reasons go on with what is wrong in particular: the rest is in the record. */
static bool
is_told(const struct exchange *x)
{
	switch ((int)x->reason) {
	case REASON_REQUEST_MALFORMED:
	case REASON_HOST_INVALID:
	case REASON_HOST_DENIED:  /* its rule's `why` */
	case REASON_METERED_HOST: /* the base URL */
		return x->error != NULL;
	case REASON_PATH_NOT_ALLOWED:
		return x->error != NULL && (!path_is_canonical(x->ask.path) ||
					       x->error == rewrite_why(REWRITES_PATH));
	case REASON_METHOD_NOT_ALLOWED:
		return x->error == rewrite_why(REWRITES_METHOD);
	case REASON_CREDENTIAL_REFUSED:
		return injection_tells(x->error);
	}
	return false;
}

/* Neither has a full stop at its end then. */
static struct str
unstopped(const char *text)
{
	struct str s = str_of(text);

	return str_sub(s, 0, s.n - str_ends(s, STR(".")));
}

/* One sentence: the reason's, with the destination put in, and the particulars. */
static void
put_message(struct buf *out, const struct exchange *x, int64_t at)
{
	struct str text = unstopped(reason_row(x->reason)->text);
	char host[AUTHORITY_TEXT] = "the destination";
	size_t gap;

	if (x->ask.host.len > 0)
		authority_text(host, &x->ask.host, x->ask.port, 0);
	if (str_find(text, '%', &gap)) {
		buf_fmt(out, "%.*s%s", (int)gap, text.p, host);
		text = str_sub(text, gap + 2, text.n);
	}
	buf_str(out, text);
	if (is_told(x))
		buf_fmt(out, ": %.*s", STR_ARG(unstopped(x->error)));
	if (is_told(x) && at >= 0)
		buf_fmt(out, " (byte %lld)", (long long)at);
	buf_char(out, '.');
}

static void
put_body(struct buf *out, const struct exchange *x, int64_t at)
{
	const struct reason_row *row = reason_row(x->reason);
	struct buf message;
	struct json_out j;

	buf_init(&message, 4096);
	put_message(&message, x, at);
	json_out_init(&j, out);
	json_open(&j, '{');
	json_key(&j, "error");
	json_open(&j, '{');
	json_key(&j, "type");
	json_text(&j, reason_type_name(row->type));
	json_key(&j, "reason");
	json_text(&j, row->name);
	json_key(&j, "message");
	json_str(&j, buf_view(&message));
	json_key(&j, "request_id");
	json_text(&j, x->id);
	json_key(&j, "retryable");
	json_bool(&j, row->class == CLASS_RETRYABLE);
	json_key(&j, "rule");
	json_text(&j, x->verdict.rule != NULL ? rule_name(x->verdict.rule) : NULL);
	if (x->snapshot->settings->errors == ERRORS_DEVELOPER)
		advice_json(&j, x);
	json_close(&j, '}');
	json_close(&j, '}');
	buf_char(out, '\n');
	buf_fini(&message);
}

void
door_put_why(struct buf *out, const struct exchange *x)
{
	const struct reason_row *row = reason_row(x->reason);

	buf_fmt(out, "Proxy-Status: %s; error=%s; details=\"%s\"\r\n",
	    x->snapshot->settings->name, row->proxy_error, row->name);
	buf_fmt(out, "X-Weir-Reason: %s\r\nX-Weir-Request: %s\r\n", row->name, x->id);
	buf_text(out, "Content-Type: application/json\r\nCache-Control: no-store\r\n");
}

void
door_put_next(struct buf *out, const struct exchange *x, int status, bool closes)
{
	if (status == 429 || status == 503)
		buf_fmt(out, "Retry-After: %lld\r\n",
		    (long long)(x->retry_s > 0 ? x->retry_s : 1));
	if (closes)
		buf_text(out, "Connection: close\r\n");
	else if (x->head->minor == 0)
		buf_text(out, "Connection: keep-alive\r\n");
}

static void
put_fields(struct buf *out, const struct exchange *x, bool closes)
{
	const struct reason_row *row = reason_row(x->reason);

	door_put_why(out, x);
	if (row->status == 405)
		buf_fmt(out, "Allow: %.*s\r\n", STR_ARG(x->verdict.allow_methods));
	if (row->status == 407)
		buf_text(out, "Proxy-Authenticate: Basic realm=\"weir\", Bearer\r\n");
	door_put_next(out, x, row->status, closes);
	/* clients that would go on here reconnect only when told so (RFC 9931) */
	if (closes && str_eq(x->head->method, STR("CONNECT")))
		buf_text(out, "Proxy-Connection: close\r\n");
}

static void
http_refuse(struct buf *out, const struct exchange *x, bool closes, int64_t at)
{
	const struct reason_row *row = reason_row(x->reason);
	struct buf body;

	buf_init(&body, (size_t)1 << 20);
	put_body(&body, x, at);
	buf_fmt(out, "HTTP/1.1 %d weir: %s\r\n", row->status, row->name);
	put_fields(out, x, closes);
	buf_fmt(out, "Content-Length: %zu\r\n\r\n", body.n);
	if (!str_eq(x->head->method, STR("HEAD")))
		buf_str(out, buf_view(&body));
	buf_fini(&body);
}

#define OPENED "HTTP/1.1 200 Connection established\r\n\r\n"

const struct door door_http = {
	.name = "proxy",
	.kind = RECORD_HTTP,
	.is_balanced = true,
	.opened = { OPENED, sizeof(OPENED) - 1 },
	.opened_status = 200,
	.way = origin_way,
	.inside = &door_http,
	.begin = door_begin,
	.hear = http_hear,
	.brings = http_brings,
	.answer = http_answer,
	.may_follow = http_may_follow,
	.refuse = http_refuse,
};
