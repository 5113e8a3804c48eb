/*
 * checksum.h - tokens whose last digits say that they are no chance
 *
 * GitHub's classic tokens and npm's end with the CRC-32 of the 30 characters before, in
 * base 62.  One that is right makes a token certain whatever it is glued to; one that is
 * wrong takes nothing back.  Pure; any thread.
 */
#ifndef WEIR_AUDIT_CHECKSUM_H
#define WEIR_AUDIT_CHECKSUM_H

#include "base/str.h"

/* `text` begins with a prefix, up to its first _, and such digits behind it. */
bool checksum_is_right(struct str text);

#endif
