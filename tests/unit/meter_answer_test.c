/* meter: an answer's usage is the provider's last word, however its bytes arrive */
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "meter/api.h"

#define TEXT_MAX 16384

static struct arena arena;
static struct call call;

struct sent {
	const char *type, *body;
	int status; /* 0: 200 */
	const char *request, *path;
	enum provider_kind kind;
};

static struct answer *
begin(const struct sent *s)
{
	static const struct http_head request = { .kind = HTTP_REQUEST };
	struct model_request r = { s->kind, STR("POST"),
		str_of(s->path != NULL ? s->path : "/v1/messages"), &request,
		str_of(s->request != NULL ? s->request
					  : "{\"model\":\"m\",\"max_tokens\":9}") };
	struct http_field field[] = { { STR("Content-Type"), str_of(s->type) } };
	struct http_head head = { .kind = HTTP_RESPONSE,
		.field = field,
		.nfield = 1,
		.status = s->status != 0 ? s->status : 200 };

	arena_fini(&arena);
	arena_init(&arena, 1 << 20);
	assert_true(call_read(&call, &r, &arena));
	return answer_new(&call, &head);
}

/* In pieces of n bytes. */
static struct usage
read_pieces(const struct sent *s, size_t n, bool whole)
{
	struct answer *a = begin(s);
	struct str rest = str_of(s->body);

	while (rest.n > 0) {
		answer_feed(a, str_sub(rest, 0, n), NULL);
		rest = str_sub(rest, n, rest.n);
	}
	struct usage u = *answer_end(a, whole);

	answer_free(a);
	return u;
}

static bool
is_same(const struct usage *a, const struct usage *b)
{
	if (a->nrun != b->nrun || a->state != b->state || a->is_absurd != b->is_absurd ||
	    a->is_fast != b->is_fast || a->region != b->region ||
	    a->text_bytes != b->text_bytes || a->announced != b->announced ||
	    strcmp(a->model, b->model) != 0)
		return false;
	for (size_t i = 0; i < a->nrun; i++)
		if (memcmp(&a->run[i].tier, &b->run[i].tier,
			sizeof(struct run) - offsetof(struct run, tier)) != 0 ||
		    strcmp(a->run[i].model, b->run[i].model) != 0)
			return false;
	return true;
}

#define JSON "application/json"
#define SSE "text/event-stream; charset=utf-8"
#define SSE_GEMINI "/v1beta/models/g:streamGenerateContent?alt=sse"
#define ONE_GEMINI "/v1beta/models/g:generateContent"
#define START \
	"event: message_start\ndata: " \
	"{\"type\":\"message_start\",\"message\":{\"model\":\"m\"," \
	"\"usage\":{\"input_tokens\":420,\"cache_read_input_tokens\":0,\"output_" \
	"tokens\":1}}}\n\n"
#define TEXT \
	"event: content_block_start\ndata: " \
	"{\"type\":\"content_block_start\",\"index\":0," \
	"\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n" \
	"event: content_block_delta\ndata: " \
	"{\"type\":\"content_block_delta\",\"index\":0," \
	"\"delta\":{\"type\":\"text_delta\",\"text\":\"gr\\u00fcn und gut\"}}\n\n"
#define DELTA(usage) \
	"event: message_delta\ndata: " \
	"{\"type\":\"message_delta\",\"delta\":{\"stop_reason\":" \
	"\"end_turn\"},\"usage\":" usage "}\n\n"
#define STOP "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"

/* One run, and what is said of it. */
static const struct row {
	const char *name;
	struct sent sent;
	enum usage_state state;
	size_t nrun;
	struct run run; /* run[0]; of all runs when there are more */
} rows[] = {
	{ "cache counts are added",
	    { JSON,
		"{\"model\":\"m\",\"stop_reason\":\"end_turn\",\"usage\":"
		"{\"input_tokens\":21,\"cache_creation_input_tokens\":4600,"
		"\"cache_read_input_tokens\":90112,\"cache_creation\":{\"ephemeral_5m_"
		"input_tokens\":"
		"1200,\"ephemeral_1h_input_tokens\":3400},\"output_tokens\":777}}",
		0, NULL, NULL, 0 },
	    USAGE_ALL, 1,
	    { .input_total = 94733,
		.cache_read = 90112,
		.cache_write = 1200,
		.cache_write_long = 3400,
		.output = 777 } },
	{ "writing without a time is for five minutes",
	    { JSON,
		"{\"model\":\"m\",\"stop_reason\":"
		"\"end_turn\",\"usage\":{\"input_tokens\":1,\"cache_creation_input_"
		"tokens\":10,"
		"\"output_tokens\":2}}",
		0, NULL, NULL, 0 },
	    USAGE_ALL, 1, { .input_total = 11, .cache_write = 10, .output = 2 } },
	{ "or for an hour when that was asked",
	    { JSON,
		"{\"model\":\"m\",\"stop_reason\":"
		"\"end_turn\",\"usage\":{\"input_tokens\":1,\"cache_creation_input_"
		"tokens\":10,"
		"\"output_tokens\":2}}",
		0,
		"{\"model\":\"m\",\"system\":[{\"type\":\"text\",\"text\":\"\","
		"\"cache_control\":{\"type\":\"ephemeral\",\"ttl\":\"1h\"}}]}",
		NULL, 0 },
	    USAGE_ALL, 1, { .input_total = 11, .cache_write_long = 10, .output = 2 } },
	{ "thinking is inside, nulls are nothing",
	    { JSON,
		"{\"model\":\"m\",\"stop_reason\":"
		"\"end_turn\",\"usage\":{\"input_tokens\":60,\"cache_creation_input_"
		"tokens\":null,"
		"\"cache_read_input_tokens\":null,\"output_tokens\":9120,\"output_tokens_"
		"details\":"
		"{\"thinking_tokens\":8800},\"server_tool_use\":null}}",
		0, NULL, NULL, 0 },
	    USAGE_ALL, 1, { .input_total = 60, .output = 9120, .reasoning = 8800 } },
	{ "refused before any output",
	    { JSON,
		"{\"model\":\"m\",\"stop_reason\":\"refusal\","
		"\"usage\":{\"input_tokens\":5210,\"output_tokens\":0}}",
		0, NULL, NULL, 0 },
	    USAGE_ALL, 0, { .input_total = 0 } },
	{ "refused in the middle",
	    { JSON,
		"{\"model\":\"m\",\"stop_reason\":\"refusal\","
		"\"usage\":{\"input_tokens\":5210,\"output_tokens\":3}}",
		0, NULL, NULL, 0 },
	    USAGE_ALL, 1, { .input_total = 5210, .output = 3 } },
	{ "compaction stands in iterations only",
	    { JSON,
		"{\"model\":\"m\",\"stop_reason\":"
		"\"end_turn\",\"usage\":{\"input_tokens\":23000,\"output_tokens\":1000,"
		"\"iterations\":["
		"{\"type\":\"compaction\",\"input_tokens\":180000,\"output_tokens\":3500}"
		","
		"{\"type\":\"message\",\"input_tokens\":23000,\"output_tokens\":1000}]}}",
		0, NULL, NULL, 0 },
	    USAGE_ALL, 2, { .input_total = 203000, .output = 4500 } },
	{ "an attempt declined before output is free",
	    { JSON,
		"{\"model\":\"m\",\"stop_reason\":"
		"\"end_turn\",\"usage\":{\"iterations\":[{\"type\":\"message\",\"input_"
		"tokens\":7,"
		"\"output_tokens\":0},{\"type\":\"fallback_message\",\"model\":\"n\","
		"\"input_tokens\":8,"
		"\"output_tokens\":9}]}}",
		0, NULL, NULL, 0 },
	    USAGE_ALL, 1, { .model = "n", .input_total = 8, .output = 9 } },
	{ "batch is a tier",
	    { JSON,
		"{\"model\":\"m\",\"stop_reason\":\"end_turn\",\"usage\":"
		"{\"input_tokens\":1,\"output_tokens\":2,\"service_tier\":\"batch\"}}",
		0, NULL, NULL, 0 },
	    USAGE_ALL, 1, { .tier = TIER_BATCH, .input_total = 1, .output = 2 } },
	{ "the last running total counts",
	    { SSE,
		START TEXT DELTA(
		    "{\"input_tokens\":14420,\"output_tokens\":500,\"server_tool_use\":"
		    "{\"web_search_requests\":3}}") STOP,
		0, NULL, NULL, 0 },
	    USAGE_ALL, 1, { .input_total = 14420, .output = 500, .searches = 3 } },
	{ "null does not take back what was said",
	    { SSE, START TEXT DELTA("{\"input_tokens\":null,\"output_tokens\":7}") STOP,
		0, NULL, NULL, 0 },
	    USAGE_ALL, 1, { .input_total = 420, .output = 7 } },
	{ "a stream that breaks has said only the prompt",
	    { SSE,
		START TEXT
		"event: error\ndata: "
		"{\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\"}}\n\n",
		0, NULL, NULL, 0 },
	    USAGE_PARTLY, 1, { .input_total = 420, .output = 1 } },
	{ "an error at once is not billed",
	    { SSE, "event: error\ndata: {\"type\":\"error\"}\n\n", 0, NULL, NULL, 0 },
	    USAGE_ALL, 0, { .input_total = 0 } },
	{ "silence is not nothing", { SSE, ": ping\n\n", 0, NULL, NULL, 0 },
	    USAGE_NOTHING, 0, { .input_total = 0 } },
	{ "an error's status is free",
	    { JSON, "{\"usage\":{\"input_tokens\":9}}", 529, NULL, NULL, 0 }, USAGE_ALL,
	    0, { .input_total = 0 } },
	{ "the counter is free",
	    { JSON, "{\"input_tokens\":2411}", 0, NULL, "/v1/messages/count_tokens", 0 },
	    USAGE_ALL, 0, { .input_total = 0 } },
	{ "results of a batch, one a line",
	    { "application/x-jsonl",
		"{\"result\":{\"message\":"
		"{\"model\":\"m\",\"stop_reason\":\"end_turn\",\"usage\":{\"input_"
		"tokens\":1,"
		"\"output_tokens\":2,\"service_tier\":\"batch\"}}}}\n{\"result\":{"
		"\"message\":{\"model\":"
		"\"n\",\"stop_reason\":\"end_turn\",\"usage\":{\"input_tokens\":10,"
		"\"output_tokens\":20}}}"
		"}\n",
		0, NULL, NULL, 0 },
	    USAGE_ALL, 2, { .input_total = 11, .output = 22 } },
	{ "thoughts are added, the cache is not",
	    { JSON,
		"{\"candidates\":[{\"finishReason\":"
		"\"STOP\"}],\"usageMetadata\":{\"promptTokenCount\":1200,"
		"\"cachedContentTokenCount\":1000,"
		"\"candidatesTokenCount\":90,\"thoughtsTokenCount\":610,"
		"\"toolUsePromptTokenCount\":300}}",
		0, "{}", ONE_GEMINI, PROVIDER_GEMINI },
	    USAGE_ALL, 1,
	    { .input_total = 1500,
		.cache_read = 1000,
		.output = 700,
		.reasoning = 610 } },
	{ "sound has counts of its own",
	    { JSON,
		"{\"usageMetadata\":{\"promptTokenCount\":3300,"
		"\"promptTokensDetails\":[{\"modality\":\"TEXT\",\"tokenCount\":100},{"
		"\"tokenCount\":3200,"
		"\"modality\":\"AUDIO\"}],\"candidatesTokenCount\":40}}",
		0, "{}", ONE_GEMINI, PROVIDER_GEMINI },
	    USAGE_ALL, 1, { .input_total = 3300, .audio_in = 3200, .output = 40 } },
	{ "a query asked twice is one",
	    { JSON,
		"{\"candidates\":[{\"groundingMetadata\":"
		"{\"webSearchQueries\":[\"a\",\"b\",\"a\",\"\"]}}],\"usageMetadata\":"
		"{\"promptTokenCount\":1}}",
		0, "{}", ONE_GEMINI, PROVIDER_GEMINI },
	    USAGE_ALL, 1, { .input_total = 1, .searches = 2 } },
	{ "chunks as events",
	    { SSE,
		"data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":"
		"\"It "
		"\"}]}}],\"usageMetadata\":{\"promptTokenCount\":50,"
		"\"thoughtsTokenCount\":200}}\r\n"
		"\r\ndata: "
		"{\"candidates\":[{\"finishReason\":\"STOP\"}],\"usageMetadata\":"
		"{\"promptTokenCount\":50,\"candidatesTokenCount\":31,"
		"\"thoughtsTokenCount\":200}}\r\n\r\n",
		0, "{}", SSE_GEMINI, PROVIDER_GEMINI },
	    USAGE_ALL, 1, { .input_total = 50, .output = 231, .reasoning = 200 } },
	{ "chunks as one array",
	    { JSON,
		"[{\"usageMetadata\":{\"promptTokenCount\":50}}\n,\n"
		"{\"candidates\":[{\"finishReason\":\"STOP\"}],\"usageMetadata\":{"
		"\"promptTokenCount\":50,"
		"\"candidatesTokenCount\":31}}]",
		0, "{}", "/v1beta/models/g:streamGenerateContent", PROVIDER_GEMINI },
	    USAGE_ALL, 1, { .input_total = 50, .output = 31 } },
	{ "an array that broke off",
	    { JSON,
		"[{\"usageMetadata\":{\"promptTokenCount\":50,"
		"\"candidatesTokenCount\":3}}\n,\n{\"cand",
		0, "{}", "/v1beta/models/g:streamGenerateContent", PROVIDER_GEMINI },
	    USAGE_PARTLY, 1, { .input_total = 50, .output = 3 } },
	{ "events without a reason to end",
	    { SSE,
		"data: {\"usageMetadata\":{\"promptTokenCount\":50,"
		"\"candidatesTokenCount\":3}}\n\n",
		0, "{}", SSE_GEMINI, PROVIDER_GEMINI },
	    USAGE_PARTLY, 1, { .input_total = 50, .output = 3 } },
	{ "an embedding that says nothing",
	    { JSON, "{\"embedding\":{\"values\":[0.1]}}", 0,
		"{\"content\":{\"parts\":[{\"text\":\"a\"}]}}",
		"/v1beta/models/e:embedContent", PROVIDER_GEMINI },
	    USAGE_NOTHING, 0, { .input_total = 0 } },
};

static void
test_usage_is_read_however_it_is_cut(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		const struct row *r = &rows[i];
		struct usage u = read_pieces(&r->sent, TEXT_MAX, true);
		struct run total = u.nrun == 1 ? u.run[0] : usage_total(&u);

		assert_row(
		    r->name, u.state == r->state && u.nrun == r->nrun && !u.is_absurd);
		assert_row(r->name, memcmp(&total.tier, &r->run.tier,
					sizeof(total) - offsetof(struct run, tier)) == 0);
		if (r->run.model[0] != '\0')
			assert_row(r->name, strcmp(u.run[0].model, r->run.model) == 0);
		for (size_t n = 1; n < 40; n += n < 8 ? 1 : 7) {
			struct usage again = read_pieces(&r->sent, n, true);

			assert_row(r->name, is_same(&u, &again));
		}
	}
}

static void
test_speed_and_place_are_the_answers(void **state)
{
	const struct sent s = { JSON,
		"{\"model\":\"m\",\"stop_reason\":\"end_turn\",\"usage\":{\"input_"
		"tokens\":1,"
		"\"output_tokens\":1,\"speed\":\"fast\",\"inference_geo\":\"us\"}}",
		0, NULL, NULL, 0 };
	struct usage u = read_pieces(&s, TEXT_MAX, true);

	(void)state;
	assert_true(u.is_fast && u.region == REGION_US);
}

static void
test_absurd_figures_are_said_to_be(void **state)
{
	static const char *const figures[] = { "-1", "1.5", "1e300", "\"12\"", "{}",
		"true" };

	(void)state;
	for (size_t i = 0; i < COUNT_OF(figures); i++) {
		char body[256];
		struct sent s = { JSON, body, 0, NULL, NULL, 0 };

		snprintf(body, sizeof(body),
		    "{\"model\":\"m\",\"stop_reason\":\"end_turn\",\"usage\":{\"input_"
		    "tokens\":5,"
		    "\"output_tokens\":%s}}",
		    figures[i]);
		assert_row(figures[i], read_pieces(&s, TEXT_MAX, true).is_absurd);
	}
}

#define CHAT "/v1/chat/completions"
#define RESPONSES "/v1/responses"
#define NO_LIMIT "{\"model\":\"m\"}"
#define SAID "\"choices\":[{\"message\":{\"content\":\"hello\"}}]"
#define DELTA_TEXT "data: {\"choices\":[{\"delta\":{\"content\":\"hello\"}}]}\n\n"
#define DONE "data: [DONE]\n\n"
#define CHAT_USAGE(in, out) \
	"\"usage\":{\"prompt_tokens\":" #in ",\"completion_tokens\":" #out "}"
#define OUTPUT "\"output\":[{\"type\":\"message\",\"content\":[{\"text\":\"hello\"}]}]"

/* The provider's word, and what it sent: which is believed? */
static const struct doubted {
	const char *name;
	struct sent sent;
	enum usage_state state;
	bool is_absurd;
} doubted[] = {
	{ "text of no tokens",
	    { JSON, "{" SAID "," CHAT_USAGE(5, 0) "}", 0, NO_LIMIT, CHAT,
		PROVIDER_OPENAI },
	    USAGE_ALL, true },
	{ "all is nothing",
	    { JSON, "{" SAID "," CHAT_USAGE(0, 0) "}", 0, NO_LIMIT, CHAT,
		PROVIDER_OPENAI },
	    USAGE_ALL, true },
	{ "no prompt",
	    { JSON, "{" SAID "," CHAT_USAGE(0, 3) "}", 0, NO_LIMIT, CHAT,
		PROVIDER_OPENAI },
	    USAGE_ALL, true },
	{ "more read from the cache than there was",
	    { JSON,
		"{" SAID ",\"usage\":{\"prompt_tokens\":5,\"completion_tokens\":3,"
		"\"prompt_tokens_details\":{\"cached_tokens\":6}}}",
		0, NO_LIMIT, CHAT, PROVIDER_OPENAI },
	    USAGE_ALL, true },
	{ "more thought than written",
	    { JSON,
		"{" OUTPUT ",\"object\":\"response\",\"status\":\"completed\",\"usage\":{"
		"\"input_tokens\":5,\"output_tokens\":3,\"output_tokens_details\":{"
		"\"reasoning_tokens\":4}}}",
		0, NO_LIMIT, RESPONSES, PROVIDER_OPENAI },
	    USAGE_ALL, true },
	{ "text behind the usage",
	    { SSE, "data: {\"choices\":[]," CHAT_USAGE(5, 1) "}\n\n" DELTA_TEXT DONE, 0,
		NO_LIMIT, CHAT, PROVIDER_OPENAI },
	    USAGE_PARTLY, false },
	{ "usage behind the text",
	    { SSE, DELTA_TEXT "data: {\"choices\":[]," CHAT_USAGE(5, 1) "}\n\n" DONE, 0,
		NO_LIMIT, CHAT, PROVIDER_OPENAI },
	    USAGE_ALL, false },
	{ "only the count that a stream begins with",
	    { SSE, START STOP, 0, NULL, NULL, 0 }, USAGE_PARTLY, false },
	{ "and nothing at its end",
	    { SSE, START TEXT DELTA("{\"output_tokens\":null}") STOP, 0, NULL, NULL, 0 },
	    USAGE_PARTLY, false },
	{ "the last word",
	    { SSE, START TEXT DELTA("{\"output_tokens\":4}") STOP, 0, NULL, NULL, 0 },
	    USAGE_ALL, false },
	{ "an output that is not said",
	    { JSON,
		"{\"model\":\"m\",\"stop_reason\":\"end_turn\",\"usage\":{\"input_"
		"tokens\":5}}",
		0, NULL, NULL, 0 },
	    USAGE_PARTLY, false },
	{ "refused, with text",
	    { SSE,
		START TEXT
		"event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{"
		"\"stop_reason\":\"refusal\"},\"usage\":{\"output_tokens\":0}}"
		"\n\n" STOP,
		0, NULL, NULL, 0 },
	    USAGE_NOTHING, false },
	{ "an error behind text that no message began",
	    { SSE, TEXT "event: error\ndata: {\"type\":\"error\"}\n\n", 0, NULL, NULL,
		0 },
	    USAGE_NOTHING, false },
	{ "an error before anything",
	    { SSE, "event: error\ndata: {\"type\":\"error\"}\n\n", 0, NULL, NULL, 0 },
	    USAGE_ALL, false },
	{ "failed, with text",
	    { SSE,
		"data: {\"type\":\"response.output_text.delta\",\"delta\":\"hello\"}\n\n"
		"data: {\"type\":\"response.failed\",\"response\":{\"status\":\"failed\","
		"\"usage\":null}}\n\n",
		0, NO_LIMIT, RESPONSES, PROVIDER_OPENAI },
	    USAGE_NOTHING, false },
	{ "failed, and nothing was used",
	    { SSE,
		"data: {\"type\":\"response.failed\",\"response\":{\"status\":\"failed\","
		"\"usage\":{\"input_tokens\":0,\"output_tokens\":0}}}\n\n",
		0, NO_LIMIT, RESPONSES, PROVIDER_OPENAI },
	    USAGE_ALL, false },
	{ "text behind a chunk's usage",
	    { JSON,
		"[{\"usageMetadata\":{\"promptTokenCount\":5,\"candidatesTokenCount\":1}}"
		","
		"{\"candidates\":[{\"finishReason\":\"STOP\",\"content\":{\"parts\":[{"
		"\"text\":\"hello\"}]}}]}]",
		0, "{}", "/v1beta/models/g:streamGenerateContent", PROVIDER_GEMINI },
	    USAGE_PARTLY, false },
	{ "a last chunk that leaves the output out",
	    { SSE,
		"data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"hel\"}]}}],"
		"\"usageMetadata\":{\"promptTokenCount\":5,\"candidatesTokenCount\":1}}"
		"\n\n"
		"data: "
		"{\"candidates\":[{\"finishReason\":\"STOP\",\"content\":{\"parts\":[{"
		"\"text\":\"lo\"}]}}],\"usageMetadata\":{\"promptTokenCount\":5}}\n\n",
		0, "{}", SSE_GEMINI, PROVIDER_GEMINI },
	    USAGE_PARTLY, false },
	{ "an embedding of nothing",
	    { JSON, "{\"usage\":{\"prompt_tokens\":0}}", 0,
		"{\"model\":\"m\",\"input\":\"x\"}", "/v1/embeddings", PROVIDER_OPENAI },
	    USAGE_ALL, true },
	{ "a count in quotes",
	    { JSON, "{\"usage\":{\"prompt_tokens\":\"7\"}}", 0,
		"{\"model\":\"m\",\"input\":\"x\"}", "/v1/embeddings", PROVIDER_OPENAI },
	    USAGE_NOTHING, true },
};

static void
test_usage_that_does_not_fit_what_came_is_not_believed(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(doubted); i++) {
		const struct doubted *d = &doubted[i];
		struct usage u = read_pieces(&d->sent, TEXT_MAX, true);

		assert_row(d->name, u.state == d->state && u.is_absurd == d->is_absurd);
	}
}

static void
test_a_cost_that_is_no_amount_is_said_to_be_none(void **state)
{
	static const struct {
		const char *cost;
		bool has_reported, is_absurd;
	} costs[] = { { "0.25", true, false }, { "\"0.25\"", true, false },
		{ "null", false, false }, { "-0.25", false, true },
		{ "\"much\"", false, true }, { "1e18", false, true },
		{ "true", false, true }, { "{}", false, true } };

	(void)state;
	for (size_t i = 0; i < COUNT_OF(costs); i++) {
		char body[256];
		struct sent s = { JSON, body, 0, NO_LIMIT, CHAT, PROVIDER_OPENROUTER };
		struct usage u;

		snprintf(body, sizeof(body),
		    "{" SAID ",\"usage\":{\"prompt_tokens\":5,\"completion_tokens\":3,"
		    "\"cost\":%s}}",
		    costs[i].cost);
		u = read_pieces(&s, TEXT_MAX, true);
		assert_row(costs[i].cost, u.has_reported == costs[i].has_reported);
		assert_row(costs[i].cost, u.is_cost_absurd == costs[i].is_absurd);
		assert_row(costs[i].cost, u.state == USAGE_ALL && !u.is_absurd);
	}
}

static void
test_more_iterations_than_room_are_absurd_not_forgotten(void **state)
{
	static char body[TEXT_MAX];
	struct sent s = { JSON, body, 0, NULL, NULL, 0 };
	size_t n = (size_t)snprintf(body, sizeof(body),
	    "{\"model\":\"m\",\"usage\":{\"input_tokens\":1,\"iterations\":[");

	(void)state;
	for (size_t i = 0; i <= USAGE_RUNS; i++)
		n += (size_t)snprintf(body + n, sizeof(body) - n,
		    "%s{\"type\":\"message\",\"input_tokens\":1,\"output_tokens\":1}",
		    i > 0 ? "," : "");
	snprintf(body + n, sizeof(body) - n, "]},\"stop_reason\":\"end_turn\"}");
	assert_true(read_pieces(&s, TEXT_MAX, true).is_absurd);
}

static void
test_delivered_text_and_announced_thinking_are_counted(void **state)
{
	const struct sent s = { SSE,
		START TEXT
		"data: {\"type\":\"content_block_delta\",\"delta\":{\"type\":"
		"\"thinking_delta\",\"thinking\":\"\",\"estimated_tokens\":40}}\n\n"
		"data: "
		"{\"type\":\"content_block_delta\",\"delta\":{\"estimated_tokens\":60,"
		"\"partial_json\":\"{}\"}}\n\n",
		0, NULL, NULL, 0 };
	struct usage u = read_pieces(&s, 3, false);

	(void)state;
	assert_int_equal(u.announced, 100);
	/* as they stand on the wire */
	assert_int_equal(u.text_bytes, strlen("gr\\u00fcn und gut") + strlen("{}"));
}

static void
test_cut_stream_ends_as_the_family_ends(void **state)
{
	static const struct {
		const char *name;
		struct sent sent;
		const char *end; /* NULL: has no way */
	} cuts[] = {
		{ "a block is open", { SSE, START TEXT, 0, NULL, NULL, 0 },
		    "event: content_block_stop\ndata: "
		    "{\"type\":\"content_block_stop\",\"index\":0}\n\n"
		    "event: message_delta\ndata: "
		    "{\"type\":\"message_delta\",\"delta\":{\"stop_reason\":"
		    "\"max_tokens\",\"stop_sequence\":null},\"usage\":{\"output_tokens\":"
		    "7}}\n\n" STOP },
		{ "none is", { SSE, START, 0, NULL, NULL, 0 },
		    "event: message_delta\ndata: "
		    "{\"type\":\"message_delta\",\"delta\":{\"stop_reason\":"
		    "\"max_tokens\",\"stop_sequence\":null},\"usage\":{\"output_tokens\":"
		    "1}}\n\n" STOP },
		{ "gemini", { SSE, "data: {}\n\n", 0, "{}", SSE_GEMINI, PROVIDER_GEMINI },
		    "data: "
		    "{\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"\"}],\"role\":"
		    "\"model\"},"
		    "\"finishReason\":\"MAX_TOKENS\",\"index\":0}]}\n\n" },
		{ "no stream", { JSON, "{", 0, NULL, NULL, 0 }, NULL },
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cuts); i++) {
		struct answer *a = begin(&cuts[i].sent);
		struct buf out;

		buf_init(&out, TEXT_MAX);
		answer_feed(a, str_of(cuts[i].sent.body), NULL);
		assert_row(cuts[i].name, answer_is_between(a) == (cuts[i].end != NULL));
		assert_row(cuts[i].name, answer_cut(a, &out) == (cuts[i].end != NULL));
		if (cuts[i].end != NULL)
			assert_row(
			    cuts[i].name, strcmp(buf_cstr(&out), cuts[i].end) == 0);
		answer_feed(a, STR("data: {\"half"), NULL);
		assert_row(cuts[i].name, !answer_is_between(a));
		buf_fini(&out);
		answer_free(a);
	}
}

/* --- while it comes --- */

#define GEMINI(text, more, output) \
	"data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"" text "\"}]}" more \
	"}],\"usageMetadata\":{\"promptTokenCount\":5,\"candidatesTokenCount\":" output \
	"}}\n\n"

static void
test_running_totals_are_there_while_the_stream_goes_on(void **state)
{
	static const struct sent s = { SSE, "", 0, "{}", SSE_GEMINI, PROVIDER_GEMINI };
	struct answer *a = begin(&s);
	static struct usage u;

	(void)state;
	assert_false(answer_so_far(a, &u)); /* nothing was said */
	answer_feed(a, str_of(GEMINI("a", "", "3")), NULL);
	assert_true(answer_so_far(a, &u));
	assert_true(u.nrun == 1 && u.run[0].input_total == 5 && u.run[0].output == 3);
	assert_false(answer_so_far(a, &u)); /* nothing new */
	answer_feed(a, str_of(GEMINI("b", "", "6")), NULL);
	assert_true(answer_so_far(a, &u) && u.nrun == 1 && u.run[0].output == 6);
	answer_feed(a, str_of(GEMINI("", ",\"finishReason\":\"STOP\"", "7")), NULL);
	assert_false(answer_so_far(a, &u)); /* its last word: the end is near */
	answer_feed(a, str_of(GEMINI("c", "", "900")), NULL);
	assert_true(answer_so_far(a, &u) && u.run[0].output == 900); /* it was not */
	u = *answer_end(a, false);
	assert_true(u.nrun == 1 && u.run[0].output == 900);
	answer_free(a);
}

#define SPOKEN(delta) "data: {\"choices\":[{\"index\":0,\"delta\":{" delta "}}]}\n\n"

static void
test_text_is_sure_without_escapes_and_once(void **state)
{
	static const struct {
		const char *event;
		uint64_t bytes, least;
	} said[] = {
		{ SPOKEN("\"content\":\"\\u003c\\u00e9\\n\""), 14, 4 },
		{ SPOKEN("\"reasoning\":\"abc\",\"reasoning_content\":\"abc\""), 6, 3 },
		{ SPOKEN("\"reasoning_content\":\"abcd\""), 4, 4 },
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(said); i++) {
		struct sent s = { SSE, said[i].event, 0, NULL, "/v1/chat/completions",
			PROVIDER_OPENAI };
		struct usage u = read_pieces(&s, 5, false);

		assert_row(said[i].event, u.text_bytes == said[i].bytes);
		assert_row(said[i].event, u.text_least == said[i].least);
	}
}

static void
test_a_string_s_size_is_all_of_it(void **state)
{
	static char body[2000];
	struct sent s = { SSE, body, 0, NULL, "/v1/chat/completions", PROVIDER_OPENAI };

	(void)state;
	snprintf(body, sizeof(body), SPOKEN("\"content\":\"%01000d\""), 0);
	assert_int_equal(read_pieces(&s, 7, false).text_least, 1000);
}

/* --- what the client does not see --- */

#define CHUNK(n) \
	"data: {\"id\":\"c\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"" n \
	"\"}}]}\n\n"
#define USAGE_CHUNK \
	"data: " \
	"{\"id\":\"c\",\"choices\":[],\"usage\":{\"prompt_tokens\":3,\"completion_" \
	"tokens\":4}}\n\n"
#define DONE "data: [DONE]\n\n"

static void
test_usage_that_was_not_asked_for_is_taken_out_at_any_cut(void **state)
{
	static const char body[] =
	    ": hello\n\n" CHUNK("a") CHUNK("b") USAGE_CHUNK DONE ": bye\n";
	const struct sent s = { SSE, body, 0, "{\"model\":\"m\",\"stream\":true}",
		"/v1/chat/completions", PROVIDER_OPENAI };

	(void)state;
	for (size_t n = 1; n < sizeof(body); n += n < 20 ? 1 : 13) {
		struct answer *a = begin(&s);
		struct str rest = str_of(body);
		struct buf seen;

		assert_true(call.hides_usage);
		buf_init(&seen, TEXT_MAX);
		while (rest.n > 0) {
			answer_feed(a, str_sub(rest, 0, n), &seen);
			rest = str_sub(rest, n, rest.n);
		}
		answer_feed(a, STR_NONE, &seen);
		assert_string_equal(
		    buf_cstr(&seen), ": hello\n\n" CHUNK("a") CHUNK("b") DONE ": bye\n");
		const struct usage *u = answer_end(a, true);

		assert_true(u->state == USAGE_ALL && u->run[0].output == 4);
		buf_fini(&seen);
		answer_free(a);
	}
}

static void
test_event_too_long_to_hold_passes(void **state)
{
	const struct sent s = { SSE, "", 0, "{\"model\":\"m\",\"stream\":true}",
		"/v1/chat/completions", PROVIDER_OPENAI };
	struct answer *a = begin(&s);
	size_t n = ANSWER_HELD_MAX * 2;
	char *text = mem_alloc(n);
	struct buf seen;

	(void)state;
	memset(text, 'x', n);
	buf_init(&seen, n * 2);
	answer_feed(a, STR("data: {\"choices\":[{\"delta\":{\"content\":\""), &seen);
	assert_int_equal(seen.n, 0);
	answer_feed(a, (struct str){ text, n }, &seen);
	assert_true(seen.n > n);
	answer_feed(a, STR("\"}}]}\n\n" USAGE_CHUNK CHUNK("a")), &seen);
	assert_true(str_ends(buf_view(&seen), STR("\"}}]}\n\n" CHUNK("a"))));
	buf_fini(&seen);
	free(text);
	answer_free(a);
}

static int
tear_down(void **state)
{
	(void)state;
	arena_fini(&arena);
	return 0;
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_usage_is_read_however_it_is_cut),
		cmocka_unit_test(test_speed_and_place_are_the_answers),
		cmocka_unit_test(test_absurd_figures_are_said_to_be),
		cmocka_unit_test(test_usage_that_does_not_fit_what_came_is_not_believed),
		cmocka_unit_test(test_a_cost_that_is_no_amount_is_said_to_be_none),
		cmocka_unit_test(test_more_iterations_than_room_are_absurd_not_forgotten),
		cmocka_unit_test(test_delivered_text_and_announced_thinking_are_counted),
		cmocka_unit_test(test_cut_stream_ends_as_the_family_ends),
		cmocka_unit_test(test_running_totals_are_there_while_the_stream_goes_on),
		cmocka_unit_test(test_text_is_sure_without_escapes_and_once),
		cmocka_unit_test(test_a_string_s_size_is_all_of_it),
		cmocka_unit_test(
		    test_usage_that_was_not_asked_for_is_taken_out_at_any_cut),
		cmocka_unit_test(test_event_too_long_to_hold_passes),
	};

	return cmocka_run_group_tests(tests, NULL, tear_down);
}
