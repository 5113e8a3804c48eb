/*
 * api.h - the families of model APIs, one row each
 *
 * Which family a request belongs to follows from the provider's kind, the method and
 * the path, never from the body.  A family reads requests into a `struct call` and
 * answers into a `struct usage`; adding one is one file and its rows in api.c.
 *
 * Pure; any thread.
 */
#ifndef WEIR_METER_API_H
#define WEIR_METER_API_H

#include "meter/answer.h"
#include "meter/body.h"
#include "wire/head.h"

/* What a provider speaks: gateway.providers[].kind.  BEDROCK is for `weir meter` only. */
enum provider_kind {
	PROVIDER_ANTHROPIC,
	PROVIDER_OPENAI,
	PROVIDER_GEMINI,
	PROVIDER_VERCEL,
	PROVIDER_OPENROUTER,
	PROVIDER_LITELLM,
	PROVIDER_BEDROCK,
};

/* The shape of a refusal's body. */
enum shape { SHAPE_ANTHROPIC, SHAPE_OPENAI, SHAPE_GOOGLE, SHAPE_AWS };

/* A request as it came: below the provider's own path. */
struct request {
	enum provider_kind kind;
	struct str method, path; /* path and query: /v1/messages?beta=true */
	const struct http_head *head;
	struct str body;
};

struct api {
	const char *name; /* "anthropic_messages" */
	enum shape shape;
	uint64_t image_tokens; /* no image costs more */

	/* `model`: from the path, where the route has one; else p is NULL. */
	bool (*read)(struct call *c, const struct request *r, struct str model);

	/* What the query may say; a key in it is taken out of c->path.  NULL: anything.
	 */
	bool (*query)(struct call *c);

	/* Answers: a table of paths for each form, and what to do with the values. */
	const struct scan_path *paths;
	size_t npaths;
	const struct scan_path *line_paths; /* of ANSWER_LINES; NULL: the same */
	size_t nline_paths;
	scan_fn *on_value;                     /* arg is the struct answer */
	void (*on_document)(struct answer *a); /* an event, or the whole body, is read */
	void (*on_end)(struct answer *a);      /* nothing more comes; fills a->usage */
	size_t state_size;                     /* of a->state, zeroed */
	/* Fields of the head that say something (a cost); may be NULL. */
	void (*on_head)(struct answer *a, const struct http_head *head);

	/* The ending of a stream that weir cuts between two events; may be NULL. */
	void (*cut)(const struct answer *a, struct buf *to);

	/* The provider's free token counter: path and body of the question.  NULL: none.
	 */
	bool (*counter)(const struct call *c, struct buf *path, struct buf *body);
	struct scan_path counted; /* where its answer is */
};

/*
 * Reads a request.  c->error tells; `a` holds what it needs beyond the request, which
 * must outlive it.  A free endpoint that has a body names its models too.
 */
bool call_read(struct call *c, const struct request *r, struct arena *a) MUST_CHECK;
/* The same for a family that is known otherwise (`weir meter`); `model` may be empty. */
bool call_read_as(struct call *c, const struct api *api, const struct request *r,
    struct str model, struct arena *a) MUST_CHECK;
/* The family that serves this path, or NULL: for the shape of an early refusal. */
const struct api *api_find(enum provider_kind kind, struct str method, struct str path);
const struct api *api_named(struct str name); /* NULL: no such family */
/* How a provider words a refusal when no family is known. */
enum shape shape_of(enum provider_kind kind);

/* --- the rows --- */
extern const struct api api_anthropic_messages;
extern const struct api api_openai_chat;
extern const struct api api_openai_responses;
extern const struct api api_openai_embeddings;
extern const struct api api_gemini;
extern const struct api api_gemini_embed;
extern const struct api api_aigateway;
extern const struct api api_bedrock_converse;

#endif
