/*
 * gemini_embed.c - POST /v1beta/models/{model}:embedContent and :batchEmbedContents
 *
 * Most answers say nothing of usage; then the bound is what is charged.
 */
#include "meter/gemini.h"

/* --- requests --- */

static bool
read_model(struct body *b, void *to)
{
	return gemini_same_model(b, *(struct str *)to);
}

static bool read_requests(struct body *b, void *to);

static const struct member request_members[] = {
	{ "model", NULL, read_model, 0 },
	{ "content", NULL, gemini_read_content, 0 },
	{ "requests", NULL, read_requests, 0 },
	{ "title", NULL, body_inert, 0 },
};
static const struct object request_object = {
	.member = request_members,
	.n = sizeof(request_members) / sizeof(*request_members),
	.keeps_pieces = true,
};

static bool
read_request(struct body *b, void *to)
{
	return body_object(b, &request_object, to);
}

static bool
read_requests(struct body *b, void *to)
{
	return body_array(b, true, read_request, to);
}

static bool
embed_read(struct call *c, const struct model_request *r, struct str model)
{
	struct body b;

	(void)r;
	return call_names(c, model, NAMED_MAIN, 0) &&
	       body_parse(&b, c, read_request, &model);
}

/* --- answers --- */

struct embed {
	int64_t prompt;
	bool has_usage;
};

static const struct scan_path embed_paths[] = {
	{ { "usageMetadata", "promptTokenCount" } },
};

static void
embed_value(void *arg, unsigned path, const struct scan_value *v)
{
	struct answer *a = arg;
	struct embed *s = a->state;

	(void)path;
	if (v->type == JSON_NUMBER)
		s->has_usage = usage_count(&a->usage, v->text, &s->prompt);
	else
		a->usage.is_absurd |= v->type != JSON_NULL;
}

static void
embed_document(struct answer *a)
{
	a->has_ended = true;
}

static void
embed_end(struct answer *a)
{
	const struct embed *s = a->state;

	usage_name(a->usage.model, a->call->model[0].name);
	if (!s->has_usage)
		return;
	usage_add(&a->usage)->input_total = s->prompt;
	a->usage.state = USAGE_ALL;
}

const struct api api_gemini_embed = {
	.name = "gemini_embed",
	.shape = SHAPE_GOOGLE,
	.image_tokens = 2240,
	.read = embed_read,
	.query = gemini_query,
	.paths = embed_paths,
	.npaths = sizeof(embed_paths) / sizeof(embed_paths[0]),
	.on_value = embed_value,
	.on_document = embed_document,
	.on_end = embed_end,
	.state_size = sizeof(struct embed),
};
