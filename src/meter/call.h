/*
 * call.h - one model call, as weir understood the request
 *
 * A family's `read` fills it from head and body; bound.h turns it into money, edits
 * into splices.  Slices point into the request or into the call's arena; the struct
 * dies with the exchange.  Plain data, one thread at a time.
 */
#ifndef WEIR_METER_CALL_H
#define WEIR_METER_CALL_H

#include "meter/piece.h"
#include "meter/usage.h"

#define CALL_BODY_MAX ((size_t)32 << 20)
#define CALL_MODELS 16
#define CALL_REFERENCES 16
#define CALL_LIMITS 8

struct api;

enum call_error {
	CALL_OK,
	CALL_NOT_METERED, /* the path is neither metered nor free: endpoint_not_metered
			     403 */
	CALL_MALFORMED,   /* no JSON, bad UTF-8, too deep, a wrong type: request_malformed
			     400 */
	CALL_AMBIGUOUS,   /* a key twice, two spellings that differ: request_malformed 400
			   */
	CALL_ENCODED,     /* a content-encoding: encoding_unsupported 415 */
	CALL_TOO_LARGE,   /* beyond CALL_BODY_MAX or a count below: body_too_large 413 */
	CALL_FOREIGN_KEY, /* keys for providers in the body: credential_refused 403 */
};

struct hosted;

/* A model that may run, and how often. */
struct named {
	struct str name;
	enum named_role {
		NAMED_MAIN,
		NAMED_FALLBACK, /* runs when another did not; both may be billed */
		NAMED_INSTEAD,  /* runs instead of the main one; only one is billed */
		NAMED_ADVISOR,  /* runs inside the call, up to `uses` times */
		NAMED_MENTION,  /* stands somewhere unknown: checked, and bounded as a
				   fallback */
	} role;
	uint64_t uses, limit;      /* of an advisor; limit 0: the model's own */
	const struct hosted *tool; /* runs only with it; NULL: in any case */
};

/* What runs or fetches at the provider, where the sandbox's network means nothing. */
struct hosted {
	struct hosted *next;
	struct str name; /* as `hostedTools` says it: web_search, image_url, ... */
	struct str type; /* as the request says it: web_search_20250305 */
	struct str
	    alias; /* the name the request gives it, for tool_choice; may be empty */
	struct piece *piece;
	enum hosted_fee { FEE_NONE, FEE_SEARCH, FEE_FILE_SEARCH } fee;
	uint64_t uses;    /* it says it will be used at most; 0: not said */
	bool is_media;    /* an image or file by URL */
	bool is_stripped; /* by hosted_judge() */
};

struct reference { /* to an object at the provider that some earlier call made */
	enum reference_kind kind;
	struct str id;
};

struct call {
	const struct api *api;
	struct arena *arena;
	struct str path, body; /* the path to send: a key in its query is taken out */
	struct str query_key;  /* that key; p NULL: none */

	bool is_free;  /* a token counter, a list of models, an object: nothing is metered
			*/
	bool shows;    /* free, and its answer is that of an earlier call */
	bool has_body; /* was read */

	struct named model[CALL_MODELS];
	size_t nmodel; /* model[0] is the main one, if there is any */

	/* output */
	uint64_t limit; /* tokens for each of n answers; only when has_limit */
	bool has_limit;
	const char
	    *limit_name; /* as the request or, when it has none, the family spells it */
	struct {
		size_t at, n;
	} limit_at[CALL_LIMITS]; /* all places that say it */
	size_t nlimit;
	/* where a limit can be put when none is said: before, number, after, and a comma
	 * where the object (NULL: the body) keeps other members; clamp after stripping */
	struct {
		size_t at;
		const char *before, *after;
		const struct piece *object;
	} limit_hole;
	uint64_t answers;       /* n, candidateCount: at least 1 */
	uint64_t thinking;      /* a budget the limit may not fall under, 0: none */
	bool thinking_is_extra; /* not inside the limit */

	bool is_stream, is_background;
	bool is_unstored; /* the provider is to keep nothing of the answer */
	bool truncates;   /* the provider may leave parts of a long prompt unread */
	bool hides_usage; /* the stream will carry usage the client did not ask for */
	bool asks_reasoning_summary;

	/* price */
	enum tier tier;   /* the dearest it may be served at */
	bool has_tier;    /* the request says one */
	bool is_fast;     /* multipliers; by the request, for any model it names */
	unsigned regions; /* bits: 1u << enum region, for any model it names */
	bool may_write_cache, may_write_long; /* what the request asks to keep */
	bool has_audio_in, has_audio_out;
	bool compacts;
	bool draws; /* pictures, whose tokens no rate here covers */

	/* input: see bound.c */
	uint64_t text_bytes;              /* every byte of the body but media payloads */
	uint64_t messages, blocks, tools; /* each costs a few tokens that are no bytes */
	uint64_t images;                  /* inline or by name: the family's cap each */
	bool has_document; /* inline or by name: as much as the model takes */
	bool has_schema;   /* of the answer */

	struct hosted *hosted, *hosted_last; /* in file order */
	uint64_t tool_calls_max; /* of hosted tools, for the whole call; 0: not said */
	struct tool_choice {
		enum { CHOICE_FREE, CHOICE_NONE, CHOICE_ANY, CHOICE_NAMED } kind;
		struct str name; /* a tool's type or name; of NAMED */
	} choice;

	struct reference reference[CALL_REFERENCES];
	size_t nreference;

	struct piece *root;   /* the body's members */
	bool has_cuts;        /* some of them are gone already: see hosted_judge() */
	struct splices edits; /* to make in any case; more are added on the way */

	/* when something is wrong */
	enum call_error error;
	const char *why; /* static: a sentence */
	size_t error_at; /* in the body */
};

/* For families' readers; false after noting an error, also when there is no room. */
bool call_fail(struct call *c, enum call_error error, const char *why, size_t at);
bool call_names(struct call *c, struct str model, enum named_role role, size_t at);
bool call_refers(struct call *c, enum reference_kind kind, struct str id, size_t at);
/* Its limit, by a value at that place; the second spelling must say the same. */
bool call_limits(struct call *c, uint64_t limit, const char *name, size_t at, size_t n);
bool named_runs(const struct named *n); /* its tool was not stripped */
struct hosted *call_hosts(
    struct call *c, struct str name, struct piece *piece); /* NULL: full */
/* A model that no pattern of `allowed` fits (base/glob.h); NULL: all fit. */
const struct named *call_beyond(
    const struct call *c, const struct str *allowed, size_t n);

/*
 * Lowers the output limit.  `to` is below the limit asked for (or the model's); never
 * raises one.  The splice goes to c->edits.
 */
void call_clamp(struct call *c, uint64_t to);

/*
 * The body's members that are `counted` (NULL ends the list), as an object of their own.
 * False: it has others than those and `ignored`, or there is no room.
 */
bool call_members(const struct call *c, const char *const *counted,
    const char *const *ignored, struct buf *to) MUST_CHECK;

/* The body as it is to be sent.  False: it does not fit into `to`. */
bool call_body(struct call *c, struct buf *to) MUST_CHECK;

#endif
