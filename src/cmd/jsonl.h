/*
 * jsonl.h - JSON lines on standard input, one JSON line out for each
 *
 * What `weir explain --batch` and `weir meter --batch` share: lines are read one by one,
 * each with memory and a report of its own, and answered at once.  One that is not as it
 * should be is answered by its `id` and what is wrong with it.  One thread.
 */
#ifndef WEIR_CMD_JSONL_H
#define WEIR_CMD_JSONL_H

#include "conf/report.h"
#include "wire/json.h"

/* One line; all that was made of it goes with its arena. */
struct jsonl {
	struct arena arena;
	struct report rep; /* with errors in it, they are the answer */
	struct str id;     /* JSON text */
};

/* Appends the answer, one JSON value, to `out`. */
typedef void jsonl_answer(void *arg, struct jsonl *l, struct str text, struct buf *out);

/*
 * Until the input ends, or nobody reads the answers: EXIT_YES, or EXIT_CONFIG when some
 * line was wrong.  `memory` is the most that one of them may take.
 */
int jsonl_run(size_t memory, jsonl_answer *answer, void *arg);

/* Something is wrong with the line. */
void jsonl_fault(struct jsonl *l, const char *code, const char *fmt, ...)
    PRINTF_LIKE(3, 4);
/* The line as an object; NULL: it is none, and *why says more (static). */
const struct json_value *jsonl_object(struct jsonl *l, struct str text, const char **why);

/* In the line's memory; where that is too small it is a fault, and empty: */
struct str jsonl_keep(struct jsonl *l, const struct buf *b);
struct str jsonl_text(struct jsonl *l, const struct json_value *v); /* as JSON text */
/* The bytes that a string says in base64; p NULL: it is none, which is a fault, too. */
struct str jsonl_base64(struct jsonl *l, const struct json_value *v);

#endif
