/*
 * punycode.h - a Unicode name -> the ASCII name policy must say instead
 *
 * Only for the hint of an error: a policy is never matched against what comes
 * out here.  RFC 3492; letters are folded by libpsl before.  Pure; any thread.
 */
#ifndef WEIR_POLICY_PUNYCODE_H
#define WEIR_POLICY_PUNYCODE_H

#include "base/str.h"

/* False: not UTF-8, or too long for a name.  Labels in ASCII stay as they are. */
bool punycode_name(struct buf *out, struct str name) MUST_CHECK;

#endif
