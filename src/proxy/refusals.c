/*
 * refusals.c - one client's refusals beyond limits.refusals
 */
#include "proxy/refusals.h"

#define WHO_MOST 4096

static msec
delay_as(struct conn *c, struct str who, int64_t rate)
{
	msec now = loop_now(c->e->loop), wait;
	struct client *share = client_ref(c->e->limits, who, now);

	wait = client_delay_minute(share, rate, now);
	client_unref(share);
	return wait;
}

/* The session's, or the client's where there is none: one must not hide the other's. */
static msec
delay_of(struct conn *c)
{
	const struct exchange *x = c->x;
	int64_t rate = x->snapshot->settings->limits_refusals;
	char text[ADDR_TEXT];
	struct buf who;
	msec wait;

	if (rate == 0)
		return 0;
	buf_init(&who, WHO_MOST);
	buf_fmt(&who, "refused %s", conn_share(c, text));
	if (x->grant != NULL)
		buf_fmt(&who, " %.*s/%.*s/%.*s", STR_ARG(x->grant->issuer),
		    STR_ARG(x->grant->tenant), STR_ARG(x->grant->sid));
	wait = delay_as(c, buf_view(&who), rate);
	buf_fini(&who);
	return wait;
}

/* Who can be anybody has as many records as one: else a flood would fill the log. */
static bool
is_one_of_many(struct conn *c)
{
	int64_t rate = c->x->snapshot->settings->limits_refusals;

	return c->door->is_unproven && rate > 0 &&
	       delay_as(c, STR("refused unproven"), rate) > 0;
}

msec
refusals_count(struct conn *c)
{
	struct exchange *x = c->x;
	msec wait;

	if (x->is_counted || reason_row(x->reason)->type == TYPE_UPSTREAM)
		return 0;
	x->is_counted = true;
	wait = delay_of(c);
	if (wait > 0)
		x->flags |= FLAG_DELAYED;
	x->is_summed = wait > 0 || is_one_of_many(c) || !exchange_may_record(c->e, x);
	return wait;
}

void
refusals_drop(struct conn *c, enum reason reason)
{
	char text[ADDR_TEXT];
	struct sum one = {
		.reason = reason_row(reason)->name,
		.door = c->door->name,
		.client = str_of(
		    c->unix_path != NULL ? c->unix_path : addr_text(text, &c->peer.addr)),
	};

	sums_add(c->e->sums, &one, clock_wall_us());
}
