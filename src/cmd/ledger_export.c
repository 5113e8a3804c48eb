/*
 * ledger_export.c - weir ledger export, backup: what can be taken elsewhere
 */
#include <stdio.h>

#include "base/exit.h"
#include "base/map.h"
#include "cmd/book_rows.h"
#include "cmd/ledger.h"

#define LINE_MAX_BYTES ((size_t)1 << 20)

struct export
{
	const struct ledger_asked *asked;
	struct map seen; /* Redis may show a row twice */
	struct buf line;
};

static void
on_call(void *arg, struct str key, const void *row)
{
	struct export *e = arg;
	const struct row_call *call = row;
	struct json_out j;

	if (call->reserved_at < e->asked->from || call->reserved_at >= e->asked->to ||
	    map_put(&e->seen, key, e) != NULL)
		return;
	buf_reset(&e->line);
	json_out_init(&j, &e->line);
	row_put_call(&j, key, call);
	buf_char(&e->line, '\n');
	fwrite(e->line.p, 1, e->line.n, stdout);
}

int
ledger_export(struct books *b, const struct ledger_asked *o)
{
	struct export e = { .asked = o };
	bool is_read;

	map_init(&e.seen);
	buf_init(&e.line, LINE_MAX_BYTES);
	is_read = reader_walk(b->reader, ROW_CALL, on_call, &e);
	buf_fini(&e.line);
	map_fini(&e.seen, NULL);
	return is_read ? EXIT_YES : EXIT_UNAVAILABLE;
}

int
ledger_backup(struct books *b, const struct ledger_asked *o)
{
	return reader_backup(b->reader, o->word[0]) ? EXIT_YES : EXIT_UNAVAILABLE;
}
