/*
 * statement.h - a provider's list of requests and what it billed for them
 *
 * JSON lines (one object for each), or CSV whose first line names the columns: a request
 * id and a cost in USD.  A request that stands there more than once costs the sum.
 */
#ifndef WEIR_CMD_STATEMENT_H
#define WEIR_CMD_STATEMENT_H

#include "base/map.h"
#include "base/money.h"

struct billed {
	usd_nano cost;
	bool is_matched; /* for who compares */
};

struct statement {
	struct map request; /* id -> struct billed */
	const char *why;    /* when it cannot be read; static */
	size_t line;        /* and where, from 1 */
};

/* Names of fields may be NULL: request_id or id, cost or cost_usd.  False: s->why. */
bool statement_read(struct statement *s, struct str text, const char *id_field,
    const char *cost_field) MUST_CHECK;
void statement_fini(struct statement *s);

#endif
