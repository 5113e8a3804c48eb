#include "meter/refusal.h"

#include "wire/json.h"

/* One row each: what the shapes call it.  AWS's says it in a header, and weir serves
 * none. */
static const struct {
	const char *anthropic, *openai, *google;
} words[] = {
	[REFUSAL_REQUEST] = { "invalid_request_error", "invalid_request_error",
	    "INVALID_ARGUMENT" },
	[REFUSAL_SESSION] = { "authentication_error", "authentication_error",
	    "UNAUTHENTICATED" },
	[REFUSAL_POLICY] = { "permission_error", "permission_error",
	    "PERMISSION_DENIED" },
	[REFUSAL_BUDGET] = { "billing_error", "billing_error", "FAILED_PRECONDITION" },
	[REFUSAL_RATE] = { "rate_limit_error", "rate_limit_error", "RESOURCE_EXHAUSTED" },
	[REFUSAL_MISSING] = { "not_found_error", "not_found_error", "NOT_FOUND" },
	[REFUSAL_UPSTREAM] = { "api_error", "api_error", "UNAVAILABLE" },
	[REFUSAL_UNAVAILABLE] = { "overloaded_error", "server_error", "UNAVAILABLE" },
};

static const char *
openai_code(const struct refusal *r)
{
	return r->kind == REFUSAL_BUDGET ? "budget_exceeded" : r->reason;
}

static void
anthropic_body(struct json_out *j, const struct refusal *r)
{
	json_open(j, '{');
	json_key(j, "type");
	json_text(j, "error");
	json_key(j, "error");
	json_open(j, '{');
	json_key(j, "type");
	json_text(j, words[r->kind].anthropic);
	json_key(j, "message");
	json_str(j, r->message);
	json_close(j, '}');
	json_key(j, "request_id");
	json_str(j, r->request_id);
	json_close(j, '}');
}

static void
openai_body(struct json_out *j, const struct refusal *r)
{
	json_open(j, '{');
	json_key(j, "error");
	json_open(j, '{');
	json_key(j, "message");
	json_str(j, r->message);
	json_key(j, "type");
	json_text(j, words[r->kind].openai);
	json_key(j, "code");
	json_text(j, openai_code(r));
	json_key(j, "param");
	json_null(j);
	json_close(j, '}');
	json_close(j, '}');
}

static void
google_body(struct json_out *j, const struct refusal *r)
{
	json_open(j, '{');
	json_key(j, "error");
	json_open(j, '{');
	json_key(j, "code");
	json_int(j, r->status);
	json_key(j, "message");
	json_str(j, r->message);
	json_key(j, "status");
	json_text(j, words[r->kind].google);
	json_key(j, "details");
	json_open(j, '[');
	json_close(j, ']');
	json_close(j, '}');
	json_close(j, '}');
}

static void
aws_body(struct json_out *j, const struct refusal *r)
{
	json_open(j, '{');
	json_key(j, "message");
	json_str(j, r->message);
	json_close(j, '}');
}

static void (*const bodies[])(struct json_out *, const struct refusal *) = {
	[SHAPE_ANTHROPIC] = anthropic_body,
	[SHAPE_OPENAI] = openai_body,
	[SHAPE_GOOGLE] = google_body,
	[SHAPE_AWS] = aws_body,
};

void
refusal_body(enum shape shape, const struct refusal *r, struct buf *to)
{
	struct json_out j;

	json_out_init(&j, to);
	bodies[shape](&j, r);
}

static bool
begins_codex(const struct http_head *head, struct str name)
{
	const struct http_field *f = http_field(head, name);

	return f != NULL && str_eq_nocase(str_sub(f->value, 0, 5), STR("codex"));
}

bool
refusal_is_codex(const struct http_head *request)
{
	return begins_codex(request, STR("originator")) ||
	       begins_codex(request, STR("user-agent"));
}
