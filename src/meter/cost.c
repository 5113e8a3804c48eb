#include "meter/cost.h"

/* tokens * rate is n$ * 10^6; times the multipliers it is n$ * 10^18. */
#define SCALE_TOKENS ((wide)1000000)
#define SCALE_ALL (SCALE_TOKENS * MULTIPLIER_ONE * MULTIPLIER_ONE)

static bool
add_tokens(wide *sum, int64_t tokens, nano_per_mtok rate)
{
	return tokens <= 0 || wide_add(sum, (wide)tokens * (wide)rate);
}

/* The tokens of one run, in n$ * 10^6. */
static bool
tokens_cost(const struct price *p, const struct run *r, wide *out)
{
	struct rates rates = price_rates(p, r->input_total, r->tier);
	int64_t plain = r->input_total - r->cache_read - r->cache_write -
			r->cache_write_long - r->audio_in;
	/* where thinking has no rate of its own it is plain output */
	bool is_apart = rates.of[RATE_REASONING] != rates.of[RATE_OUTPUT];
	int64_t thought = is_apart ? r->reasoning : 0;

	*out = 0;
	return add_tokens(out, plain, rates.of[RATE_INPUT]) &&
	       add_tokens(out, r->cache_read, rates.of[RATE_READ]) &&
	       add_tokens(out, r->cache_write, rates.of[RATE_WRITE]) &&
	       add_tokens(out, r->cache_write_long, rates.of[RATE_WRITE_LONG]) &&
	       add_tokens(out, r->audio_in, rates.of[RATE_AUDIO_IN]) &&
	       add_tokens(
		   out, r->output - r->audio_out - thought, rates.of[RATE_OUTPUT]) &&
	       add_tokens(out, r->audio_out, rates.of[RATE_AUDIO_OUT]) &&
	       add_tokens(out, thought, rates.of[RATE_REASONING]);
}

static wide
fees(const struct price_facts *f, const struct run *r)
{
	int64_t searches = f->per_prompt ? r->searches > 0 : r->searches;

	return (wide)searches * (wide)f->search +
	       (wide)r->file_searches * (wide)f->file_search;
}

/* Of the model that answered: what it says of speed and place is said of the whole call.
 */
static wide
multiplier(const struct price *p, const struct usage *u)
{
	const struct price_facts *f = p != NULL ? price_facts(p) : NULL;
	int64_t fast = 0, place = 0;

	if (f != NULL && u->is_fast)
		fast = f->fast;
	if (f != NULL && u->region != REGION_NONE)
		place = u->region == REGION_US ? f->us : f->eu;
	return (wide)(fast != 0 ? fast : MULTIPLIER_ONE) *
	       (wide)(place != 0 ? place : MULTIPLIER_ONE);
}

static bool
add_run(wide *sum, const struct price *p, const struct run *r, wide times)
{
	wide tokens, fee = fees(price_facts(p), r);

	return tokens_cost(p, r, &tokens) && wide_mul(&tokens, times) &&
	       wide_mul(&fee, SCALE_ALL) && wide_add(sum, tokens) && wide_add(sum, fee);
}

enum cost_error
cost_of(const struct prices *p, const struct usage *u, yyyymmdd day, usd_nano *out)
{
	wide times = multiplier(prices_find(p, str_of(u->model), day), u);
	wide sum = 0;

	for (size_t i = 0; i < u->nrun; i++) {
		const struct run *r = &u->run[i];
		const char *model = r->model[0] != '\0' ? r->model : u->model;
		const struct price *price = prices_find(p, str_of(model), day);

		if (price == NULL)
			return COST_UNPRICED;
		if (!add_run(&sum, price, r, times))
			return COST_TOO_LARGE;
	}
	return wide_usd(sum, SCALE_ALL, out) ? COST_OK : COST_TOO_LARGE;
}

/* --- bills --- */

#define OFF_LEAST (USD_NANO / 100) /* a difference below a cent is nobody's alarm */

static bool
is_off(usd_nano reported, usd_nano table)
{
	usd_nano apart = reported > table ? reported - table : table - reported;

	return apart > OFF_LEAST && apart > table / 10;
}

static bool
is_used(const struct usage *u)
{
	struct run total = usage_total(u);

	return total.input_total > 0 || total.output > 0;
}

bool
bill_says_more(const struct usage *u, usd_nano ceiling, bool trusts_reported)
{
	return trusts_reported && u->has_reported && u->reported > ceiling;
}

bool
bill_of(struct bill *b, const struct prices *p, const struct usage *u, yyyymmdd day,
    bool trusts_reported)
{
	usd_nano table = 0;
	enum cost_error error = cost_of(p, u, day, &table);
	bool says_tokens = u->nrun > 0 || !u->has_reported;
	bool is_priced = error == COST_OK && !u->is_absurd && says_tokens;
	bool has_tokens = is_priced     ? table > 0
			  : says_tokens ? is_used(u) || u->is_absurd
					: u->text_bytes > 0;

	*b = (struct bill){ .cost = table, .basis = BASIS_TABLE };
	b->is_unpriced = error == COST_UNPRICED;
	b->reported_zero = u->has_reported && u->reported == 0 && has_tokens;
	b->reported_off = u->has_reported && is_priced && is_off(u->reported, table);
	if (!says_tokens && !trusts_reported)
		return false;
	if (u->has_reported && !b->reported_zero && trusts_reported) {
		b->cost = u->reported;
		b->basis = BASIS_REPORTED;
		return true;
	}
	return is_priced;
}
