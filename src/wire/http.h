/*
 * http.h - strict HTTP/1.1 heads: bytes in, slices out, anything ambiguous refused
 *
 * Push: give http_read() all bytes of the head so far; it looks only at the new
 * ones, says MORE, DONE or BAD, and finds a bare LF or a control byte the moment
 * it arrives.  A head that is DONE is unambiguous: what its fields say
 * (head.h) was judged too.  No byte is guessed, repaired or folded.
 *
 * Slices point into the caller's buffer; the field array lives in the arena.
 * Pure; any thread.  RFC 9110, RFC 9112; rules H, F, W of the protocol notes.
 */
#ifndef WEIR_WIRE_HTTP_H
#define WEIR_WIRE_HTTP_H

#include "base/arena.h"
#include "wire/head.h"

enum http_result { HTTP_MORE, HTTP_DONE, HTTP_BAD };

struct http_limits {
	size_t target, head, fields, field; /* bytes, bytes, count, bytes */
};

struct http_reader {
	enum http_kind kind;
	struct http_limits limit;
	size_t seen; /* bytes already scanned */
	size_t line_start, nfield;
	uint8_t state;
	enum http_error error; /* when BAD */
	size_t at; /* offset of the refused byte; the head's length: all of it */
};

void http_reader_init(
    struct http_reader *r, enum http_kind kind, const struct http_limits *limit);
/*
 * `in` is everything since the head's first byte, more of it on each call.
 * DONE: *out is filled, *used is the length of the head.  For a response, the
 * request's method (HEAD, CONNECT matter) must be given by http_response_for().
 */
enum http_result http_read(struct http_reader *r, struct str in, struct arena *a,
    struct http_head *out, size_t *used) MUST_CHECK;
const char *http_error_text(enum http_error e);

#endif
