/*
 * look.h - is a secret here, by what stands around it
 *
 * By the key before it (password=..., "apiKey": "...", --token ...), in the
 * userinfo of a URL, in a line of a password file, in a private key's block.
 * Each look is at one place of a line and costs no more than what it takes or a
 * bounded window; what it cost is added to the scan's work.
 *
 * Borrows the piece for the call; what is found goes into the scan's spans.  On the
 * scan's thread.
 */
#ifndef WEIR_AUDIT_LOOK_H
#define WEIR_AUDIT_LOOK_H

#include "audit/piece.h"

/* Where to go on, or 0: there is nothing at `at`. */
size_t look_pem(struct piece *p, size_t at);         /* -----BEGIN */
size_t look_option(struct piece *p, size_t at);      /* --password VALUE */
size_t look_long_option(struct piece *p, size_t at); /* " -Password VALUE" */
size_t look_pair(struct piece *p, size_t at);        /* the quote in "name", "value" */
size_t look_told(struct piece *p, size_t at);        /* password [for x] is VALUE */
size_t look_userinfo(struct piece *p, size_t at);    /* ://user:password@ */
size_t look_escaped_userinfo(struct piece *p, size_t at); /* :\/\/user:password@ */
size_t look_pgpass(struct piece *p, size_t at); /* host:5432:base:user:password */
size_t look_netrc(struct piece *p, size_t at);  /* a line that is "password VALUE" */
size_t look_key(struct piece *p, size_t at);    /* the = or : behind a key, perhaps */

/* "Bearer" at `at` is the value of a token_type, an auth_scheme: what is `behind` it is
 * another pair's. */
bool look_is_scheme_alone(struct piece *p, size_t at, size_t behind);

/*
 * The value of a key whose name says `kind`: all of it but an Authorization scheme is
 * masked.  False: it looks harmless.
 */
bool look_value(struct scan *s, const char *kind, const char *why, struct str value,
    size_t base, enum span_code code);

/* A glance, where colons are many: a port or a star must follow the one at `at`. */
static inline bool
look_may_be_port(struct str text, size_t at)
{
	const char *c = text.p + at;

	return at + 4 < text.n &&
	       (c[1] == '*' || (ascii_is_digit(c[1]) && ascii_is_digit(c[3])));
}

#define LOOK_GLANCE (NAME_NUMBER_MAX + 2) /* bytes of a name, before it is read */

/* Where quotes, blanks, colours or codes stand before the = or :, which is rare. */
bool look_may_be_key_in_doubt(const struct piece *p, size_t at);

/* A glance, where = and : are many; the n of "\n" before a name is no letter of it. */
static inline bool
look_may_be_key(const struct piece *p, size_t at)
{
	const uint32_t *ends = p->scan->filter->name_ends;
	const char *c = p->text.p + at;

	if (at >= LOOK_GLANCE && ascii_is_alnum(c[-1]) && !ascii_is_digit(c[-1]) &&
	    c[-1] != 'm' && c[-3] != '%' && ascii_is_alnum(c[-2])) /* most */
		return name_ends_so(ends, (struct str){ c - LOOK_GLANCE, LOOK_GLANCE });
	if (at < 3 || !ascii_is_alnum(c[-1]) || !ascii_is_alnum(c[-2]) || c[-3] == '%' ||
	    c[-1] == 'm')
		return look_may_be_key_in_doubt(p, at);
	if (c[-3] == ':' && ascii_is_digit(c[-1]) && ascii_is_digit(c[-2]))
		return false; /* a time of day */
	size_t seen = at < LOOK_GLANCE ? at : LOOK_GLANCE;
	return name_may_be_kind(ends, (struct str){ c - seen, seen });
}

#endif
