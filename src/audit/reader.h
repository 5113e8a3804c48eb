/*
 * reader.h - the lines of an audit log, from its files, oldest first
 *
 * One file after the other, as if they were one; a file that cannot be read is said,
 * and passed over.  Memory is bounded (lines.h).  One thread.
 */
#ifndef WEIR_AUDIT_READER_H
#define WEIR_AUDIT_READER_H

#include "audit/lines.h"

struct audit_reader {
	char *const *path; /* the caller's; "-" is standard input */
	size_t npath, at;
	int fd;         /* -1: the next file is not open yet */
	bool is_at_end; /* of the file */
	struct lines lines;
};

enum audit_read {
	AUDIT_FILE,   /* another file begins: path[at] */
	AUDIT_LINE,   /* *out: a line of it, good until the next call */
	AUDIT_FAILED, /* path[at] cannot be read, or not further: errno says why */
	AUDIT_END,
};

void audit_reader_init(struct audit_reader *r, char *const *path, size_t npath);
void audit_reader_fini(struct audit_reader *r);
enum audit_read audit_reader_next(
    struct audit_reader *r, struct audit_line *out) MUST_CHECK;

#endif
