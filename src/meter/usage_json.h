/*
 * usage_json.h - what a call used, as the ledger keeps it, and back again
 *
 * One JSON object with all that is needed to compute the cost again: the runs, whole and
 * in order, and the day whose prices held.  Counts of zero are left out.  Pure.
 */
#ifndef WEIR_METER_USAGE_JSON_H
#define WEIR_METER_USAGE_JSON_H

#include "base/arena.h"
#include "meter/rate.h"

struct usage_kept {
	struct usage usage; /* what follows the money: runs, model, fast, region, reported
			     */
	yyyymmdd day;       /* 0: not said */
	struct str api;     /* the family's name */
	struct str id;      /* the provider's own name of the request; may be empty */
};

void usage_print(struct buf *to, const struct usage_kept *k);
/* Texts are the arena's.  NULL, or why it is none (static). */
const char *usage_parse(struct usage_kept *out, struct str json, struct arena *a);

#endif
