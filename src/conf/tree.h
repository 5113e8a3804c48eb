/*
 * tree.h - YAML (and so JSON) text -> a tree of nodes with their places
 *
 * libyaml's events, read strictly: no anchors, aliases, tags, merge keys,
 * second documents, duplicate keys or yes/no/on/off booleans; depth 32; size
 * capped by the caller.  Every node keeps its mark, so whoever finds fault with
 * it can point there.
 */
#ifndef WEIR_CONF_TREE_H
#define WEIR_CONF_TREE_H

#include "base/arena.h"
#include "conf/report.h"

enum node_type { NODE_SCALAR, NODE_LIST, NODE_BLOCK };

struct node {
	enum node_type type;
	struct str key; /* inside a block */
	struct mark mark, key_mark;
	struct str text; /* scalars */
	bool is_quoted; /* "80" and 'true' are strings, never numbers or booleans */
	struct node *child, *next; /* of lists and blocks, in file order */
	size_t n; /* children */
};

struct tree {
	struct arena arena;
	struct str source; /* the whole text */
	const char *file;
	struct node *root; /* a block */
};

#define TREE_CONFIG_MAX ((size_t)1 << 20)
#define TREE_POLICY_MAX ((size_t)16 << 20)

/* NULL after reporting; the report must outlive nothing of the tree. */
struct tree *tree_read_file(const char *path, size_t max, struct report *rep) MUST_CHECK;
struct tree *tree_read_text(const char *name, struct str text, struct report *rep) MUST_CHECK;
void tree_free(struct tree *t);

const struct node *node_get(const struct node *block, const char *key);

/* Readers of one value: false after reporting what is wrong and what would be right. */
bool node_bool(const struct tree *t, const struct node *n, struct report *rep, bool *out);
bool node_int(const struct tree *t, const struct node *n, struct report *rep, int64_t min, int64_t max, int64_t *out);
bool node_str(const struct tree *t, const struct node *n, struct report *rep, struct str *out); /* any scalar that is no null */
bool node_duration(const struct tree *t, const struct node *n, struct report *rep, int64_t *ms); /* "250ms" "5s" "2m" "24h" */
bool node_size(const struct tree *t, const struct node *n, struct report *rep, int64_t *bytes); /* "16KiB" "10MiB" "1GiB" "512B" or 0 */
void node_error(const struct tree *t, const struct node *n, struct report *rep, const char *code,
    const char *hint, const char *fmt, ...) PRINTF_LIKE(6, 7);
void node_warn(const struct tree *t, const struct node *n, struct report *rep, const char *code,
    const char *hint, const char *fmt, ...) PRINTF_LIKE(6, 7);
/* Reports each key of the block that is not in `known`, with a suggestion. */
void node_check_keys(const struct tree *t, const struct node *block, struct report *rep,
    const char *const *known, size_t n);

#endif
