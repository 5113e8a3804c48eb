/*
 * report.h - what the user must mend, all of it at once
 *
 * Findings carry file, line, column, a stable code, a sentence, and what would
 * be right; printing shows the line with a caret.  Everything a finding says is
 * copied and made safe for a terminal, so a report outlives the text it is
 * about.  Text of secrets never goes in: see tree_hide().  One thread at a time.
 */
#ifndef WEIR_CONF_REPORT_H
#define WEIR_CONF_REPORT_H

#include "base/str.h"

#define REPORT_LIMIT 100 /* a person reads no more */

enum severity { SEVERITY_ERROR, SEVERITY_WARNING };

struct mark {
	const char *file;    /* borrowed; a finding has its own copy */
	size_t line, column; /* from 1, in characters; 0: no place */
};

struct finding {
	enum severity severity;
	struct mark mark; /* mark.file is `file` */
	const char *code; /* static and stable: "unknown_key", "needs_sight", ... */
	char *file;       /* owned, or NULL */
	char *text;       /* owned: a sentence */
	char *hint;       /* owned: what would be right, or NULL */
	char *source; /* owned: the source line as shown (clipped when long), or NULL */
	size_t caret; /* the cell of `source` that mark.column is in, from 0 */
};

struct report {
	struct finding *finding;
	size_t n, cap;
	size_t errors, warnings; /* all there were, also those beyond the limit */
	size_t limit;            /* REPORT_LIMIT; beyond it findings are only counted */
};

void report_init(struct report *r);
void report_fini(struct report *r);
/* source: the whole text of the file the mark is in (its line is copied), or STR_NONE. */
void report_add(struct report *r, enum severity severity, struct mark mark,
    struct str source, const char *code, const char *hint, const char *fmt, ...)
    PRINTF_LIKE(7, 8);
void report_vadd(struct report *r, enum severity severity, struct mark mark,
    struct str source, const char *code, const char *hint, const char *fmt, va_list ap)
    PRINTF_LIKE(7, 0);
/* Was this file itself not there to be read? */
bool report_lacks(const struct report *r, const char *file);
/* "file:3:7: error: sentence [code]"; then line, caret and hint where there are any */
void report_print_text(const struct report *r, struct buf *to);
/* The same to standard error; nothing when there is nothing to mend. */
void report_say(const struct report *r);
/*
 * An array of objects with severity, file, line, column, code, message, hint,
 * source; null where there is none.
 */
void report_print_json(const struct report *r, struct buf *to);
/* The candidate nearest to `word` by edit distance, or NULL when none is near enough. */
const char *report_suggest(struct str word, const char *const *candidate, size_t n);

#endif
