/*
 * gemini.c - POST /v1beta/models/{model}:generateContent and :streamGenerateContent
 *
 * Every key may be spelt in two ways, of which one request uses one.  A stream is
 * events, or one JSON array in pieces; each chunk says running totals.
 */
#include "meter/gemini.h"

#include <string.h>

#include "base/map.h"
#include "meter/hosted.h"

/* ---- requests */

#define LEFT_OUT "{\"text\":\"[left out: the provider may not fetch it]\"}"

/* --- content --- */

struct media {
	struct str type, uri;
	uint64_t payload;
};

struct part {
	struct media inlined, file;
};

static const struct member media_members[] = {
	{ "mimeType", "mime_type", body_str, offsetof(struct media, type) },
	{ "fileUri", "file_uri", body_str, offsetof(struct media, uri) },
	{ "data", NULL, body_payload, offsetof(struct media, payload) },
	{ "displayName", "display_name", body_inert, 0 },
};
static const struct object media_object = {
	.member = media_members,
	.n = sizeof(media_members) / sizeof(*media_members),
};

static bool
read_media(struct body *b, void *to)
{
	return body_object(b, &media_object, to);
}

static bool read_result(struct body *b, void *to);

static const struct member part_members[] = {
	{ "text", NULL, body_inert, 0 },
	{ "inlineData", "inline_data", read_media, offsetof(struct part, inlined) },
	{ "fileData", "file_data", read_media, offsetof(struct part, file) },
	{ "functionCall", "function_call", body_inert, 0 },
	{ "functionResponse", "function_response", read_result, 0 },
	{ "thoughtSignature", "thought_signature", body_inert, 0 },
};
static const struct object part_object = {
	.member = part_members,
	.n = sizeof(part_members) / sizeof(*part_members),
};

static void
note_type(struct call *c, struct str type)
{
	if (str_starts(type, STR("image/")))
		c->images++;
	else
		c->has_document = true; /* its length in time or pages is not known */
	c->has_audio_in |= !str_starts(type, STR("image/")); /* a film has sound */
}

/* The id of a file that the provider keeps; p NULL: the URI leads elsewhere.  What
 * could be read as another path or a query is no id: it would name two files. */
static struct str
file_id(struct str uri)
{
	static const struct str roots[] = { { "files/", 6 },
		{ "https://generativelanguage.googleapis.com/v1beta/files/", 55 } };
	struct str id = STR_NONE;

	for (size_t i = 0; i < sizeof(roots) / sizeof(*roots) && id.p == NULL; i++)
		if (str_starts(uri, roots[i]))
			id = str_sub(uri, roots[i].n, uri.n);
	if (id.p == NULL)
		return STR_NONE;
	for (size_t i = 0; i < id.n; i++)
		if (!ascii_is_alnum(id.p[i]) && id.p[i] != '-' && id.p[i] != '_')
			return STR_NONE;
	return id.n > 0 ? id : STR_NONE;
}

static bool
note_file(struct call *c, const struct media *m, struct piece *piece, size_t at)
{
	struct str id = file_id(m->uri);
	struct hosted *h;

	note_type(c, m->type);
	if (id.p != NULL)
		return call_refers(c, REFERENCE_FILE, id, at);
	if ((h = call_hosts(c, STR("file_url"), piece)) == NULL)
		return false;
	h->is_media = true;
	if (piece != NULL)
		piece->put = STR(LEFT_OUT);
	return true;
}

static bool
read_part(struct body *b, void *to)
{
	struct part part = { .inlined = { .payload = 0 } };
	struct piece *piece = b->piece;
	size_t at = b->begin;

	(void)to;
	b->call->blocks++;
	if (!body_object(b, &part_object, &part))
		return false;
	if (part.inlined.payload != 0 && !str_starts(part.inlined.type, STR("text/"))) {
		note_type(b->call, part.inlined.type);
		b->call->text_bytes -= part.inlined.payload;
	}
	return part.file.uri.p == NULL || note_file(b->call, &part.file, piece, at);
}

static bool
read_parts(struct body *b, void *to)
{
	return body_is(b, JSON_OBJECT) ? read_part(b, to)
				       : body_array(b, true, read_part, to);
}

static const struct member result_members[] = {
	{ "response", NULL, body_inert, 0 },
	{ "parts", NULL, read_parts, 0 },
};
static const struct object result_object = { .member = result_members, .n = 2 };

static bool
read_result(struct body *b, void *to)
{
	(void)to;
	return body_object(b, &result_object, NULL);
}

static const struct member content_members[] = {
	{ "role", NULL, body_inert, 0 },
	{ "parts", NULL, read_parts, 0 },
};
static const struct object content_object = {
	.member = content_members, .n = 2, .keeps_pieces = true
};

bool
gemini_read_content(struct body *b, void *to)
{
	(void)to;
	b->call->messages++;
	return body_is(b, JSON_STRING) ? body_inert(b, NULL)
				       : body_object(b, &content_object, NULL);
}

static bool
read_contents(struct body *b, void *to)
{
	return body_is(b, JSON_ARRAY) ? body_array(b, true, gemini_read_content, to)
				      : gemini_read_content(b, to);
}

/* --- tools --- */

static bool
read_function(struct body *b, void *to)
{
	b->call->tools++;
	return body_inert(b, to);
}

static bool
read_functions(struct body *b, void *to)
{
	return body_array(b, false, read_function, to);
}

/* The client's own: it is asked to act, and answers. */
static bool
read_client_tool(struct body *b, void *to)
{
	b->call->tools++;
	return body_inert(b, to);
}

/* googleSearch and google_search are one. */
static struct str
snake(struct call *c, struct str key)
{
	struct buf b;

	buf_init(&b, 256);
	for (size_t i = 0; i < key.n && i < 128; i++) {
		char lower = ascii_lower(key.p[i]);

		if (lower != key.p[i])
			buf_char(&b, '_');
		buf_char(&b, lower);
	}
	struct str s = arena_str(c->arena, buf_view(&b));

	buf_fini(&b);
	return s;
}

static bool
is_search(struct str name)
{
	static const char *const searches[] = { "google_search",
		"google_search_retrieval", "enterprise_web_search", "google_maps" };

	for (size_t i = 0; i < sizeof(searches) / sizeof(searches[0]); i++)
		if (str_eq(name, str_of(searches[i])))
			return true;
	return false;
}

/* Whatever is no function of the client's runs at the provider. */
static bool
read_hosted(struct body *b, void *to)
{
	struct str name = snake(b->call, b->piece->key);
	struct hosted *h;

	(void)to;
	if (body_is(b, JSON_NULL))
		return true;
	if (name.p == NULL || (h = call_hosts(b->call, name, b->piece)) == NULL)
		return call_fail(b->call, CALL_TOO_LARGE, "too many tools", b->begin);
	h->type = b->piece->key;
	h->fee = is_search(name) ? FEE_SEARCH : FEE_NONE;
	b->call->tools++;
	return body_any(b, NULL);
}

static const struct member tool_members[] = {
	{ "functionDeclarations", "function_declarations", read_functions, 0 },
	{ "computerUse", "computer_use", read_client_tool, 0 },
};
static const struct object tool_object = {
	.member = tool_members,
	.n = sizeof(tool_members) / sizeof(*tool_members),
	.keeps_pieces = true,
	.other = read_hosted,
};

static bool
read_tool(struct body *b, void *to)
{
	return body_object(b, &tool_object, to);
}

static bool
read_tools(struct body *b, void *to)
{
	return body_is(b, JSON_OBJECT) ? read_tool(b, to)
				       : body_array(b, true, read_tool, to);
}

static const struct member calling_members[] = {
	{ "mode", NULL, body_str, 0 },
};
static const struct object calling_object = { .member = calling_members, .n = 1 };

static bool
read_calling(struct body *b, void *to)
{
	struct str mode = STR_NONE;

	(void)to;
	if (!body_object(b, &calling_object, &mode))
		return false;
	if (str_eq_nocase(mode, STR("ANY")))
		b->call->choice.kind = CHOICE_ANY;
	if (str_eq_nocase(mode, STR("NONE")))
		b->call->choice.kind = CHOICE_NONE;
	return true;
}

static const struct member choice_members[] = {
	{ "functionCallingConfig", "function_calling_config", read_calling, 0 },
};
static const struct object choice_object = { .member = choice_members, .n = 1 };

static bool
read_choice(struct body *b, void *to)
{
	return body_object(b, &choice_object, to);
}

/* --- generationConfig --- */

struct gemini_request {
	size_t inside;        /* just behind the body's first bracket */
	struct piece *config; /* generationConfig */
	size_t inside_config;
	struct str model; /* of the path */
	bool is_count;    /* of the path: the free counter */
};

static bool
read_limit(struct body *b, void *to)
{
	(void)to;
	return body_limit(b, "maxOutputTokens");
}

static bool
read_candidates(struct body *b, void *to)
{
	(void)to;
	return body_count(b, &b->call->answers);
}

/* -1: as much as the model likes, inside the limit. */
static bool
read_budget(struct body *b, void *to)
{
	(void)to;
	if (body_is(b, JSON_NUMBER) && str_starts(b->text, STR("-")))
		return true;
	return body_count(b, &b->call->thinking);
}

static const struct member thinking_members[] = {
	{ "thinkingBudget", "thinking_budget", read_budget, 0 },
};
static const struct object thinking_object = { .member = thinking_members, .n = 1 };

static bool
read_thinking(struct body *b, void *to)
{
	return body_object(b, &thinking_object, to);
}

static bool
read_modality(struct body *b, void *to)
{
	struct str name = STR_NONE;

	(void)to;
	if (!body_str(b, &name))
		return false;
	b->call->has_audio_out |= str_eq_nocase(name, STR("AUDIO"));
	b->call->draws |=
	    str_eq_nocase(name, STR("IMAGE")) || str_eq_nocase(name, STR("VIDEO"));
	return true;
}

static bool
read_modalities(struct body *b, void *to)
{
	return body_array(b, false, read_modality, to);
}

static bool
read_schema(struct body *b, void *to)
{
	b->call->has_schema = true;
	return body_inert(b, to);
}

static const struct member config_members[] = {
	{ "maxOutputTokens", "max_output_tokens", read_limit, 0 },
	{ "candidateCount", "candidate_count", read_candidates, 0 },
	{ "thinkingConfig", "thinking_config", read_thinking, 0 },
	{ "responseModalities", "response_modalities", read_modalities, 0 },
	{ "responseSchema", "response_schema", read_schema, 0 },
	{ "responseJsonSchema", "response_json_schema", read_schema, 0 },
	{ "stopSequences", "stop_sequences", body_inert, 0 },
};
static const struct object config_object = {
	.member = config_members,
	.n = sizeof(config_members) / sizeof(*config_members),
	.keeps_pieces = true,
};

static bool
read_config(struct body *b, void *to)
{
	struct gemini_request *r = to;

	if (!body_is(b, JSON_OBJECT))
		return body_wrong(b, "an object must stand here");
	r->config = b->piece;
	r->inside_config = b->in.at;
	return body_object(b, &config_object, NULL);
}

/* --- the body --- */

bool
gemini_same_model(struct body *b, struct str model)
{
	struct str said = STR_NONE;

	if (!body_str(b, &said))
		return false;
	if (str_starts(said, STR("models/")))
		said = str_sub(said, strlen("models/"), said.n);
	if (said.p != NULL && !str_eq(said, model))
		return call_fail(b->call, CALL_AMBIGUOUS,
		    "the body names another model than the path", b->begin);
	return true;
}

static bool
read_model(struct body *b, void *to)
{
	return gemini_same_model(b, ((struct gemini_request *)to)->model);
}

static bool
read_cached(struct body *b, void *to)
{
	struct str id = STR_NONE;
	size_t at = b->begin;

	(void)to;
	return body_str(b, &id) &&
	       (id.p == NULL || call_refers(b->call, REFERENCE_CACHED, id, at));
}

static bool read_counted(struct body *b, void *to);

static const struct member request_members[] = {
	{ "contents", NULL, read_contents, 0 },
	{ "systemInstruction", "system_instruction", gemini_read_content, 0 },
	{ "tools", NULL, read_tools, 0 },
	{ "toolConfig", "tool_config", read_choice, 0 },
	{ "generationConfig", "generation_config", read_config, 0 },
	{ "cachedContent", "cached_content", read_cached, 0 },
	{ "model", NULL, read_model, 0 },
	{ "labels", NULL, body_inert, 0 },
	{ "safetySettings", "safety_settings", body_inert, 0 },
	{ "generateContentRequest", "generate_content_request", read_counted, 0 },
};
static const struct object request_object = {
	.member = request_members,
	.n = sizeof(request_members) / sizeof(*request_members),
	.keeps_pieces = true,
};

/* The free counter takes a whole request inside its own; anywhere else its limit would
 * be taken for the call's. */
static bool
read_counted(struct body *b, void *to)
{
	struct gemini_request *r = to;

	if (!r->is_count)
		return body_wrong(b, "a request inside a request");
	return body_object(b, &request_object, to);
}

static bool
read_root(struct body *b, void *to)
{
	((struct gemini_request *)to)->inside = b->in.at;
	return body_object(b, &request_object, to);
}

static void
place_limit(struct call *c, const struct gemini_request *r)
{
	if (c->limit_name == NULL)
		c->limit_name = "maxOutputTokens";
	if (r->config != NULL) {
		c->limit_hole.object = r->config;
		c->limit_hole.at = r->inside_config;
		c->limit_hole.before = "\"maxOutputTokens\":";
		c->limit_hole.after = "";
		return;
	}
	c->limit_hole.at = r->inside;
	c->limit_hole.before = "\"generationConfig\":{\"maxOutputTokens\":";
	c->limit_hole.after = "}";
}

static bool
is_verb(struct str path, const char *verb)
{
	size_t colon, query;

	if (str_find(path, '?', &query))
		path = str_sub(path, 0, query);
	return str_find(path, ':', &colon) &&
	       str_eq(str_sub(path, colon + 1, path.n), str_of(verb));
}

static bool
gemini_read(struct call *c, const struct model_request *r, struct str model)
{
	struct gemini_request said = { .model = model,
		.is_count = is_verb(r->path, "countTokens") };
	struct body b;

	c->is_stream = is_verb(r->path, "streamGenerateContent");
	if (!call_names(c, model, NAMED_MAIN, 0) || !body_parse(&b, c, read_root, &said))
		return false;
	place_limit(c, &said);
	return true;
}

/* --- the query --- */

static const char *const query_keys[] = { "alt", "key", "prettyPrint", "pageSize",
	"pageToken" };

static bool
take_pair(struct call *c, struct str pair, unsigned *seen, struct buf *to)
{
	struct str key = pair;
	size_t equals = pair.n, i = 0;
	struct str value;

	if (str_find(pair, '=', &equals))
		key = str_sub(pair, 0, equals);
	value = str_sub(pair, equals + 1, pair.n);
	while (i < sizeof(query_keys) / sizeof(query_keys[0]) &&
	       !str_eq(key, str_of(query_keys[i])))
		i++;
	if (i == sizeof(query_keys) / sizeof(query_keys[0]) || (*seen >> i & 1) != 0)
		return false;
	*seen |= 1u << i;
	if (str_eq(key, STR("key"))) {
		c->query_key = value;
		return true;
	}
	if (str_eq(key, STR("alt")) && !str_eq(value, STR("sse")) &&
	    !str_eq(value, STR("json")))
		return false; /* another form of answer, which nobody could read */
	buf_char(to, to->n == 0 ? '?' : '&');
	buf_str(to, pair);
	return true;
}

/* Some query keys change the method or the form of a request: none but these pass. */
bool
gemini_query(struct call *c)
{
	struct str path = c->path, rest, pair;
	unsigned seen = 0;
	struct buf query, whole;
	size_t at;
	bool is_known = true;

	if (!str_find(path, '?', &at))
		return true;
	rest = str_sub(path, at + 1, path.n);
	buf_init(&query, 4096);
	buf_init(&whole, 8192);
	while (is_known && str_split(&rest, '&', &pair))
		is_known = pair.n == 0 || take_pair(c, pair, &seen, &query);
	buf_str(&whole, str_sub(path, 0, at));
	buf_str(&whole, buf_view(&query));
	if (!query.is_over && !whole.is_over)
		c->path = arena_str(c->arena, buf_view(&whole));
	is_known = is_known && !query.is_over && !whole.is_over && c->path.p != NULL;
	buf_fini(&query);
	buf_fini(&whole);
	return is_known ||
	       call_fail(c, CALL_NOT_METERED, "the query says more than weir knows", 0);
}

/* ---- the free counter */

static bool
gemini_counter(const struct call *c, struct buf *path, struct buf *body)
{
	size_t colon = 0;

	/* what is kept in a cache may stand outside the sum */
	if (c->nreference > 0 || !str_find(c->path, ':', &colon))
		return false;
	buf_str(path, str_sub(c->path, 0, colon));
	buf_text(path, ":countTokens");
	buf_text(body, "{\"generateContentRequest\":{\"model\":\"models/");
	buf_str(body, c->model[0].name); /* of the path: no character wants escaping */
	buf_char(body, '"');
	for (const struct piece *p = c->root->child; p != NULL; p = p->next) {
		if (str_eq(p->key, STR("model")))
			continue;
		buf_char(body, ',');
		buf_str(body, str_sub(c->body, p->begin, p->end - p->begin));
	}
	buf_text(body, "}}");
	return !body->is_over && !path->is_over;
}

/* ---- answers */

#define QUERIES 64 /* told apart; what is beyond counts as another each */

struct gemini {
	int64_t prompt, cached, candidates, thoughts, tool_prompt;
	int64_t audio_in, audio_out, detail;
	bool is_audio;
	bool has_usage, has_finished;
	bool says_output; /* the chunk that is read */
	uint64_t query[QUERIES];
	size_t nquery;
	int64_t queries;
};

typedef void take_fn(struct answer *a, const struct scan_value *v, size_t offset);

static void
take_count(struct answer *a, const struct scan_value *v, size_t offset)
{
	struct gemini *s = a->state;

	if (v->type == JSON_NULL)
		return;
	if (v->type != JSON_NUMBER ||
	    !usage_count(&a->usage, v->text, (int64_t *)(void *)((char *)s + offset)))
		a->usage.is_absurd = true;
	else
		s->has_usage = true;
	s->says_output |= offset == offsetof(struct gemini, candidates);
}

/* A later list of modalities takes the place of an earlier one. */
static void
take_details(struct answer *a, const struct scan_value *v, size_t offset)
{
	if (v->type == JSON_ARRAY)
		*(int64_t *)(void *)((char *)a->state + offset) = 0;
}

static void
take_detail(struct answer *a, const struct scan_value *v, size_t offset)
{
	struct gemini *s = a->state;

	if (v->type == JSON_OBJECT) {
		s->is_audio = false;
		s->detail = 0;
	} else if (v->type == JSON_OBJECT_END && s->is_audio) {
		*(int64_t *)(void *)((char *)s + offset) += s->detail;
	}
}

static void
take_modality(struct answer *a, const struct scan_value *v, size_t offset)
{
	(void)offset;
	((struct gemini *)a->state)->is_audio = str_eq(v->text, STR("AUDIO"));
}

static void
end_chunk(struct answer *a)
{
	struct gemini *s = a->state;

	if (s->says_output)
		answer_told(a);
	s->says_output = false;
}

static void
take_chunk(struct answer *a, const struct scan_value *v, size_t offset)
{
	(void)offset;
	if (v->type == JSON_OBJECT_END)
		end_chunk(a);
}

static void
take_finish(struct answer *a, const struct scan_value *v, size_t offset)
{
	(void)offset;
	if (v->type == JSON_STRING)
		((struct gemini *)a->state)->has_finished = true;
}

static bool
is_known_query(struct gemini *s, uint64_t hash)
{
	for (size_t i = 0; i < s->nquery; i++)
		if (s->query[i] == hash)
			return true;
	if (s->nquery < QUERIES)
		s->query[s->nquery++] = hash;
	return false;
}

static void
take_query(struct answer *a, const struct scan_value *v, size_t offset)
{
	struct gemini *s = a->state;

	(void)offset;
	if (v->type != JSON_STRING || v->text.n == 0)
		return;
	if (v->is_cut || !is_known_query(s, hash_bytes(v->text)))
		s->queries++;
}

static void
take_text(struct answer *a, const struct scan_value *v, size_t offset)
{
	(void)offset;
	answer_text(a, v);
}

static void
take_error(struct answer *a, const struct scan_value *v, size_t offset)
{
	(void)offset;
	a->has_failed |= v->type == JSON_OBJECT;
}

#define AT(field) offsetof(struct gemini, field)

/* `...` is "[]", for an answer that is an array of chunks. */
#define CHUNK_ROWS(...) \
	ROW(take_count, AT(prompt), __VA_ARGS__ "usageMetadata", "promptTokenCount") \
	ROW(take_count, AT(cached), __VA_ARGS__ "usageMetadata", \
	    "cachedContentTokenCount") \
	ROW(take_count, AT(candidates), __VA_ARGS__ "usageMetadata", \
	    "candidatesTokenCount") \
	ROW(take_count, AT(thoughts), __VA_ARGS__ "usageMetadata", "thoughtsTokenCount") \
	ROW(take_count, AT(tool_prompt), __VA_ARGS__ "usageMetadata", \
	    "toolUsePromptTokenCount") \
	DETAIL_ROWS(AT(audio_in), __VA_ARGS__ "usageMetadata", "promptTokensDetails") \
	DETAIL_ROWS( \
	    AT(audio_out), __VA_ARGS__ "usageMetadata", "candidatesTokensDetails") \
	ROW(take_finish, 0, __VA_ARGS__ "candidates", "[]", "finishReason") \
	ROW(take_finish, 0, __VA_ARGS__ "promptFeedback", "blockReason") \
	ROW(take_query, 0, __VA_ARGS__ "candidates", "[]", "groundingMetadata", \
	    "webSearchQueries", "[]") \
	ROW(take_text, 0, __VA_ARGS__ "candidates", "[]", "content", "parts", "[]", \
	    "text") \
	ROW(take_error, 0, __VA_ARGS__ "error")

#define DETAIL_ROWS(offset, ...) \
	ROW(take_details, offset, __VA_ARGS__) \
	ROW(take_detail, offset, __VA_ARGS__, "[]") \
	ROW(take_modality, 0, __VA_ARGS__, "[]", "modality") \
	ROW(take_count, AT(detail), __VA_ARGS__, "[]", "tokenCount")

#define ROWS \
	CHUNK_ROWS() \
	CHUNK_ROWS("[]", ) \
	ROW(take_chunk, 0, "[]")

#define ROW(take, offset, ...) { { __VA_ARGS__ } },
static const struct scan_path gemini_paths[] = { ROWS };
#undef ROW
#define ROW(take, offset, ...) { take, offset },
static const struct {
	take_fn *take;
	size_t offset;
} gemini_rows[] = { ROWS };
#undef ROW

static void
gemini_value(void *arg, unsigned path, const struct scan_value *v)
{
	gemini_rows[path].take(arg, v, gemini_rows[path].offset);
}

static void
gemini_document(struct answer *a)
{
	const struct gemini *s = a->state;

	end_chunk(a);
	a->has_ended = s->has_finished;
}

static void
gemini_end(struct answer *a)
{
	const struct gemini *s = a->state;
	struct usage *u = &a->usage;
	struct run *r;

	usage_name(u->model, a->call->model[0].name);
	if (!s->has_usage)
		return;
	r = usage_add(u);
	r->input_total = s->prompt + s->tool_prompt;
	r->cache_read = s->cached;
	r->audio_in = s->audio_in;
	r->output = s->candidates + s->thoughts; /* thinking is not in the first */
	r->audio_out = s->audio_out;
	r->reasoning = s->thoughts;
	r->searches = s->queries;
	u->state = s->has_finished || a->form == ANSWER_JSON ? USAGE_ALL : USAGE_PARTLY;
}

static void
gemini_cut(const struct answer *a, struct buf *to)
{
	(void)a;
	buf_text(to,
	    "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"\"}],"
	    "\"role\":\"model\"},\"finishReason\":\"MAX_TOKENS\",\"index\":0}]}\n\n");
}

const struct api api_gemini = {
	.name = "gemini",
	.shape = SHAPE_GOOGLE,
	.image_tokens = 2240,
	.read = gemini_read,
	.query = gemini_query,
	.paths = gemini_paths,
	.npaths = sizeof(gemini_paths) / sizeof(gemini_paths[0]),
	.on_value = gemini_value,
	.on_document = gemini_document,
	.on_end = gemini_end,
	.state_size = sizeof(struct gemini),
	.cut = gemini_cut,
	.counter = gemini_counter,
	.counted = { { "totalTokens" } },
};
