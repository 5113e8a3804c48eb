/*
 * openai_embeddings.c - POST /embeddings: input only, nothing is written
 */
#include <string.h>

#include "meter/api.h"
#include "meter/openai.h"
#include "meter/reported.h"

/* Texts, or tokens as numbers: a number's digits are more bytes than it is tokens. */
static bool
read_input(struct body *b, void *to)
{
	b->call->messages++;
	return body_inert(b, to);
}

static const struct member request_members[] = {
	{ "model", NULL, openai_read_model, 0 },
	{ "fallbacks", NULL, openai_read_fallbacks, 0 },
	{ "input", NULL, read_input, 0 },
	{ "providerOptions", "provider_options", openai_read_options, 0 },
	{ "user", NULL, body_inert, 0 },
	{ "api_key", NULL, openai_read_foreign, 0 },
	{ "api_base", "base_url", openai_read_foreign, 0 },
	{ "context_window_fallbacks", NULL, openai_read_fallbacks, 0 },
	{ "context_window_fallback_dict", NULL, openai_read_fallbacks, 0 },
	{ "content_policy_fallbacks", NULL, openai_read_fallbacks, 0 },
	{ "extra_body", "extraBody", openai_read_hidden, 0 },
	{ "litellm_params", NULL, openai_read_hidden, 0 },
};
static const struct object request_object = {
	.member = request_members,
	.n = sizeof(request_members) / sizeof(*request_members),
};

static bool
read_root(struct body *b, void *to)
{
	return body_object(b, &request_object, to);
}

static bool
embeddings_read(struct call *c, const struct model_request *r, struct str model)
{
	struct body b;

	(void)r;
	(void)model;
	if (!body_parse(&b, c, read_root, NULL))
		return false;
	if (c->nmodel == 0)
		return call_fail(c, CALL_MALFORMED, "the request names no model", 0);
	c->has_limit = true; /* of no output at all */
	return true;
}

struct embeddings {
	int64_t prompt;
	bool has_usage;
	char model[USAGE_MODEL];
	struct reported reported;
};

enum { MODEL, PROMPT, COST, PATHS };

static const struct scan_path embeddings_paths[PATHS] = {
	[MODEL] = { { "model" } },
	[PROMPT] = { { "usage", "prompt_tokens" } },
	[COST] = { { "usage", "cost" } },
};

static void
embeddings_value(void *arg, unsigned path, const struct scan_value *v)
{
	struct answer *a = arg;
	struct embeddings *s = a->state;

	if (path == MODEL && v->type == JSON_STRING)
		usage_name(s->model, v->text);
	else if (path == COST)
		reported_cost(&s->reported, v);
	else if (path == PROMPT && v->type == JSON_NUMBER)
		s->has_usage = usage_count(&a->usage, v->text, &s->prompt);
	else if (path == PROMPT)
		a->usage.is_absurd |= v->type != JSON_NULL;
}

static void
embeddings_end(struct answer *a)
{
	struct embeddings *s = a->state;
	struct run *run;

	openai_name_model(a, s->model);
	if (!s->has_usage || (run = usage_add(&a->usage)) == NULL)
		return;
	memcpy(run->model, a->usage.model, sizeof(run->model));
	run->input_total = s->prompt;
	reported_note(&s->reported, &a->usage);
	a->usage.state = USAGE_ALL;
}

static void
embeddings_document(struct answer *a)
{
	a->has_ended = true;
}

const struct api api_openai_embeddings = {
	.name = "openai_embeddings",
	.shape = SHAPE_OPENAI,
	.read = embeddings_read,
	.paths = embeddings_paths,
	.npaths = PATHS,
	.on_value = embeddings_value,
	.on_document = embeddings_document,
	.on_end = embeddings_end,
	.state_size = sizeof(struct embeddings),
	.on_head = reported_head,
};
