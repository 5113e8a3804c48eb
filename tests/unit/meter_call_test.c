/* meter: a request is read as its provider reads it, or not at all */
#include "unit.h"

#include <stdio.h>
#include <string.h>

#include "meter/api.h"
#include "meter/hosted.h"

static struct arena arena;
static struct call call;

static bool
read_call(enum provider_kind kind, const char *path, const char *body)
{
	static const struct http_head head = { .kind = HTTP_REQUEST };
	struct model_request r = { kind, STR("POST"), str_of(path), &head, str_of(body) };

	arena_fini(&arena);
	arena_init(&arena, 1 << 20);
	return call_read(&call, &r, &arena);
}

static bool
read_messages(const char *body)
{
	return read_call(PROVIDER_ANTHROPIC, "/v1/messages", body);
}

#define GEMINI "/v1beta/models/gemini-x:generateContent"

static const char *
sent_body(void)
{
	static char text[4096];
	struct buf b;

	buf_init(&b, sizeof(text) - 1);
	bool is_made = call_body(&call, &b);

	assert_true(is_made);
	memcpy(text, b.p, b.n);
	text[b.n] = '\0';
	buf_fini(&b);
	return text;
}

static void
test_path_decides_and_unknown_paths_are_not_metered(void **state)
{
	static const struct {
		enum provider_kind kind;
		const char *method, *path, *family; /* NULL: refused */
	} rows[] = {
		{ PROVIDER_ANTHROPIC, "POST", "/v1/messages", "anthropic_messages" },
		{ PROVIDER_ANTHROPIC, "POST", "/v1/messages?beta=true",
		    "anthropic_messages" },
		{ PROVIDER_ANTHROPIC, "GET", "/v1/messages", NULL },
		{ PROVIDER_ANTHROPIC, "POST", "/v1/messages/", NULL },
		{ PROVIDER_ANTHROPIC, "POST", "//v1/messages", NULL },
		{ PROVIDER_ANTHROPIC, "POST", "/v1/Messages", NULL },
		{ PROVIDER_ANTHROPIC, "POST", "/v1/messages/batches", NULL },
		{ PROVIDER_ANTHROPIC, "POST", "/v1/complete", NULL },
		{ PROVIDER_ANTHROPIC, "POST", "/v1/files", NULL },
		{ PROVIDER_ANTHROPIC, "POST", "/v1/chat/completions", NULL },
		{ PROVIDER_ANTHROPIC, "POST", "/v1/messages/count_tokens",
		    "anthropic_messages" },
		{ PROVIDER_ANTHROPIC, "GET", "/v1/models", "anthropic_messages" },
		{ PROVIDER_OPENAI, "POST", "/v1/chat/completions", "openai_chat" },
		{ PROVIDER_OPENAI, "POST", "/chat/completions", "openai_chat" },
		{ PROVIDER_OPENAI, "POST", "/v1/responses", "openai_responses" },
		{ PROVIDER_OPENAI, "GET", "/v1/responses", NULL },
		{ PROVIDER_OPENAI, "POST", "/v1/embeddings", "openai_embeddings" },
		{ PROVIDER_OPENAI, "POST", "/v1/images/generations", NULL },
		{ PROVIDER_OPENAI, "POST", "/v1/messages", NULL },
		{ PROVIDER_OPENROUTER, "POST", "/api/v1/chat/completions",
		    "openai_chat" },
		{ PROVIDER_VERCEL, "POST", "/v4/ai/language-model", "aigateway" },
		{ PROVIDER_VERCEL, "POST", "/v1/messages", "anthropic_messages" },
		{ PROVIDER_GEMINI, "POST", GEMINI, "gemini" },
		{ PROVIDER_GEMINI, "POST", "/v1/models/m:streamGenerateContent?alt=sse",
		    "gemini" },
		{ PROVIDER_GEMINI, "POST", "/v1beta/models/m:embedContent",
		    "gemini_embed" },
		{ PROVIDER_GEMINI, "POST", "/v9/models/m:generateContent", NULL },
		{ PROVIDER_GEMINI, "POST",
		    "/v1beta/models/m%3AcountTokens:generateContent", NULL },
		{ PROVIDER_GEMINI, "POST", "/v1beta/tunedModels/m:generateContent",
		    NULL },
		{ PROVIDER_GEMINI, "POST", "/v1beta/models/m:predict", NULL },
		{ PROVIDER_GEMINI, "POST", "/v1beta/models/:generateContent", NULL },
		{ PROVIDER_GEMINI, "POST", "/v1beta/models/a/b:generateContent", NULL },
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		const struct api *api =
		    api_find(rows[i].kind, str_of(rows[i].method), str_of(rows[i].path));

		assert_row(rows[i].path, (api != NULL) == (rows[i].family != NULL));
		if (api != NULL && rows[i].family != NULL)
			assert_row(rows[i].path, strcmp(api->name, rows[i].family) == 0);
	}
	assert_false(read_call(PROVIDER_ANTHROPIC, "/v1/complete", "{}"));
	assert_int_equal(call.error, CALL_NOT_METERED);
}

#define M "\"model\":\"m\",\"max_tokens\":9,"

static void
test_what_two_readers_could_read_differently_is_refused(void **state)
{
	static const struct {
		const char *name, *body;
		enum call_error error;
	} rows[] = {
		{ "a plain call", "{" M "\"messages\":[]}", CALL_OK },
		{ "model twice", "{" M "\"model\":\"n\",\"messages\":[]}",
		    CALL_AMBIGUOUS },
		{ "model twice, once escaped", "{" M "\"mod\\u0065l\":\"n\"}",
		    CALL_AMBIGUOUS },
		{ "model in another case", "{" M "\"Model\":\"n\"}", CALL_AMBIGUOUS },
		{ "a key twice far inside",
		    "{" M "\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":"
		    "\"tool_use\","
		    "\"input\":{\"a\":1,\"b\":{\"c\":1,\"c\":2}}}]}]}",
		    CALL_AMBIGUOUS },
		{ "a key twice in what nobody knows", "{" M "\"x\":{\"y\":1,\"y\":1}}",
		    CALL_AMBIGUOUS },
		{ "limits that differ",
		    "{" M "\"fallbacks\":[{\"model\":\"n\",\"max_tokens\":10}]}",
		    CALL_AMBIGUOUS },
		{ "limits that agree",
		    "{" M "\"fallbacks\":[{\"model\":\"n\",\"max_tokens\":9}]}",
		    CALL_OK },
		{ "no JSON", "{" M, CALL_MALFORMED },
		{ "something behind", "{" M "\"messages\":[]}{}", CALL_MALFORMED },
		{ "a trailing comma", "{" M "}", CALL_MALFORMED },
		{ "a comment", "{" M "/* */\"messages\":[]}", CALL_MALFORMED },
		{ "no UTF-8", "{" M "\"messages\":[\"\xff\"]}", CALL_MALFORMED },
		{ "an overlong NUL", "{" M "\"messages\":[\"\xc0\x80\"]}",
		    CALL_MALFORMED },
		{ "half a surrogate pair", "{" M "\"messages\":[\"\\ud800\"]}",
		    CALL_MALFORMED },
		{ "no object", "[]", CALL_MALFORMED },
		{ "nothing", "", CALL_MALFORMED },
		{ "no model", "{\"max_tokens\":9}", CALL_MALFORMED },
		{ "only a tool's model",
		    "{\"tools\":[{\"type\":\"advisor_1\",\"model\":\"m\"}]}",
		    CALL_MALFORMED },
		{ "an empty model", "{\"model\":\"\"}", CALL_MALFORMED },
		{ "a model that is no string", "{\"model\":[\"m\"]}", CALL_MALFORMED },
		{ "a limit below nothing", "{\"model\":\"m\",\"max_tokens\":-1}",
		    CALL_MALFORMED },
		{ "half a token", "{\"model\":\"m\",\"max_tokens\":1.5}",
		    CALL_MALFORMED },
		{ "a limit in quotes", "{\"model\":\"m\",\"max_tokens\":\"9\"}",
		    CALL_MALFORMED },
		{ "a limit beyond all", "{\"model\":\"m\",\"max_tokens\":1e30}",
		    CALL_MALFORMED },
		{ "stream that is no boolean", "{" M "\"stream\":1}", CALL_MALFORMED },
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		bool is_read = read_messages(rows[i].body);

		assert_row(rows[i].name, call.error == rows[i].error);
		assert_row(rows[i].name, is_read == (rows[i].error == CALL_OK));
		assert_row(rows[i].name, is_read || call.why != NULL);
	}
}

static void
test_nesting_is_capped(void **state)
{
	char deep[512] = "{\"model\":\"m\",\"messages\":";
	size_t n = strlen(deep);

	(void)state;
	memset(deep + n, '[', 100);
	deep[n + 100] = '\0';
	assert_false(read_messages(deep));
	assert_int_equal(call.error, CALL_MALFORMED);
}

static void
test_encoded_body_is_refused_unread(void **state)
{
	struct http_field field[] = { { STR("Content-Encoding"), STR("zstd") } };
	struct http_head head = { .field = field, .nfield = 1 };
	struct model_request r = { PROVIDER_ANTHROPIC, STR("POST"), STR("/v1/messages"),
		&head, STR("{" M "\"messages\":[]}") };

	(void)state;
	assert_false(call_read(&call, &r, &arena));
	assert_int_equal(call.error, CALL_ENCODED);
	field[0].value = STR("identity");
	assert_true(call_read(&call, &r, &arena));
}

static void
test_every_model_that_may_run_is_named(void **state)
{
	static const struct {
		const char *name, *body, *models; /* "name:role ..." */
	} rows[] = {
		{ "the main one", "{\"model\":\"a\"}", "a:0 " },
		{ "fallbacks",
		    "{\"model\":\"a\",\"fallbacks\":[{\"model\":\"b\"},{\"model\":\"c\"}]"
		    "}",
		    "a:0 b:1 c:1 " },
		{ "the main one stands first",
		    "{\"fallbacks\":[{\"model\":\"b\"}],\"model\":\"a\"}", "a:0 b:1 " },
		{ "whatever the provider chooses",
		    "{\"model\":\"a\",\"fallbacks\":\"default\"}", "a:0 default:1 " },
		{ "an advisor",
		    "{\"model\":\"a\",\"tools\":[{\"type\":\"advisor_20260301\",\"name\":"
		    "\"advisor\","
		    "\"model\":\"b\"}]}",
		    "a:0 b:3 " },
		{ "a tool nobody knows",
		    "{\"model\":\"a\",\"tools\":[{\"type\":\"oracle_1\",\"model\":\"b\"}]"
		    "}",
		    "a:0 b:3 " },
		{ "in a key nobody knows",
		    "{\"model\":\"a\",\"router\":{\"models\":[\"b\",\"c\"]}}",
		    "a:0 b:4 c:4 " },
		{ "not in text, schemas and labels",
		    "{\"model\":\"a\",\"messages\":[{\"role\":\"user\",\"content\":[{"
		    "\"type\":"
		    "\"tool_use\",\"input\":{\"model\":\"x\"}}]}],\"metadata\":{"
		    "\"model\":\"x\"},"
		    "\"tools\":[{\"name\":\"t\",\"input_schema\":{\"model\":\"x\"}}]}",
		    "a:0 " },
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		char text[256] = "";
		size_t n = 0;

		assert_row(rows[i].name, read_messages(rows[i].body));
		for (size_t m = 0; m < call.nmodel; m++)
			n += (size_t)snprintf(text + n, sizeof(text) - n, "%.*s:%d ",
			    STR_ARG(call.model[m].name), call.model[m].role);
		assert_row(rows[i].name, strcmp(text, rows[i].models) == 0);
	}
}

static void
test_model_that_no_pattern_fits_is_found(void **state)
{
	static const struct str allowed[] = { { "a*", 2 }, { "b", 1 } };

	(void)state;
	assert_true(
	    read_messages("{\"model\":\"a-1\",\"fallbacks\":[{\"model\":\"c\"}]}"));
	assert_true(str_eq(call_beyond(&call, allowed, 2)->name, STR("c")));
	assert_true(
	    read_messages("{\"model\":\"a-1\",\"fallbacks\":[{\"model\":\"b\"}]}"));
	assert_null(call_beyond(&call, allowed, 2));
	assert_non_null(call_beyond(&call, NULL, 0)); /* an empty list allows nothing */
}

static void
test_limit_is_lowered_where_it_stands_and_nowhere_else(void **state)
{
	static const struct {
		const char *name, *body, *sent;
		enum provider_kind kind;
		const char *path;
	} rows[] = {
		{ "in its place", "{ \"max_tokens\" : 128000, \"model\":\"m\"}",
		    "{ \"max_tokens\" : 50, \"model\":\"m\"}", PROVIDER_ANTHROPIC,
		    "/v1/messages" },
		{ "everywhere it is said",
		    "{\"model\":\"m\",\"max_tokens\":99,\"fallbacks\":[{\"model\":\"n\","
		    "\"max_tokens\":99}]}",
		    "{\"model\":\"m\",\"max_tokens\":50,\"fallbacks\":[{\"model\":\"n\","
		    "\"max_tokens\":50}]}",
		    PROVIDER_ANTHROPIC, "/v1/messages" },
		{ "where there was none", "{\"model\":\"m\"}",
		    "{\"max_tokens\":50,\"model\":\"m\"}", PROVIDER_ANTHROPIC,
		    "/v1/messages" },
		{ "inside its object", "{\"generationConfig\":{\"maxOutputTokens\":100}}",
		    "{\"generationConfig\":{\"maxOutputTokens\":50}}", PROVIDER_GEMINI,
		    GEMINI },
		{ "in the other spelling",
		    "{\"generation_config\":{\"max_output_tokens\":100}}",
		    "{\"generation_config\":{\"max_output_tokens\":50}}", PROVIDER_GEMINI,
		    GEMINI },
		{ "beside others", "{\"generationConfig\":{\"topK\":1}}",
		    "{\"generationConfig\":{\"maxOutputTokens\":50,\"topK\":1}}",
		    PROVIDER_GEMINI, GEMINI },
		{ "in an empty object", "{\"generationConfig\":{}}",
		    "{\"generationConfig\":{\"maxOutputTokens\":50}}", PROVIDER_GEMINI,
		    GEMINI },
		{ "with its object", "{\"contents\":[]}",
		    "{\"generationConfig\":{\"maxOutputTokens\":50},\"contents\":[]}",
		    PROVIDER_GEMINI, GEMINI },
		{ "with its object, in nothing", "{}",
		    "{\"generationConfig\":{\"maxOutputTokens\":50}}", PROVIDER_GEMINI,
		    GEMINI },
		{ "of a chat", "{\"model\":\"m\",\"max_completion_tokens\":99}",
		    "{\"model\":\"m\",\"max_completion_tokens\":50}", PROVIDER_OPENAI,
		    "/v1/chat/completions" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		assert_row(
		    rows[i].name, read_call(rows[i].kind, rows[i].path, rows[i].body));
		call_clamp(&call, 50);
		assert_row(rows[i].name, strcmp(sent_body(), rows[i].sent) == 0);
	}
}

/* --- hosted tools --- */

static void
test_hosted_tools_are_known_by_not_being_the_clients(void **state)
{
	static const struct {
		const char *type, *name; /* NULL: the client's */
	} rows[] = {
		{ "\"type\":\"custom\",", NULL },
		{ "", NULL },
		{ "\"type\":\"bash_20250124\",", NULL },
		{ "\"type\":\"text_editor_20250728\",", NULL },
		{ "\"type\":\"computer_20251124\",", NULL },
		{ "\"type\":\"memory_20250818\",", NULL },
		{ "\"type\":\"web_search_20250305\",", "web_search" },
		{ "\"type\":\"web_search_20260209\",", "web_search" },
		{ "\"type\":\"web_fetch_20260318\",", "web_fetch" },
		{ "\"type\":\"code_execution_20250825\",", "code_execution" },
		{ "\"type\":\"mcp_toolset\",", "mcp" },
		{ "\"type\":\"bash_20250124x\",", "bash_20250124x" },
		{ "\"type\":\"\",", "" },
		{ "\"type\":\"something_new\",", "something_new" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		char body[256];

		snprintf(body, sizeof(body),
		    "{\"model\":\"m\",\"tools\":[{%s\"name\":\"t\"}]}", rows[i].type);
		assert_row(rows[i].type, read_messages(body));
		assert_row(rows[i].type, (call.hosted != NULL) == (rows[i].name != NULL));
		if (call.hosted != NULL)
			assert_row(rows[i].type,
			    str_eq(call.hosted->name, str_of(rows[i].name)));
	}
}

#define SEARCH "{\"type\":\"web_search_20250305\",\"name\":\"web_search\"}"
#define FETCH "{\"type\":\"web_fetch_20260318\",\"name\":\"web_fetch\"}"
#define OWN "{\"name\":\"own\",\"input_schema\":{}}"
#define LEFT "{\"type\":\"text\",\"text\":\"[left out: the provider may not fetch it]\"}"

static void
test_hosted_tools_are_taken_out_or_refused(void **state)
{
	static const struct str only_search[] = { { "web_search", 10 } };
	static const struct str by_type[] = { { "web_search_20250305", 19 } };
	static const struct {
		const char *name, *body, *sent; /* sent NULL: refused */
		struct hosted_allowed allowed;
		bool strips;
		const char *header;
		enum provider_kind kind;
		const char *path;
	} rows[] = {
		{ "allowed by name", "{\"model\":\"m\",\"tools\":[" SEARCH "]}",
		    "{\"model\":\"m\",\"tools\":[" SEARCH "]}", { false, only_search, 1 },
		    false, "", 0, "/v1/messages" },
		{ "allowed by type", "{\"model\":\"m\",\"tools\":[" SEARCH "]}",
		    "{\"model\":\"m\",\"tools\":[" SEARCH "]}", { false, by_type, 1 },
		    false, "", 0, "/v1/messages" },
		{ "all allowed", "{\"model\":\"m\",\"tools\":[" FETCH "]}",
		    "{\"model\":\"m\",\"tools\":[" FETCH "]}", { true, NULL, 0 }, false,
		    "", 0, "/v1/messages" },
		{ "refused", "{\"model\":\"m\",\"tools\":[" FETCH "]}", NULL,
		    { false, only_search, 1 }, false, "", 0, "/v1/messages" },
		{ "first of three",
		    "{\"model\":\"m\",\"tools\":[" SEARCH " , " OWN "," OWN "]}",
		    "{\"model\":\"m\",\"tools\":[" OWN "," OWN "]}", { false, NULL, 0 },
		    true, "web_search", 0, "/v1/messages" },
		{ "last two",
		    "{\"model\":\"m\",\"tools\":[" OWN " ," SEARCH "," FETCH " ]}",
		    "{\"model\":\"m\",\"tools\":[" OWN " ]}", { false, NULL, 0 }, true,
		    "web_search, web_fetch", 0, "/v1/messages" },
		{ "one between",
		    "{\"model\":\"m\",\"tools\":[" OWN "," SEARCH "," OWN "]}",
		    "{\"model\":\"m\",\"tools\":[" OWN "," OWN "]}", { false, NULL, 0 },
		    true, "web_search", 0, "/v1/messages" },
		{ "one kept between",
		    "{\"model\":\"m\",\"tools\":[" FETCH "," SEARCH "," FETCH "]}",
		    "{\"model\":\"m\",\"tools\":[" SEARCH "]}", { false, only_search, 1 },
		    true, "web_fetch", 0, "/v1/messages" },
		{ "all: the list and what depends on it go too",
		    "{\"tools\":[" SEARCH
		    "],\"tool_choice\":{\"type\":\"auto\"},\"model\":\"m\"}",
		    "{\"model\":\"m\"}", { false, NULL, 0 }, true, "web_search", 0,
		    "/v1/messages" },
		{ "all, at the end", "{\"model\":\"m\",\"tools\":[" SEARCH "]}",
		    "{\"model\":\"m\"}", { false, NULL, 0 }, true, "web_search", 0,
		    "/v1/messages" },
		{ "remote servers and their tools",
		    "{\"mcp_servers\":[{\"type\":\"url\",\"url\":\"https://"
		    "x\"}],\"model\":\"m\","
		    "\"tools\":[{\"type\":\"mcp_toolset\",\"mcp_server_name\":\"x\"}," OWN
		    "]}",
		    "{\"model\":\"m\",\"tools\":[" OWN "]}", { false, NULL, 0 }, true,
		    "mcp", 0, "/v1/messages" },
		{ "insisted on by name",
		    "{\"model\":\"m\",\"tools\":[" SEARCH "," OWN
		    "],\"tool_choice\":{\"type\":\"tool\",\"name\":\"web_search\"}}",
		    NULL, { false, NULL, 0 }, true, "", 0, "/v1/messages" },
		{ "any, and none is left",
		    "{\"model\":\"m\",\"tools\":[" SEARCH
		    "],\"tool_choice\":{\"type\":\"any\"}}",
		    NULL, { false, NULL, 0 }, true, "", 0, "/v1/messages" },
		{ "any, and one is left",
		    "{\"model\":\"m\",\"tools\":[" SEARCH "," OWN
		    "],\"tool_choice\":{\"type\":\"any\"}}",
		    "{\"model\":\"m\",\"tools\":[" OWN
		    "],\"tool_choice\":{\"type\":\"any\"}}",
		    { false, NULL, 0 }, true, "web_search", 0, "/v1/messages" },
		{ "a picture by URL, deep in a tool's result",
		    "{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":[{"
		    "\"type\":"
		    "\"tool_result\",\"content\":[{\"type\":\"image\",\"source\":{"
		    "\"type\":\"url\","
		    "\"url\":\"https://x/y\"}}]}]}]}",
		    "{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":[{"
		    "\"type\":"
		    "\"tool_result\",\"content\":[" LEFT "]}]}]}",
		    { false, NULL, 0 }, true, "image_url", 0, "/v1/messages" },
		{ "search beside functions in one element",
		    "{\"tools\":[{\"googleSearch\":{},\"functionDeclarations\":[{"
		    "\"name\":\"f\"}]}]}",
		    "{\"tools\":[{\"functionDeclarations\":[{\"name\":\"f\"}]}]}",
		    { false, NULL, 0 }, true, "google_search", PROVIDER_GEMINI, GEMINI },
		{ "an element that is search alone",
		    "{\"tools\":[{\"google_search\":{}},{\"urlContext\":{}}],"
		    "\"contents\":[]}",
		    "{\"contents\":[]}", { false, NULL, 0 }, true,
		    "google_search, url_context", PROVIDER_GEMINI, GEMINI },
		{ "a film by URL",
		    "{\"contents\":[{\"parts\":[{\"text\":\"a\"},{\"fileData\":{"
		    "\"fileUri\":"
		    "\"https://x/y\"}}]}]}",
		    "{\"contents\":[{\"parts\":[{\"text\":\"a\"},{\"text\":\"[left out: "
		    "the "
		    "provider may not fetch it]\"}]}]}",
		    { false, NULL, 0 }, true, "file_url", PROVIDER_GEMINI, GEMINI },
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		const struct hosted *which = NULL;
		struct buf header;

		assert_row(
		    rows[i].name, read_call(rows[i].kind, rows[i].path, rows[i].body));
		bool may_run =
		    hosted_judge(&call, &rows[i].allowed, rows[i].strips, &which);

		assert_row(rows[i].name, may_run == (rows[i].sent != NULL));
		assert_row(rows[i].name, may_run || which != NULL);
		if (!may_run || rows[i].sent == NULL)
			continue;
		assert_row(rows[i].name, strcmp(sent_body(), rows[i].sent) == 0);
		buf_init(&header, 256);
		hosted_stripped(&call, &header);
		assert_row(rows[i].name, strcmp(buf_cstr(&header), rows[i].header) == 0);
		buf_fini(&header);
	}
}

static void
test_clients_words_cannot_break_a_header(void **state)
{
	const struct hosted_allowed none = { false, NULL, 0 };
	const struct hosted *which;
	struct buf header;

	(void)state;
	assert_true(
	    read_messages("{\"model\":\"m\",\"tools\":[{\"type\":\"a\\r\\nX: y\"}]}"));
	assert_true(hosted_judge(&call, &none, true, &which));
	buf_init(&header, 256);
	hosted_stripped(&call, &header);
	assert_string_equal(buf_cstr(&header), "a??X:?y");
	buf_fini(&header);
}

static void
test_stripped_request_can_still_be_clamped(void **state)
{
	static const struct {
		enum provider_kind kind;
		const char *path, *body, *sent;
	} rows[] = {
		{ PROVIDER_ANTHROPIC, "/v1/messages",
		    "{\"tools\":[" SEARCH "],\"model\":\"m\"}",
		    "{\"max_tokens\":50,\"model\":\"m\"}" },
		{ PROVIDER_GEMINI, GEMINI, "{\"tools\":[{\"googleSearch\":{}}]}",
		    "{\"generationConfig\":{\"maxOutputTokens\":50}}" },
		{ PROVIDER_GEMINI, GEMINI,
		    "{\"tools\":[{\"googleSearch\":{}}],\"generationConfig\":{}}",
		    "{\"generationConfig\":{\"maxOutputTokens\":50}}" },
	};
	const struct hosted_allowed none = { false, NULL, 0 };
	const struct hosted *which;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		assert_row(
		    rows[i].body, read_call(rows[i].kind, rows[i].path, rows[i].body));
		assert_row(rows[i].body, hosted_judge(&call, &none, true, &which));
		call_clamp(&call, 50);
		assert_row(rows[i].body, strcmp(sent_body(), rows[i].sent) == 0);
	}
}

static void
test_model_of_a_stripped_tool_does_not_run(void **state)
{
	static const struct str allowed[] = { { "m", 1 } };
	const struct hosted_allowed none = { false, NULL, 0 };
	const struct hosted *which;

	(void)state;
	assert_true(
	    read_messages("{\"model\":\"m\",\"tools\":[{\"type\":\"advisor_1\",\"model\":"
			  "\"dear\"}]}"));
	assert_true(str_eq(call_beyond(&call, allowed, 1)->name, STR("dear")));
	assert_true(hosted_judge(&call, &none, true, &which));
	assert_null(call_beyond(&call, allowed, 1));
}

/* --- what a bound is made of --- */

static void
test_facts_for_the_bound_are_read(void **state)
{
	(void)state;
	assert_true(read_messages(
	    "{\"model\":\"m\",\"max_tokens\":4096,\"stream\":true,\"speed\":\"fast\","
	    "\"inference_geo\":\"US\",\"thinking\":{\"type\":\"enabled\",\"budget_"
	    "tokens\":2048},"
	    "\"context_management\":{\"edits\":[{\"type\":\"compact_20260101\"}]},"
	    "\"container\":\"c_1\",\"system\":[{\"type\":\"text\",\"text\":\"s\","
	    "\"cache_control\":{\"type\":\"ephemeral\",\"ttl\":\"1h\"}}],"
	    "\"messages\":[{\"role\":\"user\",\"content\":\"a\"},{\"role\":\"user\","
	    "\"content\":["
	    "{\"type\":\"image\",\"source\":{\"type\":\"base64\",\"media_type\":\"image/"
	    "png\","
	    "\"data\":\"AAAAAAAA\"}},{\"type\":\"document\",\"source\":{\"type\":"
	    "\"file\","
	    "\"file_id\":\"f_1\"}}]}],\"tools\":[" OWN "," OWN "]}"));
	assert_true(call.is_stream && call.is_fast && call.regions == 1u << REGION_US);
	assert_true(call.thinking == 2048 && !call.thinking_is_extra && call.compacts);
	assert_true(call.may_write_cache && call.may_write_long);
	assert_true(call.messages == 2 && call.blocks == 3 && call.tools == 2);
	assert_true(call.images == 1 && call.has_document);
	assert_int_equal(call.text_bytes, call.body.n - strlen("\"AAAAAAAA\""));
	assert_int_equal(call.nreference, 2);
	assert_true(call.reference[0].kind == REFERENCE_CONTAINER &&
		    str_eq(call.reference[0].id, STR("c_1")));
	assert_true(call.reference[1].kind == REFERENCE_FILE &&
		    str_eq(call.reference[1].id, STR("f_1")));

	assert_true(
	    read_messages("{\"model\":\"m\",\"context_management\":{\"edits\":[{\"type\":"
			  "\"clear_tool_uses_20250919\"}]}}"));
	assert_false(call.compacts || call.may_write_cache || call.is_stream);

	assert_true(
	    read_call(PROVIDER_GEMINI, "/v1beta/models/m:streamGenerateContent?alt=sse",
		"{\"generationConfig\":{\"candidateCount\":3,\"thinking_config\":{"
		"\"thinkingBudget\":"
		"-1},\"responseModalities\":[\"AUDIO\"]},\"cachedContent\":"
		"\"cachedContents/x\","
		"\"contents\":[{\"parts\":[{\"inline_data\":{\"mime_type\":\"audio/"
		"wav\",\"data\":"
		"\"AAAA\"}}]}]}"));
	assert_true(call.is_stream && call.answers == 3 && call.thinking == 0);
	assert_true(call.has_audio_out && call.has_audio_in && call.has_document);
	assert_true(call.reference[0].kind == REFERENCE_CACHED && !call.draws);
	assert_true(read_call(PROVIDER_GEMINI, GEMINI,
	    "{\"generationConfig\":{\"responseModalities\":[\"TEXT\",\"IMAGE\"]}}"));
	assert_true(call.draws);
}

static void
test_gemini_spellings_and_models_must_agree(void **state)
{
	static const struct {
		const char *name, *path, *body;
		enum call_error error;
	} rows[] = {
		{ "both spellings", GEMINI,
		    "{\"generationConfig\":{},\"generation_config\":{}}",
		    CALL_AMBIGUOUS },
		{ "both spellings of the limit", GEMINI,
		    "{\"generationConfig\":{\"maxOutputTokens\":1,\"max_output_tokens\":"
		    "1}}",
		    CALL_AMBIGUOUS },
		{ "the path's model", GEMINI, "{\"model\":\"models/gemini-x\"}",
		    CALL_OK },
		{ "another model", GEMINI, "{\"model\":\"models/gemini-y\"}",
		    CALL_AMBIGUOUS },
		{ "another model in a batch", "/v1beta/models/e:batchEmbedContents",
		    "{\"requests\":[{\"model\":\"models/e\"},{\"model\":\"models/f\"}]}",
		    CALL_AMBIGUOUS },
		{ "null for an object", GEMINI, "{\"generationConfig\":null}",
		    CALL_MALFORMED },
		{ "no answers", GEMINI, "{\"generationConfig\":{\"candidateCount\":0}}",
		    CALL_MALFORMED },
		{ "a method in the query", GEMINI "?$httpMethod=DELETE", "{}",
		    CALL_NOT_METERED },
		{ "another form of answer", GEMINI "?alt=proto", "{}", CALL_NOT_METERED },
		{ "a form twice", GEMINI "?alt=sse&alt=json", "{}", CALL_NOT_METERED },
		{ "a limit of a request inside", GEMINI,
		    "{\"generateContentRequest\":{\"generationConfig\":{"
		    "\"maxOutputTokens\":1}}}",
		    CALL_MALFORMED },
		{ "a request inside a count's", "/v1beta/models/gemini-x:countTokens",
		    "{\"generateContentRequest\":{\"contents\":[]}}", CALL_OK },
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		read_call(PROVIDER_GEMINI, rows[i].path, rows[i].body);
		assert_row(rows[i].name, call.error == rows[i].error);
	}
}

/* Owned is one file; the provider must not read another one by the same URI. */
/* LiteLLM takes the model of the query before the body's. */
static void
test_query_of_a_call_that_costs_says_nothing_of_it(void **state)
{
	static const struct {
		const char *path;
		bool is_fine;
	} rows[] = {
		{ "/v1/chat/completions", true },
		{ "/v1/chat/completions?", true },
		{ "/v1/chat/completions?api-version=2026-01-01", true },
		{ "/v1/chat/completions?beta=true&api-version=1", true },
		{ "/v1/chat/completions?model=dear", false },
		{ "/v1/chat/completions?beta=true&model=dear", false },
		{ "/v1/chat/completions?beta=true;model=dear", false },
		{ "/v1/chat/completions?beta=true%26model=dear", false },
		{ "/v1/chat/completions?%6dodel=dear", false },
		{ "/v1/chat/completions?model", false },
		{ "/v1/chat/completions?beta=true#&model=dear", false },
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		bool is_read =
		    read_call(PROVIDER_LITELLM, rows[i].path, "{\"model\":\"m\"}");
		assert_row(rows[i].path, is_read == rows[i].is_fine);
		assert_row(rows[i].path, is_read || call.error == CALL_NOT_METERED);
	}
}

static void
test_file_has_one_name_or_is_fetched(void **state)
{
#define FILE_OF(uri) \
	"{\"contents\":[{\"parts\":[{\"fileData\":{\"fileUri\":\"" uri "\"}}]}]}"
#define FILES "https://generativelanguage.googleapis.com/v1beta/files/"
	static const struct {
		const char *body, *id; /* NULL: hosted */
	} rows[] = {
		{ FILE_OF("files/abc-1"), "abc-1" },
		{ FILE_OF(FILES "abc-1"), "abc-1" },
		{ FILE_OF(FILES "theirs?x=/mine"), NULL },
		{ FILE_OF(FILES "theirs#/mine"), NULL },
		{ FILE_OF("files/theirs/mine"), NULL },
		{ FILE_OF("files/"), NULL },
		{ FILE_OF("https://example.com/files/mine"), NULL },
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		assert_row(
		    rows[i].body, read_call(PROVIDER_GEMINI, GEMINI, rows[i].body));
		assert_row(rows[i].body, (call.hosted != NULL) == (rows[i].id == NULL));
		assert_row(rows[i].body, call.nreference == (rows[i].id != NULL));
		if (rows[i].id != NULL)
			assert_row(rows[i].body,
			    str_eq(call.reference[0].id, str_of(rows[i].id)));
	}
}

static void
test_key_in_the_query_goes_no_further(void **state)
{
	(void)state;
	assert_true(read_call(PROVIDER_GEMINI, GEMINI "?key=k1&alt=sse", "{}"));
	assert_true(str_eq(call.query_key, STR("k1")));
	assert_true(str_eq(call.path, STR(GEMINI "?alt=sse")));
	assert_true(read_call(PROVIDER_GEMINI, GEMINI "?key=k1", "{}"));
	assert_true(str_eq(call.path, STR(GEMINI)));
}

static void
test_free_counter_is_asked_the_same_question(void **state)
{
	static const struct {
		enum provider_kind kind;
		const char *path, *body, *counter, *question;
	} rows[] = {
		{ PROVIDER_ANTHROPIC, "/v1/messages",
		    "{\"max_tokens\":9,\"model\":\"m\",\"stream\":true,\"messages\":[ ]}",
		    "/v1/messages/count_tokens", "{\"model\":\"m\",\"messages\":[ ]}" },
		{ PROVIDER_OPENAI, "/responses",
		    "{\"stream\":true,\"model\":\"m\",\"input\":\"a\",\"truncation\":"
		    "\"auto\"}",
		    "/responses/input_tokens", "{\"model\":\"m\",\"input\":\"a\"}" },
		{ PROVIDER_GEMINI, "/v1beta/models/m:generateContent",
		    "{\"contents\":[]}", "/v1beta/models/m:countTokens",
		    "{\"generateContentRequest\":{\"model\":\"models/"
		    "m\",\"contents\":[]}}" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct buf path, body;

		buf_init(&path, 256);
		buf_init(&body, 256);
		assert_true(read_call(rows[i].kind, rows[i].path, rows[i].body));
		assert_true(call_counter(&call, rows[i].kind, &path, &body));
		assert_string_equal(buf_cstr(&path), rows[i].counter);
		assert_string_equal(buf_cstr(&body), rows[i].question);
		buf_fini(&path);
		buf_fini(&body);
	}
}

static void
test_free_counter_is_not_asked_what_it_cannot_prove(void **state)
{
	static const struct {
		const char *why;
		enum provider_kind kind;
		const char *path, *body;
	} rows[] = {
		{ "a member that may lengthen the prompt", PROVIDER_ANTHROPIC,
		    "/v1/messages", "{\"model\":\"m\",\"max_tokens\":9,\"more\":1}" },
		{ "two models", PROVIDER_ANTHROPIC, "/v1/messages",
		    "{\"model\":\"m\",\"max_tokens\":9,"
		    "\"fallbacks\":[{\"model\":\"n\"}]}" },
		{ "what is cached elsewhere", PROVIDER_GEMINI,
		    "/v1beta/models/m:generateContent",
		    "{\"contents\":[],\"cachedContent\":\"cachedContents/a\"}" },
		{ "a gateway without one", PROVIDER_LITELLM, "/v1/messages",
		    "{\"model\":\"m\",\"max_tokens\":9}" },
		{ "a gateway without one", PROVIDER_OPENROUTER, "/api/v1/responses",
		    "{\"model\":\"m\",\"input\":\"a\"}" },
		{ "a family without one", PROVIDER_OPENAI, "/v1/chat/completions",
		    "{\"model\":\"m\",\"messages\":[]}" },
		{ "a counter", PROVIDER_ANTHROPIC, "/v1/messages/count_tokens",
		    "{\"model\":\"m\"}" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct buf path, body;

		buf_init(&path, 256);
		buf_init(&body, 256);
		assert_true(read_call(rows[i].kind, rows[i].path, rows[i].body));
		if (call_counter(&call, rows[i].kind, &path, &body))
			fail_msg("%s: asked", rows[i].why);
		buf_fini(&path);
		buf_fini(&body);
	}
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
		cmocka_unit_test(test_path_decides_and_unknown_paths_are_not_metered),
		cmocka_unit_test(test_what_two_readers_could_read_differently_is_refused),
		cmocka_unit_test(test_nesting_is_capped),
		cmocka_unit_test(test_encoded_body_is_refused_unread),
		cmocka_unit_test(test_every_model_that_may_run_is_named),
		cmocka_unit_test(test_model_that_no_pattern_fits_is_found),
		cmocka_unit_test(test_limit_is_lowered_where_it_stands_and_nowhere_else),
		cmocka_unit_test(test_hosted_tools_are_known_by_not_being_the_clients),
		cmocka_unit_test(test_hosted_tools_are_taken_out_or_refused),
		cmocka_unit_test(test_stripped_request_can_still_be_clamped),
		cmocka_unit_test(test_model_of_a_stripped_tool_does_not_run),
		cmocka_unit_test(test_clients_words_cannot_break_a_header),
		cmocka_unit_test(test_facts_for_the_bound_are_read),
		cmocka_unit_test(test_gemini_spellings_and_models_must_agree),
		cmocka_unit_test(test_query_of_a_call_that_costs_says_nothing_of_it),
		cmocka_unit_test(test_file_has_one_name_or_is_fetched),
		cmocka_unit_test(test_key_in_the_query_goes_no_further),
		cmocka_unit_test(test_free_counter_is_asked_the_same_question),
		cmocka_unit_test(test_free_counter_is_not_asked_what_it_cannot_prove),
	};

	return cmocka_run_group_tests(tests, NULL, tear_down);
}
