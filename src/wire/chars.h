/*
 * chars.h - which octet may stand where
 *
 * One table for every grammar here, so that two parsers cannot disagree about
 * what a token or a control character is.  RFC 9110 5.5 and 5.6, RFC 3986,
 * RFC 1035.  Pure; any thread.
 */
#ifndef WEIR_WIRE_CHARS_H
#define WEIR_WIRE_CHARS_H

#include "base/str.h"

enum char_class {
	CHAR_TOKEN = 1,  /* tchar */
	CHAR_VALUE = 2,  /* HTAB, SP, VCHAR, obs-text */
	CHAR_TARGET = 4, /* 0x21-0x7e */
	CHAR_HOST = 8,   /* letters, digits, '-', '_', '.' */
	CHAR_PLAIN =
	    16, /* needs no escape in a JSON string: ASCII but '"', '\\', controls */
	CHAR_UNRESERVED = 32, /* RFC 3986 2.3 */
	CHAR_CONTROL = 64,    /* 0x00-0x1f, DEL; HTAB, CR and LF among them */
};

extern const uint8_t char_classes[256];

static inline bool
char_is(char c, enum char_class class)
{
	return (char_classes[(unsigned char)c] & class) != 0;
}

/* How many bytes at the front are of that class. */
static inline size_t
chars_span(const char *p, size_t n, enum char_class class)
{
	size_t i = 0;

	while (i < n && char_is(p[i], class))
		i++;
	return i;
}

#endif
