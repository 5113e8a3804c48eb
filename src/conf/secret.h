/*
 * secret.h - a secret is named in the configuration, and never stands in it
 *
 * env:NAME, file:PATH or cred:NAME (in $CREDENTIALS_DIRECTORY, as systemd gives
 * it), always the whole value.  Resolved when the configuration is loaded; what
 * it resolves to is in no finding, and no function prints it.
 */
#ifndef WEIR_CONF_SECRET_H
#define WEIR_CONF_SECRET_H

#include "conf/node.h"

#define SECRET_MAX 65536

struct secret {
	char *bytes; /* owned; NULL: not configured */
	size_t n;
};

/* `directory` is where relative paths begin.  False after reporting; n must be hidden
 * (tree_hide) before. */
bool secret_read(struct secret *out, const struct tree *t, const struct node *n,
    const char *directory, struct report *rep);
void secret_wipe(struct secret *s); /* and frees */
bool secret_eq(const struct secret *a, const struct secret *b);

#endif
