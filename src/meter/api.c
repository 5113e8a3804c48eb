#include "meter/api.h"

enum shape
shape_of(enum provider_kind kind)
{
	switch (kind) {
	case PROVIDER_ANTHROPIC:
		return SHAPE_ANTHROPIC;
	case PROVIDER_GEMINI:
		return SHAPE_GOOGLE;
	case PROVIDER_BEDROCK:
		return SHAPE_AWS;
	case PROVIDER_OPENAI:
	case PROVIDER_VERCEL:
	case PROVIDER_OPENROUTER:
	case PROVIDER_LITELLM:
	case PROVIDER_NONE:
		break;
	}
	return SHAPE_OPENAI;
}

/* --- routes --- */

#define KIND(name) (1u << PROVIDER_##name)
#define OPENAI_LIKE (KIND(OPENAI) | KIND(VERCEL) | KIND(OPENROUTER) | KIND(LITELLM))
#define ANTHROPIC_LIKE (KIND(ANTHROPIC) | KIND(VERCEL) | KIND(OPENROUTER) | KIND(LITELLM))

/* Whose answer is that of a call of which the path has the response's id. */
#define KEEPS_RESPONSES (KIND(OPENAI) | KIND(LITELLM))

enum what { COSTS, IS_FREE, IS_OBJECT, SHOWS_OBJECT };

/*
 * {model} and {object} are one segment, up to a colon.  What is not here is refused: a
 * path that nobody meters is how money leaves.
 */
static const struct route {
	unsigned kinds;
	const char *method, *path;
	const struct api *api;
	enum what what;
} routes[] = {
	{ ANTHROPIC_LIKE, "POST", "/v1/messages", &api_anthropic_messages, COSTS },
	{ KIND(OPENROUTER), "POST", "/api/v1/messages", &api_anthropic_messages, COSTS },
	{ KIND(ANTHROPIC), "POST", "/v1/messages/count_tokens", &api_anthropic_messages,
	    IS_FREE },
	{ KIND(ANTHROPIC), "GET", "/v1/models", &api_anthropic_messages, IS_FREE },
	{ KIND(ANTHROPIC), "GET", "/v1/models/{model}", &api_anthropic_messages,
	    IS_FREE },

	{ OPENAI_LIKE, "POST", "/v1/chat/completions", &api_openai_chat, COSTS },
	{ OPENAI_LIKE, "POST", "/chat/completions", &api_openai_chat, COSTS },
	{ KIND(OPENROUTER), "POST", "/api/v1/chat/completions", &api_openai_chat, COSTS },
	{ OPENAI_LIKE, "POST", "/v1/responses", &api_openai_responses, COSTS },
	{ OPENAI_LIKE, "POST", "/responses", &api_openai_responses, COSTS },
	{ KIND(OPENROUTER), "POST", "/api/v1/responses", &api_openai_responses, COSTS },
	{ KIND(OPENAI), "POST", "/v1/responses/input_tokens", &api_openai_responses,
	    IS_FREE },
	{ KIND(OPENAI), "POST", "/responses/input_tokens", &api_openai_responses,
	    IS_FREE },
	{ KEEPS_RESPONSES, "GET", "/v1/responses/{object}", &api_openai_responses,
	    SHOWS_OBJECT },
	{ KEEPS_RESPONSES, "GET", "/responses/{object}", &api_openai_responses,
	    SHOWS_OBJECT },
	{ KEEPS_RESPONSES, "DELETE", "/v1/responses/{object}", &api_openai_responses,
	    IS_OBJECT },
	{ KEEPS_RESPONSES, "DELETE", "/responses/{object}", &api_openai_responses,
	    IS_OBJECT },
	{ KEEPS_RESPONSES, "POST", "/v1/responses/{object}/cancel", &api_openai_responses,
	    SHOWS_OBJECT },
	{ KEEPS_RESPONSES, "POST", "/responses/{object}/cancel", &api_openai_responses,
	    SHOWS_OBJECT },
	{ KEEPS_RESPONSES, "GET", "/v1/responses/{object}/input_items",
	    &api_openai_responses, IS_OBJECT },
	{ KEEPS_RESPONSES, "GET", "/responses/{object}/input_items",
	    &api_openai_responses, IS_OBJECT },
	{ OPENAI_LIKE, "POST", "/v1/embeddings", &api_openai_embeddings, COSTS },
	{ OPENAI_LIKE, "POST", "/embeddings", &api_openai_embeddings, COSTS },
	{ KIND(OPENROUTER), "POST", "/api/v1/embeddings", &api_openai_embeddings, COSTS },
	{ OPENAI_LIKE, "GET", "/v1/models", &api_openai_chat, IS_FREE },
	{ OPENAI_LIKE, "GET", "/models", &api_openai_chat, IS_FREE },
	{ OPENAI_LIKE, "GET", "/v1/models/{model}", &api_openai_chat, IS_FREE },
	{ KIND(OPENROUTER), "GET", "/api/v1/models", &api_openai_chat, IS_FREE },

	{ KIND(VERCEL), "POST", "/v4/ai/language-model", &api_aigateway, COSTS },
	{ KIND(VERCEL), "POST", "/v3/ai/language-model", &api_aigateway, COSTS },
	{ KIND(VERCEL), "GET", "/v4/ai/config", &api_aigateway, IS_FREE },
	{ KIND(VERCEL), "GET", "/v3/ai/config", &api_aigateway, IS_FREE },

	{ KIND(GEMINI), "POST", "/{version}/models/{model}:generateContent", &api_gemini,
	    COSTS },
	{ KIND(GEMINI), "POST", "/{version}/models/{model}:streamGenerateContent",
	    &api_gemini, COSTS },
	{ KIND(GEMINI), "POST", "/{version}/models/{model}:countTokens", &api_gemini,
	    IS_FREE },
	{ KIND(GEMINI), "POST", "/{version}/models/{model}:embedContent",
	    &api_gemini_embed, COSTS },
	{ KIND(GEMINI), "POST", "/{version}/models/{model}:batchEmbedContents",
	    &api_gemini_embed, COSTS },
	{ KIND(GEMINI), "GET", "/{version}/models", &api_gemini, IS_FREE },
	{ KIND(GEMINI), "GET", "/{version}/models/{model}", &api_gemini, IS_FREE },
};

static const char *const versions[] = { "v1beta", "v1", "v1alpha" };

static bool
is_model_char(char c) /* a '%' could be another reading of the same path */
{
	return ascii_is_alnum(c) || c == '-' || c == '.' || c == '_';
}

static struct str
take_segment(struct str *path)
{
	size_t n = 0;

	while (n < path->n && is_model_char(path->p[n]))
		n++;
	struct str segment = str_sub(*path, 0, n);

	*path = str_sub(*path, n, path->n);
	return segment;
}

static bool
is_version(struct str s)
{
	for (size_t i = 0; i < sizeof(versions) / sizeof(versions[0]); i++)
		if (str_eq(s, str_of(versions[i])))
			return true;
	return false;
}

/* "{model}", "{object}" or "{version}" in the pattern: takes one segment of the path. */
static bool
take_hole(struct str *pattern, struct str *path, struct str *name)
{
	struct str segment = take_segment(path);
	bool is_version_hole = str_starts(*pattern, STR("{version}"));
	size_t end;

	if (!str_find(*pattern, '}', &end) || segment.n == 0)
		return false;
	*pattern = str_sub(*pattern, end + 1, pattern->n);
	if (is_version_hole)
		return is_version(segment);
	*name = segment;
	return true;
}

static bool
path_fits(struct str pattern, struct str path, struct str *name)
{
	*name = STR_NONE;
	while (pattern.n > 0) {
		if (pattern.p[0] == '{') {
			if (!take_hole(&pattern, &path, name))
				return false;
			continue;
		}
		if (path.n == 0 || path.p[0] != pattern.p[0])
			return false;
		pattern = str_sub(pattern, 1, pattern.n);
		path = str_sub(path, 1, path.n);
	}
	return path.n == 0;
}

static const struct route *
find_route(enum provider_kind kind, struct str method, struct str path, struct str *name)
{
	size_t query;

	if (str_find(path, '?', &query))
		path = str_sub(path, 0, query);
	for (size_t i = 0; i < sizeof(routes) / sizeof(routes[0]); i++)
		if ((routes[i].kinds & 1u << kind) != 0 &&
		    str_eq(method, str_of(routes[i].method)) &&
		    path_fits(str_of(routes[i].path), path, name))
			return &routes[i];
	return NULL;
}

const struct api *
api_find(enum provider_kind kind, struct str method, struct str path)
{
	struct str name;
	const struct route *r = find_route(kind, method, path, &name);

	return r != NULL ? r->api : NULL;
}

bool
api_shows(enum provider_kind kind, struct str path)
{
	struct str name;
	struct buf b;
	const struct route *r;

	if (str_find(path, '?', &name.n))
		path = str_sub(path, 0, name.n);
	buf_init(&b, path.n + 8);
	buf_str(&b, path);
	buf_text(&b, "/id");
	r = find_route(kind, STR("GET"), buf_view(&b), &name);
	buf_fini(&b);
	return r != NULL && r->what == SHOWS_OBJECT;
}

/* --- requests --- */

static bool
is_encoded(const struct http_head *head)
{
	for (size_t i = 0; head != NULL && i < head->nfield; i++)
		if (str_eq_nocase(head->field[i].name, STR("content-encoding")) &&
		    !str_eq_nocase(head->field[i].value, STR("identity")))
			return true;
	return false;
}

static void
begin_call(
    struct call *c, const struct api *api, const struct model_request *r, struct arena *a)
{
	*c = (struct call){ .api = api, .arena = a, .path = r->path, .body = r->body };
	c->answers = 1;
	c->text_bytes = r->body.n;
}

/* Keys come in any order; the main model stands first. */
static bool
put_main_first(struct call *c)
{
	for (size_t i = 0; i < c->nmodel; i++)
		if (c->model[i].role == NAMED_MAIN) {
			struct named main = c->model[i];

			c->model[i] = c->model[0];
			c->model[0] = main;
			return true;
		}
	return call_fail(c, CALL_MALFORMED, "the request names no model", 0);
}

static bool
read_body(struct call *c, const struct model_request *r, struct str model)
{
	c->has_body = true;
	if (is_encoded(r->head))
		return call_fail(c, CALL_ENCODED, "the body is encoded", 0);
	if (r->body.n > CALL_BODY_MAX)
		return call_fail(c, CALL_TOO_LARGE, "the body is too large", 0);
	if (!c->api->read(c, r, model))
		return false;
	if (c->answers == 0)
		return call_fail(c, CALL_MALFORMED, "no answer is asked for", 0);
	return put_main_first(c);
}

bool
call_read_as(struct call *c, const struct api *api, const struct model_request *r,
    struct str model, struct arena *a)
{
	begin_call(c, api, r, a);
	return read_body(c, r, model);
}

/* An empty object says as much as nothing. */
static bool
has_no_body(struct call *c, const struct model_request *r)
{
	if (r->body.n == 0 ||
	    (str_eq(r->method, STR("POST")) && str_eq(str_trim(r->body), STR("{}"))))
		return true;
	return call_fail(c, CALL_MALFORMED, "this request has no body", 0);
}

static bool
is_plain_pair(struct str pair)
{
	static const struct str known[] = { { "beta", 4 }, { "api-version", 11 },
		{ "client_version", 14 } };
	struct str value = pair, key;

	if (!str_split(&value, '=', &key))
		return false;
	for (size_t i = 0; i < value.n; i++)
		if (!is_model_char(value.p[i]))
			return false;
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (str_eq(key, known[i]))
			return true;
	return pair.n == 0;
}

/* Of a call that costs, where its family has no rule of its own: some gateways take the
 * model, and what else they like, from there before they look into the body. */
static bool
is_query_plain(struct call *c)
{
	struct str rest = c->path, pair;

	str_split(&rest, '?', &pair);
	while (str_split(&rest, '&', &pair))
		if (!is_plain_pair(pair))
			return call_fail(c, CALL_NOT_METERED,
			    "the query says more than weir knows", 0);
	return true;
}

bool
call_read(struct call *c, const struct model_request *r, struct arena *a)
{
	struct str name;
	const struct route *route = find_route(r->kind, r->method, r->path, &name);

	begin_call(c, route != NULL ? route->api : NULL, r, a);
	if (route == NULL)
		return call_fail(c, CALL_NOT_METERED, "nobody meters this path", 0);
	c->is_free = route->what != COSTS;
	c->shows = route->what == SHOWS_OBJECT;
	if (c->api->query != NULL ? !c->api->query(c)
				  : route->what == COSTS && !is_query_plain(c))
		return false;
	if (route->what == IS_OBJECT || route->what == SHOWS_OBJECT)
		return has_no_body(c, r) && call_refers(c, REFERENCE_RESPONSE, name, 0);
	if (route->what == IS_FREE && str_eq(r->method, STR("GET")))
		return has_no_body(c, r);
	return read_body(c, r, name);
}

/* Models part their prompts in ways of their own: one count holds for one of them. */
static bool
is_of_one_model(const struct call *c)
{
	size_t n = 0;

	for (size_t i = 0; i < c->nmodel; i++)
		n += named_runs(&c->model[i]);
	return n == 1 && named_runs(&c->model[0]);
}

bool
call_counter(
    const struct call *c, enum provider_kind kind, struct buf *path, struct buf *body)
{
	const struct route *r;
	struct str name;

	if (c->is_free || c->api->counter == NULL || !is_of_one_model(c) ||
	    !c->api->counter(c, path, body))
		return false;
	r = find_route(kind, STR("POST"), buf_view(path), &name);
	return r != NULL && r->what == IS_FREE;
}
