#include "meter/bound.h"

#include <assert.h>

#include "meter/family.h"

/* n$ * 10^18: tokens times a rate are n$ * 10^6, and two multipliers. */
#define SCALE_RATE ((wide)MULTIPLIER_ONE * MULTIPLIER_ONE)
#define SCALE_USD (SCALE_RATE * 1000000)

/*
 * Tokens that are no bytes of the body.  A preamble comes with any call and a larger one
 * with tools; around each message, block and tool stand a few markers, for which the
 * punctuation of the JSON has been counted already.
 */
enum {
	TOKENS_CALL = 256,
	TOKENS_TOOLS = 768,
	TOKENS_SCHEMA = 256,
	TOKENS_MESSAGE = 8,
	TOKENS_BLOCK = 8,
	TOKENS_TOOL = 24,
};

/* What tools that run at the provider may add. */
enum {
	HOSTED_USES = 10, /* when the request does not say */
	HOSTED_RESULT = 10000,
	ADVISOR_USES = 5,
	COMPACTION_OUTPUT = 8192,
};

/* And 2 %: a count of the provider's own is near, not exact.  Anthropic calls its own an
 * estimate that may differ a little; Gemini's leaves out a token or two of each prompt.
 */
enum { COUNTED_SLACK = 256 };

struct binding {
	const struct call *call;
	const struct bound_input *in;
	uint64_t uses; /* of hosted tools */
	wide times;    /* both multipliers */
};

static uint64_t
hosted_uses(const struct call *c)
{
	uint64_t n = 0;

	for (const struct hosted *h = c->hosted; h != NULL; h = h->next)
		if (!h->is_stripped && !h->is_media)
			n += h->uses != 0 ? h->uses : HOSTED_USES;
	return c->tool_calls_max != 0 && n > c->tool_calls_max ? c->tool_calls_max : n;
}

/* Tokens of one prompt; false: nobody knows, and the model's own limit is not said. */
static bool
prompt_tokens(const struct binding *b, const struct price_facts *f, uint64_t *out)
{
	const struct call *c = b->call;
	uint64_t n = c->text_bytes + TOKENS_CALL + c->messages * TOKENS_MESSAGE +
		     c->blocks * TOKENS_BLOCK + c->tools * TOKENS_TOOL +
		     (c->tools > 0 ? TOKENS_TOOLS : 0) +
		     (c->has_schema ? TOKENS_SCHEMA : 0) +
		     c->images * c->api->image_tokens;
	bool is_open = c->has_document || (c->nreference > 0 && b->in->referred == 0);
	uint64_t counted = b->in->counted;

	if (counted != 0)
		counted += counted / 50 + COUNTED_SLACK;
	if (counted != 0 && (is_open || counted < n)) {
		*out = counted;
		return true;
	}
	n += b->in->referred;
	if (is_open && f->max_input == 0)
		return false;
	*out = is_open && (uint64_t)f->max_input > n ? (uint64_t)f->max_input : n;
	return true;
}

static nano_per_mtok
larger(nano_per_mtok a, nano_per_mtok b)
{
	return a > b ? a : b;
}

static nano_per_mtok
input_rate(const struct call *c, const struct rates *r)
{
	nano_per_mtok most = r->of[RATE_INPUT];

	if (c->may_write_cache)
		most = larger(most, r->of[RATE_WRITE]);
	if (c->may_write_long)
		most = larger(most, r->of[RATE_WRITE_LONG]);
	if (c->has_audio_in)
		most = larger(most, r->of[RATE_AUDIO_IN]);
	return most;
}

static nano_per_mtok
output_rate(const struct call *c, const struct rates *r)
{
	nano_per_mtok most = larger(r->of[RATE_OUTPUT], r->of[RATE_REASONING]);

	return c->has_audio_out ? larger(most, r->of[RATE_AUDIO_OUT]) : most;
}

static usd_nano
fee_of(const struct hosted *h, const struct price_facts *f)
{
	return h->fee == FEE_SEARCH        ? f->search_max
	       : h->fee == FEE_FILE_SEARCH ? f->file_search
					   : 0;
}

/* False: a search is offered and its fee is not said, or no sum fits. */
static bool
add_fees(const struct binding *b, const struct price_facts *f, wide *sum)
{
	for (const struct hosted *h = b->call->hosted; h != NULL; h = h->next) {
		uint64_t uses = h->uses != 0 ? h->uses : HOSTED_USES;
		wide fee = (wide)fee_of(h, f) * SCALE_USD;

		if (h->is_stripped || h->fee == FEE_NONE)
			continue;
		if (h->fee == FEE_SEARCH && !f->has_search_fee)
			return false;
		if (h->fee == FEE_SEARCH && f->per_prompt)
			uses = 1;
		if (!wide_mul(&fee, uses) || !wide_add(sum, fee))
			return false;
	}
	return true;
}

static bool
add_tokens(wide *sum, uint64_t tokens, uint64_t more, wide rate)
{
	wide product = rate;

	return wide_mul(&product, tokens) && wide_mul(&product, more) &&
	       wide_add(sum, product);
}

/* The highest limit that means anything for this model; false: there is none. */
static bool
output_limit(const struct call *c, const struct price_facts *f, uint64_t *out)
{
	if (f->is_embedding) {
		*out = 0;
		return true;
	}
	if (f->max_output == 0 && !c->has_limit)
		return false;
	*out = f->max_output == 0 || (c->has_limit && c->limit < (uint64_t)f->max_output)
		   ? c->limit
		   : (uint64_t)f->max_output;
	return true;
}

/* An advisor reads the conversation, and what the main model has said by then. */
static bool
bind_advisor(const struct binding *b, const struct named *m, struct bound_run *run,
    uint64_t prompt, wide in_rate, wide out_rate)
{
	const struct price_facts *f = price_facts(run->price);
	uint64_t uses = m->uses != 0 ? m->uses : ADVISOR_USES;
	uint64_t output = m->limit != 0 ? m->limit : (uint64_t)f->max_output;

	run->limit = UINT64_MAX;
	run->per_token = in_rate;
	return output != 0 && wide_mul(&run->per_token, uses) &&
	       wide_mul(&run->per_token, b->call->answers) &&
	       add_tokens(&run->fixed, prompt, uses, in_rate) &&
	       add_tokens(&run->fixed, output, uses, out_rate);
}

static bool
bind_model(const struct binding *b, struct bound_run *run, uint64_t prompt, wide in_rate,
    wide out_rate)
{
	const struct call *c = b->call;

	run->per_token = out_rate;
	if (!wide_mul(&run->per_token, c->answers) ||
	    !add_tokens(&run->fixed, prompt, 1 + b->uses + c->compacts, in_rate) ||
	    !add_tokens(&run->fixed, HOSTED_RESULT, b->uses, in_rate) ||
	    !add_tokens(&run->fixed, COMPACTION_OUTPUT, c->compacts, out_rate))
		return false;
	return !c->thinking_is_extra ||
	       add_tokens(&run->fixed, c->thinking, c->answers, out_rate);
}

static enum bound_error
bind_run(const struct binding *b, const struct named *m, struct bound_run *run)
{
	const struct price_facts *f;
	uint64_t prompt;

	run->role = m->role;
	run->price = prices_find(b->in->prices, m->name, b->in->day);
	if (run->price == NULL)
		return BOUND_UNPRICED;
	f = price_facts(run->price);
	if (!prompt_tokens(b, f, &prompt) || !output_limit(b->call, f, &run->limit))
		return BOUND_ENDLESS;
	/* hosted tools and the answer itself make the next prompt longer */
	uint64_t longest = prompt + b->uses * HOSTED_RESULT;

	if (b->uses > 0 || m->role == NAMED_ADVISOR)
		longest += run->limit;
	if (longest > (uint64_t)USAGE_TOKENS_MAX)
		return BOUND_TOO_LARGE;
	struct rates r = price_dearest(run->price, (int64_t)longest, b->call->tier);
	wide in_rate = (wide)input_rate(b->call, &r) * b->times;
	wide out_rate = (wide)output_rate(b->call, &r) * b->times;

	if (m->role == NAMED_ADVISOR)
		return bind_advisor(b, m, run, prompt, in_rate, out_rate) ? BOUND_OK
									  : BOUND_ENDLESS;
	if (!add_fees(b, f, &run->fixed))
		return BOUND_UNPRICED;
	return bind_model(b, run, prompt, in_rate, out_rate) ? BOUND_OK : BOUND_TOO_LARGE;
}

/* Of the dearest model that may answer: its word on speed and place covers the call. */
static wide
multiplier(const struct call *c, const struct bound_input *in)
{
	int64_t fast = MULTIPLIER_ONE, place = MULTIPLIER_ONE;

	for (size_t i = 0; i < c->nmodel; i++) {
		const struct price *p =
		    prices_find(in->prices, c->model[i].name, in->day);
		const struct price_facts *f = p != NULL ? price_facts(p) : NULL;

		if (f != NULL && c->is_fast)
			fast = larger(fast, f->fast);
		if (f != NULL && (c->regions & 1u << REGION_US) != 0)
			place = larger(place, f->us);
		if (f != NULL && (c->regions & 1u << REGION_EU) != 0)
			place = larger(place, f->eu);
	}
	return (wide)fast * (wide)place;
}

static void
set_limits(struct bound *b, const struct call *c, const struct bound_input *in)
{
	for (size_t i = 0; i < b->nrun; i++)
		if (b->run[i].role != NAMED_ADVISOR && b->run[i].limit > b->limit)
			b->limit = b->run[i].limit;
	b->least = in->floor != 0 ? in->floor : BOUND_FLOOR;
	if (c->thinking != 0 && !c->thinking_is_extra)
		b->least += c->thinking;
	if (b->least > b->limit)
		b->least = b->limit;
	b->can_clamp = b->limit > 0 && (c->nlimit > 0 || c->limit_hole.before != NULL);
}

enum bound_error
bound_call(struct bound *b, const struct call *c, const struct bound_input *in,
    struct str *which)
{
	struct binding binding = { c, in, hosted_uses(c), multiplier(c, in) };

	*b = (struct bound){ .nrun = 0 };
	if (c->draws) {
		*which = c->nmodel > 0 ? c->model[0].name : STR_NONE;
		return BOUND_UNPRICED;
	}
	for (size_t i = 0; i < c->nmodel; i++) {
		enum bound_error error = BOUND_OK;

		if (!named_runs(&c->model[i]))
			continue;
		error = bind_run(&binding, &c->model[i], &b->run[b->nrun]);
		if (error != BOUND_OK) {
			*which = c->model[i].name;
			return error;
		}
		b->nrun++;
	}
	set_limits(b, c, in);
	if (b->nrun > 0)
		prompt_tokens(&binding, price_facts(b->run[0].price), &b->input);
	return bound_hold(b, b->limit, &b->want) ? BOUND_OK : BOUND_TOO_LARGE;
}

/* --- money for a limit, and a limit for money --- */

static bool
run_hold(const struct bound_run *r, uint64_t limit, wide *sum)
{
	wide output = r->per_token;

	return wide_mul(&output, limit < r->limit ? limit : r->limit) &&
	       wide_add(sum, output) && wide_add(sum, r->fixed);
}

/* All that may be billed together; beside it `instead`, for the main one. */
static bool
hold_with(
    const struct bound *b, const struct bound_run *instead, uint64_t limit, wide *sum)
{
	*sum = 0;
	for (size_t i = 0; i < b->nrun; i++) {
		const struct bound_run *r = &b->run[i];
		bool is_in = r->role == NAMED_INSTEAD
				 ? r == instead
				 : r->role != NAMED_MAIN || instead == NULL;

		if (is_in && !run_hold(r, limit, sum))
			return false;
	}
	return true;
}

bool
bound_hold(const struct bound *b, uint64_t limit, usd_nano *out)
{
	wide most, sum;

	if (!hold_with(b, NULL, limit, &most))
		return false;
	for (size_t i = 0; i < b->nrun; i++) {
		if (b->run[i].role != NAMED_INSTEAD)
			continue;
		if (!hold_with(b, &b->run[i], limit, &sum))
			return false;
		if (sum > most)
			most = sum;
	}
	return wide_usd(most, SCALE_USD, out);
}

uint64_t
bound_limit(const struct bound *b, usd_nano granted)
{
	uint64_t low = 0, high = b->limit;
	usd_nano hold;

	while (low < high) { /* the highest that fits lies in low..high */
		uint64_t middle = high - (high - low) / 2;

		if (bound_hold(b, middle, &hold) && hold <= granted)
			low = middle;
		else
			high = middle - 1;
	}
	return bound_hold(b, low, &hold) && hold <= granted ? low : 0;
}

bool
bound_floor(const struct bound *b, usd_nano *out)
{
	return bound_hold(b, b->can_clamp ? b->least : b->limit, out);
}

void
bound_clamp(struct bound *b, uint64_t to)
{
	assert(to <= b->limit);
	b->limit = to;
	if (b->least > to)
		b->least = to;
	if (!bound_hold(b, to, &b->want)) /* it held more a moment ago */
		assert(false);
}
