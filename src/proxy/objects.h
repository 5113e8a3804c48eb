/*
 * objects.h - what a provider keeps, and which session may name it
 *
 * What an answer names (a response, a container) a later call may refer to, through any
 * worker and any instance of weir, but only a call of the session that made it: each is a
 * note in the store, under the provider's name in weir.yaml and its own id, for
 * OBJECT_LIFE after an answer last named it.  The note says too how long a prompt it
 * makes, and, while its call runs in the background, what settling that takes.
 *
 * From a worker's loop.
 */
#ifndef WEIR_PROXY_OBJECTS_H
#define WEIR_PROXY_OBJECTS_H

#include "meter/price.h"
#include "policy/claims.h"
#include "proxy/engine.h"

#define OBJECT_LIFE ((usec)30 * 24 * 3600 * 1000000)

struct object_note {
	struct str model; /* that was asked for */
	bool is_plain;  /* nothing but that model, and all of the prompt, went into it */
	int64_t tokens; /* of that model, read again; 0: not known */
	/* while it runs in the background; else empty */
	struct str call;    /* what the ledger holds for it */
	struct str request; /* what the provider calls that request; may be empty */
	yyyymmdd day;
	enum tier tier;
};

/* Notes it; again is longer.  When the store is away it is nobody's. */
void object_put(struct engine *e, const struct grant *g, const char *provider,
    struct str id, const struct object_note *o);
struct ledger_op *object_find_start(
    struct engine *e, const char *provider, struct str id, ledger_done *done, void *arg);
/* What was found.  REASON_NONE: it is that session's; `out` has texts of the arena's. */
enum reason object_read(struct object_note *out, const struct ledger_reply *r,
    const struct grant *g, struct arena *a) MUST_CHECK;

/* The text of a note, and back; false: it is none. */
void object_print(struct buf *to, const struct object_note *o);
bool object_parse(struct object_note *out, struct str text) MUST_CHECK;

#endif
