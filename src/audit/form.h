/*
 * form.h - finds secrets in what has a form of its own: JSON and header fields
 *
 * The form says what is a key and what its value, so names are judged where
 * they stand and values go whole; what is no secret by its name is scanned as
 * text.  Text that does not parse is scanned as text from where it began.
 *
 * Borrows the text for the call; what is found goes into the scan's spans, whose places
 * are in the whole of the input.  On the scan's thread.
 */
#ifndef WEIR_AUDIT_FORM_H
#define WEIR_AUDIT_FORM_H

#include "audit/piece.h"

/* The `document` of a scan (piece.h): one object or array.  False: it is none, and what
 * was found in it counts all the same, up to *used. */
bool form_document(
    struct scan *s, struct str text, size_t base, const char *kind, size_t *used);
/* Documents, one behind the other; false: from somewhere on it is none. */
bool form_json(struct scan *s, struct str text);
void form_header(
    struct scan *s, struct str text); /* field lines, start lines, CRLF or LF */

#endif
