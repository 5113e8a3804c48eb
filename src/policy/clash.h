/*
 * clash.h - what the rules of a policy say to each other, at load
 *
 * An error: tcp on a host and port where http or https is spoken too.  Warnings:
 * rules that can never win, rules whose methods and paths another undoes, and deny rules
 * that deny more than they name.  Costs one look-up for each label of each pattern, not
 * a comparison of all with all.
 */
#ifndef WEIR_POLICY_CLASH_H
#define WEIR_POLICY_CLASH_H

#include "policy/ruleset.h"

/* opens_tls: requests over https are seen. */
void clash_check(
    const struct tree *t, const struct layer *l, bool opens_tls, struct report *rep);
/* Rules of `inner` whose hosts no rule of `outer` leaves anything of. */
/* Between a layer and each one outside it: one alone says what is injected. */
void clash_check_injects(const struct tree *t, const struct layer *inner,
    const struct layer *outer, struct report *rep);
void clash_check_layers(const struct tree *t, const struct layer *inner,
    const struct layer *outer, struct report *rep);

/* Rules that would open what only the gateway reaches; `m` may be NULL. */
void clash_check_metered(const struct tree *t, const struct layer *l,
    const struct metered *m, struct report *rep);

#endif
