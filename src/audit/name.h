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
	NAME_IN_LIST = 8,  /* of several in text: passwords: [a, b] */
};

/* The secret's kind (static), or NULL when the name says nothing. */
const char *name_kind(struct str name, enum name_place place);
/* False: it says nothing; name_may_be_kind() asks less, at less cost. */
bool name_ends_like_kind(struct str name);
bool name_kind_exists(struct str kind);
/* Of a row, NULL behind the last: most kinds have more than one. */
const char *name_kind_at(size_t row);

/* What a value must look like before a name that says little is believed. */
enum name_proof {
	NAME_WANTS_DIGITS, /* pin=4815 */
	NAME_WANTS_CODE,   /* otp=481516, otp=A1B2C3 */
	NAME_WANTS_MIX,    /* pass=hunter2: letters, and what no word has */
	NAME_WANTS_SIGNS,  /* "password V": letters, digits and a sign that joins none */
	NAME_WANTS_LONG,   /* session_id=...: the same or letters alone, but long */
};
/* The kind of a key in free text that is a secret's only when its value looks like one
 * (static), or NULL: "pass" is a word for many things. */
const char *name_kind_in_doubt(struct str name, enum name_proof *proof);

/* {"name": "DB_PASSWORD", "value": ...}, {"ParameterKey": ..., "ParameterValue": ...} */
enum name_role { NAME_IS_OTHER, NAME_NAMES, NAME_IS_VALUE };
enum name_role name_role(struct str key);

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
/* Of all that ends with "id" only a session's says something, and logs are full of them.
 */
static inline bool
name_may_be_session(struct str name)
{
	size_t n = name.n - 2;

	while (n > 0 && !ascii_is_alnum(name.p[n - 1]))
		n--;
	return n == 0 || (name.p[n - 1] | 0x20) == 'n' || (name.p[n - 1] | 0x20) == 's';
}
static inline bool
name_ends_so(const uint32_t ends[static NAME_ENDS], struct str name)
{
	char last = ascii_lower(name.p[name.n - 1]);
	unsigned before = (unsigned char)name.p[name.n - 2] & 31;

	return (ends[(unsigned char)last] >> before & 1) != 0 &&
	       (last != 'd' || before != ('i' & 31) || name_may_be_session(name));
}
/* False: no name that ends so says anything.  A glance, where names are many. */
static inline bool
name_may_be_kind(const uint32_t ends[static NAME_ENDS], struct str name)
{
	if (name.n < 2)
		return false;
	if (ascii_is_digit(name.p[name.n - 1]) && name_is_numbered(name)) {
		if (name_ends_so(ends, name))
			return true;
		while (name.n > 0 && ascii_is_digit(name.p[name.n - 1]))
			name.n--; /* a time of day (T06:30) is like one of several */
		if (name.n < 2)
			return true;
	}
	if (!ascii_is_alnum(name.p[name.n - 1]) || !ascii_is_alnum(name.p[name.n - 2]))
		return true;
	return name_ends_so(ends, name);
}

#endif
