/*
 * redacting.h - a text, redacted whole or in pieces; for tests and fuzzers
 */
#ifndef WEIR_TESTS_REDACTING_H
#define WEIR_TESTS_REDACTING_H

#include <string.h>

#include "audit/stream.h"

#define REDACTING_MAX ((size_t)1 << 28)

/* All of it at once. */
static inline struct buf
redacted(const struct redactor *r, enum redact_as as, struct str in)
{
	struct buf out;

	buf_init(&out, REDACTING_MAX);
	redact(r, as, in, &out);
	return out;
}

/* The output of a stream fed `first` bytes, and then `step` at a time. */
static inline struct buf
streamed(
    const struct redactor *r, enum redact_as as, struct str in, size_t first, size_t step)
{
	struct redact_stream s;
	struct buf out;

	buf_init(&out, REDACTING_MAX);
	redact_stream_init(&s, r, as);
	redact_stream_feed(&s, str_sub(in, 0, first), &out);
	for (size_t at = first; at < in.n; at += step)
		redact_stream_feed(&s, str_sub(in, at, step), &out);
	redact_stream_end(&s, &out);
	redact_stream_fini(&s);
	return out;
}

static inline size_t
count_of(struct str text, const char *word)
{
	const char *p;
	size_t n = 0;

	while ((p = memmem(text.p, text.n, word, strlen(word))) != NULL) {
		text = str_sub(text, (size_t)(p - text.p) + 1, text.n);
		n++;
	}
	return n;
}

#endif
