/*
 * json.h - writing JSON, and reading it strictly
 *
 * The writer keeps commas and nesting right and escapes text; bytes that are no
 * UTF-8 become U+FFFD, control characters \u00xx.
 * The reader pulls tokens from a whole text: RFC 8259 to the letter, valid
 * UTF-8, depth capped; numbers keep their text.  Pure; any thread.
 */
#ifndef WEIR_WIRE_JSON_H
#define WEIR_WIRE_JSON_H

#include "base/arena.h"

struct json_out {
	struct buf *to;
	bool needs_comma;
};

void json_out_init(struct json_out *j, struct buf *to);
void json_open(struct json_out *j, char bracket);  /* '{' or '[' */
void json_close(struct json_out *j, char bracket); /* '}' or ']' */
void json_key(struct json_out *j, const char *key);
void json_str(struct json_out *j, struct str s);
void json_text(struct json_out *j, const char *s); /* NULL writes null */
void json_int(struct json_out *j, int64_t n);
void json_bool(struct json_out *j, bool b);
/* inline, since libjansson (libjwt brings it) has a function of that name */
static inline void
json_null(struct json_out *j)
{
	json_text(j, NULL);
}
void json_raw(struct json_out *j, struct str json); /* already JSON */

enum json_token {
	JSON_OBJECT,
	JSON_OBJECT_END,
	JSON_ARRAY,
	JSON_ARRAY_END,
	JSON_KEY,
	JSON_STRING,
	JSON_NUMBER,
	JSON_TRUE,
	JSON_FALSE,
	JSON_NULL,
	JSON_END, /* the whole text was one value */
	JSON_BAD, /* `at` is where */
};

#define JSON_DEPTH 64

struct json_in {
	struct str in;
	size_t at;
	struct arena *arena; /* unescaped strings live here when they need it */
	unsigned depth;
	uint8_t state;
	uint64_t in_object; /* a bit for each level */
	struct str text;    /* of KEY, STRING (unescaped) or NUMBER (as written) */
	const char *error;  /* static; when BAD */
};

void json_in_init(struct json_in *j, struct str in, struct arena *a);
enum json_token json_next(struct json_in *j) MUST_CHECK;
/* The value that comes next, whole; false on BAD, and when no value comes next (a key, an
 * end). */
bool json_skip(struct json_in *j) MUST_CHECK;

/* A tree for small texts (batch lines, cases): duplicate keys are an error. */
struct json_value {
	enum json_token type; /* OBJECT, ARRAY, STRING, NUMBER, TRUE, FALSE, NULL */
	struct str text, key; /* key: its name inside an object */
	struct json_value *child, *next;
	size_t n; /* children */
};
struct json_value *json_parse(
    struct str in, struct arena *a, const char **error); /* NULL: *error (static) */
const struct json_value *json_get(
    const struct json_value *object, const char *key);           /* NULL: not there */
void json_value(struct json_out *j, const struct json_value *v); /* writes it again */

#endif
