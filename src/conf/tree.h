/*
 * tree.h - YAML (and so JSON) text -> a tree of nodes with their places
 *
 * libyaml's events, read strictly: no anchors, aliases, tags, merge keys,
 * directives, second documents, duplicate keys or yes/no/on/off booleans; UTF-8
 * only; depth 32; size capped by the caller.  Every node keeps its mark, so
 * whoever finds fault with it can point there.  Immutable once read, and then
 * good for any thread.
 *
 * Codes of its findings: missing_file unreadable_file too_large not_utf8
 * control_character syntax empty wrong_type bad_key duplicate_key merge_key
 * anchor alias tag directive second_document too_deep null_value bad_boolean
 * bad_integer bad_duration bad_size out_of_range unknown_key
 */
#ifndef WEIR_CONF_TREE_H
#define WEIR_CONF_TREE_H

#include "base/arena.h"
#include "conf/report.h"

enum node_type { NODE_SCALAR, NODE_LIST, NODE_BLOCK };

struct node {
	enum node_type type;
	bool is_quoted; /* "80" and 'true' are strings, never numbers or booleans */
	bool is_broken; /* reported already (an alias): readers fail silently */
	struct str key; /* inside a block */
	struct mark mark, key_mark;
	uint32_t end_line, end_column; /* just past it, from 1 */
	struct str text;               /* scalars; holds no NUL, and a NUL follows it */
	struct node *child, *next;     /* of lists and blocks, in file order */
	size_t n;                      /* children */
};

struct tree {
	struct arena arena;
	char *bytes;       /* owned: what `source` shows; tree_hide() changes it */
	struct str source; /* the whole text */
	const char *file;
	struct node *root; /* a block */
};

#define TREE_CONFIG_MAX ((size_t)1 << 20)
#define TREE_POLICY_MAX ((size_t)16 << 20)
#define TREE_DEPTH_MAX 32

/*
 * NULL after reporting when nothing can be made of the text.  A text with
 * faults that reading can get past (a duplicate key, an anchor) gives a tree
 * all the same, so that its reader can add what it finds: whether it was all
 * right is told by rep->errors, never by the pointer alone.
 */
struct tree *tree_read_file(const char *path, size_t max, struct report *rep) MUST_CHECK;
struct tree *tree_read_text(
    const char *name, struct str text, struct report *rep) MUST_CHECK;
void tree_free(struct tree *t);

/*
 * Blots the node's text out of `source`, so that no later finding shows it.
 * For secrets, before anything is said about the tree.
 */
void tree_hide(struct tree *t, const struct node *n);

/* NULL: not there */
const struct node *node_get(const struct node *block, const char *key);

/* Readers of one value: false after reporting what is wrong and what would be right. */
bool node_bool(const struct tree *t, const struct node *n, struct report *rep, bool *out);
bool node_int(const struct tree *t, const struct node *n, struct report *rep, int64_t min,
    int64_t max, int64_t *out);
/* Any scalar that is no null; out is NUL-terminated and lives as long as the tree. */
bool node_str(
    const struct tree *t, const struct node *n, struct report *rep, struct str *out);
bool node_duration(const struct tree *t, const struct node *n, struct report *rep,
    int64_t *ms); /* "250ms" "5s" "2m" "24h" or 0 */
bool node_size(const struct tree *t, const struct node *n, struct report *rep,
    int64_t *bytes); /* "16KiB" "10MiB" "1GiB" "2TiB" "512B" or 0 */
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
