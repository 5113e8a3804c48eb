/*
 * openai_chat.c - POST /chat/completions, of OpenAI and of those who copy it
 *
 * A stream tells its usage only when it was asked to, so it is asked, and what the
 * client did not ask for is taken out again.
 */
#include <string.h>

#include "meter/api.h"
#include "meter/openai.h"
#include "meter/reported.h"

/* ---- requests */

static const char *const client_tools[] = { "function", "custom", NULL };

struct chat_request {
	size_t inside; /* just behind the body's first bracket */
	struct {
		bool is_said, is_null, is_empty;
		size_t begin, end;
	} options;
	struct {
		bool is_said, is_true;
		size_t begin, end;
	} usage;
};

static bool
read_function(struct body *b, void *to)
{
	static const struct member members[] = {
		{ "name", NULL, body_str, offsetof(struct openai_tool, name) },
		{ "description", NULL, body_inert, 0 },
		{ "parameters", NULL, body_inert, 0 },
	};
	static const struct object object = { .member = members, .n = 3 };

	return body_is(b, JSON_OBJECT) ? body_object(b, &object, to) : body_inert(b, to);
}

/* {"type":"function","googleSearch":{}}: a gateway may go by either. */
static bool
read_beside(struct body *b, void *to)
{
	struct openai_tool *t = to;

	if (body_is(b, JSON_OBJECT))
		t->beside = b->piece->key;
	return body_any(b, NULL);
}

static const struct member tool_members[] = {
	{ "type", NULL, body_str, offsetof(struct openai_tool, type) },
	{ "name", NULL, body_str, offsetof(struct openai_tool, name) },
	{ "max_uses", NULL, body_count, offsetof(struct openai_tool, uses) },
	{ "function", NULL, read_function, 0 },
	{ "custom", NULL, body_inert, 0 },
	{ "parameters", "input_schema", body_inert, 0 },
	{ "cache_control", NULL, body_any, 0 },
};
static const struct object tool_object = {
	.member = tool_members,
	.n = sizeof(tool_members) / sizeof(*tool_members),
	.keeps_pieces = true,
	.other = read_beside,
};

static bool
read_tool(struct body *b, void *to)
{
	struct openai_tool t = { .piece = b->piece, .type = STR("unknown") };

	(void)to;
	return body_object(b, &tool_object, &t) &&
	       openai_note_tool(b->call, &t, client_tools);
}

static bool
read_tools(struct body *b, void *to)
{
	return body_is(b, JSON_NULL) ? body_any(b, to)
				     : body_array(b, true, read_tool, to);
}

static bool
read_functions(struct body *b, void *to)
{
	b->call->tools++;
	return body_inert(b, to);
}

/* The model searches by itself, without a tool. */
static bool
read_search(struct body *b, void *to)
{
	struct openai_tool t = { .piece = b->piece, .type = STR("web_search") };

	if (body_is(b, JSON_NULL))
		return body_any(b, to);
	return openai_note_tool(b->call, &t, client_tools) && body_inert(b, to);
}

static const struct member plugin_members[] = {
	{ "id", NULL, body_str, offsetof(struct openai_tool, name) },
	{ "max_results", NULL, body_any, 0 },
};
static const struct object plugin_object = {
	.member = plugin_members,
	.n = sizeof(plugin_members) / sizeof(*plugin_members),
};

/* OpenRouter's plugins all run there; `web` is its search. */
static bool
read_plugin(struct body *b, void *to)
{
	struct openai_tool t = { .piece = b->piece };

	(void)to;
	if (!body_object(b, &plugin_object, &t))
		return false;
	t.type = str_eq(t.name, STR("web")) ? STR("web_search") : t.name;
	if (t.type.p == NULL)
		t.type = STR("plugin");
	return openai_note_tool(b->call, &t, client_tools);
}

static bool
read_plugins(struct body *b, void *to)
{
	return body_is(b, JSON_NULL) ? body_any(b, to)
				     : body_array(b, true, read_plugin, to);
}

static const struct member audio_id_members[] = {
	{ "id", NULL, body_str, 0 },
};
static const struct object audio_id_object = { .member = audio_id_members, .n = 1 };

/* An answer that was spoken: an object at the provider. */
static bool
read_spoken(struct body *b, void *to)
{
	struct str id = STR_NONE;
	size_t at = b->begin;

	if (!body_is(b, JSON_OBJECT))
		return body_any(b, to);
	b->call->has_audio_in = b->call->has_document = true;
	return body_object(b, &audio_id_object, &id) &&
	       (id.p == NULL || call_refers(b->call, REFERENCE_FILE, id, at));
}

static const struct member message_members[] = {
	{ "role", NULL, body_inert, 0 },
	{ "content", NULL, openai_read_content, 0 },
	{ "audio", NULL, read_spoken, 0 },
	{ "tool_calls", NULL, body_inert, 0 },
	{ "function_call", NULL, body_inert, 0 },
	{ "name", NULL, body_inert, 0 },
	{ "reasoning", NULL, body_inert, 0 },
	{ "reasoning_content", NULL, body_inert, 0 },
	{ "reasoning_details", NULL, body_inert, 0 },
	{ "refusal", NULL, body_inert, 0 },
	{ "annotations", NULL, body_inert, 0 },
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
read_messages(struct body *b, void *to)
{
	return body_array(b, true, read_message, to);
}

static bool
read_include(struct body *b, void *to)
{
	struct chat_request *r = to;

	r->usage.is_said = true;
	r->usage.begin = b->begin;
	if (!body_bool(b, &r->usage.is_true))
		return false;
	r->usage.end = b->in.at;
	return true;
}

static const struct member stream_members[] = {
	{ "include_usage", NULL, read_include, 0 },
};
static const struct object stream_object = { .member = stream_members, .n = 1 };

static bool
is_empty_object(struct str text)
{
	for (size_t i = 1; i + 1 < text.n; i++)
		if (strchr(" \t\r\n", text.p[i]) == NULL)
			return false;
	return true;
}

static bool
read_stream_options(struct body *b, void *to)
{
	struct chat_request *r = to;
	bool is_read;

	r->options.is_said = true;
	r->options.begin = b->begin;
	r->options.is_null = body_is(b, JSON_NULL);
	is_read =
	    r->options.is_null ? body_any(b, to) : body_object(b, &stream_object, r);
	r->options.end = b->in.at;
	r->options.is_empty = is_empty_object(
	    str_sub(b->in.in, r->options.begin, r->options.end - r->options.begin));
	return is_read;
}

static bool
read_stream(struct body *b, void *to)
{
	(void)to;
	return body_bool(b, &b->call->is_stream);
}

static bool
read_n(struct body *b, void *to)
{
	(void)to;
	return body_count(b, &b->call->answers);
}

static bool
read_modality(struct body *b, void *to)
{
	struct str name = STR_NONE;

	(void)to;
	if (!body_str(b, &name))
		return false;
	b->call->has_audio_out |= str_eq(name, STR("audio"));
	return true;
}

static bool
read_modalities(struct body *b, void *to)
{
	return body_is(b, JSON_ARRAY) ? body_array(b, false, read_modality, to)
				      : body_any(b, to);
}

static bool
read_audio(struct body *b, void *to)
{
	b->call->has_audio_out |= !body_is(b, JSON_NULL);
	return body_inert(b, to);
}

/* What was foretold and did not come is billed as output, beside the limit. */
static bool
read_prediction(struct body *b, void *to)
{
	size_t begin = b->begin;

	if (!body_inert(b, to))
		return false;
	b->call->thinking += b->in.at - begin;
	b->call->thinking_is_extra = true;
	return true;
}

static const struct member thinking_members[] = {
	{ "max_tokens", "budget_tokens", body_count, 0 },
};
static const struct object thinking_object = { .member = thinking_members, .n = 1 };

/* Gateways' `reasoning` and `thinking`: the limit must leave room for it. */
static bool
read_thinking(struct body *b, void *to)
{
	uint64_t tokens = 0;

	if (!body_is(b, JSON_OBJECT))
		return body_any(b, to);
	if (!body_object(b, &thinking_object, &tokens))
		return false;
	if (!b->call->thinking_is_extra)
		b->call->thinking = tokens;
	return true;
}

static const struct member request_members[] = {
	{ "model", NULL, openai_read_model, 0 },
	{ "models", NULL, openai_read_fallbacks, 0 },
	{ "fallbacks", NULL, openai_read_fallbacks, 0 },
	{ "messages", NULL, read_messages, 0 },
	{ "max_tokens", NULL, openai_read_limit, 0 },
	{ "max_completion_tokens", NULL, openai_read_limit, 0 },
	{ "n", NULL, read_n, 0 },
	{ "stream", NULL, read_stream, 0 },
	{ "stream_options", NULL, read_stream_options, 0 },
	{ "service_tier", NULL, openai_read_tier, 0 },
	{ "tools", NULL, read_tools, 0 },
	{ "functions", NULL, read_functions, 0 },
	{ "tool_choice", NULL, openai_read_choice, 0 },
	{ "web_search_options", NULL, read_search, 0 },
	{ "plugins", NULL, read_plugins, 0 },
	{ "modalities", NULL, read_modalities, 0 },
	{ "audio", NULL, read_audio, 0 },
	{ "prediction", NULL, read_prediction, 0 },
	{ "reasoning", NULL, read_thinking, 0 },
	{ "thinking", NULL, read_thinking, 0 },
	{ "response_format", NULL, openai_read_format, 0 },
	{ "providerOptions", "provider_options", openai_read_options, 0 },
	{ "metadata", NULL, body_inert, 0 },
	{ "user", NULL, body_inert, 0 },
	{ "api_key", NULL, openai_read_foreign, 0 },
	{ "api_base", "base_url", openai_read_foreign, 0 },
	{ "context_window_fallbacks", NULL, openai_read_fallbacks, 0 },
	{ "context_window_fallback_dict", NULL, openai_read_fallbacks, 0 },
	{ "content_policy_fallbacks", NULL, openai_read_fallbacks, 0 },
	{ "extra_body", "extraBody", openai_read_hidden, 0 },
	{ "litellm_params", NULL, openai_read_hidden, 0 },
	{ "user_config", NULL, openai_read_foreign, 0 },
};
static const struct object request_object = {
	.member = request_members,
	.n = sizeof(request_members) / sizeof(*request_members),
	.keeps_pieces = true,
};

static bool
read_root(struct body *b, void *to)
{
	((struct chat_request *)to)->inside = b->begin + 1;
	return body_object(b, &request_object, to);
}

/* Asks a stream for its usage, where the client did not. */
static void
ask_for_usage(struct call *c, const struct chat_request *r)
{
	if (!c->is_stream || r->usage.is_true)
		return;
	c->hides_usage = true;
	if (r->usage.is_said)
		splices_add(&c->edits, r->usage.begin, r->usage.end - r->usage.begin,
		    STR("true"));
	else if (!r->options.is_said)
		splices_add(&c->edits, r->inside, 0,
		    STR("\"stream_options\":{\"include_usage\":true},"));
	else if (r->options.is_null || r->options.is_empty)
		splices_add(&c->edits, r->options.begin,
		    r->options.end - r->options.begin, STR("{\"include_usage\":true}"));
	else
		splices_add(
		    &c->edits, r->options.begin + 1, 0, STR("\"include_usage\":true,"));
}

/* "model:online" is a model that searches, at OpenRouter; so are OpenAI's
 * gpt-…-search-preview and gpt-…-search-api, and sonar, whatever the tools say. */
static bool
is_online(struct str model)
{
	static const struct str words[] = { { ":online", 7 }, { "-search-", 8 },
		{ "sonar", 5 } };

	for (size_t at = 0; at < model.n; at++)
		for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
			if (str_starts(str_sub(model, at, model.n), words[i]))
				return true;
	return false;
}

static bool
note_online(struct call *c)
{
	static const struct openai_tool search = { .type = { "web_search", 10 } };

	for (size_t i = 0; i < c->nmodel; i++)
		if (is_online(c->model[i].name))
			return openai_note_tool(c, &search, client_tools);
	return true;
}

static bool
chat_read(struct call *c, const struct model_request *r, struct str model)
{
	struct chat_request said = { .inside = 0 };
	struct body b;

	(void)r;
	(void)model;
	if (!body_parse(&b, c, read_root, &said) || !note_online(c))
		return false;
	if (c->nmodel == 0)
		return call_fail(c, CALL_MALFORMED, "the request names no model", 0);
	if (c->limit_name == NULL)
		c->limit_name =
		    r->kind == PROVIDER_OPENAI ? "max_completion_tokens" : "max_tokens";
	c->limit_hole.at = said.inside;
	c->limit_hole.before =
	    r->kind == PROVIDER_OPENAI ? "\"max_completion_tokens\":" : "\"max_tokens\":";
	c->limit_hole.after = "";
	c->may_write_cache = true; /* newer models do by themselves */
	ask_for_usage(c, &said);
	return true;
}

/* ---- answers */

struct figures { /* one `usage` object */
	int64_t prompt, completion, total, cached, written, audio_in, audio_out;
	int64_t reasoning;
	int64_t hits; /* DeepSeek's word for cached */
	size_t n;     /* how many were said */
	struct reported reported;
};

struct chat {
	struct figures now, last;
	char model[USAGE_MODEL], id[USAGE_MODEL], created[32];
	bool has_tier, has_usage;
	enum tier tier;
	bool is_finished; /* a choice told why it ended */
	bool is_final;    /* usage came where nothing follows it */
	struct reported gateway;
	int64_t choices;     /* the largest index that was seen, plus one */
	uint64_t thought[2]; /* text under each of the two names for it */

	/* of the document that is read */
	bool has_choice, has_error, says_usage;
	uint64_t usage_at, usage_end;
};

typedef void take_fn(struct answer *a, const struct scan_value *v, size_t offset);

static void
take_count(struct answer *a, const struct scan_value *v, size_t offset)
{
	struct chat *s = a->state;

	if (v->type == JSON_NULL)
		return;
	s->now.n++;
	if (v->type != JSON_NUMBER || !usage_count(&a->usage, v->text,
					  (int64_t *)(void *)((char *)&s->now + offset)))
		a->usage.is_absurd = true;
}

static void
take_usage(struct answer *a, const struct scan_value *v, size_t offset)
{
	struct chat *s = a->state;

	(void)offset;
	if (v->type == JSON_OBJECT_END) {
		s->usage_end = v->end;
		if (s->now.n > 0) {
			s->last = s->now;
			s->has_usage = true;
		}
		return;
	}
	s->usage_at = v->key;
	s->usage_end = v->end;
	s->says_usage = v->type == JSON_OBJECT || v->type == JSON_NULL;
	s->now = (struct figures){ .n = 0 };
}

static void
take_model(struct answer *a, const struct scan_value *v, size_t offset)
{
	struct chat *s = a->state;

	(void)offset;
	if (v->type == JSON_STRING)
		usage_name(s->model, v->text);
}

static void
take_id(struct answer *a, const struct scan_value *v, size_t offset)
{
	struct chat *s = a->state;

	(void)offset;
	if (v->type == JSON_STRING)
		usage_name(s->id, v->text);
}

/* What was spoken: a later call may name it. */
static void
take_spoken(struct answer *a, const struct scan_value *v, size_t offset)
{
	(void)offset;
	if (v->type == JSON_STRING && !v->is_cut)
		usage_keeps(&a->usage, REFERENCE_FILE, v->text);
}

static void
take_created(struct answer *a, const struct scan_value *v, size_t offset)
{
	struct chat *s = a->state;

	(void)offset;
	if (v->type != JSON_NUMBER || v->text.n >= sizeof(s->created))
		return;
	str_put(s->created, v->text);
	s->created[v->text.n] = '\0';
}

static void
take_tier(struct answer *a, const struct scan_value *v, size_t offset)
{
	struct chat *s = a->state;

	(void)offset;
	if (v->type != JSON_STRING)
		return;
	s->has_tier = true;
	s->tier = openai_tier(v->text);
}

static void
take_choice(struct answer *a, const struct scan_value *v, size_t offset)
{
	(void)offset;
	if (v->type == JSON_OBJECT)
		((struct chat *)a->state)->has_choice = true;
}

static void
take_index(struct answer *a, const struct scan_value *v, size_t offset)
{
	struct chat *s = a->state;
	uint64_t index;

	(void)offset;
	if (v->type == JSON_NUMBER && str_decimal(v->text, &index) && index < 128 &&
	    (int64_t)index >= s->choices)
		s->choices = (int64_t)index + 1;
}

static void
take_finish(struct answer *a, const struct scan_value *v, size_t offset)
{
	(void)offset;
	if (v->type == JSON_STRING)
		((struct chat *)a->state)->is_finished = true;
}

static void
take_text(struct answer *a, const struct scan_value *v, size_t offset)
{
	(void)offset;
	answer_text(a, v);
}

static uint64_t
thought(const struct chat *s)
{
	return s->thought[0] > s->thought[1] ? s->thought[0] : s->thought[1];
}

/* Some send it twice, under both names. */
static void
take_thought(struct answer *a, const struct scan_value *v, size_t offset)
{
	struct chat *s = a->state;
	uint64_t least = a->usage.text_least - thought(s);

	answer_text(a, v);
	if (v->type == JSON_STRING)
		s->thought[offset] += v->size;
	a->usage.text_least = least + thought(s);
}

static void
take_cost(struct answer *a, const struct scan_value *v, size_t offset)
{
	(void)offset;
	reported_cost(&((struct chat *)a->state)->now.reported, v);
}

static void
take_upstream(struct answer *a, const struct scan_value *v, size_t offset)
{
	(void)offset;
	reported_upstream(&((struct chat *)a->state)->now.reported, v);
}

static void
take_byok(struct answer *a, const struct scan_value *v, size_t offset)
{
	(void)offset;
	((struct chat *)a->state)->now.reported.is_byok = v->type == JSON_TRUE;
}

static void
take_gateway(struct answer *a, const struct scan_value *v, size_t offset)
{
	(void)offset;
	if (v->type != JSON_NULL)
		reported_cost(&((struct chat *)a->state)->gateway, v);
}

static void
take_error(struct answer *a, const struct scan_value *v, size_t offset)
{
	(void)offset;
	if (v->type == JSON_OBJECT || v->type == JSON_STRING)
		((struct chat *)a->state)->has_error = a->has_failed = true;
}

#define PROMPT "usage", "prompt_tokens_details"
#define COMPLETION "usage", "completion_tokens_details"
#define AT(field) offsetof(struct figures, field)

/* What is read, and where to; the paths alone are what the scanner wants. */
#define CHAT_ROWS \
	ROW(take_model, 0, "model") \
	ROW(take_id, 0, "id") \
	ROW(take_created, 0, "created") \
	ROW(take_tier, 0, "service_tier") \
	ROW(take_error, 0, "error") \
	ROW(take_usage, 0, "usage") \
	ROW(take_count, AT(prompt), "usage", "prompt_tokens") \
	ROW(take_count, AT(completion), "usage", "completion_tokens") \
	ROW(take_count, AT(total), "usage", "total_tokens") \
	ROW(take_count, AT(hits), "usage", "prompt_cache_hit_tokens") \
	ROW(take_count, AT(cached), PROMPT, "cached_tokens") \
	ROW(take_count, AT(written), PROMPT, "cache_write_tokens") \
	ROW(take_count, AT(audio_in), PROMPT, "audio_tokens") \
	ROW(take_count, AT(audio_out), COMPLETION, "audio_tokens") \
	ROW(take_count, AT(reasoning), COMPLETION, "reasoning_tokens") \
	ROW(take_cost, 0, "usage", "cost") \
	ROW(take_byok, 0, "usage", "is_byok") \
	ROW(take_upstream, 0, "usage", "cost_details", "upstream_inference_cost") \
	ROW(take_choice, 0, "choices", "[]") \
	ROW(take_index, 0, "choices", "[]", "index") \
	ROW(take_finish, 0, "choices", "[]", "finish_reason") \
	ROW(take_gateway, 0, "provider_metadata", "gateway", "cost") \
	ROW(take_gateway, 0, "providerMetadata", "gateway", "cost") \
	ROW(take_gateway, 0, "choices", "[]", "provider_metadata", "gateway", "cost") \
	ROW(take_gateway, 0, "choices", "[]", "providerMetadata", "gateway", "cost") \
	SPOKEN_ROWS("delta") \
	SPOKEN_ROWS("message")

#define SPOKEN_ROWS(where) \
	ROW(take_text, 0, "choices", "[]", where, "content") \
	ROW(take_thought, 0, "choices", "[]", where, "reasoning") \
	ROW(take_thought, 1, "choices", "[]", where, "reasoning_content") \
	ROW(take_text, 0, "choices", "[]", where, "refusal") \
	ROW(take_text, 0, "choices", "[]", where, "audio", "transcript") \
	ROW(take_spoken, 0, "choices", "[]", where, "audio", "id") \
	ROW(take_text, 0, "choices", "[]", where, "function_call", "arguments") \
	ROW(take_text, 0, "choices", "[]", where, "tool_calls", "[]", "function", \
	    "arguments") \
	ROW(take_text, 0, "choices", "[]", where, "tool_calls", "[]", "function", \
	    "name") \
	ROW(take_gateway, 0, "choices", "[]", where, "provider_metadata", "gateway", \
	    "cost") \
	ROW(take_gateway, 0, "choices", "[]", where, "providerMetadata", "gateway", \
	    "cost")

#define ROW(take, offset, ...) { { __VA_ARGS__ } },
static const struct scan_path chat_paths[] = { CHAT_ROWS };
#undef ROW
#define ROW(take, offset, ...) { take, offset },
static const struct {
	take_fn *take;
	size_t offset;
} chat_rows[] = { CHAT_ROWS };
#undef ROW

static void
chat_value(void *arg, unsigned path, const struct scan_value *v)
{
	chat_rows[path].take(arg, v, chat_rows[path].offset);
}

/* What the client did not ask for: the chunk that has only usage, and null elsewhere. */
static void
hide_usage(struct answer *a, const struct chat *s)
{
	bool is_alone = !s->has_choice && !s->has_error;

	if (!a->call->hides_usage || !s->says_usage)
		return;
	if (is_alone && s->now.n > 0)
		a->hides = true;
	else {
		a->drop_at = s->usage_at;
		a->drop_n = s->usage_end - s->usage_at;
	}
}

static void
chat_document(struct answer *a)
{
	struct chat *s = a->state;

	if (a->is_done_mark)
		a->has_ended = true;
	else
		hide_usage(a, s);
	if (s->says_usage && s->now.n > 0) {
		s->is_final = !s->has_choice || s->is_finished;
		answer_told(a);
	}
	s->has_choice = s->has_error = s->says_usage = false;
}

/* Where the total says that reasoning was left out of the output (xAI), it is added. */
static int64_t
output_of(const struct figures *f)
{
	bool is_apart = f->reasoning > f->completion ||
			(f->total > f->prompt + f->completion &&
			    f->total == f->prompt + f->completion + f->reasoning);

	return is_apart ? f->completion + f->reasoning : f->completion;
}

static void
fill_run(struct usage *u, const struct chat *s, enum tier asked)
{
	const struct figures *f = &s->last;
	struct run *run = usage_add(u);

	if (run == NULL)
		return;
	memcpy(run->model, u->model, sizeof(run->model));
	run->tier = s->has_tier ? s->tier : asked;
	run->input_total = f->prompt;
	run->cache_read = f->cached > f->hits ? f->cached : f->hits;
	run->cache_write = f->written;
	run->audio_in = f->audio_in;
	run->output = output_of(f);
	run->audio_out = f->audio_out;
	run->reasoning = f->reasoning;
}

static void
chat_end(struct answer *a)
{
	struct chat *s = a->state;
	struct usage *u = &a->usage;
	bool is_over = s->is_final || a->has_ended || a->form == ANSWER_JSON;

	openai_name_model(a, s->model);
	if (s->has_usage)
		fill_run(u, s, a->call->tier);
	reported_note(s->gateway.cost.p != NULL ? &s->gateway : &s->last.reported, u);
	if (s->has_usage || u->has_reported)
		u->state = is_over ? USAGE_ALL : USAGE_PARTLY;
}

/* Each choice ends as one does that reached its limit. */
static void
chat_cut(const struct answer *a, struct buf *to)
{
	const struct chat *s = a->state;
	struct json_out j;

	buf_text(to, "data: ");
	json_out_init(&j, to);
	json_open(&j, '{');
	json_key(&j, "id");
	json_text(&j, s->id);
	json_key(&j, "object");
	json_text(&j, "chat.completion.chunk");
	json_key(&j, "created");
	json_raw(&j, s->created[0] != '\0' ? str_of(s->created) : STR("0"));
	json_key(&j, "model");
	json_text(&j, s->model);
	json_key(&j, "choices");
	json_open(&j, '[');
	for (int64_t i = 0; i < (s->choices > 0 ? s->choices : 1); i++) {
		json_open(&j, '{');
		json_key(&j, "index");
		json_int(&j, i);
		json_key(&j, "delta");
		json_raw(&j, STR("{}"));
		json_key(&j, "finish_reason");
		json_text(&j, "length");
		json_close(&j, '}');
	}
	json_close(&j, ']');
	json_close(&j, '}');
	buf_text(to, "\n\ndata: [DONE]\n\n");
}

const struct api api_openai_chat = {
	.name = "openai_chat",
	.shape = SHAPE_OPENAI,
	.image_tokens = 16384,
	.read = chat_read,
	.paths = chat_paths,
	.npaths = sizeof(chat_paths) / sizeof(*chat_paths),
	.on_value = chat_value,
	.on_document = chat_document,
	.on_end = chat_end,
	.state_size = sizeof(struct chat),
	.on_head = reported_head,
	.cut = chat_cut,
};
