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
#include "meter/family.h"

/*
 * Reads a request.  c->error tells; `a` holds what it needs beyond the request, which
 * must outlive it.  A free endpoint that has a body names its models too.
 */
bool call_read(struct call *c, const struct model_request *r, struct arena *a) MUST_CHECK;
/* The same for a family that is known otherwise (`weir meter`); `model` may be empty. */
bool call_read_as(struct call *c, const struct api *api, const struct model_request *r,
    struct str model, struct arena *a) MUST_CHECK;
/*
 * The question for the provider's free token counter, of a call as it is to be sent: path
 * (below the provider's own) and body.  False: it has none, or not for such a call.
 */
bool call_counter(const struct call *c, enum provider_kind kind, struct buf *path,
    struct buf *body) MUST_CHECK;
/* The family that serves this path, or NULL: for the shape of an early refusal. */
const struct api *api_find(enum provider_kind kind, struct str method, struct str path);
/* Can a call that was posted there be asked after: does GET of path/ID show its answer?
 */
bool api_shows(enum provider_kind kind, struct str path);
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
