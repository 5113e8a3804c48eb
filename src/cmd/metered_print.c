/*
 * metered_print.c - what the meter says of one call, as JSON
 */
#include "cmd/metered_print.h"

#include <string.h>

#include "wire/json.h"

static const struct {
	unsigned flag;
	const char *name;
} flags[] = {
	{ METERED_ESTIMATED, "estimated" },
	{ METERED_REPORTED_ZERO, "reported_zero" },
	{ METERED_REPORTED_OFF, "reported_off" },
	{ METERED_OVER_HOLD, "actual_over_hold" },
	{ METERED_ABSURD, "usage_absurd" },
	{ METERED_UNPRICED, "model_unpriced" },
};

static void
put_int(struct json_out *j, const char *key, int64_t n)
{
	json_key(j, key);
	json_int(j, n);
}

static void
put_text(struct json_out *j, const char *key, const char *text)
{
	json_key(j, key);
	json_text(j, text);
}

static void
put_tokens(struct json_out *j, const struct run *r)
{
	int64_t written = r->cache_write + r->cache_write_long;

	json_key(j, "tokens");
	json_open(j, '{');
	put_int(j, "input_total", r->input_total);
	put_int(j, "input_uncached", r->input_total - r->cache_read - written);
	put_int(j, "cache_read", r->cache_read);
	put_int(j, "cache_write", written);
	put_int(j, "output_total", r->output);
	put_int(j, "reasoning", r->reasoning);
	json_close(j, '}');
}

static void
put_cost(struct json_out *j, const struct metered *m)
{
	put_tokens(j, &m->tokens);
	put_int(j, "cost_nano", m->cost);
	put_text(j, "basis", basis_name(m->basis));
}

static void
put_denial(struct json_out *j, const struct metered *m)
{
	const struct reason_row *row = reason_row(m->reason);

	put_int(j, "cost_nano", 0);
	put_text(j, "deny_reason", row->name);
	put_int(j, "status", m->status);
	put_text(j, "shape", shape_name(m->shape));
	if (m->shape == SHAPE_OPENAI)
		put_text(
		    j, "code", row->type == TYPE_BUDGET ? "budget_exceeded" : row->name);
	if (row->class != CLASS_RETRYABLE)
		put_text(j, "x_should_retry", "false");
	json_key(j, "upstream_called");
	json_bool(j, false);
	if (m->tool.p != NULL) {
		json_key(j, "tool");
		json_str(j, m->tool);
	}
	if (m->is_in_flight)
		put_text(j, "hint", "reservations_in_flight");
}

static void
put_clamp(struct json_out *j, const struct metered *m)
{
	json_key(j, "clamp");
	json_open(j, '{');
	put_text(j, "field", m->call.limit_name);
	put_int(j, "value", (int64_t)m->limit);
	put_int(j, "asked", (int64_t)m->asked);
	json_close(j, '}');
}

static void
put_rewrite(struct json_out *j)
{
	json_key(j, "rewrite");
	json_open(j, '{');
	json_key(j, "stream_options.include_usage");
	json_bool(j, true);
	json_close(j, '}');
	json_key(j, "strip_usage_chunk");
	json_bool(j, true);
}

static void
put_flags(struct json_out *j, unsigned set)
{
	if (set == 0)
		return;
	json_key(j, "flags");
	json_open(j, '[');
	for (size_t i = 0; i < sizeof(flags) / sizeof(*flags); i++)
		if ((set & flags[i].flag) != 0)
			json_text(j, flags[i].name);
	json_close(j, ']');
}

static void
put_settlements(struct json_out *j, const struct metered *each, size_t n)
{
	json_key(j, "settlements");
	json_open(j, '[');
	for (size_t i = 0; i < n; i++) {
		json_open(j, '{');
		put_cost(j, &each[i]);
		put_flags(j, each[i].flags);
		json_close(j, '}');
	}
	json_close(j, ']');
}

static void
put_outcome(struct json_out *j, const struct metered *m, const struct terms *t)
{
	switch (m->action) {
	case METERED_DENY:
		put_denial(j, m);
		break;
	case METERED_SETTLE:
		put_cost(j, m);
		if (t->npurse > 0)
			put_text(
			    j, "next_call", metered_is_spent(m, t) ? "deny" : "allow");
		break;
	case METERED_HOLD:
		put_int(j, "cost_nano", 0);
		break;
	case METERED_MIXED:
		put_int(j, "admitted", (int64_t)m->admitted);
		break;
	case METERED_ALLOW:
		break;
	}
	if (m->has_reserve)
		put_int(j, "reserve_nano", m->reserve);
	if (m->is_clamped)
		put_clamp(j, m);
	if (m->call.hides_usage && m->action != METERED_DENY)
		put_rewrite(j);
	put_flags(j, m->flags);
}

void
metered_print(const struct metered *m, const struct terms *t, struct str id,
    const struct metered *each, size_t neach, struct buf *to)
{
	static const char *const actions[] = { [METERED_DENY] = "deny",
		[METERED_SETTLE] = "settle",
		[METERED_ALLOW] = "allow",
		[METERED_HOLD] = "hold",
		[METERED_MIXED] = "mixed" };
	struct json_out j;

	json_out_init(&j, to);
	json_open(&j, '{');
	if (id.p != NULL) {
		json_key(&j, "id");
		json_raw(&j, id);
	}
	put_text(&j, "action", actions[m->action]);
	put_outcome(&j, m, t);
	if (neach > 0)
		put_settlements(&j, each, neach);
	json_close(&j, '}');
}
