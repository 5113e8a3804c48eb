#include "meter/price.h"

#include <assert.h>
#include <stdlib.h>

#include "base/glob.h"
#include "meter/price_table.h"

void
prices_free(struct prices *p)
{
	if (p == NULL)
		return;
	map_fini(&p->entry, NULL);
	map_fini(&p->alias, NULL);
	arena_fini(&p->arena);
	free(p);
}

const char *
prices_digest(const struct prices *p)
{
	return p->digest;
}

yyyymmdd
prices_date(const struct prices *p)
{
	return p->date;
}

size_t
prices_count(const struct prices *p)
{
	return p->entry.n;
}

bool
prices_next_unpriced(const struct prices *p, size_t *at, struct str *model)
{
	void *value;

	while (map_next(&p->entry, at, model, &value)) {
		const struct price *entry = value;
		if (entry->base.rate[TIER_STANDARD][RATE_OUTPUT] < 0)
			return true;
	}
	return false;
}

const struct price_facts *
price_facts(const struct price *p)
{
	return &p->facts;
}

static const struct price *
lookup(const struct prices *p, struct str model)
{
	const struct price *found = map_get(&p->entry, model);

	if (found == NULL)
		found = map_get(&p->alias, model);
	for (size_t i = 0; found == NULL && i < p->npattern; i++)
		if (glob_fits(p->pattern[i].pattern, model))
			found = p->pattern[i].price;
	return found;
}

const struct price *
prices_find(const struct prices *p, struct str model, yyyymmdd day)
{
	const struct price *found = lookup(p, model);

	while (found != NULL && found->next != NULL && day >= found->next->from)
		found = found->next;
	if (found == NULL || found->is_uncounted ||
	    (found->until != 0 && day > found->until))
		return NULL;
	const nano_per_mtok *said = found->base.rate[TIER_STANDARD];

	return said[RATE_INPUT] < 0 || said[RATE_OUTPUT] < 0 ? NULL : found;
}

/* --- rates --- */

static nano_per_mtok
capped(wide n)
{
	return n > (wide)INT64_MAX ? INT64_MAX : (nano_per_mtok)n;
}

static nano_per_mtok
times(nano_per_mtok rate, unsigned by)
{
	return capped((wide)rate * by);
}

/* A dear tier that has no price of its own is never cheaper than what it multiplies. */
static const unsigned tier_multiple[TIER_N] = {
	[TIER_STANDARD] = 1,
	[TIER_PRIORITY] = 2,
	[TIER_FLEX] = 1,
	[TIER_BATCH] = 1,
	[TIER_ULTRAFAST] = 6,
};

/*
 * The rate of one kind over the first n thresholds; -1: not said.  A threshold that
 * says nothing of this kind leaves it at the one below.
 */
static nano_per_mtok
said_rate(const struct price *p, size_t n, enum tier tier, enum rate_kind kind)
{
	for (size_t i = n; i > 0; i--)
		if (p->longer[i - 1].set.rate[tier][kind] >= 0)
			return p->longer[i - 1].set.rate[tier][kind];
	return p->base.rate[tier][kind];
}

static bool
is_said_long(const struct price *p, size_t n, enum tier tier, enum rate_kind kind)
{
	for (size_t i = 0; i < n; i++)
		if (p->longer[i].set.rate[tier][kind] >= 0)
			return true;
	return false;
}

static nano_per_mtok
rate_of(const struct price *p, size_t n, enum tier tier, enum rate_kind kind)
{
	nano_per_mtok base = p->base.rate[TIER_STANDARD][kind];
	nano_per_mtok longer = said_rate(p, n, TIER_STANDARD, kind);
	nano_per_mtok tiered = said_rate(p, n, tier, kind);

	if (tier == TIER_STANDARD || is_said_long(p, n, tier, kind))
		return tiered;
	if (tiered < 0)
		return longer < 0 ? -1 : times(longer, tier_multiple[tier]);
	if (base <= 0) /* nothing to grow with */
		return tiered;
	return capped(((wide)tiered * (wide)longer + (wide)base - 1) / (wide)base);
}

static nano_per_mtok
larger(nano_per_mtok a, nano_per_mtok b)
{
	return a > b ? a : b;
}

/* What costs what, where the table does not say. */
static void
fill(struct rates *r)
{
	nano_per_mtok *of = r->of;

	if (of[RATE_READ] < 0)
		of[RATE_READ] = of[RATE_INPUT];
	if (of[RATE_WRITE] < 0)
		of[RATE_WRITE] = of[RATE_INPUT];
	if (of[RATE_WRITE_LONG] < 0)
		of[RATE_WRITE_LONG] = larger(of[RATE_WRITE], of[RATE_INPUT]);
	if (of[RATE_AUDIO_IN] < 0)
		of[RATE_AUDIO_IN] = of[RATE_INPUT];
	if (of[RATE_AUDIO_OUT] < 0)
		of[RATE_AUDIO_OUT] = of[RATE_OUTPUT];
	if (of[RATE_REASONING] < 0)
		of[RATE_REASONING] = of[RATE_OUTPUT];
}

static struct rates
rates_over(const struct price *p, size_t n, enum tier tier)
{
	struct rates r;

	for (size_t kind = 0; kind < RATE_N; kind++)
		r.of[kind] = rate_of(p, n, tier, (enum rate_kind)kind);
	assert(r.of[RATE_INPUT] >= 0 &&
	       r.of[RATE_OUTPUT] >= 0); /* prices_find() saw to it */
	fill(&r);
	return r;
}

/* How many thresholds a prompt of that size is over. */
static size_t
thresholds(const struct price *p, int64_t prompt)
{
	size_t n = 0;

	while (n < p->nlong && prompt > p->longer[n].over)
		n++;
	return n;
}

struct rates
price_rates(const struct price *p, int64_t prompt, enum tier tier)
{
	return rates_over(p, thresholds(p, prompt), tier);
}

struct rates
price_dearest(const struct price *p, int64_t prompt, enum tier tier)
{
	struct rates most = rates_over(p, 0, tier);

	for (size_t n = thresholds(p, prompt); n > 0; n--) {
		struct rates r = rates_over(p, n, tier);

		for (size_t kind = 0; kind < RATE_N; kind++)
			most.of[kind] = larger(most.of[kind], r.of[kind]);
	}
	return most;
}
