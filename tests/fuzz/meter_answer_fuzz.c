/*
 * meter_answer_fuzz.c - an answer says the same however it is cut
 *
 * First byte: family and form.  Second: how many bytes come at a time.
 */
#include <assert.h>
#include <string.h>

#include "meter/api.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct {
	enum provider_kind kind;
	struct str path, body;
} calls[] = {
	{ PROVIDER_ANTHROPIC, { "/v1/messages", 12 }, { "{\"model\":\"m\"}", 13 } },
	{ PROVIDER_GEMINI, { "/v1beta/models/g:streamGenerateContent", 38 },
	    { "{}", 2 } },
	{ PROVIDER_OPENAI, { "/v1/chat/completions", 20 },
	    { "{\"model\":\"m\",\"stream\":true}", 27 } },
	{ PROVIDER_OPENAI, { "/v1/responses", 13 }, { "{\"model\":\"m\"}", 13 } },
	{ PROVIDER_OPENAI, { "/v1/embeddings", 14 }, { "{\"model\":\"m\"}", 13 } },
	{ PROVIDER_VERCEL, { "/v4/ai/language-model", 21 }, { "{}", 2 } },
	{ PROVIDER_GEMINI, { "/v1beta/models/g:embedContent", 29 }, { "{}", 2 } },
};

static const struct str forms[] = { { "text/event-stream", 17 },
	{ "application/json", 16 }, { "application/x-jsonl", 19 } };

#define CALLS (sizeof(calls) / sizeof(calls[0]))
#define FORMS (sizeof(forms) / sizeof(forms[0]))

static struct usage
read_in_pieces(
    const struct call *c, struct str type, struct str in, size_t piece, struct buf *pass)
{
	struct http_field field[] = { { STR("content-type"), type } };
	struct http_head head = {
		.kind = HTTP_RESPONSE, .status = 200, .field = field, .nfield = 1
	};
	struct answer *a = answer_new(c, &head);

	for (; in.n > 0; in = str_sub(in, piece, in.n))
		answer_feed(a, str_sub(in, 0, piece), pass);
	if (pass != NULL)
		answer_feed(a, STR_NONE, pass);
	struct usage u = *answer_end(a, true);

	answer_free(a);
	return u;
}

static void
check(const struct usage *u)
{
	assert(u->nrun <= USAGE_RUNS);
	for (size_t i = 0; i < u->nrun; i++)
		assert(u->run[i].input_total >= 0 && u->run[i].output >= 0 &&
		       u->run[i].cache_read >= 0 && u->run[i].cache_write >= 0 &&
		       memchr(u->run[i].model, '\0', USAGE_MODEL) != NULL);
}

static void
compare(const struct usage *a, const struct usage *b)
{
	struct run x = usage_total(a), y = usage_total(b);

	assert(a->state == b->state && a->nrun == b->nrun);
	assert(a->is_absurd == b->is_absurd && a->text_bytes == b->text_bytes);
	assert(x.input_total == y.input_total && x.output == y.output);
	assert(x.cache_read == y.cache_read && x.searches == y.searches);
	assert(a->has_reported == b->has_reported && a->reported == b->reported);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct http_field field[] = { { STR("ai-language-model-id"), STR("m") } };
	static const struct http_head head = { .field = field, .nfield = 1 };
	struct buf once, twice;
	struct arena a;
	struct call c;

	if (size < 2)
		return 0;
	size_t which = data[0] % (CALLS * FORMS);
	struct model_request r = { calls[which % CALLS].kind, STR("POST"),
		calls[which % CALLS].path, &head, calls[which % CALLS].body };
	struct str in = { (const char *)data + 2, size - 2 };
	size_t piece = (size_t)data[1] % 64 + 1;

	arena_init(&a, 1 << 20);
	bool is_read = call_read(&c, &r, &a);

	assert(is_read);
	buf_init(&once, 4 << 20);
	buf_init(&twice, 4 << 20);
	struct usage whole = read_in_pieces(&c, forms[which / CALLS], in, size, &once);
	struct usage pieces = read_in_pieces(&c, forms[which / CALLS], in, piece, &twice);

	check(&whole);
	compare(&whole, &pieces);
	assert(str_eq(buf_view(&once), buf_view(&twice)));
	assert(c.hides_usage || str_eq(buf_view(&once), in));
	buf_fini(&once);
	buf_fini(&twice);
	arena_fini(&a);
	return 0;
}
