/*
 * auth.h - what Authorization and Proxy-Authorization say
 *
 * Basic (RFC 7617) and Bearer (RFC 6750), strictly: one scheme, one value, base64 with
 * its padding.  Pure.
 */
#ifndef WEIR_WIRE_AUTH_H
#define WEIR_WIRE_AUTH_H

#include "base/arena.h"

#define AUTH_MAX 12288 /* of a value: a token of 8 KB in base64, and a user */

struct auth {
	bool has_user;
	struct str user, secret; /* the arena's, or slices of the value */
};

/* False: it is neither of the two, or not well-formed. */
bool auth_read(struct auth *out, struct str value, struct arena *a) MUST_CHECK;

#endif
