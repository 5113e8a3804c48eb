/*
 * price.h - what a model costs
 *
 * A table is a JSON file with the key names of the price lists that circulate
 * (one object for each model, USD for one token) and some of our own that begin with
 * `weir_`.  Rates become integers from their decimal text.  What is not said is never
 * taken for free: see price_rates().
 *
 * Immutable once read, and then good for any thread.
 *
 * Codes of findings: the tree's and node's, and bad_price bad_date bad_alias
 * unknown_model missing_long_price stale_price
 */
#ifndef WEIR_METER_PRICE_H
#define WEIR_METER_PRICE_H

#include "conf/report.h"
#include "meter/rate.h"

#define PRICES_MAX ((size_t)16 << 20)

struct prices;
struct price; /* of one model, at one date */

int prices_load(struct prices **out, const char *path, struct report *rep) MUST_CHECK;
/* `name` is for findings.  NULL in *out when there are errors. */
int prices_read(struct prices **out, const char *name, struct str text,
    struct report *rep) MUST_CHECK;
void prices_free(struct prices *p);

const char *prices_digest(const struct prices *p);
yyyymmdd day_read(struct str text);           /* "2027-01-31"; 0: it is no date */
yyyymmdd prices_date(const struct prices *p); /* `weir_date`; 0 when not said */
size_t prices_count(const struct prices *p);
/* Walk: models whose entry has no price of output, so that they are unpriced.  *at starts
 * at 0; false at the end. */
bool prices_next_unpriced(const struct prices *p, size_t *at, struct str *model);

/*
 * The entry of that name, or of the alias that is exactly that name, or of the first
 * alias pattern it fits.  Nothing else: no prefix, no likeness.  NULL: unpriced, that
 * is no entry, no input or output rate, or none that holds at that day.
 */
const struct price *prices_find(
    const struct prices *p, struct str model, yyyymmdd day) MUST_CHECK;
const struct price_facts *price_facts(const struct price *p);

/*
 * What each token of a prompt of that size costs.  All of them: a prompt over a
 * threshold is dearer as a whole.
 *
 * Not said: reading and writing the cache and audio cost what plain tokens cost, an
 * hour's writing the dearer of writing and input; priority is twice, ultrafast six
 * times the standard rate; flex and batch are standard; a tier's rate grows with the
 * prompt as the standard one does, rounded up.
 */
struct rates price_rates(const struct price *p, int64_t prompt, enum tier tier);
/* The dearest of each over all prompts up to that size. */
struct rates price_dearest(const struct price *p, int64_t prompt, enum tier tier);

#endif
