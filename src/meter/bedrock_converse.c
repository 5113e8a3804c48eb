/*
 * bedrock_converse.c - POST /model/{id}/converse and /converse-stream, for `weir meter`
 *
 * No route leads here: weir does not sign for that provider.  A stream is read as its
 * decoded events, one JSON document a line.
 */
#include "meter/api.h"

/* --- requests --- */

static bool
read_limit(struct body *b, void *to)
{
	(void)to;
	return body_limit(b, "maxTokens");
}

static const struct member config_members[] = {
	{ "maxTokens", NULL, read_limit, 0 },
};
static const struct object config_object = { .member = config_members, .n = 1 };

static bool
read_config(struct body *b, void *to)
{
	return body_object(b, &config_object, to);
}

static bool
read_message(struct body *b, void *to)
{
	b->call->messages++;
	return body_inert(b, to);
}

static bool
read_messages(struct body *b, void *to)
{
	return body_array(b, false, read_message, to);
}

static bool
read_tool(struct body *b, void *to)
{
	b->call->tools++;
	return body_inert(b, to);
}

static bool
read_tools(struct body *b, void *to)
{
	return body_array(b, false, read_tool, to);
}

static const struct member tool_members[] = {
	{ "tools", NULL, read_tools, 0 },
};
static const struct object tool_object = { .member = tool_members, .n = 1 };

static bool
read_tool_config(struct body *b, void *to)
{
	return body_object(b, &tool_object, to);
}

static const struct member request_members[] = {
	{ "messages", NULL, read_messages, 0 },
	{ "system", NULL, body_inert, 0 },
	{ "inferenceConfig", NULL, read_config, 0 },
	{ "toolConfig", NULL, read_tool_config, 0 },
};
static const struct object request_object = {
	.member = request_members,
	.n = sizeof(request_members) / sizeof(*request_members),
	.keeps_pieces = true,
};

static bool
read_root(struct body *b, void *to)
{
	return body_object(b, &request_object, to);
}

static bool
bedrock_read(struct call *c, const struct model_request *r, struct str model)
{
	struct body b;

	(void)r;
	if (!call_names(c, model, NAMED_MAIN, 0) ||
	    !body_parse_watching(&b, c, read_root, NULL, "cachePoint", "1h"))
		return false;
	c->may_write_cache = b.has_watched_key;
	c->may_write_long = b.has_watched_text;
	return true;
}

/* --- answers --- */

struct bedrock {
	int64_t input, read, written, output, long_written;
	int64_t detail; /* of the cache's writing, by lifetime */
	bool is_long, has_usage;
};

typedef void take_fn(struct answer *a, const struct scan_value *v, size_t offset);

static void
take_count(struct answer *a, const struct scan_value *v, size_t offset)
{
	struct bedrock *s = a->state;

	if (v->type == JSON_NULL)
		return;
	if (v->type != JSON_NUMBER)
		a->usage.is_absurd = true;
	else
		s->has_usage |= usage_count(
		    &a->usage, v->text, (int64_t *)(void *)((char *)s + offset));
}

static void
take_details(struct answer *a, const struct scan_value *v, size_t offset)
{
	(void)offset;
	if (v->type == JSON_ARRAY)
		((struct bedrock *)a->state)->long_written = 0;
}

static void
take_detail(struct answer *a, const struct scan_value *v, size_t offset)
{
	struct bedrock *s = a->state;

	(void)offset;
	if (v->type == JSON_OBJECT) {
		s->is_long = false;
		s->detail = 0;
	} else if (v->type == JSON_OBJECT_END && s->is_long) {
		s->long_written += s->detail;
	}
}

static void
take_ttl(struct answer *a, const struct scan_value *v, size_t offset)
{
	(void)offset;
	((struct bedrock *)a->state)->is_long = str_eq(v->text, STR("1h"));
}

static void
take_text(struct answer *a, const struct scan_value *v, size_t offset)
{
	(void)offset;
	answer_text(a, v);
}

#define AT(field) offsetof(struct bedrock, field)

#define USAGE_ROWS(...) \
	ROW(take_count, AT(input), __VA_ARGS__ "usage", "inputTokens") \
	ROW(take_count, AT(output), __VA_ARGS__ "usage", "outputTokens") \
	ROW(take_count, AT(read), __VA_ARGS__ "usage", "cacheReadInputTokens") \
	ROW(take_count, AT(written), __VA_ARGS__ "usage", "cacheWriteInputTokens") \
	ROW(take_details, 0, __VA_ARGS__ "usage", "cacheDetails") \
	ROW(take_detail, 0, __VA_ARGS__ "usage", "cacheDetails", "[]") \
	ROW(take_count, AT(detail), __VA_ARGS__ "usage", "cacheDetails", "[]", \
	    "inputTokens") \
	ROW(take_ttl, 0, __VA_ARGS__ "usage", "cacheDetails", "[]", "ttl")

#define ROWS \
	USAGE_ROWS() \
	USAGE_ROWS("metadata", ) \
	ROW(take_text, 0, "contentBlockDelta", "delta", "text")

#define ROW(take, offset, ...) { { __VA_ARGS__ } },
static const struct scan_path bedrock_paths[] = { ROWS };
#undef ROW
#define ROW(take, offset, ...) { take, offset },
static const struct {
	take_fn *take;
	size_t offset;
} bedrock_rows[] = { ROWS };
#undef ROW

static void
bedrock_value(void *arg, unsigned path, const struct scan_value *v)
{
	bedrock_rows[path].take(arg, v, bedrock_rows[path].offset);
}

static void
bedrock_document(struct answer *a)
{
	const struct bedrock *s = a->state;

	if (s->has_usage && !a->has_ended)
		answer_told(a);
	a->has_ended = s->has_usage;
}

static void
bedrock_end(struct answer *a)
{
	const struct bedrock *s = a->state;
	struct usage *u = &a->usage;
	struct run *r;

	usage_name(u->model, a->call->model[0].name);
	if (!s->has_usage)
		return;
	r = usage_add(u);
	r->cache_read = s->read;
	r->cache_write_long = s->long_written;
	r->cache_write = s->written > s->long_written ? s->written - s->long_written : 0;
	r->input_total = s->input + r->cache_read + r->cache_write + r->cache_write_long;
	r->output = s->output;
	u->state = USAGE_ALL;
}

const struct api api_bedrock_converse = {
	.name = "bedrock_converse",
	.shape = SHAPE_AWS,
	.image_tokens = 5000,
	.read = bedrock_read,
	.paths = bedrock_paths,
	.npaths = sizeof(bedrock_paths) / sizeof(bedrock_paths[0]),
	.on_value = bedrock_value,
	.on_document = bedrock_document,
	.on_end = bedrock_end,
	.state_size = sizeof(struct bedrock),
};
