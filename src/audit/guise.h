/*
 * guise.h - the ways in which one secret is written
 *
 * As it is, in hexadecimal, in base64 (both alphabets, behind none, one or two bytes of
 * something else), and as URLs (in URLs, too), JSON and HTML escape single characters of
 * it, or all.
 *
 * Pure; any thread.
 */
#ifndef WEIR_AUDIT_GUISE_H
#define WEIR_AUDIT_GUISE_H

#include "base/str.h"

enum guise { GUISE_PLAIN, GUISE_HEX, GUISE_BASE64, GUISE_ESCAPED };

/* `form` is good for the length of the call. */
typedef void guise_take(struct str form, enum guise guise, void *arg);

/* The plain one first; a form may come twice. */
void guises(struct str secret, guise_take *take, void *arg);

#endif
