/*
 * files.h - the files of one log, in the order of their chain
 *
 * A log at PATH may have been cut into segments, or moved aside: PATH.20310405T060708Z,
 * PATH.1.  Which of these belongs where, its first line says, which names the last one of
 * the file before; names count for nothing.  A file that no other joins stands where its
 * time says.  What cannot be read is listed all the same: whoever reads it will be told.
 * Blocking; one thread.
 */
#ifndef WEIR_AUDIT_FILES_H
#define WEIR_AUDIT_FILES_H

#include "base/str.h"

#define AUDIT_FILES_MAX 65536 /* segments that are looked at */

struct audit_files {
	char **path; /* owned; oldest first, PATH itself last */
	size_t n;
	bool is_short; /* there are more than AUDIT_FILES_MAX, and some are left out */
	int own; /* PATH, open, as it was when the list was made; -1: it is not there */
};

/*
 * False: there is nothing, or it cannot be read; errno says why.  A log that is cut while
 * the list is made is listed anew, so that nothing is between `own` and the others.
 */
bool audit_files_find(struct audit_files *f, const char *path) MUST_CHECK;
/* The one path, whatever it is. */
void audit_files_one(struct audit_files *f, const char *path);
void audit_files_free(struct audit_files *f);
/*
 * The file of this log whose first record names `digest` as the one before it; owned.
 * NULL: there is none.
 */
char *audit_files_after(const char *path, const char *digest);

#endif
