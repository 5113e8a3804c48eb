/*
 * resume.c - where the chain of an earlier weir goes on
 */
#include "audit/resume.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "audit/past.h"
#include "audit/seal.h"
#include "audit/segments.h"
#include "audit/siblings.h"
#include "base/count.h"
#include "base/log.h"

#define TORN_MOST 16 /* each is one time that weir died while it wrote */

/* A line that was torn by a crash stays and is named, outside of the chain. */
static void
name_torn(struct batch *b, struct str torn)
{
	char digest[CHAIN_HEX];

	chain_digest(torn, digest);
	batch_say(b, "torn_line", "bytes", NUM((int64_t)torn.n), "sha256", digest);
	log_warn("audit log ended in a torn line", "path", b->file.path);
}

/* Takes the last line off `rest`; an LF that ends it is none of it. */
static bool
take_last(struct str *rest, struct str *line)
{
	size_t at;

	if (rest->n == 0)
		return false;
	if (rest->p[rest->n - 1] == '\n')
		rest->n--;
	*line = *rest;
	if (str_rfind(*rest, '\n', &at)) {
		*line = str_sub(*rest, at + 1, rest->n);
		rest->n = at + 1;
	} else {
		rest->n = 0;
	}
	return true;
}

/*
 * The chain goes on from the last whole line; those behind it are torn: one, or
 * more where weir died again before it could name the first.  EINVAL: too many
 * are no line of ours, or there is none but perhaps further up.
 */
static int
go_on_from(struct batch *b, struct str end, bool is_all, char head[static CHAIN_HEX])
{
	struct str rest = end, line = STR_NONE;
	size_t torn = 0;

	while (torn <= TORN_MOST && take_last(&rest, &line) && !seal_is_whole(line))
		torn++;
	if (torn > TORN_MOST || (!is_all && !seal_is_whole(line)))
		return EINVAL;
	if (seal_is_whole(line))
		chain_continue(&b->chain, line);
	memcpy(head, b->chain.head, CHAIN_HEX);
	if (!str_ends(end, STR("\n")))
		buf_char(&b->text, '\n');
	for (rest = end; torn > 0 && take_last(&rest, &line); torn--)
		name_torn(b, line);
	return 0;
}

/* Weir died when it had cut the file and the next one had no line. */
static void
go_on_behind_segment(struct batch *b, char head[static CHAIN_HEX])
{
	char *before;

	if (!b->file.is_regular || !segments_last(b->file.path, &before, b->chain.head))
		return;
	memcpy(head, b->chain.head, CHAIN_HEX);
	batch_say(b, "segment", "before", siblings_base(before), "head", head);
	free(before);
}

/* Where the chain goes on. */
static int
read_tail(struct batch *b, char head[static CHAIN_HEX])
{
	struct buf end;
	bool is_all;
	int error;

	buf_init(&end, LOGFILE_TAIL_ROOM);
	error = logfile_tail(&b->file, &end, &is_all);
	if (error == 0 && end.n > 0)
		error = go_on_from(b, buf_view(&end), is_all, head);
	else if (error == 0)
		go_on_behind_segment(b, head);
	buf_fini(&end);
	return error;
}

/* What the weir before this one left open has no other end. */
static void
end_lost(struct batch *b, const char *head)
{
	struct past past;
	struct buf line;
	size_t n = 0;

	past_init(&past);
	buf_init(&line, 2 * BATCH_LINE_MAX);
	segments_recall(&b->file, head, &past);
	b->chained += past.lines;
	while (n < past.open.n && past_next(&past, batch_next_seq(b), &line)) {
		batch_seal(b, buf_view(&line));
		buf_reset(&line);
		n++;
	}
	if (past.open.n > 0)
		log_warn("weir did not end what it began: exchanges are recorded as lost",
		    "path", b->file.path, "open", NUM((int64_t)past.open.n), "lost",
		    NUM((int64_t)n));
	count_add(COUNT_AUDIT_LOST, (int64_t)n);
	buf_fini(&line);
	past_fini(&past);
}

int
resume(struct batch *b, char head[static CHAIN_HEX])
{
	int error;

	memcpy(head, b->chain.head, CHAIN_HEX);
	if ((error = read_tail(b, head)) == 0)
		end_lost(b, head);
	return error;
}
