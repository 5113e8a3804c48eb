/*
 * reader.h - the lines of an audit log, from its files, oldest first
 *
 * One file after the other, as if they were one; a file that cannot be read is said,
 * and passed over.  Memory is bounded (lines.h).  One thread.
 */
#ifndef WEIR_AUDIT_READER_H
#define WEIR_AUDIT_READER_H

#include "audit/files.h"
#include "audit/lines.h"

struct audit_reader {
	const struct audit_files *files; /* the caller's; "-" is standard input */
	size_t at;                       /* SIZE_MAX: before the first */
	int fd;                          /* -1: the next file is not open yet */
	bool is_at_end;                  /* of the file */
	struct lines lines;
};

enum audit_read {
	AUDIT_FILE,   /* another file begins: audit_reader_path() */
	AUDIT_LINE,   /* *out: a line of it, good until the next call */
	AUDIT_FAILED, /* it cannot be read, or not further: errno says why */
	AUDIT_END,
};

void audit_reader_init(struct audit_reader *r, const struct audit_files *files);
void audit_reader_fini(struct audit_reader *r);
enum audit_read audit_reader_next(
    struct audit_reader *r, struct audit_line *out) MUST_CHECK;
/* The file that is read; good as long as the files. */
const char *audit_reader_path(const struct audit_reader *r);

#endif
