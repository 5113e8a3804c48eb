/*
 * batch.c - sealed lines on their way into the file
 */
#include "audit/batch.h"

#include "audit/record.h"
#include "base/count.h"
#include "base/log.h"

#define KEEP_BYTES ((size_t)1 << 20) /* a buffer that once grew larger is given back */

void
batch_init(struct batch *b, struct str key, size_t max)
{
	*b = (struct batch){ .file.fd = -1 };
	chain_init(&b->chain, key);
	buf_init(&b->text, max);
}

void
batch_fini(struct batch *b)
{
	logfile_close(&b->file);
	chain_fini(&b->chain);
	buf_fini(&b->text);
}

uint64_t
batch_next_seq(struct batch *b)
{
	return atomic_fetch_add(&b->seq, 1) + 1;
}

void
batch_seal(struct batch *b, struct str line)
{
	chain_seal(&b->chain, line, &b->text);
	b->chained++;
	b->lines++;
}

void
batch_say(struct batch *b, const char *event, const char *key, const char *text,
    const char *key2, const char *text2)
{
	struct buf line;

	buf_init(&line, BATCH_LINE_MAX);
	record_print_system(clock_wall_us(), batch_next_seq(b), event, NULL, &line, key,
	    text, key2, text2, NULL);
	batch_seal(b, buf_view(&line));
	buf_fini(&line);
}

bool
batch_write(struct batch *b)
{
	b->written +=
	    logfile_write(&b->file, str_sub(buf_view(&b->text), b->written, b->text.n));
	return b->written == b->text.n;
}

void
batch_give_back(struct buf *b)
{
	buf_reset(b);
	if (b->cap > KEEP_BYTES)
		buf_fini(b);
}

void
batch_forget(struct batch *b)
{
	b->lines = b->written = 0;
	batch_give_back(&b->text);
}

/*
 * A line that was begun in a file which is gone begins anew in the next one.
 * How many bytes of it are in the old file.
 */
static size_t
rewind_to_line(struct batch *b)
{
	size_t before = b->written, at;

	if (b->written == b->text.n)
		return 0;
	b->written = 0;
	if (str_rfind(str_sub(buf_view(&b->text), 0, before), '\n', &at))
		b->written = at + 1;
	before -= b->written;
	if (b->written == 0 && b->text.p[0] == '\n')
		b->written = 1; /* it was to end a torn line there */
	return before;
}

/* The rest of the line that stands in the file in part. */
static struct str
begun(const struct batch *b)
{
	struct str rest = str_sub(buf_view(&b->text), b->written, b->text.n);
	size_t at;

	if (b->written == 0 || b->text.p[b->written - 1] == '\n' ||
	    !str_find(rest, '\n', &at))
		return STR_NONE;
	return str_sub(rest, 0, at + 1);
}

/* What was begun is ended in the old file, where that still has a name, or not there. */
int
batch_reopen(struct batch *b)
{
	struct logfile next;
	int error = logfile_open(&next, b->file.path, -1, -1);
	bool was_removed = logfile_is_removed(&b->file);
	size_t begun_bytes;

	if (error != 0)
		return error;
	if (!was_removed)
		b->written += logfile_write(&b->file, begun(b));
	begun_bytes = rewind_to_line(b);
	if (!was_removed)
		logfile_take_back(&b->file, begun_bytes);
	if (!logfile_sync(&b->file))
		count_add(COUNT_AUDIT_ERRORS, 1);
	logfile_close(&b->file);
	logfile_end_line(&next);
	b->file = next;
	b->is_lost = false;
	return 0;
}
