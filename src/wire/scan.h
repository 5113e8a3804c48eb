/*
 * scan.h - a few values out of a JSON text that comes in pieces
 *
 * An answer may be megabytes long and cut anywhere, and only its usage, model and a
 * handful of other values matter.  The scanner reads it once, strictly (RFC 8259,
 * valid UTF-8, depth capped), in constant memory, and calls back for each value that
 * stands at one of the paths of a table; numbers keep their text.
 *
 * Pure; one thread at a time.
 */
#ifndef WEIR_WIRE_SCAN_H
#define WEIR_WIRE_SCAN_H

#include "wire/json.h"

#define SCAN_PATHS 64
#define SCAN_SEGMENTS 8
#define SCAN_DEPTH 512
#define SCAN_TEXT 256 /* of a string or number; what is longer is cut */
#define SCAN_KEY 64   /* no key of a path is longer */

/* Keys from the root to the value; "[]" is every item of an array. */
struct scan_path {
	const char *segment[SCAN_SEGMENTS];
};

struct scan_value {
	/* OBJECT, OBJECT_END, ARRAY, ARRAY_END, STRING, NUMBER, TRUE, FALSE, NULL */
	enum json_token type;
	struct str text; /* of a STRING (unescaped) or NUMBER; good inside the call */
	bool is_cut;     /* `text` is only the beginning */
	uint64_t size;   /* of all of it, unescaped */
	/* Offsets in the document: of its key's first quote (in an array, of the value
	 * itself), of the value's first byte, and behind its last.  OBJECT and ARRAY, and
	 * their ends, are one bracket each. */
	uint64_t key, begin, end;
};

typedef void scan_fn(void *arg, unsigned path, const struct scan_value *v);

enum scan_state {
	SCAN_MORE, /* the value goes on */
	SCAN_DONE, /* one whole value was read; only white space may follow */
	SCAN_BAD,  /* no JSON; `error` says why, `at` where */
};

struct scan {
	const struct scan_path *paths;
	size_t npaths;
	scan_fn *on_value;
	void *arg;
	uint64_t at;        /* bytes taken */
	const char *error;  /* static; when BAD */
	bool has_duplicate; /* a key of some path stood twice in one object */

	/* the scanner's own */
	uint8_t state, utf8_left, utf8_least, utf8_most, hex_left;
	bool is_key, is_wanted, is_cut;
	uint32_t code, high; /* of an escape; the first half of a pair */
	unsigned depth;
	uint64_t now; /* paths on which the coming value stands */
	uint64_t
	    match[SCAN_SEGMENTS + 1];     /* paths that led to the container of a depth */
	uint64_t seen[SCAN_SEGMENTS + 1]; /* and went on from there already */
	uint64_t key_at, begin;
	uint8_t is_object[SCAN_DEPTH / 8];
	const char *rest; /* of true, false, null */
	enum json_token word;
	uint64_t text_size;
	size_t text_n;
	char text[SCAN_TEXT];
};

void scan_begin(struct scan *s, const struct scan_path *paths, size_t npaths,
    scan_fn *on_value, void *arg);
void scan_reset(struct scan *s); /* for the next document; same paths */
enum scan_state scan_feed(struct scan *s, struct str bytes) MUST_CHECK;
/* The text ends here (a bare number knows its end only now). */
enum scan_state scan_end(struct scan *s) MUST_CHECK;

#endif
