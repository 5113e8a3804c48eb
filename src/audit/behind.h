/*
 * behind.h - where the value is that stands behind a key
 *
 * Pure, but for the work it adds to the scan; any thread.
 */
#ifndef WEIR_AUDIT_BEHIND_H
#define WEIR_AUDIT_BEHIND_H

#include "audit/key.h"

/* A value: [from, to) is the secret, the walk goes on at `next`. */
struct value {
	size_t from, to, next;
	enum span_code code;
};

/* Behind the separator at `at`: =>, :=, blanks, colours. */
size_t behind_begin(struct str text, size_t at);
/*
 * A quote at escape level k (k backslashes before it) closes at the next quote of the
 * same level; one with more backslashes belongs to the value.  False: none is at `at`.
 */
bool behind_quote(struct str text, size_t at, struct value *v);
/* The value behind the separator at `at`, of a key whose name says `kind`. */
void behind_key(
    struct piece *p, const struct key *key, const char *kind, size_t at, struct value *v);
/* The value that begins at `at`, without a separator before it. */
void behind_option(struct piece *p, const struct key *key, size_t at, struct value *v);
/* The brackets at `at` hold what can only be secrets. */
bool behind_is_list(struct piece *p, size_t at);
/* Brackets that close around the value, and a sentence's end, are not the value's. */
void behind_trim(struct str text, struct value *v);
/* Where the walk goes on: at the last word, where a backslash keeps blanks in the value,
 * since what stands behind that may be another's scheme and secret. */
size_t behind_next(const struct piece *p, const struct value *v);
struct str behind_text(const struct piece *p, const struct value *v);
/* All but an Authorization scheme is masked.  False: it is harmless, or a mark. */
bool behind_mask(
    struct piece *p, const char *kind, const char *why, const struct value *v);

#endif
