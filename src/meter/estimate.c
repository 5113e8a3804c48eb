#include "meter/estimate.h"

#include <stdlib.h>

#include "meter/cost.h"

#define SLACK 64 /* tokens that were made and not yet sent */

static uint64_t
larger(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static bool
is_over(const struct estimate_input *in)
{
	return in->least > in->reserved;
}

/* The most pessimistic reading of what was seen, and never beyond the limit, where the
 * provider kept to it. */
static uint64_t
output_tokens(
    const struct usage *u, const struct call *c, const struct estimate_input *in)
{
	struct run total = usage_total(u);
	uint64_t extra = c->thinking_is_extra ? c->thinking * c->answers : 0;
	uint64_t most = in->bound->limit * c->answers + extra;
	uint64_t n = total.output > 0 ? (uint64_t)total.output : 0;
	uint64_t seconds = (uint64_t)(in->ms > 0 ? in->ms : 0) / 1000 + 1;

	n = larger(n, u->text_bytes * 2 / 5 + 1);
	n = larger(n, u->announced > 0 ? (uint64_t)u->announced : 0);
	if (in->max_tokens_per_second != 0) /* each answer at that speed, side by side */
		n = larger(n, seconds * in->max_tokens_per_second * c->answers);
	n += SLACK * c->answers + extra;
	if (is_over(in) && n > most)
		return n;
	return in->runs_on || n > most ? most : n;
}

/* Only the prompt is sure, and only when no second model or tool had one of its own. */
static bool
knows_input(const struct usage *u, const struct call *c)
{
	bool is_alone = c->nmodel == 1 && !c->compacts;

	for (const struct hosted *h = c->hosted; h != NULL; h = h->next)
		is_alone = is_alone && (h->is_stripped || h->is_media);
	return is_alone && u->nrun == 1 && u->run[0].input_total > 0 && !u->is_absurd;
}

/* ---- for sure */

static void
keep_what_is_sure(struct usage *u, const struct call *c)
{
	int64_t text = (int64_t)(u->text_least / ESTIMATE_LONGEST_TOKEN);

	if (u->is_absurd || usage_is_torn(u))
		u->nrun = 0;
	if (u->nrun == 0)
		usage_add(u)->tier = c->tier;
	if (u->nrun == 1 && u->run[0].output < text)
		u->run[0].output = text;
	if (u->model[0] == '\0' && c->nmodel == 1)
		usage_name(u->model, c->model[0].name);
}

/* What answered has no price: as much of what was asked for, which is what is held. */
static void
name_as_asked(struct usage *u, const struct call *c)
{
	usage_name(u->model, c->model[0].name);
	for (size_t i = 0; i < u->nrun; i++)
		u->run[i].model[0] = '\0';
}

bool
estimate_least(const struct usage *u, const struct call *c, const struct prices *p,
    yyyymmdd day, usd_nano *out)
{
	struct usage *sure = mem_alloc(sizeof(*sure));
	enum cost_error error;

	*sure = *u;
	keep_what_is_sure(sure, c);
	error = cost_of(p, sure, day, out);
	if (error == COST_UNPRICED && c->nmodel == 1) {
		name_as_asked(sure, c);
		error = cost_of(p, sure, day, out);
	}
	free(sure);
	return error == COST_OK;
}

/* ---- at the most */

static usd_nano
worst(const struct call *c, const struct estimate_input *in, uint64_t output)
{
	usd_nano hold;

	if (!bound_hold(in->bound, (output + c->answers - 1) / c->answers, &hold))
		return in->reserved;
	return hold;
}

/* What the answer has not said yet is as dear as the request allows. */
static void
assume_asked(struct usage *u, const struct call *c)
{
	u->is_fast |= c->is_fast;
	if (u->region == REGION_NONE && (c->regions & 1u << REGION_US) != 0)
		u->region = REGION_US;
	if (u->region == REGION_NONE && (c->regions & 1u << REGION_EU) != 0)
		u->region = REGION_EU;
}

usd_nano
estimate(struct usage *u, const struct call *c, const struct estimate_input *in)
{
	uint64_t output = output_tokens(u, c, in);
	bool is_known = knows_input(u, c);
	usd_nano cost, told;

	if (!is_known) {
		u->nrun = 1;
		u->run[0] = (struct run){ .tier = c->tier,
			.input_total = (int64_t)in->bound->input };
		if (u->model[0] == '\0' && c->nmodel > 0)
			usage_name(u->model, c->model[0].name);
	}
	if (u->run[0].tier == TIER_STANDARD)
		u->run[0].tier = c->tier;
	u->run[0].output = (int64_t)output;
	assume_asked(u, c);
	if (!is_known || cost_of(in->prices, u, in->day, &cost) != COST_OK)
		cost = worst(c, in, output);
	if (!is_over(in))
		return cost < in->reserved ? cost : in->reserved;
	if (cost_of(in->prices, u, in->day, &told) == COST_OK && told > cost)
		cost = told;
	return cost > in->least ? cost : in->least;
}
