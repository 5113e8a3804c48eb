/*
 * secret.h - a secret is named in the configuration, and never stands in it
 *
 * env:NAME, file:PATH or cred:NAME (in $CREDENTIALS_DIRECTORY, as systemd gives
 * it), always the whole value.  Resolved when the configuration is loaded; what
 * it resolves to is in no finding, and no function prints it.
 *
 * It lies in pages that no core has.  A variable is taken out of the environment when
 * it is first read, for /proc shows that to others, and remembered for the next
 * reload: only one thread may read secrets.
 */
#ifndef WEIR_CONF_SECRET_H
#define WEIR_CONF_SECRET_H

#include <sys/types.h>
#include <time.h>

#include "conf/node.h"

#define SECRET_MAX 65536
#define SECRET_LEAST 8 /* a shorter one is in other words too: not looked for */

struct secret {
	char *bytes; /* owned, by secret_wipe(); NULL: not configured */
	size_t n;
	char *path; /* of what is public and in a file, owned; else NULL */
};

typedef void secret_see(const struct secret *s, void *arg);

/* A file as it was when it was read; all zero: it was not there. */
struct secret_mark {
	dev_t dev;
	ino_t ino;
	off_t size;
	struct timespec changed, written;
};

struct secret_file {
	char *path;
	struct secret_mark mark;
};

/* What secrets were read from, there or not. */
struct secret_files {
	struct secret_file *p;
	size_t n;
};

/* `directory` is where relative paths begin; `files` may be NULL.  False after
 * reporting; n must be hidden (tree_hide) before. */
bool secret_read(struct secret *out, const struct tree *t, const struct node *n,
    const char *directory, struct secret_files *files, struct report *rep);
/* Is a reference written there?  False after reporting; nothing is resolved. */
bool secret_is_reference(const struct tree *t, const struct node *n, struct report *rep);
/* The same for a public key: no warning where every user can read the file. */
bool secret_read_public(struct secret *out, const struct tree *t, const struct node *n,
    const char *directory, struct secret_files *files, struct report *rep);
/* The same for what speaks in everybody's name: where every user can read the file that
 * is an error. */
bool secret_read_grave(struct secret *out, const struct tree *t, const struct node *n,
    const char *directory, struct secret_files *files, struct report *rep);
/* Copies them into such pages, with a NUL behind them. */
void secret_set(struct secret *out, struct str bytes);
/* False: who asks may not know. */
bool secret_mark(struct secret_mark *out, const char *path) MUST_CHECK;
bool secret_mark_eq(const struct secret_mark *a, const struct secret_mark *b);
void secret_files_free(struct secret_files *files);
void secret_wipe(struct secret *s); /* and frees */
bool secret_eq(const struct secret *a, const struct secret *b);

#endif
