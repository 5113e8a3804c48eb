/*
 * doubt.h - why a text was masked that nobody could judge
 *
 * A redactor that cannot tell masks; what it could not tell is counted here, so that
 * "nothing was found" and "nobody looked" differ.  Any thread.
 */
#ifndef WEIR_AUDIT_DOUBT_H
#define WEIR_AUDIT_DOUBT_H

#include "base/str.h"

enum doubt {
	DOUBT_ENGINE, /* a pattern could not be run to its end */
	DOUBT_BUDGET, /* the text would have cost too much */
	DOUBT_PASSES, /* it looked different after each pass */
	DOUBT_SIZE,   /* one line or document was too long to be held */
	DOUBT_N
};

const char *doubt_name(enum doubt why);
void doubt_count(enum doubt why);
/* What cannot be judged is masked up to there: where a token surely ends, or so many
 * bytes behind `from`. */
size_t doubt_end(struct str text, size_t from, size_t most);

#endif
