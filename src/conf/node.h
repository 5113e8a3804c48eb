/*
 * node.h - one value of a file, and reading it strictly
 *
 * A reader takes what its type is written as and nothing else: "5s" but not "5",
 * 8 but not 010, true but not yes.  What is wrong goes into the report, at the
 * value's place, with what would be right.  Pure; any thread.
 *
 * Codes of findings: wrong_type null_value bad_boolean bad_integer bad_duration
 * bad_size out_of_range unknown_key
 */
#ifndef WEIR_CONF_NODE_H
#define WEIR_CONF_NODE_H

#include "base/arena.h"
#include "conf/report.h"

enum node_type { NODE_SCALAR, NODE_LIST, NODE_BLOCK };

struct node {
	enum node_type type;
	bool is_quoted; /* "80" and 'true' are strings, never numbers or booleans */
	bool is_broken; /* reported already (an alias): readers fail silently */
	struct str key; /* inside a block */
	struct mark mark, key_mark;
	uint32_t from, to;         /* its bytes in tree.source */
	struct str text;           /* scalars; holds no NUL, and a NUL follows it */
	struct node *child, *next; /* of lists and blocks, in file order */
	size_t n;                  /* children */
};

struct tree {
	struct arena arena;
	char *bytes;       /* owned: what `source` shows; tree_hide() changes it */
	struct str source; /* the whole text */
	const char *file;
	struct node *root; /* a block */
};

/* NULL: not there */
const struct node *node_get(const struct node *block, const char *key);

/* Readers of one value: false after reporting what is wrong and what would be right. */
bool node_bool(const struct tree *t, const struct node *n, struct report *rep, bool *out);
bool node_int(const struct tree *t, const struct node *n, struct report *rep, int64_t min,
    int64_t max, int64_t *out);
/* Any scalar that is no null; out is NUL-terminated and lives as long as the tree. */
bool node_str(
    const struct tree *t, const struct node *n, struct report *rep, struct str *out);
#define QUANTITY_TEXT 32
/* As node_duration() and node_size() read it, in the largest unit that fits. */
const char *duration_text(char out[static QUANTITY_TEXT], int64_t ms);
const char *size_text(char out[static QUANTITY_TEXT], int64_t bytes);
bool node_duration(const struct tree *t, const struct node *n, struct report *rep,
    int64_t *ms); /* "250ms" "5s" "2m" "24h" or 0 */
bool node_size(const struct tree *t, const struct node *n, struct report *rep,
    int64_t *bytes); /* "16KiB" "10MiB" "1GiB" "2TiB" "512B" or 0 */
/* A plain null, ~ or nothing at all: where a list is wanted, no list. */
bool node_is_null(const struct node *n);
/* Is it of that type?  False after reporting `wrong_type` (or null_value). */
bool node_is(
    const struct tree *t, const struct node *n, struct report *rep, enum node_type type);

/* At the value, and at the key of a block's entry. */
void node_error(const struct tree *t, const struct node *n, struct report *rep,
    const char *code, const char *hint, const char *fmt, ...) PRINTF_LIKE(6, 7);
void node_warn(const struct tree *t, const struct node *n, struct report *rep,
    const char *code, const char *hint, const char *fmt, ...) PRINTF_LIKE(6, 7);
void node_key_error(const struct tree *t, const struct node *n, struct report *rep,
    const char *code, const char *hint, const char *fmt, ...) PRINTF_LIKE(6, 7);
/* Reports each key of the block that is not in `known`, with a suggestion. */
void node_check_keys(const struct tree *t, const struct node *block, struct report *rep,
    const char *const *known, size_t n);

#endif
