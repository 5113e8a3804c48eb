/*
 * text.h - the characters and lines of a file that a person wrote
 *
 * What findings show and what the tree accepts must agree on where a line ends
 * and what a character is, so both ask here.  A line ends at LF (a CR before it
 * belongs to the end); every other line break Unicode knows is refused by
 * text_check().  Pure; any thread.
 */
#ifndef WEIR_CONF_TEXT_H
#define WEIR_CONF_TEXT_H

#include "base/str.h"

#define TEXT_ANY ((size_t)1 << 40) /* for a buf of what was capped before */

/*
 * Takes the first character off a text that is not empty.  False: the first
 * byte begins no UTF-8 character; that one byte is taken, and is in *c.
 */
bool text_next(struct str *rest, uint32_t *c);

/* A line, from 1, without its end; empty when there is no such line. */
struct str text_line(struct str text, size_t line);

enum text_fault { TEXT_OK, TEXT_NOT_UTF8, TEXT_CONTROL };

/* The first place that keeps a text from being a configuration file; line and column
 * from 1. */
enum text_fault text_check(struct str text, size_t *line, size_t *column, uint32_t *c);

/* Appends what is no plain text as \x1b or \u202e; returns how many cells that took. */
size_t text_show(struct buf *to, struct str character, uint32_t c, bool is_valid);

/*
 * As a JSON string; NULL is null.  The text has been through text_show(), or is
 * our own: it is UTF-8 and holds no control character.
 */
void text_quote(struct buf *to, const char *text);

/* Of a listener that is no Unix socket: its text without "tls:" before it. */
struct str listener_address(struct str text);

#endif
