/*
 * expect.h - a policy's own tests, run at every load
 *
 * Each layer is asked alone, by the code that explains and guards; nothing is
 * looked up.  What fails is an error in the report: a policy that fails its own
 * tests is not loaded.
 */
#ifndef WEIR_POLICY_EXPECT_H
#define WEIR_POLICY_EXPECT_H

#include "policy/ruleset.h"

void expect_run(
    const struct ruleset *rs, size_t layer, const struct tree *t, struct report *rep);

#endif
