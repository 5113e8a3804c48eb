/*
 * meter_request_fuzz.c - a request that was stripped and clamped is read as such again
 *
 * First byte: the route.  The rest: the body.
 */
#include <assert.h>

#include "meter/api.h"
#include "meter/bound.h"
#include "meter/hosted.h"
#include "wire/json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct {
	enum provider_kind kind;
	struct str path;
} routes[] = {
	{ PROVIDER_ANTHROPIC, { "/v1/messages", 12 } },
	{ PROVIDER_GEMINI, { "/v1beta/models/g:generateContent", 32 } },
	{ PROVIDER_OPENAI, { "/v1/chat/completions", 20 } },
	{ PROVIDER_OPENAI, { "/v1/responses", 13 } },
	{ PROVIDER_OPENAI, { "/v1/embeddings", 14 } },
	{ PROVIDER_VERCEL, { "/v4/ai/language-model", 21 } },
	{ PROVIDER_GEMINI, { "/v1beta/models/g:batchEmbedContents", 35 } },
};

#define TABLE \
	"{\"weir_aliases\":{\"*\":\"m\"},\"m\":{\"max_input_tokens\":1000000," \
	"\"max_output_tokens\":128000,\"input_cost_per_token\":2e-06," \
	"\"output_cost_per_token\":1e-05,\"search_context_cost_per_query\":" \
	"{\"search_context_size_medium\":0.01}}}"

static const struct prices *
all_priced(void)
{
	static struct prices *prices;
	struct report rep;

	if (prices != NULL)
		return prices;
	report_init(&rep);
	int err = prices_read(&prices, "prices.json", STR(TABLE), &rep);

	assert(err == 0);
	report_fini(&rep);
	return prices;
}

static bool
read_body(struct call *c, size_t route, struct str body, struct arena *a)
{
	static struct http_field field[] = { { STR("ai-language-model-id"), STR("m") } };
	static const struct http_head head = { .field = field, .nfield = 1 };
	struct model_request r = { routes[route].kind, STR("POST"), routes[route].path,
		&head, body };
	bool is_read = call_read(c, &r, a);

	assert(is_read == (c->error == CALL_OK));
	assert(is_read || (c->why != NULL && c->error_at <= body.n));
	assert(c->text_bytes <= body.n);
	return is_read;
}

static void
check_bound(const struct call *c, uint64_t *limit)
{
	struct bound_input in = { .prices = all_priced() };
	usd_nano least, hold;
	struct str which;
	struct bound b;

	*limit = 0;
	if (bound_call(&b, c, &in, &which) != BOUND_OK)
		return;
	assert(bound_floor(&b, &least) && least <= b.want);
	*limit = bound_limit(&b, least + (b.want - least) / 2);
	assert(!b.can_clamp || *limit >= b.least);
	assert(bound_hold(&b, *limit, &hold) && hold <= b.want);
	if (!b.can_clamp || *limit == b.limit)
		*limit = 0;
}

static void
read_again(const struct call *first, size_t route, struct str body, uint64_t limit)
{
	struct arena a;
	struct call c;

	arena_init(&a, 16 << 20);
	bool is_read = read_body(&c, route, body, &a);

	assert(is_read);
	for (const struct hosted *h = c.hosted; h != NULL; h = h->next)
		assert(false); /* they were taken out */
	assert(limit == 0 || (c.has_limit && c.limit == limit));
	assert(c.nmodel <= first->nmodel && c.is_stream == first->is_stream);
	arena_fini(&a);
}

static void
change(struct call *c, size_t route, struct arena *a)
{
	static const struct hosted_allowed none = { .n = 0 };
	const struct hosted *which;
	const char *error;
	uint64_t limit;
	struct buf sent;

	if (!hosted_judge(c, &none, true, &which))
		return;
	check_bound(c, &limit);
	if (limit != 0)
		call_clamp(c, limit);
	buf_init(&sent, 4 << 20);
	if (call_body(c, &sent)) {
		assert(json_parse(buf_view(&sent), a, &error) != NULL);
		read_again(c, route, buf_view(&sent), limit);
	}
	buf_fini(&sent);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct arena a;
	struct call c;
	const char *error;

	if (size < 1)
		return 0;
	size_t route = data[0] % (sizeof(routes) / sizeof(routes[0]));
	struct str body = { (const char *)data + 1, size - 1 };

	arena_init(&a, 64 << 20);
	if (read_body(&c, route, body, &a)) {
		assert(
		    json_parse(body, &a, &error) != NULL); /* and no key is there twice */
		change(&c, route, &a);
	}
	arena_fini(&a);
	return 0;
}
