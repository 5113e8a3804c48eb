/*
 * lines.h - bytes that come in pieces -> the lines in them
 *
 * Memory is bounded: of a line longer than LINES_MAX nothing but its length is kept.
 * Pure; one thread.
 */
#ifndef WEIR_AUDIT_LINES_H
#define WEIR_AUDIT_LINES_H

#include "base/str.h"

#define LINES_MAX ((size_t)256 << 10) /* four of the longest that weir writes */
#define LINES_PIECE ((size_t)64 << 10)

struct audit_line {
	struct str text; /* without its LF; empty when it is too long */
	uint64_t bytes;  /* how long it is */
	uint64_t number; /* from 1 */
	bool is_ended;   /* by an LF */
	bool is_too_long;
};

struct lines {
	struct buf held;         /* from `at` on not yet given out */
	size_t at, looked;       /* no LF before `looked` */
	uint64_t number, thrown; /* bytes of a line that is too long */
};

void lines_init(struct lines *l);
void lines_fini(struct lines *l);
/* Forgets what it holds: another file begins. */
void lines_reset(struct lines *l);

/* Room for LINES_PIECE bytes; then say how many came.  Lines given out before are gone.
 */
char *lines_room(struct lines *l);
void lines_grew(struct lines *l, size_t n);
/* The next line that has its LF; good until lines_room().  False: more must come. */
bool lines_next(struct lines *l, struct audit_line *out) MUST_CHECK;
/* No more comes: what stands there without an LF; false: nothing. */
bool lines_last(struct lines *l, struct audit_line *out) MUST_CHECK;

#endif
