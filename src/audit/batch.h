/*
 * batch.h - sealed lines on their way into the file
 *
 * What goes into a log is sealed here, so that each line names the one before it, and
 * stays until all of it is in the file: `written` says how far it got, so that no byte
 * is written twice and no line is cut for good, in another file neither.
 *
 * One thread, but for the numbers.
 */
#ifndef WEIR_AUDIT_BATCH_H
#define WEIR_AUDIT_BATCH_H

#include <stdatomic.h>

#include "audit/chain.h"
#include "audit/logfile.h"

#define BATCH_LINE_MAX 65536 /* bytes; above what record.h's caps add up to */

struct batch {
	struct logfile file; /* its path is borrowed */
	struct chain chain;  /* up to the last line of `text` */
	uint64_t chained;    /* lines of it, as far as is known */
	struct buf text;
	size_t written; /* bytes of it that are in the file */
	size_t lines;   /* in it */
	bool is_lost;   /* the file was removed, and no other can be made; its user's */
	atomic_uint_fast64_t seq;
};

/* The file is not open. */
void batch_init(struct batch *b, struct str key, size_t max);
void batch_fini(struct batch *b);

/* A record without its closing brace. */
void batch_seal(struct batch *b, struct str line);
/* A record of the log's own; key2 may be NULL. */
void batch_say(struct batch *b, const char *event, const char *key, const char *text,
    const char *key2, const char *text2);
uint64_t batch_next_seq(struct batch *b); /* any thread */

/* False: errno says why not all of it is in the file now. */
bool batch_write(struct batch *b) MUST_CHECK;
/* All of it is. */
void batch_forget(struct batch *b);
/* Empty, and its memory given back where that was much. */
void batch_give_back(struct buf *b);
/* Goes on in the file that stands there now.  An errno: it stays with the old one. */
int batch_reopen(struct batch *b) MUST_CHECK;

#endif
