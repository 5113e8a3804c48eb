/*
 * reported.c - what a gateway says that a call cost
 */
#include "meter/reported.h"

#include <string.h>

#define PLACES 18 /* decimals that a sum of two is exact to */

static void
keep(struct str *to, char text[static SCAN_TEXT], const struct scan_value *v)
{
	*to = STR_NONE;
	if (v->type == JSON_NULL)
		return;
	if (v->is_cut || (v->type != JSON_NUMBER && v->type != JSON_STRING)) {
		*to = STR("none"); /* said, and no amount */
		return;
	}
	str_put(text, v->text);
	*to = str_trim((struct str){ text, v->text.n });
}

void
reported_cost(struct reported *r, const struct scan_value *v)
{
	keep(&r->cost, r->text[0], v);
}

void
reported_upstream(struct reported *r, const struct scan_value *v)
{
	keep(&r->upstream, r->text[1], v);
}

/* Adds an amount; its digits beyond PLACES count as one more. */
static bool
add_amount(wide *sum, struct str amount)
{
	bool has_more;
	wide n;

	return decimal_read(amount, PLACES, &n, &has_more) && wide_add(sum, n) &&
	       (!has_more || wide_add(sum, 1));
}

void
reported_note(const struct reported *r, struct usage *u)
{
	wide nano = (wide)1000000000, sum = 0;
	usd_nano amount;

	if (r->cost.p == NULL)
		return;
	if (!add_amount(&sum, r->cost) ||
	    (r->is_byok && r->upstream.p != NULL && !add_amount(&sum, r->upstream)) ||
	    !wide_usd(sum, nano, &amount)) {
		u->is_cost_absurd = true;
		return;
	}
	u->has_reported = true;
	u->reported = amount;
}

void
reported_head(struct answer *a, const struct http_head *head)
{
	const struct http_field *f = http_field(head, STR("x-litellm-response-cost"));

	if (f == NULL || a->usage.has_reported)
		return;
	a->usage.has_reported = usd_round_up(str_trim(f->value), &a->usage.reported);
	a->usage.is_cost_absurd = !a->usage.has_reported;
}
