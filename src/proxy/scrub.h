/*
 * scrub.h - a provider's answer without the credential that was sent to it
 *
 * An error page may echo a key, plainly or encoded.  The text passes through in pieces;
 * what could be the beginning of a secret waits for what follows.  Each secret found is
 * overwritten by as many '*'.
 *
 * Encodings: as it is, hexadecimal, base64 (both alphabets, all three alignments),
 * and as URLs, JSON and HTML escape single characters of it.
 * One answer's; no thread but its worker's.
 */
#ifndef WEIR_PROXY_SCRUB_H
#define WEIR_PROXY_SCRUB_H

#include "base/str.h"

#define SCRUB_FORMS 17

struct scrub {
	struct buf form[SCRUB_FORMS]; /* the secret, in each encoding; wiped */
	size_t nform;
	struct buf held; /* the beginning of a form, perhaps */
};

/* A secret of fewer than 8 bytes is not looked for: it would be found everywhere. */
void scrub_init(struct scrub *s, struct str secret);
void scrub_fini(struct scrub *s);
/* Adds what may pass to `to`. */
void scrub_feed(struct scrub *s, struct str in, struct buf *to);
/* Nothing follows: what waits passes. */
void scrub_end(struct scrub *s, struct buf *to);
/* The same at once, in place. */
void scrub_text(const struct scrub *s, char *text, size_t n);

#endif
