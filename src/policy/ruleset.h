/*
 * ruleset.h - the layers of compiled rules that requests are matched against
 *
 * Outermost first; each can only narrow the one before.  Immutable once
 * compile.h made it, so any thread may read it.  What a layer looks like inside
 * is for compile and match.
 */
#ifndef WEIR_POLICY_RULESET_H
#define WEIR_POLICY_RULESET_H

#include "policy/index.h"
#include "policy/metered.h"
#include "policy/model.h"

struct layer {
	struct model *model; /* owned: holds the rules */
	struct index allow, deny;
	bool has_address_deny; /* some deny rule names addresses: it must see answers */
	bool has_upload;       /* some allow rule caps what may be sent */
	bool is_claim;         /* of a session: it refuses, but decides nothing else */
};

/* Takes the model and indexes its rules. */
struct layer *layer_new(struct model *m);
void layer_free(struct layer *l);

#define LAYERS_MAX 32

struct ruleset {
	struct layer **layer; /* owned, but where ruleset_narrow() borrowed them */
	size_t nlayer;
	struct metered
	    *metered;    /* hosts no rule opens; owned, but where it was borrowed */
	bool has_upload; /* some layer has; what is narrower has no more */
	struct ruleset_terms terms; /* it was loaded under */
	char digest[65];
};

void ruleset_free(struct ruleset *rs);
/*
 * The same with `n` layers more inside it; it borrows all of them and lives in the
 * arena: never freed.  NULL: no room there.
 */
const struct ruleset *ruleset_narrow(const struct ruleset *outer,
    struct layer *const *inner, size_t n, struct arena *a) MUST_CHECK;

const char *ruleset_digest(
    const struct ruleset *rs); /* 64 hex digits: SHA-256 over the layers' bytes */
size_t ruleset_layers(const struct ruleset *rs);
size_t ruleset_rules(const struct ruleset *rs);
size_t ruleset_expectations(const struct ruleset *rs);
const char *ruleset_layer_name(const struct ruleset *rs, size_t layer);

const char *rule_name(const struct rule *r);  /* its name, or "allow[3]" */
const char *rule_place(const struct rule *r); /* "FILE:LINE name" */

#endif
