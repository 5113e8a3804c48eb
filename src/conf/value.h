/*
 * value.h - the types that a row of settings.def may have
 *
 * A type reads its value from a node into a field of struct settings, says what
 * is wrong, and knows how to compare and free what it read.  A row names its
 * type; adding a type is one `const struct type` here and in value.c.
 */
#ifndef WEIR_CONF_VALUE_H
#define WEIR_CONF_VALUE_H

#include "conf/shapes.h"
#include "conf/tree.h"

/* One load: where values come from and where complaints go. */
struct loading {
	struct tree *t;
	const char *directory; /* absolute; relative paths begin here */
	struct report *rep;
};

struct row;

struct type {
	const char *name; /* "duration", for `weir check --defaults` */
	const char *unit; /* what min and max count; NULL: they mean nothing */
	/* False after reporting; the field is untouched then. */
	bool (*read)(const struct loading *l, const struct row *row, const struct node *n,
	    void *field);
	bool (*same)(const void *a, const void *b);
	void (*free)(void *field); /* NULL: nothing to free */
};

/* A row of settings.def. */
struct row {
	const char *key; /* "limits.head_timeout" */
	const struct type *type;
	const char *fallback; /* an absent key's value, as one would write it, or NULL */
	int64_t min, max;
	bool is_reloadable;
	const char *help;
	size_t offset; /* of its field in struct settings */
};

/* The absolute path a value names; owned.  NULL after reporting. */
char *path_from(const struct loading *l, const struct node *n) MUST_CHECK;

extern const struct type type_BOOL, type_INT, type_DURATION, type_SIZE, type_WORKERS;
extern const struct type type_RATE, type_BODY_RATE; /* "100/s"; "1KiB/min" */
extern const struct type type_TEXT, type_TOKEN, type_WORD;
extern const struct type type_PATH, type_PATH_or_stdout, type_ROOTS;
extern const struct type type_SECRET;
extern const struct type type_ENUM_errors, type_ENUM_on_failure;
extern const struct type type_ENUM_log_level, type_ENUM_log_format;
extern const struct type type_LIST_listen, type_LIST_path, type_LIST_server;
extern const struct type type_LIST_nat64, type_LIST_prefix;
extern const struct type type_MAP_hosts;

#endif
