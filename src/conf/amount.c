/*
 * amount.c - types of money, shares and whole numbers that may be left unwritten
 */
#include <stdio.h>

#include "base/money.h"
#include "conf/value.h"

static bool
amount_same(const void *a, const void *b)
{
	return *(const int64_t *)a == *(const int64_t *)b;
}

static void
amount_absent(void *field)
{
	*(int64_t *)field = UNWRITTEN;
}

static bool
usd_amount_read(
    const struct loading *l, const struct row *row, const struct node *n, void *field)
{
	struct str text;

	(void)row;
	if (!node_str(l->t, n, l->rep, &text))
		return false;
	if (usd_read(text, field))
		return true;
	node_error(l->t, n, l->rep, "bad_amount",
	    "write US dollars with up to nine decimals: \"0.50\" or 5",
	    "\"%.*s\" is no amount of money", STR_ARG(text));
	return false;
}

static bool
amount_read(
    const struct loading *l, const struct row *row, const struct node *n, void *field)
{
	return node_int(l->t, n, l->rep, row->min, row->max, field);
}

/* As money, since it is as exact: nine decimals hold six. */
static bool
share_read(
    const struct loading *l, const struct row *row, const struct node *n, void *field)
{
	struct str text;
	usd_nano share;

	if (!node_str(l->t, n, l->rep, &text))
		return false;
	if (usd_read(text, &share) && share % 1000 == 0 && share / 1000 >= row->min &&
	    share / 1000 <= row->max) {
		*(int64_t *)field = share / 1000;
		return true;
	}
	node_error(l->t, n, l->rep, "bad_share", "write 0.5 for half",
	    "\"%.*s\" is no share above 0 and up to 1", STR_ARG(text));
	return false;
}

static bool
seconds_read(
    const struct loading *l, const struct row *row, const struct node *n, void *field)
{
	int64_t ms;

	if (!node_duration(l->t, n, l->rep, &ms))
		return false;
	if (ms % 1000 == 0 && ms / 1000 >= row->min && ms / 1000 <= row->max) {
		*(int64_t *)field = ms / 1000;
		return true;
	}
	node_error(l->t, n, l->rep, "out_of_range", NULL,
	    "%.*s is not %lld to %lld whole seconds", STR_ARG(n->text),
	    (long long)row->min, (long long)row->max);
	return false;
}

const struct type type_USD = { "US dollars", NULL, usd_amount_read, amount_same, NULL,
	amount_absent, NULL, NULL };
const struct type type_AMOUNT = { "number", "", amount_read, amount_same, NULL,
	amount_absent, NULL, NULL };
const struct type type_SHARE = { "share", "millionths", share_read, amount_same, NULL,
	NULL, NULL, NULL };
const struct type type_SECONDS = { "duration", "s", seconds_read, amount_same, NULL, NULL,
	NULL, NULL };
