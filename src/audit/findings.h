/*
 * findings.h - saying what is wrong with a log, and where
 *
 * The place is the line that is looked at, unless another is said.  One thread.
 */
#ifndef WEIR_AUDIT_FINDINGS_H
#define WEIR_AUDIT_FINDINGS_H

#include "base/str.h"

struct audit_finding {
	const char *file;
	uint64_t line;    /* 0: of no line */
	const char *what; /* one word, for machines: chain, mac, ... */
	bool is_note;     /* worth knowing, and nothing wrong */
	const char *text; /* what about it, to stand behind "line N"; good for the call */
};

struct findings {
	void (*say)(void *arg, const struct audit_finding *f);
	void *arg;
	const char *file; /* where we are; NULL: nowhere yet */
	uint64_t line;
	uint64_t n, notes; /* said so far */
	struct buf text;
};

void findings_init(
    struct findings *f, void (*say)(void *arg, const struct audit_finding *f), void *arg);
void findings_fini(struct findings *f);

void PRINTF_LIKE(3, 4)
    finding_fault(struct findings *f, const char *what, const char *fmt, ...);
void PRINTF_LIKE(3, 4)
    finding_note(struct findings *f, const char *what, const char *fmt, ...);
/* A fault of another line, or of none (0). */
void PRINTF_LIKE(5, 6) finding_at(struct findings *f, const char *file, uint64_t line,
    const char *what, const char *fmt, ...);

#endif
