/*
 * known.h - the secrets that weir itself holds, found by what they are
 *
 * Whatever surrounds them: each in its guises, also percent-encoded, escaped as JSON or
 * HTML do, twice over; a value of several lines also line by line.  One of fewer than
 * SECRET_LEAST bytes is not looked for.
 *
 * A `struct known` is immutable; any thread may use it.  Its memory is in no core, and
 * wiped.  From known_share() to known_free() every redactor of this process masks what is
 * in it: after a reload the old secrets are masked as long as anybody may have them.
 */
#ifndef WEIR_AUDIT_KNOWN_H
#define WEIR_AUDIT_KNOWN_H

#include "audit/span.h"
#include "conf/settings.h"

struct known;

/* Copies the secrets. */
struct known *known_new(const struct str *secret, size_t n);
struct known *known_of(const struct settings *s); /* all that its references name */
void known_share(struct known *k);
void known_free(struct known *k); /* NULL is fine */

enum known_in {
	KNOWN_IN_TEXT,
	KNOWN_IN_JSON, /* a number is masked whole, and its mark has quotes */
	KNOWN_IN_HOST, /* all letters are small: so are the secrets that are looked for */
};

/* Adds a span of kind "held" for each in `own` (may be NULL) and in what is shared. */
void known_find(
    const struct known *own, enum known_in in, struct str text, struct spans *spans);
/* May there be anything to find?  False: known_find() finds nothing in whatever text. */
bool known_has_any(const struct known *own);
/* Is all of the text one of them, however written?  Then `plain` becomes that secret. */
bool known_plain(const struct known *own, struct str text, struct buf *plain);

/* Stars over each of what is shared, for pages that have no redactor. */
void known_hide(char *text, size_t n);

/* For whoever shows a text piece by piece: guises only, and as many '*' for each. */
void known_cover(const struct known *k, char *text, size_t n);
/* How much of the text's end could be the beginning of one. */
size_t known_open(const struct known *k, struct str text);

#endif
