/*
 * coded.h - text in a run of base64 or hex digits
 *
 * A run is looked at from each place of its first digits, since it may be glued to
 * something else, and only text in it counts: stretches of printable bytes, which
 * chance does not make.  Pure; any thread.
 */
#ifndef WEIR_AUDIT_CODED_H
#define WEIR_AUDIT_CODED_H

#include "base/str.h"

#define CODED_MIN 24  /* digits: less holds no secret */
#define CODED_TEXT 12 /* printable bytes in a row that are no chance */
#define CODED_MORE 128

enum coded { CODED_BASE64, CODED_HEX };

#define CODED_SHIFTS 4 /* base64 has four places to begin at, hex two */

/*
 * Appends the texts in `run` when its digits are read from the `shift`-th on, a
 * newline behind each.  False: there is none.  Needs room for as many bytes as there are
 * digits, and CODED_MORE.
 */
bool coded_texts(enum coded code, struct str run, size_t shift, struct buf *out);

#endif
