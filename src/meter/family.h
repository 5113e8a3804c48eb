/*
 * family.h - what a family of model APIs can do
 *
 * A family reads requests into a `struct call` and answers into a `struct usage`.
 * api.h knows them all.
 */
#ifndef WEIR_METER_FAMILY_H
#define WEIR_METER_FAMILY_H

#include "conf/shapes.h"
#include "meter/call.h"
#include "wire/head.h"
#include "wire/scan.h"

struct answer;

/* The shape of a refusal's body. */
enum shape { SHAPE_ANTHROPIC, SHAPE_OPENAI, SHAPE_GOOGLE, SHAPE_AWS };

/* A request as it came: below the provider's own path. */
struct model_request {
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
	bool (*read)(struct call *c, const struct model_request *r, struct str model);

	/* What the query may say; a key in it is taken out of c->path.  NULL: anything,
	 * and next to nothing when it costs. */
	bool (*query)(struct call *c);

	/* Answers: a table of paths for each form, and what to do with the values. */
	const struct scan_path *paths;
	size_t npaths;
	const struct scan_path *line_paths; /* of ANSWER_LINES; NULL: the same */
	size_t nline_paths;
	scan_fn *on_value;                     /* arg is the struct answer */
	void (*on_document)(struct answer *a); /* an event, or the whole body, is read */
	/* Nothing more comes: fills a->usage from the state, which stays as it is.  Also
	 * of a copy of the answer, for the running totals of a stream that goes on. */
	void (*on_end)(struct answer *a);
	size_t state_size; /* of a->state, zeroed */
	/* Fields of the head that say something (a cost); may be NULL. */
	void (*on_head)(struct answer *a, const struct http_head *head);

	/* The ending of a stream that weir cuts between two events; may be NULL. */
	void (*cut)(const struct answer *a, struct buf *to);

	/* The provider's free token counter: path and body of the question.  False: the
	 * request says more than it is known to count.  NULL: there is none. */
	bool (*counter)(const struct call *c, struct buf *path, struct buf *body);
	struct scan_path counted; /* where its answer is */
};

#endif
