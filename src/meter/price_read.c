/*
 * price_read.c - a price file -> a table
 *
 * Lists that circulate have many keys that weir has no use for: those are passed over.
 * A key that prices tokens in a way weir cannot count makes its entry unpriced.
 */
#include <assert.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "conf/tree.h"
#include "meter/price.h"
#include "meter/price_table.h"

#define ARENA_MAX \
	((size_t)1 << 30) /* of a 16 MiB file; only a bound on our own mistakes */
#define RATE_PLACES 15    /* USD for a token -> n$ for a million tokens */
#define RATE_MAX ((int64_t)1000000000000000) /* 1 USD for a token */
#define MULTIPLIER_MAX (1000 * MULTIPLIER_ONE)
#define LONG_PROMPT 200000 /* whoever takes more is dearer beyond it, as a rule */

struct loading {
	struct prices *p;
	const struct tree *t;
	struct report *rep;
};

static void *
room(struct loading *l, size_t n, size_t size)
{
	void *p = arena_zalloc(&l->p->arena, n * size);

	assert(p != NULL);
	return p;
}

/* --- numbers and dates --- */

/* A number scaled by 10^places that is at most `max`, exactly. */
static bool
read_scaled(
    struct loading *l, const struct node *n, unsigned places, int64_t max, int64_t *out)
{
	bool has_more;
	wide number;

	if (n->type != NODE_SCALAR || n->is_quoted ||
	    !decimal_read(n->text, places, &number, &has_more)) {
		if (!n->is_broken)
			node_error(l->t, n, l->rep, "bad_price", NULL,
			    "a number that is not negative must stand here");
		return false;
	}
	if (has_more || number > (wide)max) {
		node_error(l->t, n, l->rep, "bad_price", NULL,
		    has_more ? "the number is finer than weir counts"
			     : "the number is too large to be a price");
		return false;
	}
	*out = (int64_t)number;
	return true;
}

static bool
read_usd(struct loading *l, const struct node *n, usd_nano *out)
{
	return read_scaled(l, n, 9, USD_NANO * 1000, out);
}

yyyymmdd
day_read(struct str text)
{
	static const struct {
		size_t at, end;
		uint64_t least, most;
	} part[] = { { 0, 4, 1970, 9999 }, { 5, 7, 1, 12 }, { 8, 10, 1, 31 } };
	yyyymmdd day = 0;

	if (text.n != 10 || text.p[4] != '-' || text.p[7] != '-')
		return 0;
	for (size_t i = 0; i < sizeof(part) / sizeof(part[0]); i++) {
		uint64_t n = 0;

		for (size_t at = part[i].at; at < part[i].end; at++) {
			if (!ascii_is_digit(text.p[at]))
				return 0;
			n = n * 10 + (uint64_t)(text.p[at] - '0');
		}
		if (n < part[i].least || n > part[i].most)
			return 0;
		day = day * 100 + (yyyymmdd)n;
	}
	return day;
}

static bool
read_date(struct loading *l, const struct node *n, yyyymmdd *out)
{
	struct str s;

	if (!node_str(l->t, n, l->rep, &s))
		return false;
	if ((*out = day_read(s)) != 0)
		return true;
	node_error(
	    l->t, n, l->rep, "bad_date", "write it as 2027-01-31", "this is no date");
	return false;
}

/* --- one rate key: base name, then tier and threshold in either order --- */

struct rate_key {
	enum rate_kind kind;
	enum tier tier;
	int64_t over; /* 0: no threshold */
};

static const struct {
	const char *name;
	enum rate_kind kind;
} rate_names[] = {
	{ "input_cost_per_token", RATE_INPUT },
	{ "output_cost_per_token", RATE_OUTPUT },
	{ "cache_read_input_token_cost", RATE_READ },
	/* before the name that it begins with */
	{ "cache_creation_input_token_cost_above_1hr", RATE_WRITE_LONG },
	{ "cache_creation_input_token_cost", RATE_WRITE },
	{ "input_cost_per_audio_token", RATE_AUDIO_IN },
	{ "output_cost_per_audio_token", RATE_AUDIO_OUT },
	{ "output_cost_per_reasoning_token", RATE_REASONING },
};

static const struct {
	const char *suffix;
	enum tier tier;
} tier_names[] = {
	{ "_priority", TIER_PRIORITY },
	{ "_flex", TIER_FLEX },
	{ "_batches", TIER_BATCH },
	{ "_ultrafast", TIER_ULTRAFAST },
};

static bool
take(struct str *s, const char *prefix)
{
	if (!str_starts(*s, str_of(prefix)))
		return false;
	*s = str_sub(*s, strlen(prefix), s->n);
	return true;
}

static bool
take_tier(struct str *s, enum tier *tier)
{
	for (size_t i = 0; i < sizeof(tier_names) / sizeof(tier_names[0]); i++)
		if (*tier == TIER_STANDARD && take(s, tier_names[i].suffix)) {
			*tier = tier_names[i].tier;
			return true;
		}
	return false;
}

/* "_above_272k_tokens" */
static bool
take_threshold(struct str *s, int64_t *over)
{
	struct str rest = *s;
	uint64_t thousands;
	size_t k;

	if (*over != 0 || !take(&rest, "_above_") || !str_find(rest, 'k', &k) ||
	    !str_decimal(str_sub(rest, 0, k), &thousands) || thousands == 0 ||
	    thousands > 1000000)
		return false;
	rest = str_sub(rest, k, rest.n);
	if (!take(&rest, "k_tokens"))
		return false;
	*over = (int64_t)thousands * 1000;
	*s = rest;
	return true;
}

static bool
rate_key(struct str key, struct rate_key *out)
{
	for (size_t i = 0; i < sizeof(rate_names) / sizeof(rate_names[0]); i++) {
		struct str rest = key;

		if (!take(&rest, rate_names[i].name))
			continue;
		*out = (struct rate_key){ .kind = rate_names[i].kind };
		while (take_tier(&rest, &out->tier) || take_threshold(&rest, &out->over))
			;
		return rest.n == 0;
	}
	return false;
}

/* --- one entry --- */

static void
set_unsaid(struct price_set *s)
{
	for (size_t tier = 0; tier < TIER_N; tier++)
		for (size_t kind = 0; kind < RATE_N; kind++)
			s->rate[tier][kind] = -1;
}

/* The threshold's rates, made when they are not there; NULL: too many thresholds. */
static struct price_set *
set_over(struct price *e, int64_t over)
{
	size_t i = 0;

	while (i < e->nlong && e->longer[i].over < over)
		i++;
	if (i < e->nlong && e->longer[i].over == over)
		return &e->longer[i].set;
	if (e->nlong == PRICE_LONGS)
		return NULL;
	memmove(&e->longer[i + 1], &e->longer[i], (e->nlong - i) * sizeof(e->longer[0]));
	e->nlong++;
	e->longer[i].over = over;
	set_unsaid(&e->longer[i].set);
	return &e->longer[i].set;
}

static void
read_rate(struct loading *l, const struct node *n, const struct rate_key *key,
    bool includes_threshold, struct price *e)
{
	int64_t over = key->over - (key->over != 0 && includes_threshold);
	struct price_set *set = over != 0 ? set_over(e, over) : &e->base;
	int64_t rate;

	if (set == NULL)
		node_key_error(l->t, n, l->rep, "bad_price", NULL,
		    "an entry has %d thresholds at most", PRICE_LONGS);
	else if (read_scaled(l, n, RATE_PLACES, RATE_MAX, &rate))
		set->rate[key->tier][key->kind] = rate;
}

static void
read_search(struct loading *l, const struct node *n, void *to)
{
	struct price_facts *f = to;

	if (!node_is(l->t, n, l->rep, NODE_BLOCK))
		return;
	for (const struct node *size = n->child; size != NULL; size = size->next) {
		usd_nano fee;

		if (!read_usd(l, size, &fee))
			continue;
		if (str_eq(size->key, STR("search_context_size_medium"))) {
			f->search = fee;
			f->has_search_fee = true;
		}
		if (fee > f->search_max)
			f->search_max = fee;
	}
}

static void
read_multipliers(struct loading *l, const struct node *n, void *to)
{
	struct price_facts *f = to;
	const struct {
		const char *key;
		int64_t *out;
	} known[] = { { "fast", &f->fast }, { "us", &f->us }, { "eu", &f->eu } };

	if (!node_is(l->t, n, l->rep, NODE_BLOCK))
		return;
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		const struct node *m = node_get(n, known[i].key);

		if (m != NULL)
			read_scaled(l, m, 6, MULTIPLIER_MAX, known[i].out);
	}
}

static void
read_multiplier(struct loading *l, const struct node *n, void *to)
{
	read_scaled(l, n, 6, MULTIPLIER_MAX, to);
}

static void
read_limit(struct loading *l, const struct node *n, void *to)
{
	if (!node_is_null(n))
		read_scaled(l, n, 0, USAGE_TOKENS_MAX, to);
}

static void
read_fee(struct loading *l, const struct node *n, void *to)
{
	read_usd(l, n, to);
}

static void
read_unit(struct loading *l, const struct node *n, void *to)
{
	bool *per_prompt = to;
	struct str s;

	if (!node_str(l->t, n, l->rep, &s))
		return;
	*per_prompt = str_eq(s, STR("prompt"));
	if (!*per_prompt && !str_eq(s, STR("query")))
		node_error(l->t, n, l->rep, "bad_price", "prompt, or query",
		    "searches are counted by prompt or by query");
}

static void
read_until(struct loading *l, const struct node *n, void *to)
{
	read_date(l, n, to);
}

/* Modes whose bill is tokens; what makes images or speech costs by other units. */
static void
read_mode(struct loading *l, const struct node *n, void *to)
{
	static const char *const counted[] = { "chat", "completion", "responses",
		"embedding" };
	struct price *e = to;
	struct str s;
	bool is_counted = false;

	if (!node_str(l->t, n, l->rep, &s))
		return;
	for (size_t i = 0; i < sizeof(counted) / sizeof(counted[0]); i++)
		is_counted = is_counted || str_eq(s, str_of(counted[i]));
	e->facts.is_embedding = str_eq(s, STR("embedding"));
	if (!is_counted)
		e->is_uncounted = true;
}

/* A price by a way of counting that weir does not know. */
static void
read_uncounted(struct loading *l, const struct node *n, void *to)
{
	struct price *e = to;

	if (node_is_null(n))
		return;
	e->is_uncounted = true;
	node_warn(l->t, n, l->rep, "bad_price", NULL,
	    "weir cannot count by this: the model is unpriced");
}

static const struct {
	const char *key;
	void (*read)(struct loading *l, const struct node *n, void *to);
	size_t offset;
} fact_keys[] = {
	{ "mode", read_mode, 0 },
	{ "max_input_tokens", read_limit, offsetof(struct price, facts.max_input) },
	{ "max_output_tokens", read_limit, offsetof(struct price, facts.max_output) },
	{ "max_tokens", read_limit, offsetof(struct price, max_tokens) },
	{ "search_context_cost_per_query", read_search, offsetof(struct price, facts) },
	{ "provider_specific_entry", read_multipliers, offsetof(struct price, facts) },
	{ "regional_processing_uplift_multiplier_us", read_multiplier,
	    offsetof(struct price, facts.us) },
	{ "regional_processing_uplift_multiplier_eu", read_multiplier,
	    offsetof(struct price, facts.eu) },
	{ "weir_file_search_cost_per_call", read_fee,
	    offsetof(struct price, facts.file_search) },
	/* for one call, whatever its name says */
	{ "file_search_cost_per_1k_calls", read_fee,
	    offsetof(struct price, facts.file_search) },
	{ "weir_search_unit", read_unit, offsetof(struct price, facts.per_prompt) },
	{ "weir_effective_until", read_until, offsetof(struct price, until) },
	{ "tiered_pricing", read_uncounted, 0 },
	{ "input_cost_per_request", read_uncounted, 0 },
};

static struct str
keep(struct loading *l, struct str s)
{
	struct str copy = arena_str(&l->p->arena, s);

	assert(copy.p != NULL);
	return copy;
}

static bool
read_fact(struct loading *l, const struct node *n, struct price *e)
{
	for (size_t i = 0; i < sizeof(fact_keys) / sizeof(fact_keys[0]); i++)
		if (str_eq(n->key, str_of(fact_keys[i].key))) {
			fact_keys[i].read(l, n, (char *)e + fact_keys[i].offset);
			return true;
		}
	return false;
}

static void
read_keys(struct loading *l, const struct node *block, struct price *e)
{
	const struct node *provider = node_get(block, "litellm_provider");
	/* its thresholds begin with the number itself, the others' behind it */
	bool includes = provider != NULL && provider->type == NODE_SCALAR &&
			str_eq(provider->text, STR("xai"));

	if (provider != NULL && provider->type == NODE_SCALAR)
		e->provider = keep(l, provider->text);
	for (const struct node *n = block->child; n != NULL; n = n->next) {
		struct rate_key key;

		if (read_fact(l, n, e))
			continue;
		if (rate_key(n->key, &key)) {
			if (!node_is_null(n))
				read_rate(l, n, &key, includes, e);
		} else if (str_starts(n->key, STR("weir_")) &&
			   !str_eq(n->key, STR("weir_next"))) {
			node_key_error(l->t, n, l->rep, "unknown_key", NULL,
			    "weir knows no such key");
		}
	}
}

/* Half of what a long prompt costs said is, as a rule, a key forgotten. */
static void
warn_long(struct loading *l, const struct node *n, const struct price *e)
{
	if (e->nlong == 0 || e->facts.max_input <= LONG_PROMPT)
		return;
	for (size_t i = 0; i < sizeof(rate_names) / sizeof(rate_names[0]); i++) {
		enum rate_kind kind = rate_names[i].kind;

		if (e->base.rate[TIER_STANDARD][kind] >= 0 &&
		    e->longer[e->nlong - 1].set.rate[TIER_STANDARD][kind] < 0)
			node_warn(l->t, n, l->rep, "missing_long_price", NULL,
			    "%s has no price above %lld tokens; it stays as it is below",
			    rate_names[i].name, (long long)e->longer[e->nlong - 1].over);
	}
}

/* What changes on a day that is known; all else stays. */
static void
read_next(struct loading *l, const struct node *block, struct price *e)
{
	const struct node *next = node_get(block, "weir_next");
	const struct node *from;
	struct price *later;

	if (next == NULL || !node_is(l->t, next, l->rep, NODE_BLOCK))
		return;
	if ((from = node_get(next, "from")) == NULL) {
		node_error(l->t, next, l->rep, "bad_date", "add from: 2027-01-31",
		    "from which day on is missing");
		return;
	}
	later = room(l, 1, sizeof(*later));
	*later = *e;
	later->until = 0;
	if (!read_date(l, from, &later->from))
		return;
	read_keys(l, next, later);
	e->next = later;
}

static void
read_entry(struct loading *l, const struct node *n)
{
	struct price *e;

	if (!node_is(l->t, n, l->rep, NODE_BLOCK))
		return;
	e = room(l, 1, sizeof(*e));
	e->facts.model = keep(l, n->key);
	set_unsaid(&e->base);
	read_keys(l, n, e);
	if (e->facts.max_output == 0)
		e->facts.max_output = e->max_tokens;
	warn_long(l, n, e);
	read_next(l, n, e);
	map_put(&l->p->entry, e->facts.model, e);
}

/* --- the table --- */

static void
read_alias(struct loading *l, const struct node *n)
{
	const struct price *target;
	struct str model;
	size_t star;

	if (!node_str(l->t, n, l->rep, &model))
		return;
	if ((target = map_get(&l->p->entry, model)) == NULL) {
		node_error(l->t, n, l->rep, "unknown_model", NULL,
		    "the table has no entry of that name");
		return;
	}
	if (str_find(n->key, '*', &star)) {
		l->p->pattern[l->p->npattern++] =
		    (struct price_alias){ keep(l, n->key), target };
		return;
	}
	if (map_get(&l->p->entry, n->key) != NULL)
		node_key_error(l->t, n, l->rep, "bad_alias", NULL,
		    "the table has an entry of that name, which wins");
	map_put(&l->p->alias, n->key, map_get(&l->p->entry, model));
}

static void
read_aliases(struct loading *l, const struct node *root)
{
	const struct node *aliases = node_get(root, "weir_aliases");

	if (aliases == NULL || !node_is(l->t, aliases, l->rep, NODE_BLOCK))
		return;
	l->p->pattern = room(l, aliases->n + 1, sizeof(*l->p->pattern));
	for (const struct node *n = aliases->child; n != NULL; n = n->next)
		read_alias(l, n);
}

/* "sample_spec" explains the format in lists that circulate; weir_ keys are about all. */
static void
read_table(struct loading *l, const struct node *root)
{
	for (const struct node *n = root->child; n != NULL; n = n->next) {
		if (str_eq(n->key, STR("weir_date")))
			read_date(l, n, &l->p->date);
		else if (str_starts(n->key, STR("weir_")) &&
			 !str_eq(n->key, STR("weir_aliases")))
			node_key_error(l->t, n, l->rep, "unknown_key", NULL,
			    "weir knows no such key");
		else if (!str_eq(n->key, STR("sample_spec")) &&
			 !str_eq(n->key, STR("weir_aliases")))
			read_entry(l, n);
	}
	read_aliases(l, root);
}

static void
take_digest(struct prices *p, struct str text)
{
	unsigned char sum[EVP_MAX_MD_SIZE];
	unsigned int n = 0;
	int ok = EVP_Digest(text.p, text.n, sum, &n, EVP_sha256(), NULL);

	assert(ok == 1 && n * 2 + 1 == PRICES_DIGEST);
	for (unsigned int i = 0; i < n; i++)
		snprintf(p->digest + i * 2, 3, "%02x", sum[i]);
}

static int
read_tree(struct prices **out, struct tree *t, struct report *rep)
{
	size_t errors = rep->errors;
	struct prices *p;

	if (t == NULL)
		return ERR_INVALID;
	p = mem_zalloc(sizeof(*p));
	arena_init(&p->arena, ARENA_MAX);
	map_init(&p->entry);
	map_init(&p->alias);
	take_digest(p, t->source);
	read_table(&(struct loading){ p, t, rep }, t->root);
	tree_free(t);
	if (rep->errors > errors) {
		prices_free(p);
		return ERR_INVALID;
	}
	*out = p;
	return 0;
}

int
prices_load(struct prices **out, const char *path, struct report *rep)
{
	size_t errors = rep->errors;
	struct tree *t = tree_read_file(path, PRICES_MAX, rep);

	if (rep->errors > errors) { /* a tree with faults that reading got past */
		tree_free(t);
		return ERR_INVALID;
	}
	return read_tree(out, t, rep);
}

int
prices_read(struct prices **out, const char *name, struct str text, struct report *rep)
{
	size_t errors = rep->errors;
	struct tree *t = tree_read_text(name, text, rep);

	if (rep->errors > errors) {
		tree_free(t);
		return ERR_INVALID;
	}
	return read_tree(out, t, rep);
}
