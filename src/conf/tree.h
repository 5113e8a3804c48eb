/*
 * tree.h - YAML (and so JSON) text -> a tree of nodes with their places
 *
 * libyaml's events, read strictly: no anchors, aliases, tags, merge keys,
 * directives, second documents or duplicate keys; UTF-8 only; depth 32; size
 * capped by the caller.  Every node keeps its mark, so whoever finds fault with
 * it can point there.  Immutable once read, and then good for any thread.
 *
 * Codes of findings: missing_file unreadable_file too_large not_utf8
 * control_character syntax empty wrong_type bad_key duplicate_key merge_key
 * anchor alias tag directive second_document too_deep
 */
#ifndef WEIR_CONF_TREE_H
#define WEIR_CONF_TREE_H

#include "conf/node.h"

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

#endif
