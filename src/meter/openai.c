/*
 * openai.c - what Chat Completions and Responses, and those who copy them, share
 */
#include "meter/openai.h"

#include <string.h>

#include "meter/hosted.h"

#define LEFT_OUT "[left out: the provider may not fetch it]"

/* --- tiers --- */

static const struct {
	struct str name;
	enum tier asked, served;
} tiers[] = {
	{ { "priority", 8 }, TIER_PRIORITY, TIER_PRIORITY },
	{ { "fast", 4 }, TIER_PRIORITY, TIER_PRIORITY },
	{ { "flex", 4 }, TIER_FLEX, TIER_FLEX },
	{ { "ultrafast", 9 }, TIER_ULTRAFAST, TIER_ULTRAFAST },
	{ { "batch", 5 }, TIER_STANDARD, TIER_BATCH },
	{ { "auto", 4 }, TIER_STANDARD, TIER_STANDARD },
	{ { "default", 7 }, TIER_STANDARD, TIER_STANDARD },
	{ { "standard", 8 }, TIER_STANDARD, TIER_STANDARD },
	{ { "scale", 5 }, TIER_STANDARD, TIER_STANDARD },
};

enum tier
openai_tier(struct str name)
{
	for (size_t i = 0; i < sizeof(tiers) / sizeof(*tiers); i++)
		if (str_eq(tiers[i].name, name))
			return tiers[i].served;
	return TIER_STANDARD;
}

/* A tier nobody has heard of may cost what the dearest one does. */
static enum tier
tier_asked(struct str name)
{
	for (size_t i = 0; i < sizeof(tiers) / sizeof(*tiers); i++)
		if (str_eq(tiers[i].name, name))
			return tiers[i].asked;
	return TIER_ULTRAFAST;
}

static enum tier
dearer(enum tier a, enum tier b)
{
	static const unsigned dear[TIER_N] = {
		[TIER_STANDARD] = 1,
		[TIER_PRIORITY] = 2,
		[TIER_ULTRAFAST] = 3,
	};

	return dear[a] > dear[b] ? a : b;
}

/* A request can name several; nobody knows which one the provider listens to. */
static void
ask_tier(struct call *c, enum tier tier)
{
	c->tier = c->has_tier ? dearer(c->tier, tier) : tier;
	c->has_tier = true;
}

bool
openai_read_tier(struct body *b, void *to)
{
	struct str name = STR_NONE;

	(void)to;
	if (!body_str(b, &name))
		return false;
	if (name.p != NULL)
		ask_tier(b->call, tier_asked(name));
	return true;
}

bool
openai_read_option_tier(struct body *b, void *to)
{
	struct str name = STR_NONE;

	(void)to;
	if (!body_str(b, &name))
		return false;
	if (name.p != NULL)
		ask_tier(b->call, dearer(TIER_STANDARD, tier_asked(name)));
	return true;
}

/* --- models and limits --- */

void
openai_name_model(struct answer *a, const char *model)
{
	const struct call *c = a->call;
	size_t n = 0;

	for (size_t i = 0; i < c->nmodel; i++)
		n += c->model[i].role != NAMED_ADVISOR;
	if (model[0] != '\0')
		usage_name(a->usage.model, str_of(model));
	else if (n == 1)
		usage_name(a->usage.model, c->model[0].name);
}

bool
openai_read_model(struct body *b, void *to)
{
	struct str name = STR_NONE;
	size_t at = b->begin;

	(void)to;
	return body_str(b, &name) &&
	       (name.p == NULL || call_names(b->call, name, NAMED_MAIN, at));
}

static bool
read_fallback_name(struct body *b, void *to)
{
	struct str name = STR_NONE;
	size_t at = b->begin;

	(void)to;
	return body_str(b, &name) &&
	       (name.p == NULL || call_names(b->call, name, NAMED_INSTEAD, at));
}

static const struct member fallback_members[] = {
	{ "model", NULL, read_fallback_name, 0 },
};
/* {"a":["b","c"]}: when a does not answer, these do. */
static bool
read_fallback_list(struct body *b, void *to)
{
	return body_is(b, JSON_ARRAY)    ? body_array(b, false, read_fallback_name, to)
	       : body_is(b, JSON_STRING) ? read_fallback_name(b, to)
					 : openai_read_hidden(b, to);
}

static const struct object fallback = {
	.member = fallback_members,
	.n = sizeof(fallback_members) / sizeof(*fallback_members),
	.other = read_fallback_list,
};

static bool
read_fallback(struct body *b, void *to)
{
	return body_is(b, JSON_OBJECT) ? body_object(b, &fallback, to)
				       : read_fallback_name(b, to);
}

bool
openai_read_fallbacks(struct body *b, void *to)
{
	return body_is(b, JSON_ARRAY) ? body_array(b, false, read_fallback, to)
				      : read_fallback(b, to);
}

static const char *
limit_name(struct str key)
{
	static const char *const names[] = { "max_tokens", "max_completion_tokens",
		"max_output_tokens", "maxOutputTokens" };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (str_eq(str_of(names[i]), key))
			return names[i];
	return NULL;
}

/* null is no limit, but the place where one is put. */
static bool
read_no_limit(struct body *b, const char *name)
{
	struct call *c = b->call;

	if (c->nlimit == CALL_LIMITS)
		return call_fail(c, CALL_AMBIGUOUS, "too many output limits", b->begin);
	c->limit_name = name;
	c->limit_at[c->nlimit].at = b->begin;
	c->limit_at[c->nlimit++].n = b->in.at - b->begin;
	return true;
}

bool
openai_read_limit(struct body *b, void *to)
{
	const char *name = limit_name(b->piece->key);

	(void)to;
	return body_is(b, JSON_NULL) ? read_no_limit(b, name) : body_limit(b, name);
}

/* --- what may not stand there --- */

bool
openai_read_hidden(struct body *b, void *to)
{
	if (body_is(b, JSON_NULL))
		return body_any(b, to);
	return call_fail(b->call, CALL_AMBIGUOUS,
	    "another request inside the request, or a limit where none is read",
	    b->begin);
}

bool
openai_read_foreign(struct body *b, void *to)
{
	if (body_is(b, JSON_NULL))
		return body_any(b, to);
	return call_fail(b->call, CALL_FOREIGN_KEY,
	    "the request brings a key or an address of its own for the provider",
	    b->begin);
}

static const struct member gateway_members[] = {
	{ "models", NULL, openai_read_fallbacks, 0 },
	{ "byok", NULL, openai_read_foreign, 0 },
	{ "serviceTier", "service_tier", openai_read_option_tier, 0 },
	OPENAI_HIDDEN_ROWS,
};
static const struct object gateway = {
	.member = gateway_members,
	.n = sizeof(gateway_members) / sizeof(*gateway_members),
};

static bool
read_gateway(struct body *b, void *to)
{
	return body_is(b, JSON_OBJECT) ? body_object(b, &gateway, to) : body_any(b, to);
}

static const struct object options = { .other = read_gateway }; /* any provider's */

bool
openai_read_options(struct body *b, void *to)
{
	return body_is(b, JSON_OBJECT) ? body_object(b, &options, to) : body_any(b, to);
}

/* --- tools --- */

static const struct {
	struct str name;
	enum hosted_fee fee;
} fees[] = {
	{ { "web_search", 10 }, FEE_SEARCH },
	{ { "google_search", 13 }, FEE_SEARCH },
	{ { "googleSearch", 12 }, FEE_SEARCH },
	{ { "file_search", 11 }, FEE_FILE_SEARCH },
};

static enum hosted_fee
fee_of(struct str name)
{
	for (size_t i = 0; i < sizeof(fees) / sizeof(*fees); i++)
		if (str_eq(fees[i].name, name))
			return fees[i].fee;
	return FEE_NONE;
}

bool
openai_note_tool(struct call *c, const struct openai_tool *t, const char *const *client)
{
	struct hosted *h;
	struct str type = t->beside.p != NULL ? t->beside : t->type;

	c->tools++;
	if (t->beside.p == NULL && hosted_is_client(type, client))
		return true;
	if ((h = call_hosts(c, hosted_name(type), t->piece)) == NULL)
		return false;
	h->type = type;
	h->alias = t->name;
	h->fee = fee_of(h->name);
	h->uses = t->uses;
	return true;
}

/* {"type":"function","name":...}, {"type":"function","function":{"name":...}},
 * {"type":"web_search"}, {"type":"allowed_tools","mode":...} */
struct choice {
	struct str type, name, mode;
};

static const struct member choice_name_members[] = {
	{ "name", NULL, body_str, offsetof(struct choice, name) },
	{ "mode", NULL, body_str, offsetof(struct choice, mode) },
};
static const struct object choice_name = {
	.member = choice_name_members,
	.n = sizeof(choice_name_members) / sizeof(*choice_name_members),
};

static bool
read_choice_name(struct body *b, void *to)
{
	return body_object(b, &choice_name, to);
}

static const struct member choice_members[] = {
	{ "type", NULL, body_str, offsetof(struct choice, type) },
	{ "name", NULL, body_str, offsetof(struct choice, name) },
	{ "mode", NULL, body_str, offsetof(struct choice, mode) },
	{ "function", NULL, read_choice_name, 0 },
	{ "custom", NULL, read_choice_name, 0 },
	{ "allowed_tools", NULL, read_choice_name, 0 },
};
static const struct object choice_object = {
	.member = choice_members,
	.n = sizeof(choice_members) / sizeof(*choice_members),
};

static void
choose_word(struct tool_choice *to, struct str word)
{
	if (str_eq(word, STR("none")))
		to->kind = CHOICE_NONE;
	else if (str_eq(word, STR("required")) || str_eq(word, STR("any")))
		to->kind = CHOICE_ANY;
	else
		to->kind = CHOICE_FREE;
}

bool
openai_read_choice(struct body *b, void *to)
{
	struct tool_choice *choice = &b->call->choice;
	struct choice said = { .type = STR_NONE };

	(void)to;
	if (!body_is(b, JSON_OBJECT)) {
		if (!body_str(b, &said.mode))
			return false;
		choose_word(choice, said.mode);
		return true;
	}
	if (!body_object(b, &choice_object, &said))
		return false;
	if (str_eq(said.type, STR("allowed_tools"))) {
		choose_word(choice, said.mode);
		return true;
	}
	choice->kind = CHOICE_NAMED;
	choice->name = said.name.p != NULL ? said.name : said.type;
	return true;
}

/* --- the answer's form --- */

static const struct member format_members[] = {
	{ "type", NULL, body_str, 0 },
	{ "json_schema", "schema", body_inert, 0 },
};
static const struct object format_object = {
	.member = format_members,
	.n = sizeof(format_members) / sizeof(*format_members),
};

bool
openai_read_format(struct body *b, void *to)
{
	struct str type = STR_NONE;

	if (!body_is(b, JSON_OBJECT))
		return body_any(b, to);
	if (!body_object(b, &format_object, &type))
		return false;
	b->call->has_schema |= str_eq(type, STR("json_schema"));
	return true;
}

/* --- content --- */

struct part {
	struct piece *piece;
	struct str type;
	struct str image, video, file_url; /* by URL, or the bytes themselves */
	struct str file_data, file_id, audio, audio_url, audio_id;
};

static const struct member url_members[] = {
	{ "url", NULL, body_str, 0 },
};
static const struct object url_object = { .member = url_members, .n = 1 };

/* "https://..." or {"url":"https://..."} */
static bool
read_url(struct body *b, void *to)
{
	return body_is(b, JSON_OBJECT) ? body_object(b, &url_object, to)
				       : body_str(b, to);
}

static const struct member file_members[] = {
	{ "file_id", NULL, body_str, offsetof(struct part, file_id) },
	{ "file_data", "fileData", body_str, offsetof(struct part, file_data) },
	{ "file_url", NULL, body_str, offsetof(struct part, file_url) },
};
static const struct object file_object = {
	.member = file_members,
	.n = sizeof(file_members) / sizeof(*file_members),
};

static bool
read_file(struct body *b, void *to)
{
	return body_is(b, JSON_OBJECT) ? body_object(b, &file_object, to)
				       : body_str(b, &((struct part *)to)->file_data);
}

static const struct member audio_members[] = {
	{ "data", NULL, body_str, offsetof(struct part, audio) },
	{ "url", NULL, body_str, offsetof(struct part, audio_url) },
	{ "id", NULL, body_str, offsetof(struct part, audio_id) },
};
static const struct object audio_object = {
	.member = audio_members,
	.n = sizeof(audio_members) / sizeof(*audio_members),
};

static bool
read_audio(struct body *b, void *to)
{
	return body_is(b, JSON_OBJECT) ? body_object(b, &audio_object, to)
				       : body_any(b, to);
}

static const struct member cache_members[] = {
	{ "ttl", NULL, body_str, 0 },
};
static const struct object cache_object = { .member = cache_members, .n = 1 };

/* Anthropic's marks pass through gateways. */
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

static const struct member part_members[] = {
	{ "type", NULL, body_str, offsetof(struct part, type) },
	{ "text", NULL, body_inert, 0 },
	{ "refusal", NULL, body_inert, 0 },
	{ "image_url", NULL, read_url, offsetof(struct part, image) },
	{ "video_url", NULL, read_url, offsetof(struct part, video) },
	{ "file_url", NULL, body_str, offsetof(struct part, file_url) },
	{ "file_data", NULL, body_str, offsetof(struct part, file_data) },
	{ "file_id", NULL, body_str, offsetof(struct part, file_id) },
	{ "file", NULL, read_file, 0 },
	{ "input_audio", NULL, read_audio, 0 },
	{ "audio", NULL, read_audio, 0 },
	{ "cache_control", NULL, read_cache, 0 },
};
static const struct object part_object = {
	.member = part_members,
	.n = sizeof(part_members) / sizeof(*part_members),
};

/* Parts that are what they say; another kind may fetch, so it counts as hosted. */
static const char *const known_parts[] = { "text", "refusal", "image_url", "video_url",
	"input_audio", "file", "input_text", "output_text", "input_image", "input_file",
	"summary_text", "reasoning_text", "computer_screenshot", "audio", "output_audio",
	"thinking", "redacted_thinking", "tool_use", "tool_result", NULL };

bool
openai_is_data(struct str url)
{
	if (str_eq_nocase(str_sub(url, 0, 5), STR("data:")))
		return true;
	for (size_t i = 0; i < url.n; i++) /* bare base64, in either alphabet */
		if (!ascii_is_alnum(url.p[i]) && memchr("+/-_=", url.p[i], 5) == NULL)
			return false;
	return true;
}

static bool
is_image(struct str type)
{
	return str_eq(type, STR("input_image")) || str_eq(type, STR("image_url")) ||
	       str_eq(type, STR("computer_screenshot"));
}

/* A message that has lost all its parts is none: some text stands for what is gone. */
static struct str
stand_in(struct str type)
{
	return str_starts(type, STR("input_"))
		   ? STR("{\"type\":\"input_text\",\"text\":\"" LEFT_OUT "\"}")
		   : STR("{\"type\":\"text\",\"text\":\"" LEFT_OUT "\"}");
}

static bool
note_fetch(struct call *c, const struct part *p, const char *name)
{
	struct hosted *h = call_hosts(c, str_of(name), p->piece);

	if (h == NULL)
		return false;
	h->is_media = true;
	p->piece->put = stand_in(p->type);
	return true;
}

/* The payload is no text: what it costs is said apart. */
static void
note_payload(struct call *c, struct str data)
{
	c->text_bytes -= data.n < c->text_bytes ? data.n : c->text_bytes;
}

static bool
note_image(struct call *c, const struct part *p)
{
	c->images++;
	if (!openai_is_data(p->image))
		return note_fetch(c, p, "image_url");
	note_payload(c, p->image);
	return true;
}

static bool
note_document(struct call *c, const struct part *p, struct str data, const char *name)
{
	c->has_document = true;
	if (!openai_is_data(data))
		return note_fetch(c, p, name);
	note_payload(c, data);
	return true;
}

static bool
note_reference(struct call *c, const struct part *p, struct str id)
{
	if (is_image(p->type))
		c->images++;
	else
		c->has_document = true;
	return call_refers(c, REFERENCE_FILE, id, p->piece->begin);
}

static bool
note_part(struct call *c, const struct part *p)
{
	c->blocks++;
	c->has_audio_in |=
	    p->audio.p != NULL || p->audio_url.p != NULL || p->audio_id.p != NULL;
	if (p->type.p != NULL && !hosted_is_client(p->type, known_parts) &&
	    !note_fetch(c, p, "unknown_part"))
		return false;
	return (p->image.p == NULL || note_image(c, p)) &&
	       (p->video.p == NULL || note_document(c, p, p->video, "video_url")) &&
	       (p->file_url.p == NULL || note_document(c, p, p->file_url, "file_url")) &&
	       (p->file_data.p == NULL ||
		   note_document(c, p, p->file_data, "file_url")) &&
	       (p->audio.p == NULL || note_document(c, p, p->audio, "audio_url")) &&
	       (p->audio_url.p == NULL ||
		   note_document(c, p, p->audio_url, "audio_url")) &&
	       (p->file_id.p == NULL || note_reference(c, p, p->file_id)) &&
	       (p->audio_id.p == NULL || note_reference(c, p, p->audio_id));
}

static bool
read_part(struct body *b, void *to)
{
	struct part p = { .piece = b->piece };

	if (!body_is(b, JSON_OBJECT))
		return body_inert(b, to);
	return body_object(b, &part_object, &p) && note_part(b->call, &p);
}

/* An object alone is a part, too: a screenshot that a computer's user sends. */
bool
openai_read_content(struct body *b, void *to)
{
	if (body_is(b, JSON_ARRAY))
		return body_array(b, true, read_part, to);
	return read_part(b, to);
}
