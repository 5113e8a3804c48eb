/*
 * door_gateway.c - the gateway's door: base URLs of model APIs
 *
 * A refusal is worded as the family that was asked words its own, so that the client's
 * SDK shows it, and stops where trying again cannot help.
 */
#include <stdio.h>
#include <string.h>

#include "meter/api.h"
#include "meter/refusal.h"
#include "proxy/door.h"
#include "proxy/gateway_head.h"
#include "proxy/gateway_way.h"

static enum heard
malformed(struct exchange *x, const char *why)
{
	x->reason = REASON_REQUEST_MALFORMED;
	x->error = why;
	return HEARD_NOTHING;
}

static enum heard
gateway_hear(
    struct hearing *h, struct exchange *x, const struct exchange *outer, struct str in)
{
	enum heard heard = door_read_head(h, x, in);
	struct str rest;

	(void)outer;
	if (heard != HEARD_ASK)
		return heard;
	x->ask = (struct ask){ .via = VIA_HTTP,
		.has_request = true,
		.method = x->head->method,
		.path = x->head->target,
		.query = STR_NONE,
		.head = x->head,
		.length =
		    x->head->framing == HTTP_LENGTH ? (int64_t)x->head->length : -1 };
	rest = x->head->target;
	if (str_split(&rest, '?', &x->ask.path))
		x->ask.query = rest;
	if (!path_is_canonical(x->ask.path))
		return malformed(
		    x, "the gateway wants a plain path, like /anthropic/v1/messages");
	x->route = routes_find(x->snapshot->routes, x->ask.path);
	if (x->route != NULL) {
		x->ask.host = x->route->host;
		x->ask.port = x->route->port;
	}
	return HEARD_ASK;
}

/* ---- in place: what a provider's own client asks of the provider's own host */

/* As the gateway's door would have it: the provider's path instead of the upstream's. */
static bool
take_path(struct exchange *x, const struct route *r)
{
	struct buf b;

	if (!route_is_below(x->ask.path, r->base) || !path_is_canonical(x->ask.path))
		return false;
	buf_init(&b, r->path.n + x->ask.path.n);
	buf_str(&b, r->path);
	buf_str(&b, str_sub(x->ask.path, r->base.n, x->ask.path.n));
	x->ask.path = arena_str(&x->arena, buf_view(&b));
	buf_fini(&b);
	return x->ask.path.p != NULL;
}

static enum heard
in_place_hear(
    struct hearing *h, struct exchange *x, const struct exchange *outer, struct str in)
{
	enum heard heard = door_read_head(h, x, in);
	const char *why = NULL;

	if (heard != HEARD_ASK)
		return heard;
	x->reason =
	    ask_inside(&x->ask, &outer->ask.host, outer->ask.port, true, x->head, &why);
	if (x->reason != REASON_NONE)
		return door_refused(x, x->reason, why);
	x->route = routes_of_host(x->snapshot->routes, &x->ask.host, x->ask.port);
	if (x->route == NULL)
		return door_refused(x, REASON_METERED_HOST, NULL);
	if (!take_path(x, x->route))
		return malformed(x, "no plain path of the provider's");
	x->ask.host = x->route->host;
	x->ask.port = x->route->port;
	return HEARD_ASK;
}

/* ---- whose */

/* On a laptop nothing can be a token: an SDK insists on some key, and any will do. */
static bool
knows_tokens(const struct snapshot *s)
{
	return s->keys->n > 0 || s->settings->sessions_static.n > 0;
}

/* Where SDKs put their API key, the session token stands. */
static enum brought
gateway_brings(struct auth *out, struct exchange *x)
{
	static const char *const plain[] = { "X-Api-Key", "X-Goog-Api-Key" };
	const struct http_field *f = http_field(x->head, STR("Authorization"));

	if (!knows_tokens(x->snapshot))
		return BROUGHT_NOTHING;
	if (f != NULL && http_field_count(x->head, STR("Authorization")) == 1)
		return auth_read(out, f->value, &x->arena) ? BROUGHT_CREDENTIAL
							   : BROUGHT_NONSENSE;
	if (f != NULL)
		return BROUGHT_NONSENSE;
	for (size_t i = 0; i < sizeof(plain) / sizeof(plain[0]); i++) {
		struct str name = str_of(plain[i]);
		if ((f = http_field(x->head, name)) == NULL)
			continue;
		if (http_field_count(x->head, name) != 1)
			return BROUGHT_NONSENSE;
		*out = (struct auth){ .secret = f->value };
		return BROUGHT_CREDENTIAL;
	}
	return BROUGHT_NOTHING;
}

/* ---- refusals */

static int
gateway_status(const struct exchange *x)
{
	const struct reason_row *row = reason_row(x->reason);

	if (x->reason == REASON_ENDPOINT_NOT_METERED && x->head->is_upgrade)
		return 426; /* on which Codex posts */
	if (row->status == 407)
		return 401;
	return refusal_is_codex(x->head) ? row->codex_status : row->status;
}

static enum shape
shape_for(const struct exchange *x)
{
	const struct api *api;

	if (x->route == NULL)
		return SHAPE_OPENAI;
	api = api_find((enum provider_kind)x->route->row->kind, x->head->method,
	    route_rest(x->route, x->ask.path));
	return api != NULL ? api->shape
			   : shape_of((enum provider_kind)x->route->row->kind);
}

static enum refusal_kind
kind_of(const struct exchange *x, const struct reason_row *row)
{
	switch (row->type) {
	case TYPE_MALFORMED:
		return REFUSAL_REQUEST;
	case TYPE_SESSION:
		return REFUSAL_SESSION;
	case TYPE_POLICY:
		return x->reason == REASON_OBJECT_NOT_OWNED ? REFUSAL_MISSING
							    : REFUSAL_POLICY;
	case TYPE_BUDGET:
		return REFUSAL_BUDGET;
	case TYPE_LIMIT:
		return row->status == 429 ? REFUSAL_RATE : REFUSAL_REQUEST;
	case TYPE_UPSTREAM:
		return REFUSAL_UPSTREAM;
	case TYPE_UNAVAILABLE:
		break;
	}
	return REFUSAL_UNAVAILABLE;
}

static bool
is_told(const struct exchange *x)
{
	const struct reason_row *row = reason_row(x->reason);

	return x->error != NULL &&
	       (row->type == TYPE_MALFORMED || x->reason == REASON_HOSTED_TOOL_DENIED ||
		   x->reason == REASON_OBJECT_NOT_OWNED ||
		   x->reason == REASON_ENDPOINT_NOT_METERED ||
		   x->reason == REASON_MODEL_UNPRICED ||
		   (x->reason == REASON_CREDENTIAL_REFUSED && x->spend != NULL &&
		       x->spend->call.error == CALL_FOREIGN_KEY));
}

static bool
is_of_body(const struct exchange *x)
{
	return x->spend != NULL && x->spend->call.error == CALL_MALFORMED;
}

/* Who refused, what, and what is left: one line that a model and a person can act on. */
static void
put_message(struct buf *to, const struct exchange *x)
{
	struct str text = str_of(reason_row(x->reason)->text);
	char host[AUTHORITY_TEXT] = "the provider", left[USD_TEXT];
	size_t gap;

	if (x->route != NULL && x->snapshot->settings->errors == ERRORS_DEVELOPER)
		authority_text(host, &x->route->host, x->route->port, 443);
	buf_fmt(to, "%s: ", x->snapshot->settings->name);
	if (str_find(text, '%', &gap)) {
		buf_fmt(to, "%.*s%s", (int)gap, text.p, host);
		text = str_sub(text, gap + 2, text.n);
	}
	buf_str(to, text);
	if (is_told(x))
		buf_fmt(to, " (%s%s)", is_of_body(x) ? "in its body: " : "", x->error);
	if (reason_row(x->reason)->type == TYPE_BUDGET && x->spend != NULL &&
	    x->spend->has_left)
		buf_fmt(to, " There are %s USD left.",
		    usd_print(x->spend->left > 0 ? x->spend->left : 0, left));
}

static void
put_fields(struct buf *out, const struct exchange *x, bool closes)
{
	const struct reason_row *row = reason_row(x->reason);

	door_put_why(out, x);
	gateway_notes(out, x->spend);
	if (row->class != CLASS_RETRYABLE)
		buf_text(out, "x-should-retry: false\r\n");
	if (x->status == 401)
		buf_text(out, "WWW-Authenticate: Bearer realm=\"weir\"\r\n");
	if (x->status == 426)
		buf_text(out, "Upgrade: HTTP/1.1\r\n");
	door_put_next(out, x, x->status, closes);
}

static void
gateway_refuse(struct buf *out, const struct exchange *x, bool closes, int64_t at)
{
	const struct reason_row *row = reason_row(x->reason);
	struct refusal r = { .kind = kind_of(x, row),
		.status = x->status,
		.reason = row->name,
		.request_id = str_of(x->id) };
	struct buf body, message;

	(void)at;
	buf_init(&body, 65536);
	buf_init(&message, 4096);
	put_message(&message, x);
	r.message = buf_view(&message);
	refusal_body(shape_for(x), &r, &body);
	buf_char(&body, '\n');
	buf_fmt(out, "HTTP/1.1 %d weir: %s\r\n", x->status, row->name);
	put_fields(out, x, closes);
	buf_fmt(out, "Content-Length: %zu\r\n\r\n", body.n);
	if (!str_eq(x->head->method, STR("HEAD")))
		buf_str(out, buf_view(&body));
	buf_fini(&message);
	buf_fini(&body);
}

/* Its body was read, or there is none. */
static bool
gateway_may_follow(const struct exchange *x)
{
	const struct http_head *h = x->head;

	return h->is_kept && reason_row(x->reason)->type != TYPE_MALFORMED &&
	       reason_row(x->reason)->type != TYPE_LIMIT &&
	       (!door_has_body(h) || (x->spend != NULL && x->spend->is_read));
}

const struct door door_in_place = {
	.name = "gateway",
	.kind = RECORD_GATEWAY,
	.way = gateway_way,
	.is_metered = true,
	.begin = door_begin,
	.hear = in_place_hear,
	.brings = door_brings_nothing, /* who asks is its tunnel's */
	.status = gateway_status,
	.may_follow = gateway_may_follow,
	.refuse = gateway_refuse,
};

const struct door door_gateway = {
	.name = "gateway",
	.kind = RECORD_GATEWAY,
	.is_balanced = true,
	.way = gateway_way,
	.is_metered = true,
	.inside = &door_gateway,
	.begin = door_begin,
	.hear = gateway_hear,
	.brings = gateway_brings,
	.status = gateway_status,
	.may_follow = gateway_may_follow,
	.refuse = gateway_refuse,
};
