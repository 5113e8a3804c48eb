/*
 * anthropic_messages.c - POST /v1/messages
 *
 * The prompt is counted without what the cache holds, and one call may run several
 * models: advisors, fallbacks and compaction stand in `usage.iterations` only.
 */
#include <string.h>

#include "meter/api.h"
#include "meter/hosted.h"
#include "meter/reported.h"

/* ---- requests */

/* What the model asks the client to do; anything else runs at the provider. */
static const char *const client_tools[] = { "custom", "function", "bash", "text_editor",
	"computer", "memory", NULL };

#define LEFT_OUT \
	"{\"type\":\"text\",\"text\":\"[left out: the provider may not fetch it]\"}"

/* --- content --- */

struct source {
	struct str type, url, file_id, media_type;
	uint64_t payload;
};

struct block {
	struct str type, file_id;
	struct source source;
};

static bool read_blocks(struct body *b, void *to);

/* `data` is a payload in all sources but one of text. */
static const struct member source_members[] = {
	{ "type", NULL, body_str, offsetof(struct source, type) },
	{ "url", NULL, body_str, offsetof(struct source, url) },
	{ "file_id", NULL, body_str, offsetof(struct source, file_id) },
	{ "media_type", NULL, body_str, offsetof(struct source, media_type) },
	{ "data", NULL, body_payload, offsetof(struct source, payload) },
	{ "content", NULL, read_blocks, 0 },
};
static const struct object source_object = {
	.member = source_members,
	.n = sizeof(source_members) / sizeof(*source_members),
};

static bool
read_source(struct body *b, void *to)
{
	return body_is(b, JSON_OBJECT) ? body_object(b, &source_object, to)
				       : body_inert(b, to);
}

static const struct member block_members[] = {
	{ "type", NULL, body_str, offsetof(struct block, type) },
	{ "text", NULL, body_inert, 0 },
	{ "source", NULL, read_source, offsetof(struct block, source) },
	{ "file_id", NULL, body_str, offsetof(struct block, file_id) },
	{ "content", NULL, read_blocks, 0 },
	{ "input", NULL, body_inert, 0 },
	{ "cache_control", NULL, body_inert, 0 },
	{ "citations", NULL, body_inert, 0 },
};
static const struct object block_object = {
	.member = block_members,
	.n = sizeof(block_members) / sizeof(*block_members),
};

static bool
note_url(struct call *c, struct piece *piece, bool is_image)
{
	struct hosted *h =
	    call_hosts(c, is_image ? STR("image_url") : STR("file_url"), piece);

	if (h == NULL)
		return false;
	h->is_media = true;
	if (piece != NULL)
		piece->put = STR(LEFT_OUT);
	return true;
}

static bool
note_media(struct call *c, const struct block *block, struct piece *piece, size_t at)
{
	const struct source *s = &block->source;
	bool is_image = str_eq(block->type, STR("image"));
	bool is_text = str_eq(s->type, STR("text")) || str_eq(s->type, STR("content"));

	if (is_image)
		c->images++;
	else if (!is_text)
		c->has_document = true;
	if (str_eq(s->type, STR("base64")))
		c->text_bytes -= s->payload;
	if (s->url.p != NULL && !note_url(c, piece, is_image))
		return false;
	return s->file_id.p == NULL || call_refers(c, REFERENCE_FILE, s->file_id, at);
}

/* A file for a container: it is read there, as much of it as the model likes. */
static bool
note_file(struct call *c, const struct block *block, size_t at)
{
	if (block->file_id.p == NULL)
		return true;
	c->has_document = true;
	return call_refers(c, REFERENCE_FILE, block->file_id, at);
}

/* A kind not known yet brings its source as the others do. */
static bool
has_media(const struct block *block)
{
	return str_eq(block->type, STR("image")) ||
	       str_eq(block->type, STR("document")) || block->source.type.p != NULL ||
	       block->source.url.p != NULL || block->source.file_id.p != NULL;
}

static bool
read_block(struct body *b, void *to)
{
	struct block block = { .type = STR_NONE };
	struct piece *piece = b->piece;
	size_t at = b->begin;

	(void)to;
	if (!body_is(b, JSON_OBJECT))
		return body_inert(b, NULL);
	b->call->blocks++;
	if (!body_object(b, &block_object, &block))
		return false;
	if (has_media(&block) && !note_media(b->call, &block, piece, at))
		return false;
	return note_file(b->call, &block, at);
}

/* A string, or blocks; inside a block they may nest, also one alone: what a hosted fetch
 * brought is an object that holds a document. */
static bool
read_blocks(struct body *b, void *to)
{
	(void)to;
	if (body_is(b, JSON_OBJECT))
		return read_block(b, NULL);
	return body_is(b, JSON_ARRAY) ? body_array(b, true, read_block, NULL)
				      : body_inert(b, NULL);
}

static const struct member message_members[] = {
	{ "role", NULL, body_inert, 0 },
	{ "content", NULL, read_blocks, 0 },
};
static const struct object message_object = {
	.member = message_members, .n = 2, .keeps_pieces = true
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

/* --- tools --- */

struct tool {
	struct str type, name, model;
	uint64_t uses, limit;
};

static const struct member tool_members[] = {
	{ "type", NULL, body_str, offsetof(struct tool, type) },
	{ "name", NULL, body_str, offsetof(struct tool, name) },
	{ "model", NULL, body_str, offsetof(struct tool, model) },
	{ "max_uses", NULL, body_count, offsetof(struct tool, uses) },
	{ "max_tokens", NULL, body_count, offsetof(struct tool, limit) },
	{ "description", NULL, body_inert, 0 },
	{ "input_schema", NULL, body_inert, 0 },
	{ "input_examples", NULL, body_inert, 0 },
	{ "cache_control", NULL, body_inert, 0 },
};
static const struct object tool_object = {
	.member = tool_members,
	.n = sizeof(tool_members) / sizeof(*tool_members),
};

/* "mcp_toolset" is the other half of `mcp_servers`. */
static struct str
tool_name(struct str type)
{
	struct str name = hosted_name(type);

	return str_eq(name, STR("mcp_toolset")) ? STR("mcp") : name;
}

static bool
note_tool(struct call *c, const struct tool *t, struct piece *piece, size_t at)
{
	struct str name = tool_name(t->type);
	struct hosted *h;

	c->tools++;
	if (t->model.p != NULL && !call_names(c, t->model, NAMED_ADVISOR, at))
		return false;
	if (t->type.p == NULL || hosted_is_client(t->type, client_tools))
		return true;
	if ((h = call_hosts(c, name, piece)) == NULL)
		return false;
	h->type = t->type;
	h->alias = t->name;
	h->uses = t->uses;
	h->fee = str_eq(name, STR("web_search")) ? FEE_SEARCH : FEE_NONE;
	if (t->model.p != NULL) {
		c->model[c->nmodel - 1].uses = t->uses;
		c->model[c->nmodel - 1].limit = t->limit;
		c->model[c->nmodel - 1].tool = h;
	}
	return true;
}

static bool
read_tool(struct body *b, void *to)
{
	struct tool t = { .type = STR_NONE };
	struct piece *piece = b->piece;
	size_t at = b->begin;

	(void)to;
	return body_object(b, &tool_object, &t) && note_tool(b->call, &t, piece, at);
}

static bool
read_tools(struct body *b, void *to)
{
	return body_array(b, true, read_tool, to);
}

static bool
read_server(struct body *b, void *to)
{
	return call_hosts(b->call, STR("mcp"), b->piece) != NULL && body_inert(b, to);
}

static bool
read_servers(struct body *b, void *to)
{
	return body_array(b, true, read_server, to);
}

static const struct member choice_members[] = {
	{ "type", NULL, body_str, 0 },
	{ "name", NULL, body_str, sizeof(struct str) },
};
static const struct object choice_object = { .member = choice_members, .n = 2 };

static bool
read_choice(struct body *b, void *to)
{
	struct str said[2] = { STR_NONE, STR_NONE };
	struct tool_choice *choice = &b->call->choice;

	(void)to;
	if (!body_object(b, &choice_object, said))
		return false;
	if (str_eq(said[0], STR("tool")))
		*choice = (struct tool_choice){ CHOICE_NAMED, said[1] };
	else if (str_eq(said[0], STR("any")))
		choice->kind = CHOICE_ANY;
	else if (str_eq(said[0], STR("none")))
		choice->kind = CHOICE_NONE;
	return true;
}

/* --- what else says something of money --- */

static bool
read_model(struct body *b, void *to)
{
	struct str model = STR_NONE;
	size_t at = b->begin;

	(void)to;
	return body_str(b, &model) &&
	       (model.p == NULL || call_names(b->call, model, NAMED_MAIN, at));
}

static bool
read_limit(struct body *b, void *to)
{
	(void)to;
	return body_limit(b, "max_tokens");
}

static bool
read_stream(struct body *b, void *to)
{
	(void)to;
	return body_bool(b, &b->call->is_stream);
}

struct thinking {
	struct str type;
	uint64_t budget;
};

static const struct member thinking_members[] = {
	{ "type", NULL, body_str, offsetof(struct thinking, type) },
	{ "budget_tokens", NULL, body_count, offsetof(struct thinking, budget) },
};
static const struct object thinking_object = { .member = thinking_members, .n = 2 };

static bool
read_thinking(struct body *b, void *to)
{
	struct thinking t = { .budget = 0 };

	(void)to;
	if (!body_object(b, &thinking_object, &t))
		return false;
	if (!str_eq(t.type, STR("disabled")))
		b->call->thinking = t.budget;
	return true;
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

static enum region
region_of(struct str s)
{
	return str_eq_nocase(s, STR("us"))   ? REGION_US
	       : str_eq_nocase(s, STR("eu")) ? REGION_EU
					     : REGION_NONE;
}

static bool
read_geo(struct body *b, void *to)
{
	struct str geo = STR_NONE;

	(void)to;
	if (!body_str(b, &geo))
		return false;
	b->call->regions |= 1u << region_of(geo);
	return true;
}

static bool
read_fallback_model(struct body *b, void *to)
{
	struct str model = STR_NONE;
	size_t at = b->begin;

	(void)to;
	return body_str(b, &model) &&
	       (model.p == NULL || call_names(b->call, model, NAMED_FALLBACK, at));
}

static const struct member fallback_members[] = {
	{ "model", NULL, read_fallback_model, 0 },
	{ "max_tokens", NULL, read_limit, 0 },
	{ "speed", NULL, read_speed, 0 },
	{ "inference_geo", NULL, read_geo, 0 },
};
static const struct object fallback_object = {
	.member = fallback_members,
	.n = sizeof(fallback_members) / sizeof(*fallback_members),
};

static bool
read_fallback(struct body *b, void *to)
{
	return body_is(b, JSON_OBJECT) ? body_object(b, &fallback_object, to)
				       : read_fallback_model(b, to);
}

/* A word instead of a list ("default") lets the provider choose: a model without a price.
 */
static bool
read_fallbacks(struct body *b, void *to)
{
	return body_is(b, JSON_STRING) ? read_fallback_model(b, to)
				       : body_array(b, false, read_fallback, to);
}

struct container {
	struct str id;
	bool has_skills;
};

static bool
read_skills(struct body *b, void *to)
{
	*(bool *)to = body_is(b, JSON_ARRAY);
	return body_inert(b, NULL);
}

static const struct member container_members[] = {
	{ "id", NULL, body_str, offsetof(struct container, id) },
	{ "skills", NULL, read_skills, offsetof(struct container, has_skills) },
};
static const struct object container_object = { .member = container_members, .n = 2 };

static bool
read_container(struct body *b, void *to)
{
	struct container said = { .id = STR_NONE };
	struct piece *piece = b->piece;
	size_t at = b->begin;

	(void)to;
	if (body_is(b, JSON_STRING) ? !body_str(b, &said.id)
				    : !body_object(b, &container_object, &said))
		return false;
	if (said.has_skills && call_hosts(b->call, STR("skills"), piece) == NULL)
		return false;
	return said.id.p == NULL ||
	       call_refers(b->call, REFERENCE_CONTAINER, said.id, at);
}

static const struct member edit_members[] = {
	{ "type", NULL, body_str, 0 },
};
static const struct object edit_object = { .member = edit_members, .n = 1 };

/* What only clears costs nothing; anything else may be a pass of the model. */
static bool
read_context_edit(struct body *b, void *to)
{
	struct str type = STR_NONE;

	(void)to;
	if (!body_object(b, &edit_object, &type))
		return false;
	b->call->compacts |= !str_starts(type, STR("clear_"));
	return true;
}

static bool
read_context_edits(struct body *b, void *to)
{
	return body_array(b, false, read_context_edit, to);
}

static const struct member context_members[] = {
	{ "edits", NULL, read_context_edits, 0 },
};
static const struct object context_object = { .member = context_members, .n = 1 };

static bool
read_context(struct body *b, void *to)
{
	return body_object(b, &context_object, to);
}

static bool
read_format(struct body *b, void *to)
{
	b->call->has_schema |= body_is(b, JSON_OBJECT);
	return body_inert(b, to);
}

static const struct member request_members[] = {
	{ "model", NULL, read_model, 0 },
	{ "max_tokens", NULL, read_limit, 0 },
	{ "messages", NULL, read_messages, 0 },
	{ "system", NULL, read_blocks, 0 },
	{ "stream", NULL, read_stream, 0 },
	{ "tools", NULL, read_tools, 0 },
	{ "tool_choice", NULL, read_choice, 0 },
	{ "thinking", NULL, read_thinking, 0 },
	{ "speed", NULL, read_speed, 0 },
	{ "inference_geo", NULL, read_geo, 0 },
	{ "fallbacks", NULL, read_fallbacks, 0 },
	{ "mcp_servers", NULL, read_servers, 0 },
	{ "container", NULL, read_container, 0 },
	{ "context_management", NULL, read_context, 0 },
	{ "output_config", NULL, read_format, 0 },
	{ "output_format", NULL, read_format, 0 },
	{ "metadata", NULL, body_inert, 0 },
	{ "stop_sequences", NULL, body_inert, 0 },
	{ "cache_control", NULL, body_inert, 0 },
};
static const struct object request_object = {
	.member = request_members,
	.n = sizeof(request_members) / sizeof(*request_members),
	.keeps_pieces = true,
};

static bool
read_root(struct body *b, void *to)
{
	b->call->limit_hole.at = b->in.at;
	return body_object(b, &request_object, to);
}

static bool
anthropic_read(struct call *c, const struct model_request *r, struct str model)
{
	struct body b;

	(void)r;
	(void)model;
	if (!body_parse_watching(&b, c, read_root, NULL, "cache_control", "1h"))
		return false;
	c->may_write_cache = b.has_watched_key;
	c->may_write_long = b.has_watched_text;
	if (c->limit_name == NULL)
		c->limit_name = "max_tokens";
	c->limit_hole.before = "\"max_tokens\":";
	c->limit_hole.after = "";
	return true;
}

/* ---- the free counter */

/* The counter refuses what has no part in counting.  Edits of the context are left out:
 * the whole of it is no shorter. */
static const char *const counted[] = { "model", "messages", "system", "tools",
	"tool_choice", "thinking", "mcp_servers", "output_config", "output_format",
	NULL };
static const char *const uncounted[] = { "max_tokens", "stream", "metadata",
	"stop_sequences", "temperature", "top_p", "top_k", "service_tier", "speed",
	"inference_geo", "cache_control", "context_management", NULL };

static bool
anthropic_counter(const struct call *c, struct buf *path, struct buf *body)
{
	buf_text(path, "/v1/messages/count_tokens");
	return call_members(c, counted, uncounted, body);
}

/* ---- answers */

struct figures { /* one `usage`, or one of its iterations */
	int64_t input, read, written, short_written, long_written, output;
};

struct iteration {
	struct figures figures;
	char model[USAGE_MODEL];
	enum { ITERATION_OTHER, ITERATION_MESSAGE, ITERATION_FALLBACK } type;
};

struct anthropic {
	struct figures total; /* the last that was said of each */
	int64_t thinking, searches;
	struct iteration iteration[USAGE_RUNS];
	size_t niteration;
	bool has_too_many;
	bool is_batch, has_usage, has_stopped, is_refused, has_start;
	bool says_output; /* and not only what a stream begins with: that is no count */

	/* of the event that is read */
	bool tells; /* a count */
	enum {
		EVENT_OTHER,
		EVENT_START,
		EVENT_STOP,
		EVENT_BLOCK_START,
		EVENT_BLOCK_STOP,
		EVENT_ERROR
	} event;
	int64_t index;
	/* for a cut */
	bool is_block_open;
	int64_t open;
};

typedef void take_fn(struct answer *a, const struct scan_value *v, size_t offset);

static void
take_count(struct answer *a, const struct scan_value *v, size_t offset)
{
	struct anthropic *s = a->state;
	int64_t *out = (int64_t *)(void *)((char *)s + offset);

	if (v->type == JSON_NULL)
		return; /* what was said before stays */
	if (v->type != JSON_NUMBER || !usage_count(&a->usage, v->text, out)) {
		a->usage.is_absurd = true;
		return;
	}
	s->has_usage = s->tells = true;
	s->says_output |= out == &s->total.output;
}

static void
take_tier(struct answer *a, const struct scan_value *v, size_t offset)
{
	struct anthropic *s = a->state;

	(void)offset;
	if (v->type == JSON_STRING)
		s->is_batch = str_eq(v->text, STR("batch"));
}

static void
take_speed(struct answer *a, const struct scan_value *v, size_t offset)
{
	(void)offset;
	if (v->type == JSON_STRING)
		a->usage.is_fast = str_eq(v->text, STR("fast"));
}

static void
take_geo(struct answer *a, const struct scan_value *v, size_t offset)
{
	(void)offset;
	if (v->type == JSON_STRING)
		a->usage.region = region_of(v->text);
}

/* A later list takes the place of an earlier one. */
static void
take_iterations(struct answer *a, const struct scan_value *v, size_t offset)
{
	struct anthropic *s = a->state;

	(void)offset;
	if (v->type == JSON_ARRAY)
		s->niteration = 0;
}

/* One that has no room shares the last place, which cannot be priced: it is said. */
static struct iteration *
iteration(struct anthropic *s)
{
	return &s->iteration[s->niteration < USAGE_RUNS ? s->niteration : USAGE_RUNS - 1];
}

static void
take_iteration(struct answer *a, const struct scan_value *v, size_t offset)
{
	struct anthropic *s = a->state;

	(void)offset;
	if (v->type == JSON_OBJECT) {
		s->has_too_many |= s->niteration == USAGE_RUNS;
		*iteration(s) = (struct iteration){ .type = ITERATION_OTHER };
	} else if (v->type == JSON_OBJECT_END && s->niteration < USAGE_RUNS) {
		s->niteration++;
	}
}

static void
take_iteration_type(struct answer *a, const struct scan_value *v, size_t offset)
{
	struct iteration *i = iteration(a->state);

	(void)offset;
	if (str_eq(v->text, STR("message")))
		i->type = ITERATION_MESSAGE;
	else if (str_eq(v->text, STR("fallback_message")))
		i->type = ITERATION_FALLBACK;
}

static void
take_iteration_model(struct answer *a, const struct scan_value *v, size_t offset)
{
	(void)offset;
	if (v->type == JSON_STRING)
		usage_name(iteration(a->state)->model, v->text);
}

static void
take_iteration_count(struct answer *a, const struct scan_value *v, size_t offset)
{
	struct iteration *i = iteration(a->state);

	take_count(a, v, (size_t)((char *)&i->figures - (char *)a->state) + offset);
}

static void
take_model(struct answer *a, const struct scan_value *v, size_t offset)
{
	(void)offset;
	if (v->type == JSON_STRING)
		usage_name(a->usage.model, v->text);
}

static void
take_stop(struct answer *a, const struct scan_value *v, size_t offset)
{
	struct anthropic *s = a->state;

	(void)offset;
	if (v->type != JSON_STRING)
		return;
	s->has_stopped = true;
	s->is_refused = str_eq(v->text, STR("refusal"));
}

static void
take_type(struct answer *a, const struct scan_value *v, size_t offset)
{
	static const struct {
		struct str name;
		int event;
	} events[] = {
		{ { "message_start", 13 }, EVENT_START },
		{ { "message_stop", 12 }, EVENT_STOP },
		{ { "content_block_start", 19 }, EVENT_BLOCK_START },
		{ { "content_block_stop", 18 }, EVENT_BLOCK_STOP },
		{ { "error", 5 }, EVENT_ERROR },
	};
	struct anthropic *s = a->state;

	(void)offset;
	for (size_t i = 0; i < sizeof(events) / sizeof(events[0]); i++)
		if (str_eq(v->text, events[i].name))
			s->event = events[i].event;
}

static void
take_index(struct answer *a, const struct scan_value *v, size_t offset)
{
	struct anthropic *s = a->state;
	uint64_t index;

	(void)offset;
	if (v->type == JSON_NUMBER && str_decimal(v->text, &index) && index < INT32_MAX)
		s->index = (int64_t)index;
}

/* Hidden thinking is announced in steps. */
static void
take_announced(struct answer *a, const struct scan_value *v, size_t offset)
{
	int64_t step = 0;

	(void)offset;
	if (v->type == JSON_NUMBER && usage_count(&a->usage, v->text, &step) &&
	    a->usage.announced < USAGE_TOKENS_MAX)
		a->usage.announced += step;
}

static void
take_text(struct answer *a, const struct scan_value *v, size_t offset)
{
	(void)offset;
	answer_text(a, v);
}

/* A container that code ran in, a file that it made: later calls may name them. */
static void
take_kept(struct answer *a, const struct scan_value *v, size_t offset)
{
	if (v->type == JSON_STRING && !v->is_cut)
		usage_keeps(&a->usage, (enum reference_kind)offset, v->text);
}

#define AT(field) offsetof(struct anthropic, field)
#define ONE(field) offsetof(struct figures, field)

/* `...` is the way to a usage object. */
#define USAGE_ROWS(...) \
	ROW(take_count, AT(total.input), __VA_ARGS__ "usage", "input_tokens") \
	ROW(take_count, AT(total.written), __VA_ARGS__ "usage", \
	    "cache_creation_input_tokens") \
	ROW(take_count, AT(total.read), __VA_ARGS__ "usage", "cache_read_input_tokens") \
	ROW(take_count, AT(total.short_written), __VA_ARGS__ "usage", "cache_creation", \
	    "ephemeral_5m_input_tokens") \
	ROW(take_count, AT(total.long_written), __VA_ARGS__ "usage", "cache_creation", \
	    "ephemeral_1h_input_tokens") \
	ROW(take_count, AT(total.output), __VA_ARGS__ "usage", "output_tokens") \
	ROW(take_count, AT(thinking), __VA_ARGS__ "usage", "output_tokens_details", \
	    "thinking_tokens") \
	ROW(take_count, AT(searches), __VA_ARGS__ "usage", "server_tool_use", \
	    "web_search_requests") \
	ROW(take_tier, 0, __VA_ARGS__ "usage", "service_tier") \
	ROW(take_speed, 0, __VA_ARGS__ "usage", "speed") \
	ROW(take_geo, 0, __VA_ARGS__ "usage", "inference_geo") \
	ROW(take_iterations, 0, __VA_ARGS__ "usage", "iterations") \
	ITERATION_ROWS(__VA_ARGS__ "usage", "iterations", "[]")

#define ITERATION_ROWS(...) \
	ROW(take_iteration, 0, __VA_ARGS__) \
	ROW(take_iteration_type, 0, __VA_ARGS__, "type") \
	ROW(take_iteration_model, 0, __VA_ARGS__, "model") \
	ROW(take_iteration_count, ONE(input), __VA_ARGS__, "input_tokens") \
	ROW(take_iteration_count, ONE(written), __VA_ARGS__, \
	    "cache_creation_input_tokens") \
	ROW(take_iteration_count, ONE(read), __VA_ARGS__, "cache_read_input_tokens") \
	ROW(take_iteration_count, ONE(short_written), __VA_ARGS__, "cache_creation", \
	    "ephemeral_5m_input_tokens") \
	ROW(take_iteration_count, ONE(long_written), __VA_ARGS__, "cache_creation", \
	    "ephemeral_1h_input_tokens") \
	ROW(take_iteration_count, ONE(output), __VA_ARGS__, "output_tokens")

/* An answer as one document, and the events of a stream. */
#define ANSWER_ROWS \
	USAGE_ROWS() \
	USAGE_ROWS("message", ) \
	ROW(take_model, 0, "model") \
	ROW(take_model, 0, "message", "model") \
	ROW(take_stop, 0, "stop_reason") \
	ROW(take_stop, 0, "delta", "stop_reason") \
	ROW(take_kept, REFERENCE_CONTAINER, "container", "id") \
	ROW(take_kept, REFERENCE_CONTAINER, "message", "container", "id") \
	ROW(take_kept, REFERENCE_CONTAINER, "delta", "container", "id") \
	ROW(take_kept, REFERENCE_FILE, "content", "[]", "content", "content", "[]", \
	    "file_id") \
	ROW(take_kept, REFERENCE_FILE, "content_block", "content", "content", "[]", \
	    "file_id") \
	ROW(take_type, 0, "type") \
	ROW(take_index, 0, "index") \
	ROW(take_announced, 0, "delta", "estimated_tokens") \
	ROW(take_text, 0, "delta", "text") \
	ROW(take_text, 0, "delta", "thinking") \
	ROW(take_text, 0, "delta", "partial_json") \
	ROW(take_text, 0, "content", "[]", "text") \
	ROW(take_text, 0, "content", "[]", "thinking")

/* A line of a batch's results. */
#define LINE_ROWS \
	USAGE_ROWS("result", "message", ) \
	ROW(take_model, 0, "result", "message", "model") \
	ROW(take_stop, 0, "result", "message", "stop_reason") \
	ROW(take_type, 0, "result", "message", "type")

#define ROW(take, offset, ...) { { __VA_ARGS__ } },
static const struct scan_path answer_paths[] = { ANSWER_ROWS };
static const struct scan_path line_paths[] = { LINE_ROWS };
#undef ROW
#define ROW(take, offset, ...) { take, offset },
static const struct row {
	take_fn *take;
	size_t offset;
} answer_rows[] = { ANSWER_ROWS }, line_rows[] = { LINE_ROWS };
#undef ROW

static void
anthropic_value(void *arg, unsigned path, const struct scan_value *v)
{
	struct answer *a = arg;
	const struct row *r =
	    a->form == ANSWER_LINES ? &line_rows[path] : &answer_rows[path];

	r->take(a, v, r->offset);
}

/* --- usage --- */

/* What of the cache's writing has no time said is what the request asked for. */
static void
fill_run(struct run *r, const struct figures *f, bool asked_long)
{
	int64_t rest = f->written - f->short_written - f->long_written;

	if (rest < 0)
		rest = 0;

	r->cache_read = f->read;
	r->cache_write = f->short_written + (asked_long ? 0 : rest);
	r->cache_write_long = f->long_written + (asked_long ? rest : 0);
	r->input_total = f->input + r->cache_read + r->cache_write + r->cache_write_long;
	r->output = f->output;
}

static bool
has_fallback(const struct anthropic *s)
{
	for (size_t i = 0; i < s->niteration; i++)
		if (s->iteration[i].type == ITERATION_FALLBACK)
			return true;
	return false;
}

static void
add_run(struct answer *a, const struct figures *f, const char *model)
{
	const struct anthropic *s = a->state;
	struct run *place, r = { .tier = s->is_batch ? TIER_BATCH : TIER_STANDARD };

	usage_name(r.model, str_of(model[0] != '\0' ? model : a->usage.model));
	fill_run(&r, f, a->call->may_write_long);
	if ((place = usage_add(&a->usage)) != NULL)
		*place = r;
	else
		usage_fold(&a->usage, &r);
}

/* Declined before any output: not billed. */
static bool
is_declined(const struct iteration *one, bool has_served)
{
	return has_served && one->type == ITERATION_MESSAGE && one->figures.output == 0;
}

static void
add_runs(struct answer *a, const struct anthropic *s)
{
	bool has_served = has_fallback(s);
	size_t before = a->usage.nrun;
	struct run *last;

	if (s->is_refused && s->total.output == 0 && s->niteration == 0)
		return; /* before any output: not billed */
	if (s->niteration == 0)
		add_run(a, &s->total, "");
	for (size_t i = 0; i < s->niteration; i++)
		if (!is_declined(&s->iteration[i], has_served))
			add_run(a, &s->iteration[i].figures, s->iteration[i].model);
	if (a->usage.nrun == before)
		return;
	last = &a->usage.run[a->usage.nrun - 1]; /* what is said of all, once */
	last->reasoning = s->thinking;
	last->searches = s->searches;
}

static void
anthropic_document(struct answer *a)
{
	struct anthropic *s = a->state;

	if (s->tells)
		answer_told(a);
	s->tells = false;
	switch (s->event) {
	case EVENT_START:
		s->has_start = true;
		s->says_output = false;
		break;
	case EVENT_STOP:
		s->has_stopped = a->has_ended = true;
		break;
	case EVENT_BLOCK_START:
		s->is_block_open = true;
		s->open = s->index;
		break;
	case EVENT_BLOCK_STOP:
		s->is_block_open = false;
		break;
	case EVENT_ERROR:
		a->has_failed = true;
		break;
	case EVENT_OTHER:
		break;
	}
	s->event = EVENT_OTHER;
	if (a->form == ANSWER_LINES && s->has_usage) { /* each line is an answer */
		add_runs(a, s);
		*s = (struct anthropic){
			.has_usage = true, .has_stopped = true, .says_output = true
		};
	}
}

static void
anthropic_end(struct answer *a)
{
	struct anthropic *s = a->state;
	struct usage *u = &a->usage;

	u->is_absurd |= s->has_too_many;
	if (!s->has_usage) { /* an error before anything was made is not billed */
		u->state = a->has_failed && !s->has_start ? USAGE_ALL : USAGE_NOTHING;
		return;
	}
	u->state = s->has_stopped && (s->says_output || s->niteration > 0) ? USAGE_ALL
									   : USAGE_PARTLY;
	if (a->form != ANSWER_LINES)
		add_runs(a, s);
}

/* The block that is open is closed, and the reason is one that no client retries on. */
static void
anthropic_cut(const struct answer *a, struct buf *to)
{
	const struct anthropic *s = a->state;

	if (s->is_block_open)
		buf_fmt(to,
		    "event: content_block_stop\n"
		    "data: {\"type\":\"content_block_stop\",\"index\":%lld}\n\n",
		    (long long)s->open);
	buf_fmt(to,
	    "event: message_delta\n"
	    "data: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"max_tokens\","
	    "\"stop_sequence\":null},\"usage\":{\"output_tokens\":%llu}}\n\n"
	    "event: message_stop\n"
	    "data: {\"type\":\"message_stop\"}\n\n",
	    (unsigned long long)a->usage.text_bytes * 2 / 5 + 1);
}

const struct api api_anthropic_messages = {
	.name = "anthropic_messages",
	.shape = SHAPE_ANTHROPIC,
	.image_tokens = 5000,
	.read = anthropic_read,
	.paths = answer_paths,
	.npaths = sizeof(answer_paths) / sizeof(answer_paths[0]),
	.line_paths = line_paths,
	.nline_paths = sizeof(line_paths) / sizeof(line_paths[0]),
	.on_value = anthropic_value,
	.on_document = anthropic_document,
	.on_end = anthropic_end,
	.state_size = sizeof(struct anthropic),
	.on_head = reported_head,
	.cut = anthropic_cut,
	.counter = anthropic_counter,
	.counted = { { "input_tokens" } },
};
