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
	struct secret_files *secret_files; /* NULL: nobody wants to know */
	/* The rows whose references are resolved, or the sections they are in; NULL ends
	 * it.  NULL itself: all. */
	const char *const *wanted;
	bool is_unwanted; /* what is read now is none of them */
};

struct row;

struct type {
	const char *name; /* "duration", for `weir check --defaults` */
	const char *unit; /* what min and max count; NULL: they mean nothing */
	/* False after reporting; the field is untouched then. */
	bool (*read)(const struct loading *l, const struct row *row, const struct node *n,
	    void *field);
	bool (*same)(const void *a, const void *b);
	void (*free)(void *field);   /* NULL: nothing to free */
	void (*absent)(void *field); /* without a default; NULL: all zero */
	/* Blots out what is secret in its value; NULL: nothing is. */
	void (*hide)(const struct loading *l, const struct node *n);
	/* Shows each secret that it read; NULL: none. */
	void (*show)(const void *field, secret_see *see, void *arg);
};

/* A row of settings.def, or of a table of blocks.c. */
struct row {
	const char *key; /* "limits.head_timeout" */
	const struct type *type;
	const char *fallback; /* an absent key's value, as one would write it, or NULL */
	int64_t min, max;
	bool is_reloadable;
	const char *help;
	size_t offset; /* of its field in struct settings, or in the block's struct */
	bool is_required;
};

/* The absolute path a value names; owned.  NULL after reporting. */
char *path_from(const struct loading *l, const struct node *n) MUST_CHECK;

extern const struct type type_BOOL, type_INT, type_DURATION, type_SIZE, type_WORKERS;
extern const struct type type_SIZE_or_auto;         /* SIZE_AUTO */
extern const struct type type_RATE, type_BODY_RATE; /* "100/s"; "1KiB/min" */
extern const struct type type_MINUTE_RATE;          /* "120/min" */
extern const struct type type_HOUR_RATE;            /* "600/h" */
extern const struct type type_TEXT, type_LINE, type_TOKEN, type_WORD;
extern const struct type type_PATH, type_PATH_or_stdout, type_ROOTS;
extern const struct type type_SECRET;
extern const struct type type_PUBLIC_KEY, type_CA_KEY;
extern const struct type type_ENUM_errors, type_ENUM_on_failure;
extern const struct type type_ENUM_log_level, type_ENUM_log_format;
extern const struct type type_LIST_listen, type_LIST_path, type_LIST_server;
extern const struct type type_LIST_nat64, type_LIST_prefix, type_LIST_balancer;
extern const struct type type_PREFIX4; /* one, of IPv4 */
extern const struct type type_ENUM_dns_mode;
extern const struct type type_MAP_hosts;

extern const struct type type_USD;     /* "0.50", 5 -> n$; UNWRITTEN */
extern const struct type type_AMOUNT;  /* a whole number; UNWRITTEN */
extern const struct type type_SHARE;   /* 0.5 -> millionths */
extern const struct type type_SECONDS; /* "24h" -> seconds */
extern const struct type type_ENUM_boundary, type_ENUM_public, type_ENUM_bind;
extern const struct type type_ENUM_turns, type_ENUM_network, type_ENUM_budget_mode;
extern const struct type type_ENUM_hosted, type_ENUM_unpriced, type_ENUM_settle;
extern const struct type type_ENUM_per, type_ENUM_provider_kind;
extern const struct type type_LIST_text, type_LIST_line;
extern const struct type type_JSON; /* a block, kept as JSON text */
extern const struct type type_LIST_session_key, type_LIST_session_static;
extern const struct type type_LIST_provider, type_LIST_redact_rule;
extern const struct type type_MAP_claim_names, type_MAP_profile, type_MAP_credential;
extern const struct type type_MAP_tenant_budget;

#endif
