/*
 * roots.h - the certificates that origins are verified against
 *
 * A bundle that cannot be used is told at load, not when the first origin is
 * refused for it.
 */
#ifndef WEIR_NET_ROOTS_H
#define WEIR_NET_ROOTS_H

#include "base/str.h"

/* A PEM file with at least one certificate. */
bool roots_are_usable(const char *path) MUST_CHECK;

#endif
