/* meter: OpenAI's families and the AI Gateway, requests and answers as tables */
#include "unit.h"

#include <string.h>

#include "meter/api.h"
#include "meter/hosted.h"

#define CHAT "/v1/chat/completions"
#define RESPONSES "/v1/responses"
#define GATEWAY "/v4/ai/language-model"
#define MESSAGES(content) "\"messages\":[{\"role\":\"user\",\"content\":" content "}]"

static struct arena arena;
static struct call call;
static struct buf text;

static struct http_field fields[4];
static struct http_head head = { .kind = HTTP_REQUEST, .field = fields };

static bool
read_call(enum provider_kind kind, const char *path, const char *body)
{
	struct model_request r = { kind, STR("POST"), str_of(path), &head, str_of(body) };

	arena_fini(&arena);
	arena_init(&arena, 16 << 20);
	buf_reset(&text);
	return call_read(&call, &r, &arena);
}

static int
begin_tests(void **state)
{
	(void)state;
	arena_init(&arena, 16 << 20);
	buf_init(&text, 16 << 20);
	return 0;
}

static int
end_tests(void **state)
{
	(void)state;
	arena_fini(&arena);
	buf_fini(&text);
	return 0;
}

/* --- requests --- */

/* What was understood, in words that a row can hold. */
static const char *
said(void)
{
	static const char *const tiers[] = { "", " priority", " flex", " batch",
		" ultrafast" };
	static const char *const roles[] = { "", "or-", "either-", "with-", "?" };

	for (size_t i = 0; i < call.nmodel; i++)
		buf_fmt(&text, "%s%s%.*s", i > 0 ? " " : "", roles[call.model[i].role],
		    STR_ARG(call.model[i].name));
	if (call.has_limit)
		buf_fmt(
		    &text, " %s=%llu", call.limit_name, (unsigned long long)call.limit);
	if (call.answers != 1)
		buf_fmt(&text, " x%llu", (unsigned long long)call.answers);
	buf_text(&text, tiers[call.tier]);
	for (const struct hosted *h = call.hosted; h != NULL; h = h->next)
		buf_fmt(&text, " !%.*s", STR_ARG(h->name));
	for (size_t i = 0; i < call.nreference; i++)
		buf_fmt(&text, " @%.*s", STR_ARG(call.reference[i].id));
	buf_text(&text, call.is_stream ? " stream" : "");
	buf_text(&text, call.is_background ? " background" : "");
	buf_text(&text, call.has_document ? " document" : "");
	buf_text(&text, call.images > 0 ? " image" : "");
	buf_text(&text, call.has_audio_in ? " audio-in" : "");
	buf_text(&text, call.has_audio_out ? " audio-out" : "");
	return buf_cstr(&text);
}

struct understood {
	const char *body, *said;
	enum provider_kind kind;
	const char *path;
};

static void
assert_understood(const struct understood *rows, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		assert_row(
		    rows[i].body, read_call(rows[i].kind, rows[i].path, rows[i].body));
		assert_string_equal(said(), rows[i].said);
	}
}

static void
test_a_chat_is_understood(void **state)
{
	static const struct understood rows[] = {
		{ "{\"model\":\"m\"}", "m", PROVIDER_OPENAI, CHAT },
		{ "{\"model\":\"m\",\"max_tokens\":5,\"n\":3}", "m max_tokens=5 x3",
		    PROVIDER_OPENAI, CHAT },
		{ "{\"model\":\"m\",\"max_tokens\":5,\"max_completion_tokens\":5}",
		    "m max_completion_tokens=5", PROVIDER_OPENAI, CHAT },
		{ "{\"model\":\"m\",\"max_tokens\":null}", "m", PROVIDER_OPENAI, CHAT },
		{ "{\"model\":\"m\",\"service_tier\":\"fast\"}", "m priority",
		    PROVIDER_OPENAI, CHAT },
		{ "{\"model\":\"m\",\"service_tier\":\"auto\"}", "m", PROVIDER_OPENAI,
		    CHAT },
		{ "{\"model\":\"m\",\"service_tier\":\"unheard-of\"}", "m ultrafast",
		    PROVIDER_OPENAI, CHAT },
		{ "{\"model\":\"m\",\"models\":[\"a\",\"b\"]}", "m either-a either-b",
		    PROVIDER_OPENROUTER, CHAT },
		{ "{\"model\":\"m:online\"}", "m:online !web_search", PROVIDER_OPENROUTER,
		    CHAT },
		{ "{\"model\":\"m\",\"plugins\":[{\"id\":\"web\"},{\"id\":\"file-"
		  "parser\"}]}",
		    "m !web_search !file-parser", PROVIDER_OPENROUTER, CHAT },
		{ "{\"model\":\"m\",\"web_search_options\":{}}", "m !web_search",
		    PROVIDER_OPENAI, CHAT },
		{ "{\"model\":\"m\",\"web_search_options\":null}", "m", PROVIDER_OPENAI,
		    CHAT },
		{ "{\"model\":\"m\",\"tools\":[{\"type\":\"function\",\"function\":{"
		  "\"name\":"
		  "\"f\",\"parameters\":{\"model\":\"x\"}}},{\"type\":\"custom\"}]}",
		    "m", PROVIDER_OPENAI, CHAT },
		{ "{\"model\":\"m\",\"tools\":[{\"google_search\":{}}]}",
		    "m !google_search", PROVIDER_OPENAI, CHAT },
		{ "{\"model\":\"m\",\"x\":{\"model\":\"hidden\"}}", "m ?hidden",
		    PROVIDER_OPENAI, CHAT },
		{ "{\"model\":\"m\",\"modalities\":[\"text\",\"audio\"]}", "m audio-out",
		    PROVIDER_OPENAI, CHAT },
		{ "{\"model\":\"m\"," MESSAGES("\"{\\\"model\\\":1}\"") "}", "m",
		    PROVIDER_OPENAI, CHAT },
		{ "{\"model\":\"m\"," MESSAGES(
		      "[{\"type\":\"image_url\",\"image_url\":{"
		      "\"url\":\"data:image/png;base64,AA==\"}}]") "}",
		    "m image", PROVIDER_OPENAI, CHAT },
		{ "{\"model\":\"m\"," MESSAGES("[{\"type\":\"image_url\",\"image_url\":{"
					       "\"url\":\"https://x.test/\"}}]") "}",
		    "m !image_url image", PROVIDER_OPENAI, CHAT },
		{ "{\"model\":\"m\"," MESSAGES(
		      "[{\"type\":\"file\",\"file\":{\"file_id\":"
		      "\"file-1\"}}]") "}",
		    "m @file-1 document", PROVIDER_OPENAI, CHAT },
		{ "{\"model\":\"m\"," MESSAGES(
		      "[{\"type\":\"file\",\"file\":{\"file_data\":"
		      "\"https://x.test/\"}}]") "}",
		    "m !file_url document", PROVIDER_OPENROUTER, CHAT },
		{ "{\"model\":\"m\"," MESSAGES(
		      "[{\"type\":\"input_audio\",\"input_audio\":{"
		      "\"data\":\"AAAA\"}}]") "}",
		    "m document audio-in", PROVIDER_OPENAI, CHAT },
		{ "{\"model\":\"m\"," MESSAGES("[{\"type\":\"new_kind\",\"x\":1}]") "}",
		    "m !unknown_part", PROVIDER_OPENAI, CHAT },
		{ "{\"model\":\"m\",\"messages\":[{\"role\":\"assistant\",\"audio\":{"
		  "\"id\":"
		  "\"a-1\"}}]}",
		    "m @a-1 document audio-in", PROVIDER_OPENAI, CHAT },
	};

	(void)state;
	assert_understood(rows, COUNT_OF(rows));
}

static void
test_a_response_is_understood(void **state)
{
	static const struct understood rows[] = {
		{ "{\"model\":\"m\",\"input\":\"x\"}", "m", PROVIDER_OPENAI, RESPONSES },
		{ "{\"model\":\"m\",\"max_output_tokens\":7,\"stream\":true}",
		    "m max_output_tokens=7 stream", PROVIDER_OPENAI, RESPONSES },
		{ "{\"model\":\"m\",\"background\":true}", "m background",
		    PROVIDER_OPENAI, RESPONSES },
		{ "{\"model\":\"m\",\"previous_response_id\":\"resp_1\"}", "m @resp_1",
		    PROVIDER_OPENAI, RESPONSES },
		{ "{\"model\":\"m\",\"conversation\":{\"id\":\"conv_1\"}}", "m @conv_1",
		    PROVIDER_OPENAI, RESPONSES },
		{ "{\"model\":\"m\",\"conversation\":\"conv_1\"}", "m @conv_1",
		    PROVIDER_OPENAI, RESPONSES },
		{ "{\"model\":\"m\",\"prompt\":{\"id\":\"pmpt_1\"}}",
		    "m @pmpt_1 document", PROVIDER_OPENAI, RESPONSES },
		{ "{\"model\":\"m\",\"input\":[{\"type\":\"item_reference\",\"id\":\"msg_"
		  "1\"}]}",
		    "m @msg_1", PROVIDER_OPENAI, RESPONSES },
		{ "{\"model\":\"m\",\"tools\":[{\"type\":\"function\",\"name\":\"f\"},"
		  "{\"type\":\"web_search\"},{\"type\":\"local_shell\"}]}",
		    "m !web_search", PROVIDER_OPENAI, RESPONSES },
		{ "{\"model\":\"m\",\"tools\":[{\"type\":\"shell\"}]}", "m !shell",
		    PROVIDER_OPENAI, RESPONSES },
		{ "{\"model\":\"m\",\"tools\":[{\"type\":\"shell\",\"environment\":{"
		  "\"type\":"
		  "\"local\"}}]}",
		    "m", PROVIDER_OPENAI, RESPONSES },
		{ "{\"model\":\"m\",\"tools\":[{\"type\":\"mcp\",\"server_label\":\"s\"}]"
		  "}",
		    "m !mcp", PROVIDER_OPENAI, RESPONSES },
		{ "{\"model\":\"m\",\"tools\":[{\"type\":\"namespace\",\"tools\":[{"
		  "\"type\":"
		  "\"web_search\"}]}]}",
		    "m !web_search", PROVIDER_OPENAI, RESPONSES },
		{ "{\"model\":\"m\",\"tools\":[{\"type\":\"image_generation\"}]}",
		    "m with-gpt-image-1 !image_generation", PROVIDER_OPENAI, RESPONSES },
		{ "{\"model\":\"m\",\"tools\":[{\"type\":\"code_interpreter\","
		  "\"container\":"
		  "\"cntr_1\"}]}",
		    "m !code_interpreter @cntr_1", PROVIDER_OPENAI, RESPONSES },
		{ "{\"model\":\"m\",\"tools\":[{\"type\":\"file_search\",\"vector_store_"
		  "ids\":["
		  "\"vs_1\"]}]}",
		    "m !file_search @vs_1", PROVIDER_OPENAI, RESPONSES },
		{ "{\"model\":\"m\",\"input\":[{\"role\":\"user\",\"content\":[{\"type\":"
		  "\"input_file\",\"file_url\":\"https://x.test/\"}]}]}",
		    "m !file_url document", PROVIDER_OPENAI, RESPONSES },
		{ "{\"model\":\"m\",\"input\":[{\"type\":\"computer_call_output\","
		  "\"output\":{"
		  "\"type\":\"computer_screenshot\",\"image_url\":\"https://x.test/"
		  "\"}}]}",
		    "m !image_url image", PROVIDER_OPENAI, RESPONSES },
		{ "{\"model\":\"m\",\"input\":[{\"role\":\"user\",\"content\":[{\"type\":"
		  "\"input_image\",\"file_id\":\"file-1\"}]}]}",
		    "m @file-1 image", PROVIDER_OPENAI, RESPONSES },
		{ "{\"model\":\"m\",\"input\":[{\"id\":\"msg_1\"}]}", "m @msg_1",
		    PROVIDER_OPENAI, RESPONSES },
		{ "{\"model\":\"m\",\"input\":[{\"role\":\"user\",\"id\":\"msg_1\","
		  "\"content\":\"x\"}]}",
		    "m", PROVIDER_OPENAI, RESPONSES },
		{ "{\"model\":\"m\",\"input\":[{\"type\":\"reasoning\",\"id\":\"rs_1\","
		  "\"encrypted_content\":null},{\"type\":\"reasoning\",\"id\":\"rs_2\","
		  "\"encrypted_content\":\"x\"},{\"type\":\"reasoning\",\"summary\":[]}]"
		  "}",
		    "m @rs_1", PROVIDER_OPENAI, RESPONSES },
		{ "{\"model\":\"m\",\"input\":[{\"type\":\"image_generation_call\","
		  "\"id\":\"ig_1\"},{\"type\":\"image_generation_call\",\"id\":\"ig_2\","
		  "\"result\":\"aaaa\"},{\"type\":\"code_interpreter_call\",\"id\":"
		  "\"ci_1\",\"container_id\":\"cntr_1\",\"code\":\"1\"}]}",
		    "m @ig_1 @cntr_1 image", PROVIDER_OPENAI, RESPONSES },
		{ "{\"model\":\"m\",\"tools\":[{\"type\":\"code_interpreter\","
		  "\"container\":{\"type\":\"auto\",\"file_ids\":[\"f1\",\"f2\"]}}]}",
		    "m !code_interpreter @f1 @f2", PROVIDER_OPENAI, RESPONSES },
	};

	(void)state;
	assert_understood(rows, COUNT_OF(rows));
}

/* What is asked of a response that is kept: by whom, and what that is. */
static const struct {
	enum provider_kind kind;
	const char *method, *path, *body;
	const char *id; /* NULL: closed */
	bool shows;
} asked_after[] = {
	{ PROVIDER_OPENAI, "GET", "/v1/responses/resp_1", "", "resp_1", true },
	{ PROVIDER_OPENAI, "GET", "/responses/resp_1?stream=true", "", "resp_1", true },
	{ PROVIDER_OPENAI, "POST", "/v1/responses/resp_1/cancel", " {} ", "resp_1",
	    true },
	{ PROVIDER_OPENAI, "DELETE", "/v1/responses/resp_1", "", "resp_1", false },
	{ PROVIDER_LITELLM, "GET", "/v1/responses/r/input_items", "", "r", false },
	{ PROVIDER_OPENAI, "GET", "/v1/responses/resp_1", "{}", NULL, false },
	{ PROVIDER_OPENAI, "POST", "/v1/responses/r/cancel", "{\"a\":1}", NULL, false },
	{ PROVIDER_OPENAI, "GET", "/v1/responses/a/b/input_items", "", NULL, false },
	{ PROVIDER_OPENAI, "GET", "/v1/responses/a%2fb", "", NULL, false },
	{ PROVIDER_VERCEL, "GET", "/v1/responses/resp_1", "", NULL, false },
};

static void
test_a_response_is_asked_after_by_its_id(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(asked_after); i++) {
		struct model_request r = { asked_after[i].kind,
			str_of(asked_after[i].method), str_of(asked_after[i].path), &head,
			str_of(asked_after[i].body) };
		bool is_open = call_read(&call, &r, &arena);

		assert_int_equal(is_open, asked_after[i].id != NULL);
		if (!is_open)
			continue;
		assert_true(call.is_free);
		assert_int_equal(call.shows, asked_after[i].shows);
		assert_int_equal(call.nreference, 1);
		assert_true(str_eq(call.reference[0].id, str_of(asked_after[i].id)));
	}
	assert_true(api_shows(PROVIDER_OPENAI, STR("/v1/responses?x=1")));
	assert_false(api_shows(PROVIDER_VERCEL, STR("/v1/responses")));
	assert_false(api_shows(PROVIDER_OPENAI, STR("/v1/chat/completions")));
}

static void
test_a_gateway_call_is_understood(void **state)
{
	static const struct understood rows[] = {
		{ "{\"prompt\":[],\"maxOutputTokens\":9}", "v/m maxOutputTokens=9 stream",
		    PROVIDER_VERCEL, GATEWAY },
		{ "{\"prompt\":[],\"providerOptions\":{\"gateway\":{\"models\":[\"a/"
		  "b\"]}}}",
		    "v/m either-a/b stream", PROVIDER_VERCEL, GATEWAY },
		{ "{\"prompt\":[],\"tools\":[{\"type\":\"provider\",\"id\":"
		  "\"anthropic.web_search_20250305\",\"name\":\"s\"},{\"type\":"
		  "\"function\"},"
		  "{\"type\":\"provider\",\"id\":\"anthropic.bash_20250124\"}]}",
		    "v/m !web_search stream", PROVIDER_VERCEL, GATEWAY },
		{ "{\"prompt\":[{\"role\":\"user\",\"content\":[{\"type\":\"file\","
		  "\"data\":"
		  "\"https://x.test/\",\"mediaType\":\"image/png\"}]}]}",
		    "v/m !file_url stream image", PROVIDER_VERCEL, GATEWAY },
		{ "{\"prompt\":[{\"role\":\"user\",\"content\":[{\"type\":\"file\","
		  "\"data\":{"
		  "\"type\":\"url\",\"url\":\"https://x.test/\"},\"mediaType\":\"image/"
		  "png\"}]}]}",
		    "v/m !file_url stream image", PROVIDER_VERCEL, GATEWAY },
		{ "{\"prompt\":[],\"providerOptions\":{\"openai\":{"
		  "\"previousResponseId\":"
		  "\"resp_1\",\"serviceTier\":\"priority\"}}}",
		    "v/m priority @resp_1 stream", PROVIDER_VERCEL, GATEWAY },
		{ "{\"prompt\":[],\"providerOptions\":{\"anthropic\":{\"mcpServers\":[{}]"
		  "}}}",
		    "v/m !mcp stream", PROVIDER_VERCEL, GATEWAY },
	};

	(void)state;
	fields[0] = (struct http_field){ STR("AI-Language-Model-Id"), STR("v/m") };
	fields[1] =
	    (struct http_field){ STR("ai-language-model-streaming"), STR("true") };
	head.nfield = 2;
	assert_understood(rows, COUNT_OF(rows));
	head.nfield = 0;
}

static void
test_what_says_two_things_or_brings_a_key_is_refused(void **state)
{
	static const struct {
		const char *body;
		enum call_error error;
		enum provider_kind kind;
		const char *path;
	} rows[] = {
		{ "{}", CALL_MALFORMED, PROVIDER_OPENAI, CHAT },
		{ "[]", CALL_MALFORMED, PROVIDER_OPENAI, CHAT },
		{ "{\"model\":7}", CALL_MALFORMED, PROVIDER_OPENAI, CHAT },
		{ "{\"model\":\"m\",\"max_tokens\":5,\"max_completion_tokens\":6}",
		    CALL_AMBIGUOUS, PROVIDER_OPENAI, CHAT },
		{ "{\"model\":\"m\",\"max_tokens\":-1}", CALL_MALFORMED, PROVIDER_OPENAI,
		    CHAT },
		{ "{\"model\":\"m\",\"messages\":[{\"role\":\"a\",\"role\":\"b\"}]}",
		    CALL_AMBIGUOUS, PROVIDER_OPENAI, CHAT },
		{ "{\"model\":\"m\",\"Model\":\"n\"}", CALL_AMBIGUOUS, PROVIDER_OPENAI,
		    CHAT },
		{ "{\"model\":\"m\",\"n\":0}", CALL_MALFORMED, PROVIDER_OPENAI, CHAT },
		{ "{\"model\":\"m\",\"api_key\":\"k\"}", CALL_FOREIGN_KEY,
		    PROVIDER_LITELLM, CHAT },
		{ "{\"model\":\"m\",\"base_url\":\"k\"}", CALL_FOREIGN_KEY,
		    PROVIDER_LITELLM, CHAT },
		{ "{\"model\":\"m\",\"providerOptions\":{\"gateway\":{\"byok\":{}}}}",
		    CALL_FOREIGN_KEY, PROVIDER_VERCEL, CHAT },
		{ "{\"input\":\"x\"}", CALL_MALFORMED, PROVIDER_OPENAI,
		    "/v1/embeddings" },
		{ "{\"prompt\":[]}", CALL_MALFORMED, PROVIDER_VERCEL, GATEWAY },
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		assert_row(
		    rows[i].body, !read_call(rows[i].kind, rows[i].path, rows[i].body));
		assert_row(rows[i].body, call.error == rows[i].error);
	}
}

/* The provider must not find a dearer call inside the one that was bounded. */
static void
test_what_nobody_would_count_is_counted_or_refused(void **state)
{
	static const struct understood rows[] = {
		{ "{\"model\":\"m\",\"service_tier\":\"priority\",\"providerOptions\":{"
		  "\"gateway\":{\"serviceTier\":\"flex\"}}}",
		    "m priority", PROVIDER_VERCEL, CHAT },
		{ "{\"model\":\"m\",\"providerOptions\":{\"gateway\":{\"serviceTier\":"
		  "\"flex\"}}}",
		    "m", PROVIDER_LITELLM, CHAT },
		{ "{\"model\":\"m\",\"service_tier\":\"flex\"}", "m flex",
		    PROVIDER_OPENAI, CHAT },
		{ "{\"model\":\"m\",\"fallbacks\":[{\"m\":[\"dear\",\"b\"]}]}",
		    "m either-dear either-b", PROVIDER_LITELLM, CHAT },
		{ "{\"model\":\"m\",\"context_window_fallback_dict\":{\"m\":\"dear\"}}",
		    "m either-dear", PROVIDER_LITELLM, CHAT },
		{ "{\"model\":\"gpt-4o-search-preview\"}",
		    "gpt-4o-search-preview !web_search", PROVIDER_OPENAI, CHAT },
		{ "{\"model\":\"m\",\"tools\":[{\"type\":\"function\",\"googleSearch\":{}"
		  "}"
		  "]}",
		    "m !googleSearch", PROVIDER_LITELLM, CHAT },
		{ "{\"model\":\"m\",\"tools\":[{\"type\":\"function\",\"function\":{},"
		  "\"cache_control\":{\"type\":\"ephemeral\"}}]}",
		    "m", PROVIDER_LITELLM, CHAT },
	};
	static const struct understood hidden[] = {
		{ "{\"model\":\"m\",\"max_tokens\":9,\"extra_body\":{\"max_tokens\":"
		  "99999}}",
		    NULL, PROVIDER_LITELLM, CHAT },
		{ "{\"model\":\"m\",\"fallbacks\":[{\"model\":\"b\",\"max_tokens\":"
		  "99999}]}",
		    NULL, PROVIDER_LITELLM, CHAT },
		{ "{\"model\":\"m\",\"providerOptions\":{\"deepseek\":{\"n\":9}}}", NULL,
		    PROVIDER_VERCEL, CHAT },
		{ "{\"model\":\"m\",\"max_to\xe2\x84\xaa"
		  "ens\":99999}",
		    NULL, PROVIDER_LITELLM, CHAT }, /* U+212A is a k to some */
		{ "{\"model\":\"m\",\"me\\u017f\\u017fages\":[]}", NULL, PROVIDER_LITELLM,
		    CHAT }, /* and U+017F an s */
		{ "{\"maxOutputTokens\":9,\"providerOptions\":{\"openai\":{"
		  "\"maxCompletionTokens\":99999}}}",
		    NULL, PROVIDER_VERCEL, GATEWAY },
		{ "{\"maxOutputTokens\":9,\"providerOptions\":{\"deepseek\":{"
		  "\"max_tokens\":99999}}}",
		    NULL, PROVIDER_VERCEL, GATEWAY },
	};

	(void)state;
	assert_understood(rows, COUNT_OF(rows));
	fields[0] =
	    (struct http_field){ .name = STR("ai-language-model-id"), .value = STR("m") };
	head.nfield = 1;
	for (size_t i = 0; i < COUNT_OF(hidden); i++) {
		assert_row(hidden[i].body,
		    !read_call(hidden[i].kind, hidden[i].path, hidden[i].body));
		assert_row(hidden[i].body, call.error == CALL_AMBIGUOUS);
	}
	head.nfield = 0;
}

/* Through the AI Gateway all sessions use one account: what another's call left there is
 * neither read nor paid for by this one. */
static void
test_a_gateways_references_are_owned_or_taken_out(void **state)
{
	static const struct hosted_allowed nothing = { .n = 0 };
	const struct hosted *which;
	struct buf sent;

	(void)state;
	fields[0] =
	    (struct http_field){ .name = STR("ai-language-model-id"), .value = STR("m") };
	head.nfield = 1;
	assert_true(read_call(PROVIDER_VERCEL, GATEWAY,
	    "{\"prompt\":[{\"role\":\"user\",\"content\":[{\"type\":\"file\",\"data\":{"
	    "\"type\":\"reference\",\"reference\":{\"openai\":\"file-1\"}}}]}]}"));
	assert_string_equal(said(), "m @file-1 document");

	assert_true(read_call(PROVIDER_VERCEL, GATEWAY,
	    "{\"prompt\":[{\"role\":\"assistant\",\"content\":[{\"type\":\"text\","
	    "\"text\":\"a\",\"providerOptions\":{\"openai\":{\"itemId\":\"msg_1\"}}},"
	    "{\"type\":\"text\",\"text\":\"b\",\"providerOptions\":{\"azure\":{"
	    "\"phase\":1,\"itemId\":\"msg_2\"}}}]}]}"));
	assert_true(hosted_judge(&call, &nothing, true, &which));
	buf_init(&sent, 4096);
	assert_true(call_body(&call, &sent));
	assert_string_equal(buf_cstr(&sent),
	    "{\"prompt\":[{\"role\":\"assistant\",\"content\":[{\"type\":\"text\","
	    "\"text\":\"a\"},{\"type\":\"text\",\"text\":\"b\",\"providerOptions\":{"
	    "\"azure\":{\"phase\":1}}}]}]}");
	buf_fini(&sent);
	head.nfield = 0;
}

static void
test_two_fields_that_name_models_must_agree(void **state)
{
	(void)state;
	fields[0] = (struct http_field){ STR("ai-language-model-id"), STR("v/m") };
	fields[1] = (struct http_field){ STR("ai-model-id"), STR("v/n") };
	head.nfield = 2;
	assert_false(read_call(PROVIDER_VERCEL, GATEWAY, "{\"prompt\":[]}"));
	assert_int_equal(call.error, CALL_AMBIGUOUS);
	fields[1].value = STR("v/m");
	assert_true(read_call(PROVIDER_VERCEL, GATEWAY, "{\"prompt\":[]}"));
	head.nfield = 0;
}

/* --- what is sent --- */

static const char *
sent(void)
{
	buf_reset(&text);
	assert_true(call_body(&call, &text));
	return buf_cstr(&text);
}

static void
test_a_stream_is_asked_for_its_usage(void **state)
{
	static const struct {
		const char *body, *sent;
	} rows[] = {
		{ "{\"model\":\"m\"}", "{\"model\":\"m\"}" },
		{ "{\"stream\":true,\"model\":\"m\"}",
		    "{\"stream_options\":{\"include_usage\":true},\"stream\":true,"
		    "\"model\":"
		    "\"m\"}" },
		{ "{\"stream\":true,\"model\":\"m\",\"stream_options\":null}",
		    "{\"stream\":true,\"model\":\"m\",\"stream_options\":{\"include_"
		    "usage\":"
		    "true}}" },
		{ "{\"stream\":true,\"model\":\"m\",\"stream_options\":{ }}",
		    "{\"stream\":true,\"model\":\"m\",\"stream_options\":{\"include_"
		    "usage\":"
		    "true}}" },
		{ "{\"stream\":true,\"model\":\"m\",\"stream_options\":{\"x\":1}}",
		    "{\"stream\":true,\"model\":\"m\",\"stream_options\":{\"include_"
		    "usage\":"
		    "true,\"x\":1}}" },
		{ "{\"stream\":true,\"model\":\"m\",\"stream_options\":{\"include_"
		  "usage\":"
		  "false}}",
		    "{\"stream\":true,\"model\":\"m\",\"stream_options\":{\"include_"
		    "usage\":"
		    "true}}" },
		{ "{\"stream\":true,\"model\":\"m\",\"stream_options\":{\"include_"
		  "usage\":"
		  "true}}",
		    "{\"stream\":true,\"model\":\"m\",\"stream_options\":{\"include_"
		    "usage\":"
		    "true}}" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		assert_row(rows[i].body, read_call(PROVIDER_OPENAI, CHAT, rows[i].body));
		assert_string_equal(sent(), rows[i].sent);
	}
}

static void
test_a_clamp_changes_the_limit_and_nothing_else(void **state)
{
	static const struct understood rows[] = {
		/* `said` is what is sent */
		{ "{\"model\":\"m\",\"max_completion_tokens\":null}",
		    "{\"model\":\"m\",\"max_completion_tokens\":50}", PROVIDER_OPENAI,
		    CHAT },
		{ "{\"model\":\"m\"}", "{\"max_completion_tokens\":50,\"model\":\"m\"}",
		    PROVIDER_OPENAI, CHAT },
		{ "{\"model\":\"m\"}", "{\"max_tokens\":50,\"model\":\"m\"}",
		    PROVIDER_OPENROUTER, CHAT },
		{ "{\"model\":\"m\",\"max_tokens\":99,\"max_completion_tokens\":99}",
		    "{\"model\":\"m\",\"max_tokens\":50,\"max_completion_tokens\":50}",
		    PROVIDER_OPENAI, CHAT },
		{ "{\"model\":\"m\",\"input\":1}",
		    "{\"max_output_tokens\":50,\"model\":\"m\",\"input\":1}",
		    PROVIDER_OPENAI, RESPONSES },
		{ "{\"stream\":true,\"model\":\"m\"}",
		    "{\"stream_options\":{\"include_usage\":true},"
		    "\"max_completion_tokens\":50,\"stream\":true,\"model\":\"m\"}",
		    PROVIDER_OPENAI, CHAT },
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		assert_row(
		    rows[i].body, read_call(rows[i].kind, rows[i].path, rows[i].body));
		call_clamp(&call, 50);
		assert_string_equal(sent(), rows[i].said);
	}
}

static void
test_hosted_tools_are_taken_out(void **state)
{
	static const struct understood rows[] = {
		/* `said` is what is sent */
		{ "{\"tools\":[{\"type\":\"web_search\"},{\"type\":\"function\"}],"
		  "\"model\":"
		  "\"m\"}",
		    "{\"tools\":[{\"type\":\"function\"}],\"model\":\"m\"}",
		    PROVIDER_OPENAI, RESPONSES },
		{ "{\"model\":\"m\",\"tools\":[{\"type\":\"web_search\"}],\"tool_"
		  "choice\":"
		  "\"auto\"}",
		    "{\"model\":\"m\"}", PROVIDER_OPENAI, RESPONSES },
		{ "{\"model\":\"m\",\"tools\":[{\"type\":\"image_generation\"}]}",
		    "{\"model\":\"m\"}", PROVIDER_OPENAI, RESPONSES },
		{ "{\"web_search_options\":{},\"model\":\"m\"}", "{\"model\":\"m\"}",
		    PROVIDER_OPENAI, CHAT },
		{ "{\"model\":\"m\",\"plugins\":[{\"id\":\"web\"}]}", "{\"model\":\"m\"}",
		    PROVIDER_OPENROUTER, CHAT },
		{ "{\"model\":\"m\"," MESSAGES("[{\"type\":\"image_url\",\"image_url\":{"
					       "\"url\":\"https://x.test/\"}}]") "}",
		    "{\"model\":\"m\"," MESSAGES(
			"[{\"type\":\"text\",\"text\":\"[left out: the provider may not "
			"fetch it]\"}]") "}",
		    PROVIDER_OPENAI, CHAT },
	};
	static const struct hosted_allowed nothing;
	const struct hosted *which;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		assert_row(
		    rows[i].body, read_call(rows[i].kind, rows[i].path, rows[i].body));
		assert_row(rows[i].body, hosted_judge(&call, &nothing, true, &which));
		assert_string_equal(sent(), rows[i].said);
		assert_row(
		    rows[i].body, call_beyond(&call, &call.model[0].name, 1) == NULL);
	}
}

static void
test_a_call_that_insists_on_a_hosted_tool_is_refused(void **state)
{
	static const struct hosted_allowed nothing;
	const struct hosted *which = NULL;

	(void)state;
	assert_true(read_call(PROVIDER_OPENAI, RESPONSES,
	    "{\"model\":\"m\",\"tools\":[{\"type\":\"web_search\"}],\"tool_choice\":{"
	    "\"type\":\"web_search\"}}"));
	assert_false(hosted_judge(&call, &nothing, true, &which));
	assert_true(str_eq(which->name, STR("web_search")));
	assert_true(read_call(PROVIDER_OPENROUTER, CHAT, "{\"model\":\"m:online\"}"));
	assert_false(
	    hosted_judge(&call, &nothing, true, &which)); /* no part to take out */
}

/* --- answers --- */

struct answered {
	const char *name, *body, *said;
	const char *path, *request;
	enum provider_kind kind;
};

static const char *
summary(const struct usage *u)
{
	static const char *const states[] = { "nothing", "partly", "all", "later" };

	buf_reset(&text);
	buf_text(&text, states[u->state]);
	for (size_t i = 0; i < u->nrun; i++) {
		const struct run *r = &u->run[i];

		buf_fmt(&text, " %s:%lld", r->model, (long long)r->input_total);
		buf_fmt(&text, "(%lld+%lld+%lld)", (long long)r->cache_read,
		    (long long)r->cache_write, (long long)r->cache_write_long);
		buf_fmt(
		    &text, ">%lld(%lld)", (long long)r->output, (long long)r->reasoning);
		if (r->tier != TIER_STANDARD)
			buf_fmt(&text, " tier%d", (int)r->tier);
		if (r->searches + r->file_searches > 0)
			buf_fmt(&text, " fees%lld+%lld", (long long)r->searches,
			    (long long)r->file_searches);
	}
	if (u->has_reported)
		buf_fmt(&text, " $%lld", (long long)u->reported);
	return buf_cstr(&text);
}

static void
assert_answered(const struct answered *row, size_t piece)
{
	bool is_json = row->body[0] == '{';
	struct http_field field = { STR("content-type"),
		is_json ? STR("application/json") : STR("text/event-stream") };
	struct http_head response = {
		.kind = HTTP_RESPONSE, .status = 200, .field = &field, .nfield = 1
	};
	struct str rest = str_of(row->body);
	struct answer *a;

	assert_row(row->name, read_call(row->kind, row->path, row->request));
	a = answer_new(&call, &response);
	for (; rest.n > 0; rest = str_sub(rest, piece, rest.n))
		answer_feed(a, str_sub(rest, 0, piece), NULL);
	assert_string_equal(summary(answer_end(a, true)), row->said);
	answer_free(a);
}

#define EV(json) "data: " json "\n\n"
#define ASKED "{\"model\":\"m\",\"stream\":true}"
#define USED "\"usage\":{\"prompt_tokens\":9,\"completion_tokens\":4"
#define RESPONSE(status, usage) \
	"{\"type\":\"response." status \
	"\",\"response\":{\"object\":\"response\",\"status\":\"" status \
	"\",\"model\":\"m\",\"usage\":" usage "}}"
#define TOLD "{\"input_tokens\":7,\"output_tokens\":3}"

static void
test_usage_is_the_last_word_of_each_family(void **state)
{
	static const struct answered rows[] = {
		{ "one chunk at the end",
		    EV("{\"model\":\"m\",\"choices\":[]," USED "}}") EV("[DONE]"),
		    "all m:9(0+0+0)>4(0)", CHAT, ASKED, PROVIDER_OPENAI },
		{ "in the last content chunk",
		    EV("{\"model\":\"m\",\"choices\":[{\"finish_reason\":\"stop\"}]," USED
		       "}}"),
		    "all m:9(0+0+0)>4(0)", CHAT, ASKED, PROVIDER_OPENAI },
		{ "cumulative, and the stream broke off",
		    EV("{\"model\":\"m\",\"choices\":[{\"finish_reason\":null}]," USED
		       "}}"),
		    "partly m:9(0+0+0)>4(0)", CHAT, ASKED, PROVIDER_OPENAI },
		{ "the last that is not null counts",
		    EV("{\"model\":\"m\",\"choices\":[]," USED "}}")
			EV("{\"choices\":[],\"usage\":null}") EV("[DONE]"),
		    "all m:9(0+0+0)>4(0)", CHAT, ASKED, PROVIDER_OPENAI },
		{ "none at all", EV("{\"choices\":[{}]}") EV("[DONE]"), "nothing", CHAT,
		    ASKED, PROVIDER_OPENAI },
		{ "cache by another name",
		    "{\"model\":\"m\"," USED ",\"prompt_cache_hit_tokens\":5}}",
		    "all m:9(5+0+0)>4(0)", CHAT, ASKED, PROVIDER_OPENAI },
		{ "reasoning that was left out of the output",
		    "{\"model\":\"m\"," USED ",\"total_tokens\":19,"
		    "\"completion_tokens_details\":{\"reasoning_tokens\":6}}}",
		    "all m:9(0+0+0)>10(6)", CHAT, ASKED, PROVIDER_OPENAI },
		{ "the tier that served",
		    "{\"model\":\"m\",\"service_tier\":\"priority\"," USED "}}",
		    "all m:9(0+0+0)>4(0) tier1", CHAT, ASKED, PROVIDER_OPENAI },
		{ "a cost, and the caller's own key beside it",
		    "{\"model\":\"m\"," USED
		    ",\"cost\":1e-9,\"is_byok\":true,\"cost_details\":{"
		    "\"upstream_inference_cost\":1.5e-9}}}",
		    "all m:9(0+0+0)>4(0) $3", CHAT, ASKED, PROVIDER_OPENROUTER },
		{ "a cost that is none", "{\"model\":\"m\"," USED ",\"cost\":-1}}",
		    "all m:9(0+0+0)>4(0)", CHAT, ASKED, PROVIDER_OPENROUTER },
		{ "the gateway's cost",
		    "{\"model\":\"m\",\"choices\":[{\"message\":{"
		    "\"provider_metadata\":{\"gateway\":{\"cost\":\"0.000000001\"}}}}]"
		    "," USED "}}",
		    "all m:9(0+0+0)>4(0) $1", CHAT, ASKED, PROVIDER_VERCEL },
		{ "completed",
		    EV(RESPONSE("in_progress", "null")) EV(RESPONSE("completed", TOLD)),
		    "all m:7(0+0+0)>3(0)", RESPONSES, ASKED, PROVIDER_OPENAI },
		{ "incomplete", EV(RESPONSE("incomplete", TOLD)), "all m:7(0+0+0)>3(0)",
		    RESPONSES, ASKED, PROVIDER_OPENAI },
		{ "failed, and billed", EV(RESPONSE("failed", TOLD)),
		    "all m:7(0+0+0)>3(0)", RESPONSES, ASKED, PROVIDER_OPENAI },
		{ "failed, and not billed", EV(RESPONSE("failed", "null")), "all",
		    RESPONSES, ASKED, PROVIDER_OPENAI },
		{ "broken off", EV(RESPONSE("in_progress", "null")), "nothing", RESPONSES,
		    ASKED, PROVIDER_OPENAI },
		{ "in the background",
		    "{\"object\":\"response\",\"status\":\"queued\",\"usage\":null}",
		    "later", RESPONSES, "{\"model\":\"m\",\"background\":true}",
		    PROVIDER_OPENAI },
		{ "a stream in the background that broke off",
		    EV(RESPONSE("in_progress", "null")), "later", RESPONSES,
		    "{\"model\":\"m\",\"background\":true,\"stream\":true}",
		    PROVIDER_OPENAI },
		{ "searches from the items",
		    "{\"object\":\"response\",\"status\":\"completed\",\"model\":\"m\","
		    "\"output\":["
		    "{\"type\":\"web_search_call\"},{\"action\":{\"type\":\"open_page\"},"
		    "\"type\":\"web_search_call\"},{\"type\":\"file_search_call\"}],"
		    "\"usage\":" TOLD "}",
		    "all m:7(0+0+0)>3(0) fees1+1", RESPONSES, ASKED, PROVIDER_OPENAI },
		{ "searches as told",
		    "{\"object\":\"response\",\"status\":\"completed\",\"model\":\"m\","
		    "\"output\":["
		    "{\"type\":\"web_search_call\"}],\"tool_usage\":{\"web_search\":{"
		    "\"num_requests\":4}},\"usage\":" TOLD "}",
		    "all m:7(0+0+0)>3(0) fees4+0", RESPONSES, ASKED, PROVIDER_OPENAI },
		{ "drawing is another model's run",
		    "{\"object\":\"response\",\"status\":\"completed\",\"model\":\"m\","
		    "\"tool_usage\":{\"image_gen\":{\"input_tokens\":5,\"output_tokens\":"
		    "6}},"
		    "\"usage\":" TOLD "}",
		    "all m:7(0+0+0)>3(0) gpt-image-1:5(0+0+0)>6(0)", RESPONSES, ASKED,
		    PROVIDER_OPENAI },
		{ "an embedding",
		    "{\"model\":\"m\",\"data\":[[0.1]],\"usage\":{"
		    "\"prompt_tokens\":14}}",
		    "all m:14(0+0+0)>0(0)", "/v1/embeddings", "{\"model\":\"m\"}",
		    PROVIDER_OPENAI },
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++)
		for (size_t piece = 1; piece < 40; piece += 6)
			assert_answered(&rows[i], piece);
}

static void
test_what_the_provider_keeps_is_noted(void **state)
{
	static const char body[] =
	    "{\"object\":\"response\",\"id\":\"resp_1\",\"status\":\"completed\","
	    "\"conversation\":{\"id\":\"conv_1\"},\"output\":[{\"type\":\"message\","
	    "\"id\":\"msg_1\"},{\"type\":\"code_interpreter_call\",\"container_id\":"
	    "\"cntr_1\"}],\"usage\":" TOLD "}";
	static const char *const kept[] = { "resp_1", "conv_1", "msg_1", "cntr_1" };
	struct http_head response = { .kind = HTTP_RESPONSE, .status = 200 };
	const struct usage *u;
	struct answer *a;

	(void)state;
	assert_true(read_call(PROVIDER_OPENAI, RESPONSES, "{\"model\":\"m\"}"));
	a = answer_new(&call, &response);
	answer_feed(a, str_of(body), NULL);
	u = answer_end(a, true);
	assert_int_equal(u->nobject, COUNT_OF(kept));
	for (size_t i = 0; i < COUNT_OF(kept); i++)
		assert_string_equal(u->object[i].id, kept[i]);
	answer_free(a);
}

static void
test_the_gateways_own_words_are_read(void **state)
{
	static const struct answered rows[] = {
		{ "parts of a stream",
		    EV("{\"type\":\"text-delta\",\"delta\":\"a\"}")
			EV("{\"type\":\"finish\",\"finishReason\":{\"unified\":\"stop\"},"
			   "\"usage\":{"
			   "\"inputTokens\":{\"total\":20,\"cacheRead\":5},"
			   "\"outputTokens\":{"
			   "\"total\":6,\"reasoning\":2}},\"providerMetadata\":{"
			   "\"gateway\":{"
			   "\"cost\":\"0.0000900001\"}}}"),
		    "all v/m:20(5+0+0)>6(2) $90001", GATEWAY, "{\"prompt\":[]}",
		    PROVIDER_VERCEL },
		{ "older ones, with plain numbers",
		    "{\"content\":[],\"finishReason\":\"stop\",\"usage\":{"
		    "\"inputTokens\":20,"
		    "\"outputTokens\":6,\"reasoningTokens\":2,\"cachedInputTokens\":5}}",
		    "all v/m:20(5+0+0)>6(2)", GATEWAY, "{\"prompt\":[]}",
		    PROVIDER_VERCEL },
		{ "a cost alone", "{\"providerMetadata\":{\"gateway\":{\"cost\":\"1\"}}}",
		    "all $1000000000", GATEWAY, "{\"prompt\":[]}", PROVIDER_VERCEL },
		{ "nothing", EV("{\"type\":\"text-delta\",\"delta\":\"a\"}"), "nothing",
		    GATEWAY, "{\"prompt\":[]}", PROVIDER_VERCEL },
	};

	(void)state;
	fields[0] = (struct http_field){ STR("ai-language-model-id"), STR("v/m") };
	head.nfield = 1;
	for (size_t i = 0; i < COUNT_OF(rows); i++)
		for (size_t piece = 1; piece < 40; piece += 6)
			assert_answered(&rows[i], piece);
	head.nfield = 0;
}

static void
test_null_usage_is_taken_out_of_chunks_and_nothing_else(void **state)
{
	static const struct {
		const char *in, *out;
	} rows[] = {
		{ EV("{\"choices\":[{}],\"usage\":null}"), EV("{\"choices\":[{}]}") },
		{ EV("{\"usage\":null,\"choices\":[{}]}"), EV("{\"choices\":[{}]}") },
		{ EV("{\"choices\":[{}] , \"usage\" : null }"),
		    EV("{\"choices\":[{}]  }") },
		{ EV("{\"choices\":[{}],\"usage\":{\"prompt_tokens\":1}}"),
		    EV("{\"choices\":[{}]}") },
		{ EV("{\"choices\":[],\"usage\":{\"prompt_tokens\":1}}"), "" },
		{ EV("{\"choices\":[],\"usage\":null}"), EV("{\"choices\":[]}") },
		{ EV("{\"error\":{},\"usage\":{\"prompt_tokens\":1}}"),
		    EV("{\"error\":{}}") },
		{ ": c\n\n" EV("[DONE]"), ": c\n\n" EV("[DONE]") },
	};
	struct http_field field = { STR("content-type"), STR("text/event-stream") };
	struct http_head response = {
		.kind = HTTP_RESPONSE, .status = 200, .field = &field, .nfield = 1
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct answer *a;

		assert_true(read_call(PROVIDER_OPENAI, CHAT, ASKED));
		a = answer_new(&call, &response);
		buf_reset(&text);
		for (struct str in = str_of(rows[i].in); in.n > 0;
		     in = str_sub(in, 3, in.n))
			answer_feed(a, str_sub(in, 0, 3), &text);
		assert_string_equal(buf_cstr(&text), rows[i].out);
		answer_free(a);
	}
}

static void
test_a_cut_ends_as_the_family_does(void **state)
{
	static const struct answered rows[] = {
		/* `said` is what the cut begins with */
		{ "chat",
		    EV("{\"id\":\"c\\\"1\",\"created\":5,\"model\":\"m\",\"choices\":[{"
		       "\"index\":1}]}"),
		    "data: "
		    "{\"id\":\"c\\\"1\",\"object\":\"chat.completion.chunk\","
		    "\"created\":5,"
		    "\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_"
		    "reason\":"
		    "\"length\"},{\"index\":1,\"delta\":{},\"finish_reason\":\"length\"}]"
		    "}\n\n"
		    "data: [DONE]\n\n",
		    CHAT, ASKED, PROVIDER_OPENAI },
		{ "responses",
		    EV("{\"type\":\"response.created\",\"response\":{\"id\":\"r1\"}}"),
		    "event: response.incomplete\ndata: "
		    "{\"type\":\"response.incomplete\",\"response\":{"
		    "\"id\":\"r1\",\"object\":\"response\",\"status\":\"incomplete\","
		    "\"model\":\"\","
		    "\"incomplete_details\":{\"reason\":\"max_output_tokens\"},"
		    "\"output\":[],"
		    "\"usage\":null}}\n\n",
		    RESPONSES, ASKED, PROVIDER_OPENAI },
	};
	struct http_field field = { STR("content-type"), STR("text/event-stream") };
	struct http_head response = {
		.kind = HTTP_RESPONSE, .status = 200, .field = &field, .nfield = 1
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct answer *a;

		assert_true(read_call(rows[i].kind, rows[i].path, rows[i].request));
		a = answer_new(&call, &response);
		answer_feed(a, str_of(rows[i].body), NULL);
		buf_reset(&text);
		assert_true(answer_cut(a, &text));
		assert_string_equal(buf_cstr(&text), rows[i].said);
		answer_free(a);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_chat_is_understood),
		cmocka_unit_test(test_a_response_is_understood),
		cmocka_unit_test(test_a_response_is_asked_after_by_its_id),
		cmocka_unit_test(test_a_gateway_call_is_understood),
		cmocka_unit_test(test_what_says_two_things_or_brings_a_key_is_refused),
		cmocka_unit_test(test_what_nobody_would_count_is_counted_or_refused),
		cmocka_unit_test(test_a_gateways_references_are_owned_or_taken_out),
		cmocka_unit_test(test_two_fields_that_name_models_must_agree),
		cmocka_unit_test(test_a_stream_is_asked_for_its_usage),
		cmocka_unit_test(test_a_clamp_changes_the_limit_and_nothing_else),
		cmocka_unit_test(test_hosted_tools_are_taken_out),
		cmocka_unit_test(test_a_call_that_insists_on_a_hosted_tool_is_refused),
		cmocka_unit_test(test_usage_is_the_last_word_of_each_family),
		cmocka_unit_test(test_what_the_provider_keeps_is_noted),
		cmocka_unit_test(test_the_gateways_own_words_are_read),
		cmocka_unit_test(test_null_usage_is_taken_out_of_chunks_and_nothing_else),
		cmocka_unit_test(test_a_cut_ends_as_the_family_does),
	};

	return cmocka_run_group_tests(tests, begin_tests, end_tests);
}
