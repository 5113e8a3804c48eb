/*
 * aigateway.c - POST /v3|v4/ai/language-model: the AI Gateway's own protocol
 *
 * The model stands in a header, the options of whichever provider serves it in the
 * body, and what the call cost in the last part's metadata.
 */
#include <string.h>

#include "meter/api.h"
#include "meter/hosted.h"
#include "meter/openai.h"
#include "meter/reported.h"

/* ---- requests */

/* What comes back to the client to be run; everything else a provider runs. */
static const char *const client_tools[] = { "function", "custom", "bash", "computer",
	"computer_use_preview", "text_editor", "memory", "local_shell", "apply_patch",
	NULL };

struct gateway_request {
	size_t inside; /* just behind the body's first bracket */
};

struct tool {
	struct openai_tool openai;
	struct str id;
};

static const struct member tool_members[] = {
	{ "type", NULL, body_str, offsetof(struct tool, openai.type) },
	{ "id", NULL, body_str, offsetof(struct tool, id) },
	{ "name", NULL, body_str, offsetof(struct tool, openai.name) },
	{ "description", NULL, body_inert, 0 },
	{ "inputSchema", "parameters", body_inert, 0 },
	{ "inputExamples", NULL, body_inert, 0 },
};
static const struct object tool_object = {
	.member = tool_members,
	.n = sizeof(tool_members) / sizeof(*tool_members),
};

/* "anthropic.web_search_20250305" is the tool of that name. */
static struct str
tool_of(struct str id)
{
	size_t at;

	return str_find(id, '.', &at) ? str_sub(id, at + 1, id.n) : id;
}

static bool
read_tool(struct body *b, void *to)
{
	struct tool t = { .openai = { .piece = b->piece, .type = STR("unknown") } };

	(void)to;
	if (!body_object(b, &tool_object, &t))
		return false;
	if (t.id.p != NULL)
		t.openai.type = tool_of(t.id);
	return openai_note_tool(b->call, &t.openai, client_tools);
}

static bool
read_tools(struct body *b, void *to)
{
	return body_is(b, JSON_ARRAY) ? body_array(b, true, read_tool, to)
				      : body_any(b, to);
}

struct choice {
	struct str type, tool;
};

static const struct member choice_members[] = {
	{ "type", NULL, body_str, offsetof(struct choice, type) },
	{ "toolName", NULL, body_str, offsetof(struct choice, tool) },
};
static const struct object choice_object = { .member = choice_members, .n = 2 };

static bool
read_choice(struct body *b, void *to)
{
	struct tool_choice *choice = &b->call->choice;
	struct choice said = { .type = STR_NONE };

	if (!body_is(b, JSON_OBJECT))
		return body_any(b, to);
	if (!body_object(b, &choice_object, &said))
		return false;
	if (str_eq(said.type, STR("tool"))) {
		choice->kind = CHOICE_NAMED;
		choice->name = said.tool;
	} else if (str_eq(said.type, STR("required")))
		choice->kind = CHOICE_ANY;
	else if (str_eq(said.type, STR("none")))
		choice->kind = CHOICE_NONE;
	return true;
}

/* ---- what a provider keeps */

static bool
read_reference(struct body *b, enum reference_kind kind)
{
	struct str id = STR_NONE;
	size_t at = b->begin;

	if (!body_is(b, JSON_STRING))
		return body_inert(b, NULL);
	return body_str(b, &id) && call_refers(b->call, kind, id, at);
}

static bool
read_file_id(struct body *b, void *to)
{
	b->call->has_document = true;
	(void)to;
	return read_reference(b, REFERENCE_FILE);
}

/* {"openai":"file-1","anthropic":"file_2"} */
static const struct object file_ids = { .other = read_file_id };

static bool
read_file_reference(struct body *b, void *to)
{
	return body_is(b, JSON_OBJECT) ? body_object(b, &file_ids, to)
				       : read_file_id(b, to);
}

/*
 * "itemId": the provider reads an item of its own again, of whichever session, instead of
 * what stands here.  Without it the gateway sends what stands here.
 */
static bool
read_item_id(struct body *b, void *to)
{
	b->piece->is_gone = true;
	b->call->has_cuts = true;
	return body_any(b, to);
}

/* ---- the prompt */

struct part {
	struct piece *piece;
	struct str type, data, id, media;
};

static bool read_parts(struct body *b, void *to);

static const struct member data_members[] = {
	{ "url", NULL, body_str, offsetof(struct part, data) },
	{ "data", NULL, body_str, offsetof(struct part, data) },
	{ "reference", NULL, read_file_reference, 0 },
	{ "text", NULL, body_inert, 0 },
};
static const struct object data_object = {
	.member = data_members,
	.n = sizeof(data_members) / sizeof(*data_members),
};

/* A string, or {"type":"url","url":...} */
static bool
read_data(struct body *b, void *to)
{
	struct part *p = to;

	return body_is(b, JSON_OBJECT) ? body_object(b, &data_object, p)
				       : body_str(b, &p->data);
}

static const struct member output_members[] = {
	{ "type", NULL, body_inert, 0 },
	{ "value", NULL, read_parts, 0 },
};
static const struct object output_object = {
	.member = output_members, .n = 2, .keeps_pieces = true
};

static bool
read_output(struct body *b, void *to)
{
	return body_is(b, JSON_OBJECT) ? body_object(b, &output_object, to)
				       : body_inert(b, to);
}

static const struct member cache_members[] = {
	{ "ttl", NULL, body_str, 0 },
};
static const struct object cache_object = { .member = cache_members, .n = 1 };

static bool
read_cache(struct body *b, void *to)
{
	struct str ttl = STR_NONE;

	if (!body_is(b, JSON_OBJECT))
		return body_any(b, to);
	b->call->may_write_cache = true;
	if (!body_object(b, &cache_object, &ttl))
		return false;
	b->call->may_write_long |= str_eq(ttl, STR("1h"));
	return true;
}

static const struct member part_option_members[] = {
	{ "cacheControl", "cache_control", read_cache, 0 },
	{ "cachePoint", NULL, read_cache, 0 },
	{ "itemId", "item_id", read_item_id, 0 },
};
static const struct object part_option_object = {
	.member = part_option_members,
	.n = sizeof(part_option_members) / sizeof(*part_option_members),
	.keeps_pieces = true,
};

static bool
read_part_option(struct body *b, void *to)
{
	return body_is(b, JSON_OBJECT) ? body_object(b, &part_option_object, to)
				       : body_any(b, to);
}

static const struct object part_options_object = { .keeps_pieces = true,
	.other = read_part_option };

static bool
read_part_options(struct body *b, void *to)
{
	return body_is(b, JSON_OBJECT) ? body_object(b, &part_options_object, to)
				       : body_any(b, to);
}

static const struct member part_members[] = {
	{ "type", NULL, body_str, offsetof(struct part, type) },
	{ "text", NULL, body_inert, 0 },
	{ "data", NULL, read_data, 0 },
	{ "url", "image", read_data, 0 },
	{ "fileId", NULL, body_str, offsetof(struct part, id) },
	{ "mediaType", "mimeType", body_str, offsetof(struct part, media) },
	{ "input", "args", body_inert, 0 },
	{ "output", "result", read_output, 0 },
	{ "providerOptions", NULL, read_part_options, 0 },
};
static const struct object part_object = {
	.member = part_members,
	.n = sizeof(part_members) / sizeof(*part_members),
	.keeps_pieces = true,
};

static bool
note_media(struct call *c, const struct part *p)
{
	struct hosted *h;

	if (str_starts(p->media, STR("image/")))
		c->images++;
	else
		c->has_document = true;
	c->has_audio_in |= str_starts(p->media, STR("audio/"));
	if (openai_is_data(p->data)) {
		c->text_bytes -= p->data.n < c->text_bytes ? p->data.n : c->text_bytes;
		return true;
	}
	if ((h = call_hosts(c, STR("file_url"), p->piece)) == NULL)
		return false;
	h->is_media = true;
	p->piece->put =
	    STR("{\"type\":\"text\",\"text\":\"[left out: the provider may not "
		"fetch it]\"}");
	return true;
}

static bool
note_part(struct call *c, const struct part *p)
{
	c->blocks++;
	if (p->id.p != NULL) {
		c->has_document = true;
		if (!call_refers(c, REFERENCE_FILE, p->id, p->piece->begin))
			return false;
	}
	return p->data.p == NULL || note_media(c, p);
}

static bool
read_part(struct body *b, void *to)
{
	struct part p = { .piece = b->piece };

	if (!body_is(b, JSON_OBJECT))
		return body_inert(b, to);
	return body_object(b, &part_object, &p) && note_part(b->call, &p);
}

static bool
read_parts(struct body *b, void *to)
{
	(void)to;
	return body_is(b, JSON_ARRAY) ? body_array(b, true, read_part, NULL)
				      : body_inert(b, NULL);
}

static const struct member message_members[] = {
	{ "role", NULL, body_inert, 0 },
	{ "content", NULL, read_parts, 0 },
	{ "providerOptions", NULL, read_part_options, 0 },
};
static const struct object message_object = {
	.member = message_members,
	.n = sizeof(message_members) / sizeof(*message_members),
	.keeps_pieces = true,
};

static bool
read_message(struct body *b, void *to)
{
	b->call->messages++;
	return body_object(b, &message_object, to);
}

static bool
read_prompt(struct body *b, void *to)
{
	return body_array(b, true, read_message, to);
}

/* ---- options of the provider that will serve */

static bool
read_response_id(struct body *b, void *to)
{
	(void)to;
	return read_reference(b, REFERENCE_RESPONSE);
}

static bool
read_conversation(struct body *b, void *to)
{
	(void)to;
	return read_reference(b, REFERENCE_CONVERSATION);
}

static bool
read_cached(struct body *b, void *to)
{
	(void)to;
	return read_reference(b, REFERENCE_CACHED);
}

static const struct member container_members[] = {
	{ "id", NULL, body_str, 0 },
	{ "skills", NULL, body_inert, 0 },
};
static const struct object container_object = { .member = container_members, .n = 2 };

static bool
read_container(struct body *b, void *to)
{
	struct str id = STR_NONE;
	size_t at = b->begin;

	if (!body_is(b, JSON_OBJECT))
		return read_reference(b, REFERENCE_CONTAINER);
	(void)to;
	return body_object(b, &container_object, &id) &&
	       (id.p == NULL || call_refers(b->call, REFERENCE_CONTAINER, id, at));
}

static bool
note_hosted(struct body *b, struct str name)
{
	struct openai_tool t = { .piece = b->piece, .type = name };

	if (body_is(b, JSON_NULL))
		return body_any(b, NULL);
	return openai_note_tool(b->call, &t, client_tools) && body_inert(b, NULL);
}

static bool
read_servers(struct body *b, void *to)
{
	(void)to;
	return note_hosted(b, STR("mcp"));
}

static bool
read_search(struct body *b, void *to)
{
	(void)to;
	return note_hosted(b, STR("web_search"));
}

static bool
read_speed(struct body *b, void *to)
{
	struct str speed = STR_NONE;

	(void)to;
	if (!body_str(b, &speed))
		return false;
	b->call->is_fast |= str_eq(speed, STR("fast"));
	return true;
}

static bool
read_region(struct body *b, void *to)
{
	struct str region = STR_NONE;

	(void)to;
	if (!body_str(b, &region))
		return false;
	if (str_eq_nocase(region, STR("us")))
		b->call->regions |= 1u << REGION_US;
	if (str_eq_nocase(region, STR("eu")))
		b->call->regions |= 1u << REGION_EU;
	return true;
}

/* The limit must leave room for it; -1 is whatever the model likes. */
static bool
read_budget(struct body *b, void *to)
{
	uint64_t tokens;

	if (body_is(b, JSON_NUMBER) && str_decimal(b->text, &tokens))
		b->call->thinking = tokens;
	return body_any(b, to);
}

static const struct member thinking_members[] = {
	{ "budgetTokens", "thinkingBudget", read_budget, 0 },
};
static const struct object thinking_object = { .member = thinking_members, .n = 1 };

static bool
read_thinking(struct body *b, void *to)
{
	return body_is(b, JSON_OBJECT) ? body_object(b, &thinking_object, to)
				       : body_any(b, to);
}

static bool read_provider(struct body *b, void *to);

static const struct member provider_members[] = {
	{ "previousResponseId", NULL, read_response_id, 0 },
	{ "conversation", NULL, read_conversation, 0 },
	{ "cachedContent", NULL, read_cached, 0 },
	{ "container", NULL, read_container, 0 },
	{ "mcpServers", NULL, read_servers, 0 },
	{ "searchParameters", NULL, read_search, 0 },
	{ "serviceTier", "service_tier", openai_read_option_tier, 0 },
	{ "models", NULL, openai_read_fallbacks, 0 },
	{ "fallbacks", NULL, openai_read_fallbacks, 0 },
	{ "speed", NULL, read_speed, 0 },
	{ "inferenceGeo", NULL, read_region, 0 },
	{ "thinking", "thinkingConfig", read_thinking, 0 },
	{ "byok", NULL, openai_read_foreign, 0 },
	{ "apiKey", NULL, openai_read_foreign, 0 },
	{ "cacheControl", NULL, read_cache, 0 },
	{ "additionalModelRequestFields", NULL, read_provider, 0 },
	OPENAI_HIDDEN_ROWS,
};
static const struct object provider_object = {
	.member = provider_members,
	.n = sizeof(provider_members) / sizeof(*provider_members),
	.keeps_pieces = true,
};

static bool
read_provider(struct body *b, void *to)
{
	return body_is(b, JSON_OBJECT) ? body_object(b, &provider_object, to)
				       : body_any(b, to);
}

/* Whichever provider it is: who serves is the gateway's choice. */
static const struct object options_object = { .keeps_pieces = true,
	.other = read_provider };

static bool
read_options(struct body *b, void *to)
{
	return body_is(b, JSON_OBJECT) ? body_object(b, &options_object, to)
				       : body_any(b, to);
}

/* Fields that the provider is to get: not keys. */
static const struct member field_members[] = {
	{ "authorization", "Authorization", openai_read_foreign, 0 },
	{ "x-api-key", "X-Api-Key", openai_read_foreign, 0 },
	{ "x-goog-api-key", "X-Goog-Api-Key", openai_read_foreign, 0 },
	{ "api-key", "Api-Key", openai_read_foreign, 0 },
};
static const struct object field_object = {
	.member = field_members,
	.n = sizeof(field_members) / sizeof(*field_members),
};

static bool
read_fields(struct body *b, void *to)
{
	return body_is(b, JSON_OBJECT) ? body_object(b, &field_object, to)
				       : body_any(b, to);
}

static const struct member format_members[] = {
	{ "schema", NULL, body_inert, 0 },
};
static const struct object format_object = { .member = format_members, .n = 1 };

static bool
read_format(struct body *b, void *to)
{
	b->call->has_schema |= body_is(b, JSON_OBJECT);
	return body_is(b, JSON_OBJECT) ? body_object(b, &format_object, to)
				       : body_any(b, to);
}

static const struct member request_members[] = {
	{ "prompt", NULL, read_prompt, 0 },
	{ "maxOutputTokens", NULL, openai_read_limit, 0 },
	{ "tools", NULL, read_tools, 0 },
	{ "toolChoice", NULL, read_choice, 0 },
	{ "responseFormat", NULL, read_format, 0 },
	{ "providerOptions", NULL, read_options, 0 },
	{ "headers", NULL, read_fields, 0 },
};
static const struct object request_object = {
	.member = request_members,
	.n = sizeof(request_members) / sizeof(*request_members),
	.keeps_pieces = true,
};

static bool
read_root(struct body *b, void *to)
{
	((struct gateway_request *)to)->inside = b->begin + 1;
	return body_object(b, &request_object, to);
}

/* Two fields may name it; what differs is two requests in one. */
static bool
names_model(struct call *c, const struct http_head *head)
{
	static const struct str names[] = { { "ai-language-model-id", 20 },
		{ "ai-model-id", 11 } };
	struct str model = STR_NONE;

	for (size_t i = 0; i < head->nfield; i++)
		for (size_t k = 0; k < 2; k++) {
			struct str value = str_trim(head->field[i].value);

			if (!str_eq_nocase(head->field[i].name, names[k]))
				continue;
			if (model.p != NULL && !str_eq(model, value))
				return call_fail(
				    c, CALL_AMBIGUOUS, "two fields name models", 0);
			model = value;
		}
	if (model.n == 0)
		return call_fail(c, CALL_MALFORMED, "no field names the model", 0);
	return call_names(c, model, NAMED_MAIN, 0);
}

static bool
gateway_read(struct call *c, const struct model_request *r, struct str model)
{
	const struct http_field *stream =
	    http_field(r->head, STR("ai-language-model-streaming"));
	struct gateway_request said = { .inside = 0 };
	struct body b;

	(void)model;
	if (!names_model(c, r->head) || !body_parse(&b, c, read_root, &said))
		return false;
	c->is_stream = stream != NULL && str_eq(str_trim(stream->value), STR("true"));
	c->may_write_cache = true; /* some providers do by themselves */
	if (c->limit_name == NULL)
		c->limit_name = "maxOutputTokens";
	c->limit_hole.at = said.inside;
	c->limit_hole.before = "\"maxOutputTokens\":";
	c->limit_hole.after = "";
	return true;
}

/* ---- answers */

struct figures {
	int64_t input, read, written, output, reasoning;
	size_t n;
};

struct gateway {
	struct figures now, last;
	struct reported reported;
	bool has_usage, has_finish;
	bool says_finish, says_usage; /* of the document that is read */
	char model[USAGE_MODEL];
};

typedef void take_fn(
    struct answer *a, struct gateway *s, const struct scan_value *v, size_t offset);

static void
take_usage(struct answer *a, struct gateway *s, const struct scan_value *v, size_t offset)
{
	(void)a;
	(void)offset;
	if (v->type == JSON_OBJECT)
		s->now = (struct figures){ .n = 0 };
	if (v->type != JSON_OBJECT_END || s->now.n == 0)
		return;
	s->last = s->now;
	s->has_usage = s->says_usage = true;
}

/* Older ones have a number where newer ones have an object. */
static void
take_count(struct answer *a, struct gateway *s, const struct scan_value *v, size_t offset)
{
	int64_t *count = (int64_t *)(void *)((char *)&s->now + offset);

	if (v->type == JSON_OBJECT || v->type == JSON_OBJECT_END || v->type == JSON_NULL)
		return;
	s->now.n++;
	if (v->type != JSON_NUMBER || !usage_count(&a->usage, v->text, count))
		a->usage.is_absurd = true;
}

static void
take_cost(struct answer *a, struct gateway *s, const struct scan_value *v, size_t offset)
{
	(void)a;
	(void)offset;
	if (v->type != JSON_NULL)
		reported_cost(&s->reported, v);
}

static void
take_model(struct answer *a, struct gateway *s, const struct scan_value *v, size_t offset)
{
	(void)a;
	(void)offset;
	if (v->type == JSON_STRING)
		usage_name(s->model, v->text);
}

/* What the provider behind the gateway keeps. */
static void
take_kept(struct answer *a, struct gateway *s, const struct scan_value *v, size_t offset)
{
	(void)s;
	if (v->type == JSON_STRING && !v->is_cut)
		usage_keeps(&a->usage, (enum reference_kind)offset, v->text);
}

static void
take_text(struct answer *a, struct gateway *s, const struct scan_value *v, size_t offset)
{
	(void)s;
	(void)offset;
	answer_text(a, v);
}

static void
take_finish(
    struct answer *a, struct gateway *s, const struct scan_value *v, size_t offset)
{
	(void)a;
	(void)offset;
	s->says_finish |= v->type != JSON_NULL;
}

static void
take_type(struct answer *a, struct gateway *s, const struct scan_value *v, size_t offset)
{
	(void)s;
	(void)offset;
	a->has_failed |= str_eq(v->text, STR("error"));
}

#define AT(field) offsetof(struct figures, field)
#define ROWS \
	ROW(take_type, 0, "type") \
	ROW(take_finish, 0, "finishReason") \
	ROW(take_usage, 0, "usage") \
	ROW(take_count, AT(input), "usage", "inputTokens") \
	ROW(take_count, AT(input), "usage", "inputTokens", "total") \
	ROW(take_count, AT(read), "usage", "inputTokens", "cacheRead") \
	ROW(take_count, AT(written), "usage", "inputTokens", "cacheWrite") \
	ROW(take_count, AT(read), "usage", "cachedInputTokens") \
	ROW(take_count, AT(output), "usage", "outputTokens") \
	ROW(take_count, AT(output), "usage", "outputTokens", "total") \
	ROW(take_count, AT(reasoning), "usage", "outputTokens", "reasoning") \
	ROW(take_count, AT(reasoning), "usage", "reasoningTokens") \
	ROW(take_cost, 0, "providerMetadata", "gateway", "cost") \
	ROW(take_kept, REFERENCE_RESPONSE, "providerMetadata", "openai", "responseId") \
	ROW(take_kept, REFERENCE_RESPONSE, "providerMetadata", "azure", "responseId") \
	ROW(take_kept, REFERENCE_CONTAINER, "providerMetadata", "anthropic", \
	    "container", "id") \
	ROW(take_model, 0, "modelId") \
	ROW(take_model, 0, "response", "modelId") \
	ROW(take_text, 0, "delta") \
	ROW(take_text, 0, "textDelta") \
	ROW(take_text, 0, "content", "[]", "text") \
	ROW(take_text, 0, "content", "[]", "input")

#define ROW(take, offset, ...) { { __VA_ARGS__ } },
static const struct scan_path gateway_paths[] = { ROWS };
#undef ROW
#define ROW(take, offset, ...) { take, offset },
static const struct {
	take_fn *take;
	size_t offset;
} gateway_rows[] = { ROWS };
#undef ROW

static void
gateway_value(void *arg, unsigned path, const struct scan_value *v)
{
	struct answer *a = arg;

	gateway_rows[path].take(a, a->state, v, gateway_rows[path].offset);
}

static void
gateway_document(struct answer *a)
{
	struct gateway *s = a->state;

	s->has_finish |= s->says_finish;
	if (s->says_usage)
		answer_told(a);
	s->says_finish = s->says_usage = false;
	a->has_ended |= s->has_finish || a->is_done_mark;
}

static void
add_run(struct usage *u, const struct figures *f, const char *model, enum tier tier)
{
	struct run *run = usage_add(u);

	if (run == NULL)
		return;
	memcpy(run->model, model, sizeof(run->model));
	run->tier = tier;
	run->input_total = f->input;
	run->cache_read = f->read;
	run->cache_write = f->written;
	run->output = f->output;
	run->reasoning = f->reasoning;
}

/* The gateway's names are `provider/model`; what a provider calls it is no name here. */
static void
gateway_end(struct answer *a)
{
	const struct gateway *s = a->state;
	struct usage *u = &a->usage;
	size_t at;

	openai_name_model(a, str_find(str_of(s->model), '/', &at) ? s->model : "");
	reported_note(&s->reported, u);
	if (s->has_usage)
		add_run(u, &s->last, u->model, a->call->tier);
	if (s->has_usage || u->has_reported)
		u->state =
		    a->has_ended || a->form == ANSWER_JSON ? USAGE_ALL : USAGE_PARTLY;
}

static void
gateway_cut(const struct answer *a, struct buf *to)
{
	(void)a;
	buf_text(to,
	    "data: {\"type\":\"finish\",\"finishReason\":{\"unified\":\"length\","
	    "\"raw\":\"length\"},\"usage\":{\"inputTokens\":{},"
	    "\"outputTokens\":{}}}\n\n");
}

const struct api api_aigateway = {
	.name = "aigateway",
	.shape = SHAPE_OPENAI,
	.image_tokens = 16384,
	.read = gateway_read,
	.paths = gateway_paths,
	.npaths = sizeof(gateway_paths) / sizeof(*gateway_paths),
	.on_value = gateway_value,
	.on_document = gateway_document,
	.on_end = gateway_end,
	.state_size = sizeof(struct gateway),
	.cut = gateway_cut,
};
