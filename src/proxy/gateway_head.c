/*
 * gateway_head.c - heads between a sandbox and a provider, made anew
 */
#include "proxy/gateway_head.h"

#include "meter/hosted.h"
#include "policy/rewrite.h"

static bool
is_named(struct str name, const char *const *list)
{
	for (; *list != NULL; list++)
		if (rewrite_is_same_name(name, str_of(*list)))
			return true;
	return false;
}

/* Said by weir itself, or who the client is to somebody else. */
static const char *const closed_in_requests[] = { "Host", "Content-Length", "Expect",
	"Accept-Encoding", "Content-Encoding", "Cookie", "Ai-Gateway-Auth-Method",
	"Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto",
	"X-Real-Ip", "X-Goog-Request-Params", "Via", "Origin", "Referer", "Http-Referer",
	NULL };

/* Who pays, as one of the words of a name: OpenAI-Organization, OpenAI-Project,
 * X-Goog-User-Project, Anthropic-Workspace-Id.  The operator's key has an account. */
static const char *const words_of_payers[] = { "Account", "Billing", "Byok", "Org",
	"Organization", "Project", "Team", "Tenant", "Workspace", NULL };

/* How routers and clouds name what is a key: X-Api-Key, X-Litellm-Api-Key,
 * Cf-Aig-Authorization, Helicone-Auth, X-Amz-Security-Token, X-Portkey-Virtual-Key,
 * Ocp-Apim-Subscription-Key. */
static const char *const ends_of_keys[] = { "Authorization", "Api-Key", "Apikey", "-Auth",
	"-Token", "-Secret", "-Password", "Virtual-Key", "Subscription-Key", NULL };

static bool
is_a_key(struct str name)
{
	for (const char *const *end = ends_of_keys; *end != NULL; end++) {
		struct str s = str_of(*end);
		if (name.n >= s.n &&
		    rewrite_is_same_name(str_sub(name, name.n - s.n, name.n), s))
			return true;
	}
	return false;
}

static bool
says_who_pays(struct str name)
{
	for (size_t from = 0, to; from < name.n; from = to + 1) {
		for (to = from; to < name.n && ascii_is_alnum(name.p[to]);)
			to++;
		if (is_named(str_sub(name, from, to - from), words_of_payers))
			return true;
	}
	return false;
}

/* Of the operator's account, and what only weir may say here. */
static const char *const closed_in_responses[] = { "Content-Length", "Content-Encoding",
	"Set-Cookie", "Alt-Svc", "Proxy-Authenticate", "Proxy-Authentication-Info",
	"Proxy-Status", "Openai-Organization", "Openai-Project",
	"Anthropic-Organization-Id", "Location", NULL };

static void
put_field(struct buf *to, struct str name, struct str value)
{
	buf_str(to, name);
	buf_text(to, ": ");
	buf_str(to, value);
	buf_text(to, "\r\n");
}

static void
put_credential(struct buf *to, const struct provider *p)
{
	if (p->credential_header == NULL)
		return;
	buf_fmt(to, "%s: ", p->credential_header);
	if (p->credential_scheme != NULL)
		buf_fmt(to, "%s ", p->credential_scheme);
	buf_add(to, p->credential_value.bytes, p->credential_value.n);
	buf_text(to, "\r\n");
	if (p->kind == PROVIDER_VERCEL)
		buf_text(to, "ai-gateway-auth-method: api-key\r\n");
}

static bool
is_credential(const struct provider *p, struct str name)
{
	return p->credential_header != NULL &&
	       rewrite_is_same_name(name, str_of(p->credential_header));
}

/* A body that was read as JSON is sent as JSON: under another type, or in another
 * charset, the same bytes are another request. */
static bool
is_closed(const struct spend *s, struct str name)
{
	return is_named(name, closed_in_requests) || is_credential(s->route->row, name) ||
	       is_a_key(name) || says_who_pays(name) ||
	       rewrite_field(name) != REWRITES_NOTHING ||
	       (s->call.has_body && rewrite_is_same_name(name, STR("Content-Type")));
}

static bool
may_have_body(struct str method)
{
	return !str_eq(method, STR("GET")) && !str_eq(method, STR("HEAD"));
}

static void
begin_request(struct buf *to, const struct spend *s, struct str method, struct str path)
{
	const struct route *r = s->route;
	char host[AUTHORITY_TEXT];

	buf_str(to, method);
	buf_char(to, ' ');
	buf_str(to, r->base);
	buf_str(to, path);
	buf_text(to, " HTTP/1.1\r\n");
	put_field(to, STR("Host"),
	    str_of(authority_text(host, &r->host, r->port, r->is_https ? 443 : 80)));
}

bool
gateway_fields(struct buf *to, const struct spend *s)
{
	const struct http_head *head = s->x->head;
	bool *drop = arena_zalloc(&s->x->arena, head->nfield + 1);

	if (drop == NULL)
		return false;
	http_hop_fields(head, drop);
	for (size_t i = 0; i < head->nfield; i++) {
		struct str name = head->field[i].name;
		if (!drop[i] && !is_closed(s, name))
			put_field(to, name, head->field[i].value);
	}
	return !to->is_over;
}

bool
gateway_request(struct buf *to, const struct spend *s, size_t length)
{
	const struct http_head *head = s->x->head;
	const struct provider *p = s->route->row;

	begin_request(to, s, head->method, s->call.path);
	if (!gateway_fields(to, s))
		return false;
	if (s->call.has_body)
		buf_text(to, "Content-Type: application/json\r\n");
	buf_text(to, "Accept-Encoding: identity\r\n");
	put_credential(to, p);
	if (length > 0 || may_have_body(head->method))
		buf_fmt(to, "Content-Length: %zu\r\n", length);
	buf_text(to, "\r\n");
	return !to->is_over;
}

/* They say how a family's bodies are to be read. */
static const char *const of_a_family[] = { "Anthropic-Version", "Anthropic-Beta",
	"Openai-Beta", NULL };

bool
gateway_question(struct buf *to, const struct spend *s, struct str path, size_t length)
{
	const struct http_head *head = s->x->head;

	begin_request(to, s, STR("POST"), path);
	for (size_t i = 0; i < head->nfield; i++)
		if (is_named(head->field[i].name, of_a_family))
			put_field(to, head->field[i].name, head->field[i].value);
	buf_text(to, "User-Agent: weir\r\nContent-Type: application/json\r\n"
		     "Accept-Encoding: identity\r\nConnection: close\r\n");
	put_credential(to, s->route->row);
	buf_fmt(to, "Content-Length: %zu\r\n\r\n", length);
	return !to->is_over;
}

void
gateway_notes(struct buf *to, const struct spend *s)
{
	char left[USD_TEXT];
	struct buf names;

	if (s == NULL)
		return;
	if (s->has_left)
		buf_fmt(to, "X-Weir-Budget-Remaining: %s\r\n",
		    usd_print(s->left > 0 ? s->left : 0, left));
	if (s->is_clamped)
		buf_fmt(to, "X-Weir-Clamped: %s=%llu; asked=%llu\r\n",
		    s->call.limit_name != NULL ? s->call.limit_name : "max_tokens",
		    (unsigned long long)s->bound.limit, (unsigned long long)s->asked);
	buf_init(&names, 4096);
	hosted_stripped(&s->call, &names);
	if (names.n > 0)
		buf_fmt(to, "X-Weir-Stripped: %s\r\n", buf_cstr(&names));
	buf_fini(&names);
}

static void
put_passed(struct buf *to, const struct http_head *head, const bool *drop,
    const struct scrub *scrub)
{
	for (size_t i = 0; i < head->nfield; i++) {
		size_t at;

		if (drop[i] || is_named(head->field[i].name, closed_in_responses))
			continue;
		at = to->n; /* a name can echo it too */
		buf_str(to, head->field[i].name);
		buf_text(to, ": ");
		buf_str(to, head->field[i].value);
		if (to->n > at)
			scrub_text(scrub, to->p + at, to->n - at);
		buf_text(to, "\r\n");
	}
}

bool
gateway_response(struct buf *to, const struct spend *s, const struct http_head *head,
    const struct scrub *scrub, bool has_body, bool is_kept)
{
	bool *drop = arena_zalloc(&s->x->arena, head->nfield + 1);
	bool is_old = s->x->head->minor == 0;

	if (drop == NULL)
		return false;
	http_hop_fields(head, drop);
	buf_fmt(to, "HTTP/1.1 %03d ", head->status);
	buf_str(to, head->phrase);
	scrub_text(scrub, to->p, to->n);
	buf_text(to, "\r\n");
	put_passed(to, head, drop, scrub);
	buf_fmt(to, "Via: 1.1 %s\r\nX-Weir-Request: %s\r\n",
	    s->x->snapshot->settings->name, s->x->id);
	gateway_notes(to, s);
	if (has_body && !is_old)
		buf_text(to, "Transfer-Encoding: chunked\r\n");
	else if (!has_body && head->status != 204 && head->status != 304)
		buf_text(to, "Content-Length: 0\r\n");
	if (!is_kept)
		buf_text(to, "Connection: close\r\n");
	else if (is_old)
		buf_text(to, "Connection: keep-alive\r\n");
	buf_text(to, "\r\n");
	return !to->is_over;
}
