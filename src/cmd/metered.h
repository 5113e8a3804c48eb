/*
 * metered.h - one recorded model call through the meter
 *
 * The same code that guards the live path, on bytes from a file: what the call cost,
 * or why it may not run.  No clock, no socket; the purses are what the record says.
 */
#ifndef WEIR_CMD_METERED_H
#define WEIR_CMD_METERED_H

#include "meter/api.h"
#include "meter/bound.h"
#include "meter/cost.h"
#include "meter/refusal.h"
#include "policy/verdict.h"

#define PURSES 6

/* A scope's money, innermost first, as ledger/scope.h has it. */
struct purse {
	enum purse_of { OF_TURN, OF_SESSION, OF_TENANT } of;
	usd_nano cap, spent, reserved;
};

struct recorded {
	struct model_request request;
	const struct api *family; /* when kind and path tell none; may be NULL */
	struct str model;         /* from a path of such a family */

	bool has_response;
	struct http_head response;
	const struct str *piece; /* its body as it came, content coding and all */
	size_t npiece;
};

struct terms {
	const struct prices *prices;
	yyyymmdd day;
	bool trusts_reported;
	enum { TERMS_STRIP, TERMS_REFUSE, TERMS_ALLOW } hosted;
	bool limits_models;
	const struct str *model;
	size_t nmodel;

	bool is_strict;
	uint64_t floor; /* tokens; 0: as the settings have it */
	int64_t share_ppm;
	struct purse purse[PURSES];
	size_t npurse;
	bool has_hold; /* it is given, not computed */
	usd_nano hold;
	uint64_t parallel; /* how many such calls come at once; 0: one */
};

enum metered_action {
	METERED_DENY,
	METERED_SETTLE,
	METERED_ALLOW,
	METERED_HOLD,  /* goes on in the background */
	METERED_MIXED, /* some of those that came at once */
};

enum metered_flag {
	METERED_ESTIMATED = 1,
	METERED_REPORTED_ZERO = 2,
	METERED_REPORTED_OFF = 4,
	METERED_OVER_HOLD = 8,
	METERED_ABSURD = 16,
	METERED_UNPRICED = 32, /* the model that answered has no price */
};

struct metered {
	enum metered_action action;
	struct call call;
	enum shape shape;

	enum reason reason; /* of DENY */
	int status;
	struct str tool; /* that may not run */
	bool is_in_flight;

	bool has_reserve, is_clamped;
	usd_nano reserve;
	uint64_t limit, asked;
	uint64_t admitted;

	struct run tokens;
	usd_nano cost;
	enum basis basis;
	unsigned flags;
};

/* Memory of `m` is the arena's. */
void metered(
    struct metered *m, const struct recorded *r, const struct terms *t, struct arena *a);
/* What the scopes have left afterwards pays for no other call. */
bool metered_is_spent(const struct metered *m, const struct terms *t);
const char *shape_name(enum shape s);
const char *basis_name(enum basis b);

#endif
