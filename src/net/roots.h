/*
 * roots.h - the certificates that origins are verified against
 *
 * A bundle that cannot be used is told at load, not when the first origin is
 * refused for it.  Shared by all workers: parsing is what costs.
 */
#ifndef WEIR_NET_ROOTS_H
#define WEIR_NET_ROOTS_H

#include <openssl/types.h>

#include "base/str.h"

struct roots;

/* A PEM file with at least one certificate; NULL: the system's.  NULL when unusable. */
struct roots *roots_load(const char *path) MUST_CHECK;
struct roots *roots_ref(struct roots *r);
void roots_unref(struct roots *r);              /* NULL is fine */
X509_STORE *roots_store(const struct roots *r); /* borrowed */

/* The same question, and nothing is kept. */
bool roots_are_usable(const char *path) MUST_CHECK;

#endif
