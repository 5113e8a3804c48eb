/*
 * pem.h - private keys that are written as a block of lines
 *
 * PEM of every spelling (CRLF, indented, quoted, its lines in one with \n or
 * blanks between them), PGP's and PuTTY's, with or without their last line: what
 * was cut off is a key all the same.  Pure; any thread.
 */
#ifndef WEIR_AUDIT_PEM_H
#define WEIR_AUDIT_PEM_H

#include "base/str.h"

/* Where a private key's block begins in `text` at or behind `from`; false: nowhere. */
bool pem_find(struct str text, size_t from, size_t *at) MUST_CHECK;
bool pem_begins(struct str text, size_t at);

/* How far a block has been read; all zero before its first line. */
struct pem {
	bool in_body;
	unsigned short_lines; /* in a row; a key has one, its last */
};

enum pem_line {
	PEM_MORE, /* the block may go on in the next line */
	PEM_DONE, /* it ended in this line, before *end */
	PEM_NOT,  /* it had ended before this line */
};

/* The block's first line, from where it begins; PEM_DONE unless its body follows. */
enum pem_line pem_first(struct pem *p, struct str line, size_t *end);
/* Each line after it, without its newline. */
enum pem_line pem_next(struct pem *p, struct str line, size_t *end);
/* The end of the block that begins at `at`, in a line that ends before `line_end`. */
size_t pem_end(struct str text, size_t at, size_t line_end);

#endif
