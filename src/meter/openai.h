/*
 * openai.h - what Chat Completions and Responses, and those who copy them, share
 *
 * Readers of request members that mean the same in both, and words of answers.
 * Pure; any thread.
 */
#ifndef WEIR_METER_OPENAI_H
#define WEIR_METER_OPENAI_H

#include "meter/answer.h"
#include "meter/body.h"

/* As an answer says it; what is not known is standard. */
enum tier openai_tier(struct str name);

/*
 * Members of a request.  They note what they read in the call; `to` is not looked at.
 * A limit is known by its key, which is b->piece's.
 */
bool openai_read_model(struct body *b, void *to);
bool openai_read_fallbacks(struct body *b, void *to); /* names, or objects with `model` */
bool openai_read_limit(struct body *b, void *to);
bool openai_read_tier(struct body *b, void *to);
/* Among the options of one provider: another may serve, which does not look at it, so it
 * makes a call dearer and never cheaper. */
bool openai_read_option_tier(struct body *b, void *to);
bool openai_read_format(struct body *b, void *to); /* an answer's schema */
/* Keys for a provider, or another address for the call: refused, but for null. */
bool openai_read_foreign(struct body *b, void *to);
/* What would take the place of a limit or a count that is read elsewhere: refused, but
 * for null. */
bool openai_read_hidden(struct body *b, void *to);
/* In a provider's options, which gateways merge into what they send. */
#define OPENAI_HIDDEN_ROWS \
	{ "max_tokens", "maxTokens", openai_read_hidden, 0 }, \
	    { "max_completion_tokens", "maxCompletionTokens", openai_read_hidden, 0 }, \
	    { "max_output_tokens", "maxOutputTokens", openai_read_hidden, 0 }, \
	    { "candidate_count", "candidateCount", openai_read_hidden, 0 }, \
	    { "extra_body", "extraBody", openai_read_hidden, 0 }, \
	{ \
		"n", "best_of", openai_read_hidden, 0 \
	}
/* `providerOptions`: fallback models and byok of the AI Gateway. */
bool openai_read_options(struct body *b, void *to);
bool openai_read_choice(struct body *b, void *to);  /* `tool_choice` */
bool openai_read_content(struct body *b, void *to); /* text, or a list of parts */

/* One of `tools`: the client's own or hosted, by its type. */
struct openai_tool {
	struct piece *piece;
	struct str type, name;
	uint64_t uses;     /* it says it will be used at most; 0: not said */
	struct str beside; /* a part of it that no tool of the client's has */
};
bool openai_note_tool(
    struct call *c, const struct openai_tool *t, const char *const *client);
/*
 * Into a->usage.model: what the answer calls its model, or else the only one that the
 * request names.  Where several might have answered nobody knows.
 */
void openai_name_model(struct answer *a, const char *model);
bool openai_is_data(struct str url); /* the bytes themselves, nothing to fetch */

#endif
