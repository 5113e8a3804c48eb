/*
 * coding.h - taking a content coding off an answer, within bounds
 *
 * weir asks origins for `identity`, and reads gzip, deflate, br and zstd all the same
 * when they come, since usage that cannot be read must be charged at its ceiling.
 * What comes out is capped, in all and as a ratio to what went in: an origin may send
 * a bomb.
 *
 * One thread at a time; no I/O.
 */
#ifndef WEIR_WIRE_CODING_H
#define WEIR_WIRE_CODING_H

#include "base/str.h"

enum coding {
	CODING_IDENTITY,
	CODING_GZIP,
	CODING_DEFLATE, /* zlib's form or bare, as both are sent */
	CODING_BR,
	CODING_ZSTD,
};

/* A Content-Encoding field's value; false: a coding that is not known, or several. */
bool coding_read(struct str value, enum coding *out) MUST_CHECK;

enum coding_result {
	CODING_MORE, /* all of *in is taken, and the text is not over */
	CODING_DATA, /* *out holds decoded bytes; call again, with what is left of *in */
	CODING_DONE, /* all of *in is taken, and the text may end here */
	CODING_BAD,  /* damaged, or something follows its end */
	CODING_OVER, /* more comes out than the caps allow */
};

struct decoder;

/* Never more than `max` bytes come out.  Owned. */
struct decoder *decoder_new(enum coding c, uint64_t max);
void decoder_free(struct decoder *d);
/* Takes from the front of *in.  *out is good until the next call. */
enum coding_result decoder_next(
    struct decoder *d, struct str *in, struct str *out) MUST_CHECK;
/* The text could end here: no coded byte is missing. */
bool decoder_is_whole(const struct decoder *d);

#endif
