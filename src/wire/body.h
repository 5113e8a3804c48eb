/*
 * body.h - where a body ends: length, chunks, or the connection's end
 *
 * body_read() takes bytes as they come and hands out payload slices into them;
 * nothing is copied and nothing grows.  Chunk extensions and trailers are
 * checked against their grammar and dropped (RFC 9112 7.1).  An error is final:
 * the message must be seen as incomplete by whoever gets it.  Pure; any thread.
 */
#ifndef WEIR_WIRE_BODY_H
#define WEIR_WIRE_BODY_H

#include "wire/head.h"

enum body_result {
	BODY_MORE, /* all input used, the body goes on */
	BODY_DATA, /* *data is payload; call again with the rest */
	BODY_DONE, /* the body ended; *used counts its last byte */
	BODY_BAD,  /* chunk syntax; reader->at is the offset in the whole body */
};

struct body_reader {
	enum http_framing framing;
	uint64_t left;         /* of the message or of the chunk */
	uint64_t at;           /* bytes of wire form read so far */
	uint32_t ext, trailer; /* bytes of extensions and trailers so far */
	uint16_t line;         /* bytes of extensions in the current line */
	uint8_t state, digits;
};

void body_reader_init(struct body_reader *r, const struct http_head *head);
/*
 * `in` is what came since the last call's *used.  DATA: *data lies inside the
 * used part and is never empty.  After DATA the body may be over without another
 * byte: call again (an empty `in` is fine).
 */
enum body_result body_read(
    struct body_reader *r, struct str in, size_t *used, struct str *data) MUST_CHECK;
/*
 * The connection ended: true when that is where the body may end.  So at once for
 * HTTP_NO_BODY and length 0.
 */
bool body_may_end(const struct body_reader *r);

#define BODY_CHUNK_HEAD 20
/*
 * "1a2b\r\n" for a chunk of n > 0 bytes; returns its length.  Data and "\r\n" follow;
 * "0\r\n\r\n" ends.
 */
size_t body_chunk_head(char out[static BODY_CHUNK_HEAD], size_t n);

#endif
