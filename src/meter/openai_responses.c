/*
 * openai_responses.c - POST /responses: one call, its loops at the provider included
 *
 * Usage stands in the last event, or in the answer to a later question when the call
 * runs in the background.  Tools that run at the provider send the prompt again.
 */
#include <string.h>

#include "meter/api.h"
#include "meter/openai.h"
#include "meter/reported.h"

/* ---- requests */

static const char *const client_tools[] = { "function", "custom", "local_shell",
	"computer", "computer_use_preview", "computer_use", "apply_patch", "namespace",
	NULL };

#define IMAGE_MODEL "gpt-image-1" /* that draws, when the tool names none */

struct responses_request {
	size_t inside; /* just behind the body's first bracket */
};

struct tool {
	struct openai_tool openai;
	struct str model;
	struct str environment, execution; /* where it runs, when it says so */
};

static bool read_tool(struct body *b, void *to);

static bool
read_tools(struct body *b, void *to)
{
	(void)to;
	return body_is(b, JSON_ARRAY) ? body_array(b, true, read_tool, to)
				      : body_any(b, to);
}

static bool
read_reference(struct body *b, enum reference_kind kind)
{
	struct str id = STR_NONE;
	size_t at = b->begin;

	return body_str(b, &id) && (id.p == NULL || call_refers(b->call, kind, id, at));
}

static bool
read_file(struct body *b, void *to)
{
	(void)to;
	return read_reference(b, REFERENCE_FILE);
}

static bool
read_files(struct body *b, void *to)
{
	return body_is(b, JSON_ARRAY) ? body_array(b, false, read_file, to)
				      : body_any(b, to);
}

static bool
read_vector_store(struct body *b, void *to)
{
	(void)to;
	return read_reference(b, REFERENCE_VECTOR_STORE);
}

static bool
read_vector_stores(struct body *b, void *to)
{
	return body_is(b, JSON_ARRAY) ? body_array(b, false, read_vector_store, to)
				      : body_any(b, to);
}

static bool
read_container_id(struct body *b, void *to)
{
	(void)to;
	return read_reference(b, REFERENCE_CONTAINER);
}

static const struct member environment_members[] = {
	{ "type", NULL, body_str, offsetof(struct tool, environment) },
	{ "container_id", NULL, read_container_id, 0 },
	{ "file_ids", NULL, read_files, 0 },
};
static const struct object environment_object = { .member = environment_members, .n = 3 };

static bool
read_environment(struct body *b, void *to)
{
	return body_is(b, JSON_OBJECT) ? body_object(b, &environment_object, to)
				       : body_any(b, to);
}

static const struct member container_members[] = {
	{ "id", NULL, read_container_id, 0 },
	{ "file_ids", NULL, read_files, 0 },
};
static const struct object container_object = { .member = container_members, .n = 2 };

/* A code interpreter's container: an object at the provider, or a new one with files. */
static bool
read_container(struct body *b, void *to)
{
	if (body_is(b, JSON_STRING))
		return read_container_id(b, to);
	return body_is(b, JSON_OBJECT) ? body_object(b, &container_object, to)
				       : body_inert(b, to);
}

/* What is to be drawn over. */
static const struct member mask_members[] = {
	{ "file_id", NULL, read_file, 0 },
};
static const struct object mask_object = { .member = mask_members, .n = 1 };

static bool
read_mask(struct body *b, void *to)
{
	return body_is(b, JSON_OBJECT) ? body_object(b, &mask_object, to)
				       : body_any(b, to);
}

static const struct member tool_members[] = {
	{ "type", NULL, body_str, offsetof(struct tool, openai.type) },
	{ "name", NULL, body_str, offsetof(struct tool, openai.name) },
	{ "server_label", NULL, body_str, offsetof(struct tool, openai.name) },
	{ "description", NULL, body_inert, 0 },
	{ "parameters", NULL, body_inert, 0 },
	{ "format", NULL, body_inert, 0 },
	{ "model", NULL, body_str, offsetof(struct tool, model) },
	{ "environment", NULL, read_environment, 0 },
	{ "execution", NULL, body_str, offsetof(struct tool, execution) },
	{ "container", NULL, read_container, 0 },
	{ "vector_store_ids", NULL, read_vector_stores, 0 },
	{ "input_image_mask", NULL, read_mask, 0 },
	{ "tools", NULL, read_tools, 0 },
};
static const struct object tool_object = {
	.member = tool_members,
	.n = sizeof(tool_members) / sizeof(*tool_members),
	.keeps_pieces = true,
};

/* Some are the client's own only where they say so. */
static bool
is_local(const struct tool *t)
{
	return (str_eq(t->openai.type, STR("shell")) &&
		   str_eq(t->environment, STR("local"))) ||
	       (str_eq(t->openai.type, STR("tool_search")) &&
		   str_eq(t->execution, STR("client")));
}

/* Drawing is another model's work, at its own price; so is whatever names a model. */
static bool
names_model(struct body *b, const struct tool *t, size_t at)
{
	struct call *c = b->call;
	bool draws = str_eq(t->openai.type, STR("image_generation"));
	struct str model = t->model.p != NULL ? t->model : STR(IMAGE_MODEL);

	if (!draws && t->model.p == NULL)
		return true;
	if (!call_names(c, model, NAMED_ADVISOR, at))
		return false;
	if (c->hosted_last != NULL && c->hosted_last->piece == t->openai.piece)
		c->model[c->nmodel - 1].tool = c->hosted_last;
	return true;
}

static bool
read_tool(struct body *b, void *to)
{
	struct tool t = { .openai = { .piece = b->piece, .type = STR("unknown") } };
	size_t at = b->begin;

	(void)to;
	if (!body_object(b, &tool_object, &t))
		return false;
	if (is_local(&t))
		t.openai.type = STR("function");
	return openai_note_tool(b->call, &t.openai, client_tools) &&
	       names_model(b, &t, at);
}

/* ---- input */

struct item {
	struct str type, id, role;
	bool has_result, has_text; /* what it stands for is in the request */
};

static bool
read_result(struct body *b, void *to)
{
	struct str data = STR_NONE;

	if (!body_is(b, JSON_STRING))
		return body_inert(b, NULL);
	if (!body_str(b, &data))
		return false;
	*(bool *)to = data.n > 0;
	b->call->images++;
	return true;
}

static bool
read_hidden(struct body *b, void *to)
{
	*(bool *)to = body_is(b, JSON_STRING) && b->text.n > 0;
	return body_inert(b, NULL);
}

static const struct member item_members[] = {
	{ "type", NULL, body_str, offsetof(struct item, type) },
	{ "id", NULL, body_str, offsetof(struct item, id) },
	{ "role", NULL, body_str, offsetof(struct item, role) },
	{ "container_id", NULL, read_container_id, 0 },
	{ "content", NULL, openai_read_content, 0 },
	{ "output", NULL, openai_read_content, 0 },
	{ "summary", NULL, openai_read_content, 0 },
	{ "arguments", NULL, body_inert, 0 },
	{ "input", NULL, body_inert, 0 },
	{ "action", NULL, body_inert, 0 },
	{ "actions", NULL, body_inert, 0 },
	{ "operation", NULL, body_inert, 0 },
	{ "tools", NULL, body_inert, 0 },
	{ "results", NULL, body_inert, 0 },
	{ "queries", NULL, body_inert, 0 },
	{ "outputs", NULL, body_inert, 0 },
	{ "code", NULL, body_inert, 0 },
	{ "result", NULL, read_result, offsetof(struct item, has_result) },
	{ "encrypted_content", NULL, read_hidden, offsetof(struct item, has_text) },
};
static const struct object item_object = {
	.member = item_members,
	.n = sizeof(item_members) / sizeof(*item_members),
	.keeps_pieces = true,
};

/* Items that the provider looks up by id, so that their text is not in the request. */
static bool
is_reference(const struct item *i)
{
	if (str_eq(i->type, STR("item_reference")))
		return true;
	if (i->id.n == 0)
		return false;
	return (i->type.n == 0 && i->role.n == 0) ||
	       (str_eq(i->type, STR("reasoning")) && !i->has_text) ||
	       (str_eq(i->type, STR("image_generation_call")) && !i->has_result);
}

static bool
read_item(struct body *b, void *to)
{
	struct item item = { .type = STR_NONE };
	size_t at = b->begin;

	if (!body_is(b, JSON_OBJECT))
		return body_inert(b, to);
	b->call->messages++;
	if (!body_object(b, &item_object, &item))
		return false;
	return !is_reference(&item) || call_refers(b->call, REFERENCE_ITEM, item.id, at);
}

static bool
read_input(struct body *b, void *to)
{
	if (body_is(b, JSON_ARRAY))
		return body_array(b, true, read_item, to);
	b->call->messages++;
	return body_inert(b, to);
}

/* ---- the rest of a request */

static bool
read_previous(struct body *b, void *to)
{
	(void)to;
	return read_reference(b, REFERENCE_RESPONSE);
}

static const struct member id_members[] = {
	{ "id", NULL, body_str, 0 },
};
static const struct object id_object = { .member = id_members, .n = 1 };

/* "conv_1" or {"id":"conv_1"} */
static bool
read_id(struct body *b, struct str *id)
{
	return body_is(b, JSON_OBJECT) ? body_object(b, &id_object, id) : body_str(b, id);
}

static bool
read_conversation(struct body *b, void *to)
{
	struct str id = STR_NONE;
	size_t at = b->begin;

	(void)to;
	return read_id(b, &id) &&
	       (id.p == NULL || call_refers(b->call, REFERENCE_CONVERSATION, id, at));
}

/* A prompt that is kept at the provider: text of any length, and tools. */
static bool
read_prompt(struct body *b, void *to)
{
	struct str id = STR_NONE;
	size_t at = b->begin;

	(void)to;
	b->call->has_document |= !body_is(b, JSON_NULL);
	return read_id(b, &id) &&
	       (id.p == NULL || call_refers(b->call, REFERENCE_FILE, id, at));
}

static bool
read_stream(struct body *b, void *to)
{
	(void)to;
	return body_bool(b, &b->call->is_stream);
}

static bool
read_background(struct body *b, void *to)
{
	(void)to;
	return body_bool(b, &b->call->is_background);
}

static bool
read_store(struct body *b, void *to)
{
	bool is_stored = true;

	(void)to;
	if (!body_bool(b, &is_stored))
		return false;
	b->call->is_unstored = !is_stored;
	return true;
}

static bool
read_truncation(struct body *b, void *to)
{
	struct str how = STR_NONE;

	(void)to;
	if (!body_str(b, &how))
		return false;
	b->call->truncates = how.p != NULL && !str_eq(how, STR("disabled"));
	return true;
}

static bool
read_tool_calls(struct body *b, void *to)
{
	(void)to;
	return body_count(b, &b->call->tool_calls_max);
}

static bool
read_cache_time(struct body *b, void *to)
{
	struct str ttl = STR_NONE;

	(void)to;
	if (!body_str(b, &ttl))
		return false;
	b->call->may_write_long |= ttl.p != NULL && !str_eq(ttl, STR("30m"));
	return true;
}

static const struct member cache_members[] = {
	{ "ttl", NULL, read_cache_time, 0 },
};
static const struct object cache_object = { .member = cache_members, .n = 1 };

static bool
read_cache(struct body *b, void *to)
{
	return body_is(b, JSON_OBJECT) ? body_object(b, &cache_object, to)
				       : body_any(b, to);
}

static bool
read_summary(struct body *b, void *to)
{
	struct str kind = STR_NONE;

	(void)to;
	if (!body_str(b, &kind))
		return false;
	b->call->asks_reasoning_summary |= kind.p != NULL;
	return true;
}

static const struct member reasoning_members[] = {
	{ "summary", "generate_summary", read_summary, 0 },
};
static const struct object reasoning_object = { .member = reasoning_members, .n = 1 };

static bool
read_reasoning(struct body *b, void *to)
{
	return body_is(b, JSON_OBJECT) ? body_object(b, &reasoning_object, to)
				       : body_any(b, to);
}

static const struct member text_members[] = {
	{ "format", NULL, openai_read_format, 0 },
};
static const struct object text_object = { .member = text_members, .n = 1 };

static bool
read_text(struct body *b, void *to)
{
	return body_is(b, JSON_OBJECT) ? body_object(b, &text_object, to)
				       : body_any(b, to);
}

static const struct member context_members[] = {
	{ "type", NULL, body_str, 0 },
};
static const struct object context_object = { .member = context_members, .n = 1 };

static bool
read_context_edit(struct body *b, void *to)
{
	struct str type = STR_NONE;

	(void)to;
	if (!body_object(b, &context_object, &type))
		return false;
	b->call->compacts |= str_eq(type, STR("compaction"));
	return true;
}

static bool
read_context(struct body *b, void *to)
{
	return body_is(b, JSON_ARRAY) ? body_array(b, false, read_context_edit, to)
				      : body_any(b, to);
}

static const struct member request_members[] = {
	{ "model", NULL, openai_read_model, 0 },
	{ "models", NULL, openai_read_fallbacks, 0 },
	{ "fallbacks", NULL, openai_read_fallbacks, 0 },
	{ "input", NULL, read_input, 0 },
	{ "instructions", NULL, read_input, 0 },
	{ "max_output_tokens", NULL, openai_read_limit, 0 },
	{ "max_tool_calls", NULL, read_tool_calls, 0 },
	{ "stream", NULL, read_stream, 0 },
	{ "background", NULL, read_background, 0 },
	{ "store", NULL, read_store, 0 },
	{ "truncation", NULL, read_truncation, 0 },
	{ "service_tier", NULL, openai_read_tier, 0 },
	{ "tools", NULL, read_tools, 0 },
	{ "tool_choice", NULL, openai_read_choice, 0 },
	{ "previous_response_id", NULL, read_previous, 0 },
	{ "conversation", NULL, read_conversation, 0 },
	{ "prompt", NULL, read_prompt, 0 },
	{ "prompt_cache_options", NULL, read_cache, 0 },
	{ "prompt_cache_retention", NULL, read_cache_time, 0 },
	{ "reasoning", NULL, read_reasoning, 0 },
	{ "text", NULL, read_text, 0 },
	{ "context_management", NULL, read_context, 0 },
	{ "providerOptions", "provider_options", openai_read_options, 0 },
	{ "metadata", NULL, body_inert, 0 },
	{ "client_metadata", NULL, body_inert, 0 },
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
	.keeps_pieces = true,
};

static bool
read_root(struct body *b, void *to)
{
	((struct responses_request *)to)->inside = b->begin + 1;
	return body_object(b, &request_object, to);
}

static bool
responses_read(struct call *c, const struct model_request *r, struct str model)
{
	struct responses_request said = { .inside = 0 };
	struct body b;

	(void)r;
	(void)model;
	if (!body_parse(&b, c, read_root, &said))
		return false;
	if (c->nmodel == 0)
		return call_fail(c, CALL_MALFORMED, "the request names no model", 0);
	c->may_write_cache = true;
	if (c->limit_name == NULL)
		c->limit_name = "max_output_tokens";
	c->limit_hole.at = said.inside;
	c->limit_hole.before = "\"max_output_tokens\":";
	c->limit_hole.after = "";
	return true;
}

/* ---- the free counter */

/* Cuts that the provider may make are left out: the whole is no shorter. */
static const char *const counted[] = { "model", "input", "instructions", "tools",
	"tool_choice", "parallel_tool_calls", "previous_response_id", "conversation",
	"reasoning", "text", NULL };
static const char *const uncounted[] = { "max_output_tokens", "max_tool_calls", "stream",
	"stream_options", "background", "store", "truncation", "service_tier",
	"prompt_cache_key", "prompt_cache_options", "prompt_cache_retention", "metadata",
	"client_metadata", "user", "safety_identifier", "include", "temperature", "top_p",
	"top_logprobs", NULL };

static bool
responses_counter(const struct call *c, struct buf *path, struct buf *body)
{
	size_t query = c->path.n;

	(void)str_find(c->path, '?', &query);
	buf_str(path, str_sub(c->path, 0, query));
	buf_text(path, "/input_tokens");
	return call_members(c, counted, uncounted, body);
}

/* ---- answers */

struct figures {
	int64_t input, cached, written, written_long, output, reasoning;
	int64_t searches, drawn_in, drawn_out;
	size_t n;
	bool says_searches;
};

enum status {
	STATUS_UNKNOWN,
	STATUS_RUNS, /* queued, in_progress */
	STATUS_FAILED,
	STATUS_OVER, /* completed, incomplete, cancelled */
};

/* What one document says of the response. */
struct told {
	struct figures figures;
	struct reported reported;
	enum status status;
	int64_t searches, file_searches; /* items of the output */
	bool is_last;                    /* the event is one that ends a response */
	bool is_response;                /* the document is one itself */

	/* of the output's item that is read */
	bool is_search, is_file_search, is_other_action;
};

struct responses {
	struct told now, last;
	char model[USAGE_MODEL], id[USAGE_MODEL];
	bool has_tier, has_last, runs;
	enum tier tier;
};

typedef void take_fn(
    struct answer *a, struct responses *s, const struct scan_value *v, size_t offset);

static void
take_count(
    struct answer *a, struct responses *s, const struct scan_value *v, size_t offset)
{
	char *figures = (char *)&s->now.figures;

	if (v->type == JSON_NULL)
		return;
	s->now.figures.n++;
	if (v->type != JSON_NUMBER ||
	    !usage_count(&a->usage, v->text, (int64_t *)(void *)(figures + offset)))
		a->usage.is_absurd = true;
}

/* Beside `usage`: it makes no usage of its own. */
static void
take_fee(struct answer *a, struct responses *s, const struct scan_value *v, size_t offset)
{
	size_t n = s->now.figures.n;

	take_count(a, s, v, offset);
	s->now.figures.n = n;
	s->now.figures.says_searches |=
	    v->type == JSON_NUMBER && offset == offsetof(struct figures, searches);
}

static void
take_name(
    struct answer *a, struct responses *s, const struct scan_value *v, size_t offset)
{
	(void)a;
	if (v->type == JSON_STRING)
		usage_name((char *)s + offset, v->text);
}

/* Later calls may name it.  Of a call that is not stored only what it ran in stays. */
static void
take_kept(
    struct answer *a, struct responses *s, const struct scan_value *v, size_t offset)
{
	enum reference_kind kind = (enum reference_kind)offset;

	(void)s;
	if (a->call->is_unstored && kind != REFERENCE_CONTAINER)
		return;
	if (v->type == JSON_STRING && !v->is_cut)
		usage_keeps(&a->usage, kind, v->text);
}

static void
take_tier(
    struct answer *a, struct responses *s, const struct scan_value *v, size_t offset)
{
	(void)a;
	(void)offset;
	if (v->type != JSON_STRING)
		return;
	s->has_tier = true;
	s->tier = openai_tier(v->text);
}

static void
take_status(
    struct answer *a, struct responses *s, const struct scan_value *v, size_t offset)
{
	static const struct {
		struct str name;
		enum status status;
	} names[] = {
		{ { "queued", 6 }, STATUS_RUNS },
		{ { "in_progress", 11 }, STATUS_RUNS },
		{ { "failed", 6 }, STATUS_FAILED },
		{ { "completed", 9 }, STATUS_OVER },
		{ { "incomplete", 10 }, STATUS_OVER },
		{ { "cancelled", 9 }, STATUS_OVER },
	};

	(void)a;
	(void)offset;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (v->type == JSON_STRING && str_eq(v->text, names[i].name))
			s->now.status = names[i].status;
}

static void
take_type(
    struct answer *a, struct responses *s, const struct scan_value *v, size_t offset)
{
	static const struct str last[] = { { "response.completed", 18 },
		{ "response.incomplete", 19 }, { "response.failed", 15 } };

	(void)offset;
	if (v->type != JSON_STRING)
		return;
	for (size_t i = 0; i < sizeof(last) / sizeof(*last); i++)
		s->now.is_last |= str_eq(v->text, last[i]);
	if (str_eq(v->text, STR("error")))
		a->has_failed = true;
}

/* `object` of an answer that is no event. */
static void
take_object(
    struct answer *a, struct responses *s, const struct scan_value *v, size_t offset)
{
	(void)a;
	(void)offset;
	s->now.is_response |= v->type == JSON_STRING;
}

static void
take_item(
    struct answer *a, struct responses *s, const struct scan_value *v, size_t offset)
{
	struct told *t = &s->now;

	(void)a;
	(void)offset;
	if (v->type == JSON_OBJECT_END) {
		t->searches += t->is_search && !t->is_other_action;
		t->file_searches += t->is_file_search;
	}
	t->is_search = t->is_file_search = t->is_other_action = false;
}

static void
take_item_type(
    struct answer *a, struct responses *s, const struct scan_value *v, size_t offset)
{
	(void)a;
	(void)offset;
	s->now.is_search = str_eq(v->text, STR("web_search_call"));
	s->now.is_file_search = str_eq(v->text, STR("file_search_call"));
}

/* A page that is opened or searched in costs no fee. */
static void
take_action(
    struct answer *a, struct responses *s, const struct scan_value *v, size_t offset)
{
	(void)a;
	(void)offset;
	s->now.is_other_action = !str_eq(v->text, STR("search"));
}

static void
take_text(
    struct answer *a, struct responses *s, const struct scan_value *v, size_t offset)
{
	(void)s;
	(void)offset;
	answer_text(a, v);
}

static void
take_cost(
    struct answer *a, struct responses *s, const struct scan_value *v, size_t offset)
{
	(void)a;
	(void)offset;
	reported_cost(&s->now.reported, v);
}

static void
take_upstream(
    struct answer *a, struct responses *s, const struct scan_value *v, size_t offset)
{
	(void)a;
	(void)offset;
	reported_upstream(&s->now.reported, v);
}

static void
take_byok(
    struct answer *a, struct responses *s, const struct scan_value *v, size_t offset)
{
	(void)a;
	(void)offset;
	s->now.reported.is_byok = v->type == JSON_TRUE;
}

#define AT(field) offsetof(struct figures, field)
#define IN "usage", "input_tokens_details"

/* The response itself, in an event or as the whole body (`...` is the way to it). */
#define RESPONSE_ROWS(...) \
	ROW(take_status, 0, __VA_ARGS__ "status") \
	ROW(take_name, offsetof(struct responses, model), __VA_ARGS__ "model") \
	ROW(take_name, offsetof(struct responses, id), __VA_ARGS__ "id") \
	ROW(take_kept, REFERENCE_RESPONSE, __VA_ARGS__ "id") \
	ROW(take_kept, REFERENCE_CONVERSATION, __VA_ARGS__ "conversation", "id") \
	ROW(take_kept, REFERENCE_ITEM, __VA_ARGS__ "output", "[]", "id") \
	ROW(take_kept, REFERENCE_CONTAINER, __VA_ARGS__ "output", "[]", "container_id") \
	ROW(take_tier, 0, __VA_ARGS__ "service_tier") \
	ROW(take_count, AT(input), __VA_ARGS__ "usage", "input_tokens") \
	ROW(take_count, AT(cached), __VA_ARGS__ IN, "cached_tokens") \
	ROW(take_count, AT(written), __VA_ARGS__ IN, "cache_write_tokens") \
	ROW(take_count, AT(written_long), __VA_ARGS__ IN, "cache_write_tokens_details", \
	    "ttl_12h_tokens") \
	ROW(take_count, AT(output), __VA_ARGS__ "usage", "output_tokens") \
	ROW(take_count, AT(reasoning), __VA_ARGS__ "usage", "output_tokens_details", \
	    "reasoning_tokens") \
	ROW(take_fee, AT(searches), __VA_ARGS__ "tool_usage", "web_search", \
	    "num_requests") \
	ROW(take_fee, AT(drawn_in), __VA_ARGS__ "tool_usage", "image_gen", \
	    "input_tokens") \
	ROW(take_fee, AT(drawn_out), __VA_ARGS__ "tool_usage", "image_gen", \
	    "output_tokens") \
	ROW(take_cost, 0, __VA_ARGS__ "usage", "cost") \
	ROW(take_byok, 0, __VA_ARGS__ "usage", "is_byok") \
	ROW(take_upstream, 0, __VA_ARGS__ "usage", "cost_details", \
	    "upstream_inference_cost") \
	ROW(take_item, 0, __VA_ARGS__ "output", "[]") \
	ROW(take_item_type, 0, __VA_ARGS__ "output", "[]", "type") \
	ROW(take_action, 0, __VA_ARGS__ "output", "[]", "action", "type")

#define ROWS \
	RESPONSE_ROWS() \
	RESPONSE_ROWS("response", ) \
	ROW(take_type, 0, "type") \
	ROW(take_object, 0, "object") \
	ROW(take_text, 0, "delta") \
	ROW(take_text, 0, "output", "[]", "content", "[]", "text") \
	ROW(take_text, 0, "output", "[]", "arguments")

#define ROW(take, offset, ...) { { __VA_ARGS__ } },
static const struct scan_path responses_paths[] = { ROWS };
#undef ROW
#define ROW(take, offset, ...) { take, offset },
static const struct {
	take_fn *take;
	size_t offset;
} responses_rows[] = { ROWS };
#undef ROW

static void
responses_value(void *arg, unsigned path, const struct scan_value *v)
{
	struct answer *a = arg;

	responses_rows[path].take(a, a->state, v, responses_rows[path].offset);
}

static void
responses_document(struct answer *a)
{
	struct responses *s = a->state;

	if (a->is_done_mark)
		a->has_ended = true;
	if (s->now.is_last || (a->form == ANSWER_JSON && s->now.is_response)) {
		s->last = s->now;
		s->has_last = true;
		a->has_ended = true;
		answer_told(a);
	}
	if (s->now.status != STATUS_UNKNOWN)
		s->runs = s->now.status == STATUS_RUNS;
	s->now = (struct told){ .status = STATUS_UNKNOWN };
}

static void
add_answer(struct usage *u, const struct responses *s, enum tier asked)
{
	const struct figures *f = &s->last.figures;
	struct run *run = usage_add(u);

	if (run == NULL)
		return;
	memcpy(run->model, u->model, sizeof(run->model));
	run->tier = s->has_tier ? s->tier : asked;
	run->input_total = f->input;
	run->cache_read = f->cached;
	run->cache_write_long = f->written_long;
	run->cache_write =
	    f->written > f->written_long ? f->written - f->written_long : 0;
	run->output = f->output;
	run->reasoning = f->reasoning;
	run->searches = f->says_searches ? f->searches : s->last.searches;
	run->file_searches = s->last.file_searches;
}

static struct str
image_model(const struct call *c)
{
	for (size_t i = 0; i < c->nmodel; i++)
		if (c->model[i].role == NAMED_ADVISOR)
			return c->model[i].name;
	return STR(IMAGE_MODEL);
}

static void
add_drawing(struct usage *u, const struct call *c, const struct figures *f)
{
	struct run *run;

	if ((f->drawn_in == 0 && f->drawn_out == 0) || (run = usage_add(u)) == NULL)
		return;
	usage_name(run->model, image_model(c));
	run->input_total = f->drawn_in;
	run->output = f->drawn_out;
}

static void
responses_end(struct answer *a)
{
	const struct responses *s = a->state;
	struct usage *u = &a->usage;

	openai_name_model(a, s->model);
	if (s->runs && (a->call->is_background || a->form == ANSWER_JSON)) {
		u->state = USAGE_LATER;
		return;
	}
	if (!s->has_last)
		return;
	a->has_failed |= s->last.status == STATUS_FAILED;
	if (s->last.figures.n == 0) { /* failed before anything was made: not billed */
		u->state = s->last.status == STATUS_FAILED ? USAGE_ALL : USAGE_NOTHING;
		return;
	}
	add_answer(u, s, a->call->tier);
	add_drawing(u, a->call, &s->last.figures);
	reported_note(&s->last.reported, u);
	u->state = USAGE_ALL;
}

/* What Codex stops on at once; an event that breaks off makes it ask six times. */
static void
responses_cut(const struct answer *a, struct buf *to)
{
	const struct responses *s = a->state;
	struct json_out j;

	buf_text(to, "event: response.incomplete\ndata: ");
	json_out_init(&j, to);
	json_open(&j, '{');
	json_key(&j, "type");
	json_text(&j, "response.incomplete");
	json_key(&j, "response");
	json_open(&j, '{');
	json_key(&j, "id");
	json_text(&j, s->id);
	json_key(&j, "object");
	json_text(&j, "response");
	json_key(&j, "status");
	json_text(&j, "incomplete");
	json_key(&j, "model");
	json_text(&j, s->model);
	json_key(&j, "incomplete_details");
	json_open(&j, '{');
	json_key(&j, "reason");
	json_text(&j, "max_output_tokens");
	json_close(&j, '}');
	json_key(&j, "output");
	json_raw(&j, STR("[]"));
	json_key(&j, "usage");
	json_null(&j);
	json_close(&j, '}');
	json_close(&j, '}');
	buf_text(to, "\n\n");
}

const struct api api_openai_responses = {
	.name = "openai_responses",
	.shape = SHAPE_OPENAI,
	.image_tokens = 16384,
	.read = responses_read,
	.paths = responses_paths,
	.npaths = sizeof(responses_paths) / sizeof(*responses_paths),
	.on_value = responses_value,
	.on_document = responses_document,
	.on_end = responses_end,
	.state_size = sizeof(struct responses),
	.on_head = reported_head,
	.cut = responses_cut,
	.counter = responses_counter,
	.counted = { { "input_tokens" } },
};
