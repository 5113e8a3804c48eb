/*
 * scrub.h - a provider's answer without the credential that was sent to it
 *
 * An error page may echo a key, plainly or in another guise.  The text passes through in
 * pieces; what could be the beginning of a secret waits for what follows.  Each secret
 * found is overwritten by as many '*'.  One answer's; no thread but its worker's.
 */
#ifndef WEIR_PROXY_SCRUB_H
#define WEIR_PROXY_SCRUB_H

#include "audit/known.h"

struct scrub {
	const struct known *known; /* the route's */
	struct buf held;           /* the beginning of a form, perhaps */
};

void scrub_init(struct scrub *s, const struct known *known);
void scrub_fini(struct scrub *s);
/* Adds what may pass to `to`. */
void scrub_feed(struct scrub *s, struct str in, struct buf *to);
/* Nothing follows: what waits passes. */
void scrub_end(struct scrub *s, struct buf *to);
/* The same at once, in place. */
void scrub_text(const struct scrub *s, char *text, size_t n);

#endif
