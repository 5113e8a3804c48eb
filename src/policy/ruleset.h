/*
 * ruleset.h - the layers of compiled rules that requests are matched against
 *
 * Immutable once compile.h made it, so any thread may read it.
 */
#ifndef WEIR_POLICY_RULESET_H
#define WEIR_POLICY_RULESET_H

#include "policy/model.h"

struct ruleset;

void ruleset_free(struct ruleset *rs);

const char *ruleset_digest(
    const struct ruleset *rs); /* 64 hex digits: SHA-256 over the layers' bytes */
size_t ruleset_layers(const struct ruleset *rs);
const char *ruleset_layer_name(const struct ruleset *rs, size_t layer);
bool ruleset_is_report(const struct ruleset *rs); /* some layer reports only */

const char *rule_name(const struct rule *r);  /* its name, or "allow[3]" */
const char *rule_place(const struct rule *r); /* "FILE:LINE name" */

#endif
