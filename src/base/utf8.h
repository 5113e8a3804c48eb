/*
 * utf8.h - is this text, and may a terminal see it?
 *
 * RFC 3629: no overlong forms, no surrogates, nothing above U+10FFFF.
 * Pure; any thread.
 */
#ifndef WEIR_BASE_UTF8_H
#define WEIR_BASE_UTF8_H

#include "base/str.h"

/* How many bytes the first character of s takes, 1..4; 0: s is empty or does not begin
 * with one. */
size_t utf8_char(struct str s, uint32_t *code);
/* Writes one character (a code that is a scalar value) and returns its length. */
size_t utf8_put(char out[static 4], uint32_t code);
bool utf8_is_valid(struct str s);
/* The longest beginning of s, n bytes at most, that cuts no character in two. */
struct str utf8_cut(struct str s, size_t n);
/* Controls (C0, DEL, C1), line separators, and what turns the direction of writing. */
bool utf8_is_control(uint32_t code);

#endif
