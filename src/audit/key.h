/*
 * key.h - the key before a = or :, and what kind of secret it says its value is
 *
 * Pure, but for the work it adds to the scan; any thread.
 */
#ifndef WEIR_AUDIT_KEY_H
#define WEIR_AUDIT_KEY_H

#include "audit/name.h"
#include "audit/piece.h"

#define KEY_NAME_MAX 64 /* bytes; what lies further left does not matter */
#define KEY_BLANKS_MAX 256
#define KEY_COST 16   /* a name that is judged, in bytes looked at */
#define GLANCE_COST 4 /* by its last letters alone */
#define WORDS_COST 24 /* by its words */
#define VALUE_COST 28 /* a value behind a key */

struct key {
	struct str name;
	char before; /* the byte before it (its quote, a ? or &), or 0 */
	bool is_quoted;
	bool is_doubtful; /* what its value must look like is said by: */
	enum name_proof proof;
};

/* A set is short: a call of strchr() would cost more. */
static inline bool
has_byte(const char *set, char c)
{
	while (*set != '\0' && *set != c)
		set++;
	return *set != '\0';
}

static inline bool
is_blank(char c)
{
	return c == ' ' || c == '\t';
}

static inline bool
is_space(char c)
{
	return (unsigned char)c <= ' ' || c == 0x7f;
}

static inline bool
is_name_byte(char c)
{
	return ascii_is_alnum(c) || c == '_' || c == '-' || c == '.' || c == '%';
}

static inline size_t
skip_blanks(struct str text, size_t at)
{
	for (size_t n = 0; at < text.n && n < KEY_BLANKS_MAX && is_blank(text.p[at]); n++)
		at++;
	return at;
}

/* Behind an ESC [ ... m that begins at `at`, else `at`. */
size_t key_skip_colour(struct str text, size_t at);
/* The name whose = or : is at `at`; false: there is none. */
bool key_before(struct str text, size_t at, struct key *key);
/* The kind (static) of its value, by its name; NULL: none, that is no secret's. */
const char *key_kind(struct piece *p, struct key *key);

#endif
