/*
 * join.h - a key in one line, its value in the next ones
 *
 * "password: |" and what is indented below it, "password:" or a JSON member's name alone
 * in its line, a value that a backslash carries on, "name: DB_PASSWORD" above "value:
 * ...". Lines are read one by one and belong together in groups that do not overlap, of
 * at most JOIN_LINES and JOIN_BYTES behind the first: so that who has a text in pieces
 * can cut it between two groups and finds the same.  Pure; any thread.
 */
#ifndef WEIR_AUDIT_JOIN_H
#define WEIR_AUDIT_JOIN_H

#include "audit/costs.h"
#include "audit/span.h"

#define JOIN_LINES 1024
#define JOIN_BYTES ((size_t)64 << 10)

/* Where lines belong together, in order, whether there is a value in them or not: what
 * changes in one of them may change what the others say. */
struct joins {
	struct joined {
		size_t from, next; /* where the line behind the group begins ... */
		size_t to;         /* ... or behind that, if by it it was seen to end */
		size_t digits_from, digits_to; /* digits of one code, cut in lines */
	} * p;
	size_t n, cap;
};

void joins_fini(struct joins *j);

/*
 * Adds the values in lines below their keys; returns what it cost, in units of work.
 * costs: what each line did is noted there; NULL: nowhere.
 */
size_t join_find(
    struct str text, struct spans *spans, struct joins *joins, struct costs *costs);
/*
 * Where the group begins, of those in `text`, which whole lines may follow, whose last
 * line is not there yet; text.n: there is none.
 */
size_t join_open(struct str text);

/* May a line that ends so be the head of what is below it? */
bool join_may_head(struct str end);

#endif
