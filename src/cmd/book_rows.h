/*
 * book_rows.h - the rows of a ledger in words: as JSON, and for eyes
 *
 * What is shown to eyes holds no control characters, whatever is in the ledger.
 */
#ifndef WEIR_CMD_BOOK_ROWS_H
#define WEIR_CMD_BOOK_ROWS_H

#include "base/loop.h"
#include "ledger/row.h"
#include "ledger/terms.h"
#include "meter/rate.h"
#include "wire/json.h"

#define ROW_TIME 32

struct call_name {
	struct str request, attempt;
};

/* A call's key taken apart. */
struct call_name call_name_of(struct str key);
/* A session's key taken apart; a part it has not is empty. */
struct ledger_who session_name_of(struct str key);

/* RFC 3339, UTC; returns out; empty for 0. */
const char *row_time(usec at, char out[static ROW_TIME]);
yyyymmdd row_day(usec at); /* UTC */
/* What a call has cost: all of what it held when nobody said. */
usd_nano row_call_cost(const struct row_call *c);

/* For eyes. */
void row_show(struct buf *to, struct str s);
void row_show_usd(struct buf *to, usd_nano n);
void row_show_flags(struct buf *to, int64_t flags);  /* "estimated,lost" or "-" */
void row_show_scope(struct buf *to, struct str key); /* "turn acme/ses_1/t_3" */
const char *row_state(int64_t state);

/* Whole objects. */
void row_put_call(struct json_out *j, struct str key, const struct row_call *c);
/* `scope`: what it spent; NULL: nothing was ever reserved in it. */
void row_put_session(struct json_out *j, struct str key, const struct row_session *s,
    const struct row_scope *scope);
void row_put_scope(struct json_out *j, struct str key, const struct row_scope *s);

#endif
