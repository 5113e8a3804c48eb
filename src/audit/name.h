/*
 * name.h - does a key's name say that its value is a secret
 *
 * Judged by words, not by letters: "clientSecret", "client-secret" and
 * "CLIENT_SECRET" are the words "client secret", and the last words decide, so
 * that a tokenizer, a token_count and a password_hint are not secrets.
 * Pure; any thread.
 */
#ifndef WEIR_AUDIT_NAME_H
#define WEIR_AUDIT_NAME_H

#include "base/str.h"

/* Where the name stands: short words mean a secret in some places only. */
enum name_place {
	NAME_IN_TEXT = 1, /* key=value in free text, a header field, a command's option */
	NAME_IN_JSON = 2, /* a member of an object */
	NAME_IN_QUERY = 4, /* a query or form key */
};

/* The secret's kind (static), or NULL when the name says nothing. */
const char *name_kind(struct str name, enum name_place place);
bool name_kind_exists(struct str kind);

/* For each last byte (small letters), a bit for each byte before it, of its low five. */
#define NAME_ENDS 256
#define NAME_NUMBER_MAX 3 /* digits behind a name that is one of several */
void name_ends(uint32_t ends[static NAME_ENDS]);
/* password1, token_2: what it ends with says nothing; 12:34 and port 80 are none. */
static inline bool
name_is_numbered(struct str name)
{
	for (size_t n = name.n; n > 0 && name.n - n < NAME_NUMBER_MAX + 1; n--)
		if (!ascii_is_digit(name.p[n - 1]))
			return ascii_is_alnum(name.p[n - 1]) || name.p[n - 1] == '_' ||
			       name.p[n - 1] == '-' || name.p[n - 1] == ']';
	return false;
}
/* False: no name that ends so says anything.  A glance, where names are many. */
static inline bool
name_may_be_kind(const uint32_t ends[static NAME_ENDS], struct str name)
{
	if (name.n < 2)
		return false;
	if (ascii_is_digit(name.p[name.n - 1]) && name_is_numbered(name))
		return true;
	char last = name.p[name.n - 1];
	if (!ascii_is_alnum(last) || !ascii_is_alnum(name.p[name.n - 2]))
		return true;
	return (ends[(unsigned char)ascii_lower(last)] >>
		       ((unsigned char)name.p[name.n - 2] & 31) &
		   1) != 0;
}

#endif
