/*
 * books.h - which ledger a command looks at, and how it is opened
 *
 * The one that a configuration names, or --ledger URL.  Readers never write; a writer
 * of a SQLite ledger is the only one, so weir must be stopped for it.
 */
#ifndef WEIR_CMD_BOOKS_H
#define WEIR_CMD_BOOKS_H

#include "conf/settings.h"
#include "ledger/reader.h"

struct books {
	struct settings *settings; /* of the configuration, or a laptop's */
	struct ledger_options at;
	struct reader *reader;
};

/*
 * config and url may be NULL.  EXIT_YES, or how to end, after saying why; books_close()
 * in any case.
 */
int books_open(struct books *b, const char *config, const char *url) MUST_CHECK;
void books_close(struct books *b);

#endif
