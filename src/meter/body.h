/*
 * body.h - a request's body, read once and strictly
 *
 * A pull reader with tables: an object is read by rows of (key, reader), and what no
 * row names is walked through all the same.  So every key is seen, a key that stands
 * twice in one object is found wherever it stands, and nothing is read that the
 * provider might read differently.  Positions are of the original text.
 *
 * Readers return false after call_fail(), and are then not called any more.
 */
#ifndef WEIR_METER_BODY_H
#define WEIR_METER_BODY_H

#include "meter/call.h"
#include "wire/json.h"

struct body {
	struct call *call;
	struct json_in in;
	enum json_token token; /* of the value whose turn it is */
	size_t begin;          /* of that value; its end is in.at after reading it */
	struct str text;       /* of a STRING or NUMBER */
	struct piece
	    *piece; /* the member or item that is read, when its rows keep pieces */

	/* body.c's */
	struct arena scratch; /* unescaped text that nobody kept */
	/* keys of the objects that are open */
	struct str *key;
	size_t nkey, key_cap;
	const char *watched_key;  /* noted wherever it stands, even in text */
	const char *watched_text; /* a string that is this */
	bool has_watched_key, has_watched_text;
	bool is_inert; /* text, schemas, labels: a `model` in them is none */
};

/* The value whose turn it is: reads it wholly. */
typedef bool body_fn(struct body *b, void *to);

struct member {
	const char *key;
	const char *twin; /* another spelling of the same key, or NULL */
	body_fn *read;
	size_t offset; /* added to `to` */
};

/* An object: rows are asked by key.  Both spellings at once are CALL_AMBIGUOUS. */
struct object {
	const struct member *member;
	size_t n;
	bool keeps_pieces; /* members become pieces below b->piece */
	body_fn *other;    /* what no row names; NULL: body_any() */
};

/* The whole text, which must be an object. */
bool body_parse(struct body *b, struct call *c, body_fn *root, void *to);
/* The same, and notes in *b whether a key, or a string that is `text`, stood anywhere. */
bool body_parse_watching(struct body *b, struct call *c, body_fn *root, void *to,
    const char *key, const char *text);
/* All return false after call_fail(); a value of another type is CALL_MALFORMED. */
bool body_object(struct body *b, const struct object *o, void *to);
bool body_array(struct body *b, bool keeps_pieces, body_fn *item, void *to);
bool body_any(struct body *b, void *to);   /* walks through; looks for models in it */
bool body_inert(struct body *b, void *to); /* walks through text and labels */
bool body_str(struct body *b, void *to);   /* struct str; null leaves it */
bool body_count(
    struct body *b, void *to); /* uint64_t; whole numbers only; null leaves it */
bool body_bool(struct body *b, void *to); /* bool; null leaves it */
/* A media payload: as many bytes as it takes are no text.  `to` is a uint64_t. */
bool body_payload(struct body *b, void *to);
/* The value is the output limit, under that name; null is refused. */
bool body_limit(struct body *b, const char *name);
bool body_is(const struct body *b, enum json_token type);
bool body_wrong(struct body *b, const char *why); /* CALL_MALFORMED at the value */

#endif
