#include "meter/api.h"

#include <assert.h>

static const struct api *const families[] = {
	&api_anthropic_messages,
	&api_openai_chat,
	&api_openai_responses,
	&api_openai_embeddings,
	&api_gemini,
	&api_gemini_embed,
	&api_aigateway,
	&api_bedrock_converse,
};

const struct api *
api_named(struct str name)
{
	for (size_t i = 0; i < sizeof(families) / sizeof(families[0]); i++)
		if (str_eq(name, str_of(families[i]->name)))
			return families[i];
	return NULL;
}

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

/*
 * {model} is one segment, up to a colon.  What is not here is refused: a path that
 * nobody meters is how money leaves.
 */
static const struct route {
	unsigned kinds;
	const char *method, *path;
	const struct api *api;
	bool is_free;
} routes[] = {
	{ ANTHROPIC_LIKE, "POST", "/v1/messages", &api_anthropic_messages, false },
	{ KIND(OPENROUTER), "POST", "/api/v1/messages", &api_anthropic_messages, false },
	{ KIND(ANTHROPIC), "POST", "/v1/messages/count_tokens", &api_anthropic_messages,
	    true },
	{ KIND(ANTHROPIC), "GET", "/v1/models", &api_anthropic_messages, true },
	{ KIND(ANTHROPIC), "GET", "/v1/models/{model}", &api_anthropic_messages, true },

	{ OPENAI_LIKE, "POST", "/v1/chat/completions", &api_openai_chat, false },
	{ OPENAI_LIKE, "POST", "/chat/completions", &api_openai_chat, false },
	{ KIND(OPENROUTER), "POST", "/api/v1/chat/completions", &api_openai_chat, false },
	{ OPENAI_LIKE, "POST", "/v1/responses", &api_openai_responses, false },
	{ OPENAI_LIKE, "POST", "/responses", &api_openai_responses, false },
	{ KIND(OPENROUTER), "POST", "/api/v1/responses", &api_openai_responses, false },
	{ KIND(OPENAI), "POST", "/v1/responses/input_tokens", &api_openai_responses,
	    true },
	{ KIND(OPENAI), "POST", "/responses/input_tokens", &api_openai_responses, true },
	{ OPENAI_LIKE, "POST", "/v1/embeddings", &api_openai_embeddings, false },
	{ OPENAI_LIKE, "POST", "/embeddings", &api_openai_embeddings, false },
	{ KIND(OPENROUTER), "POST", "/api/v1/embeddings", &api_openai_embeddings, false },
	{ OPENAI_LIKE, "GET", "/v1/models", &api_openai_chat, true },
	{ OPENAI_LIKE, "GET", "/models", &api_openai_chat, true },
	{ OPENAI_LIKE, "GET", "/v1/models/{model}", &api_openai_chat, true },
	{ KIND(OPENROUTER), "GET", "/api/v1/models", &api_openai_chat, true },

	{ KIND(VERCEL), "POST", "/v4/ai/language-model", &api_aigateway, false },
	{ KIND(VERCEL), "POST", "/v3/ai/language-model", &api_aigateway, false },
	{ KIND(VERCEL), "GET", "/v4/ai/config", &api_aigateway, true },
	{ KIND(VERCEL), "GET", "/v3/ai/config", &api_aigateway, true },

	{ KIND(GEMINI), "POST", "/{version}/models/{model}:generateContent", &api_gemini,
	    false },
	{ KIND(GEMINI), "POST", "/{version}/models/{model}:streamGenerateContent",
	    &api_gemini, false },
	{ KIND(GEMINI), "POST", "/{version}/models/{model}:countTokens", &api_gemini,
	    true },
	{ KIND(GEMINI), "POST", "/{version}/models/{model}:embedContent",
	    &api_gemini_embed, false },
	{ KIND(GEMINI), "POST", "/{version}/models/{model}:batchEmbedContents",
	    &api_gemini_embed, false },
	{ KIND(GEMINI), "GET", "/{version}/models", &api_gemini, true },
	{ KIND(GEMINI), "GET", "/{version}/models/{model}", &api_gemini, true },
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

/* "{model}" or "{version}" in the pattern: takes one segment of the path. */
static bool
take_hole(struct str *pattern, struct str *path, struct str *model)
{
	struct str segment = take_segment(path);
	bool is_model = str_starts(*pattern, STR("{model}"));
	size_t end;

	if (!str_find(*pattern, '}', &end) || segment.n == 0)
		return false;
	*pattern = str_sub(*pattern, end + 1, pattern->n);
	if (!is_model)
		return is_version(segment);
	*model = segment;
	return true;
}

static bool
path_fits(struct str pattern, struct str path, struct str *model)
{
	*model = STR_NONE;
	while (pattern.n > 0) {
		if (pattern.p[0] == '{') {
			if (!take_hole(&pattern, &path, model))
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
find_route(enum provider_kind kind, struct str method, struct str path, struct str *model)
{
	size_t query;

	if (str_find(path, '?', &query))
		path = str_sub(path, 0, query);
	for (size_t i = 0; i < sizeof(routes) / sizeof(routes[0]); i++)
		if ((routes[i].kinds & 1u << kind) != 0 &&
		    str_eq(method, str_of(routes[i].method)) &&
		    path_fits(str_of(routes[i].path), path, model))
			return &routes[i];
	return NULL;
}

const struct api *
api_find(enum provider_kind kind, struct str method, struct str path)
{
	struct str model;
	const struct route *r = find_route(kind, method, path, &model);

	return r != NULL ? r->api : NULL;
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

bool
call_read(struct call *c, const struct model_request *r, struct arena *a)
{
	struct str model;
	const struct route *route = find_route(r->kind, r->method, r->path, &model);

	begin_call(c, route != NULL ? route->api : NULL, r, a);
	if (route == NULL)
		return call_fail(c, CALL_NOT_METERED, "nobody meters this path", 0);
	c->is_free = route->is_free;
	if (c->api->query != NULL && !c->api->query(c))
		return false;
	if (route->is_free && str_eq(r->method, STR("GET"))) {
		if (r->body.n > 0)
			return call_fail(c, CALL_MALFORMED, "a GET has no body", 0);
		return true;
	}
	return read_body(c, r, model);
}
