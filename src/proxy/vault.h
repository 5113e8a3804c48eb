/*
 * vault.h - credentials: what may be put into requests, and how it is found again
 *
 * Part of a snapshot: immutable, any thread.
 */
#ifndef WEIR_PROXY_VAULT_H
#define WEIR_PROXY_VAULT_H

#include "audit/known.h"
#include "conf/settings.h"

struct vault_item {
	const struct credential *row; /* the settings' */
	struct known *known;          /* to be scrubbed off answers */
	struct str placeholder;       /* that sandboxes hold in its stead; empty: none */
};

struct vault {
	struct vault_item *p;
	size_t n;
};

struct vault *vault_new(const struct settings *s);
void vault_free(struct vault *v); /* NULL is fine */
const struct vault_item *vault_find(const struct vault *v, const char *name);

#endif
