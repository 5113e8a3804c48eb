/*
 * usage.h - what one model call used, whatever family said so and in what words
 *
 * A call may run several models (fallbacks, an advisor, compaction); each is a run
 * with its own model and prompt, since prices depend on both.  Plain data.
 */
#ifndef WEIR_METER_USAGE_H
#define WEIR_METER_USAGE_H

#include "base/decimal.h"

#define USAGE_RUNS 32    /* what is beyond is added to a run of the same model */
#define USAGE_OBJECTS 32 /* that one answer makes; what is beyond belongs to nobody */
#define USAGE_MODEL 128  /* of a name; longer ones are cut and so unpriced */
#define USAGE_TOKENS_MAX ((int64_t)1 << 40) /* more is absurd */

/* What a provider keeps, and later calls name. */
enum reference_kind {
	REFERENCE_RESPONSE,
	REFERENCE_ITEM, /* of a response */
	REFERENCE_CONVERSATION,
	REFERENCE_CONTAINER,
	REFERENCE_FILE,
	REFERENCE_CACHED,
	REFERENCE_VECTOR_STORE,
};

enum tier { TIER_STANDARD, TIER_PRIORITY, TIER_FLEX, TIER_BATCH, TIER_ULTRAFAST, TIER_N };

struct run {
	char model[USAGE_MODEL]; /* NUL-terminated; empty: the call's own */
	enum tier tier;
	/* tokens */
	int64_t input_total; /* cache reads and writes, audio: all in it */
	int64_t cache_read, cache_write, cache_write_long, audio_in;
	int64_t output; /* reasoning and audio in it */
	int64_t audio_out, reasoning;
	/* fees */
	int64_t
	    searches; /* distinct queries; the price says if they count or the prompt */
	int64_t file_searches;
};

struct usage {
	struct run run[USAGE_RUNS];
	size_t nrun;
	char model[USAGE_MODEL]; /* that answered, by its own words; decides `is_fast`,
				    `region` */
	bool is_fast;            /* speed: fast */
	enum region { REGION_NONE, REGION_US, REGION_EU } region;

	/*
	 * What the figures are worth.  NOTHING: the answer said nothing of usage.
	 * PARTLY: it began to, and its end is missing: input may be exact, output is a
	 * running total.  ALL: the provider's last word.  LATER: a background call, the
	 * last word comes with another answer.
	 */
	enum usage_state { USAGE_NOTHING, USAGE_PARTLY, USAGE_ALL, USAGE_LATER } state;
	bool is_absurd; /* negative, beyond USAGE_TOKENS_MAX, no number, parts above the
			   whole */

	/* for estimates */
	uint64_t
	    text_bytes; /* of model output in the answer: text, reasoning, tool input */
	uint64_t text_least; /* the same without its escapes, and nothing twice */
	int64_t announced;   /* the family's own running estimate of hidden output */

	/* a cost in the answer itself (gateways) */
	bool has_reported;
	usd_nano reported;   /* rounded up */
	bool is_cost_absurd; /* it said one that is no amount: negative, no number */

	/* what the provider keeps from now on, for later calls of this session to name */
	struct kept_object {
		enum reference_kind kind;
		char id[USAGE_MODEL];
	} object[USAGE_OBJECTS];
	size_t nobject;
};

struct run *usage_add(
    struct usage *u); /* zeroed; NULL when all are taken: usage_fold() */
/* Adds what r says to a run of the same model and tier. */
void usage_fold(struct usage *u, const struct run *r);
/* Parts (cached, spoken, thought) that are more than what they are parts of. */
bool usage_is_torn(const struct usage *u);
/* Sums over all runs; its model is empty. */
struct run usage_total(const struct usage *u);
/* Notes an object; again is once. */
void usage_keeps(struct usage *u, enum reference_kind kind, struct str id);
void usage_name(char out[static USAGE_MODEL], struct str model);

/* A count as a provider writes it.  False (and u->is_absurd) when it is none. */
bool usage_count(struct usage *u, struct str number, int64_t *out);

#endif
