/*
 * report.h - what the user must mend, all of it at once
 *
 * Findings carry file, line, column, a stable code, a sentence, and what would
 * be right; printing shows the line with a caret.  Text of secrets never goes in.
 */
#ifndef WEIR_CONF_REPORT_H
#define WEIR_CONF_REPORT_H

#include "base/str.h"

enum severity { SEVERITY_ERROR, SEVERITY_WARNING };

struct mark {
	const char *file; /* lives as long as the report */
	size_t line, column; /* from 1; 0: no place */
};

struct finding {
	enum severity severity;
	struct mark mark;
	const char *code; /* stable: "unknown_key", "needs_sight", ... */
	char *text; /* owned: a sentence */
	char *hint; /* owned: what would be right, or NULL */
	char *source; /* owned: the source line, or NULL */
};

struct report {
	struct finding *finding;
	size_t n, cap;
	size_t errors, warnings;
	size_t limit; /* 100; beyond it they are only counted */
};

void report_init(struct report *r);
void report_fini(struct report *r);
/* source: the whole text of the file the mark is in (its line is copied), or STR_NONE. */
void report_add(struct report *r, enum severity severity, struct mark mark, struct str source,
    const char *code, const char *hint, const char *fmt, ...) PRINTF_LIKE(7, 8);
void report_print_text(const struct report *r, struct buf *to); /* "file:3:7: error: sentence [code]", line, caret, hint */
void report_print_json(const struct report *r, struct buf *to); /* an array of objects */
/* The candidate nearest to `word` by edit distance, or NULL when none is near enough. */
const char *report_suggest(struct str word, const char *const *candidate, size_t n);

#endif
