/*
 * match.h - ruleset + facts -> verdict; a pure function
 *
 * Two steps, because a CONNECT does not say what will be spoken:
 *   match_admit()   name and port (and what is in sight already) -> may it be
 *                   looked up and dialled at all, and by which protocols;
 *   match_address() the answers against deny rules with addresses and the guard;
 *   match_judge()   with the first bytes read -> the one rule, allow or deny.
 * An exchange that is allowed has passed all three.  Nothing is normalised;
 * the cost does not grow with the number of rules.  Any thread; results that
 * need memory live in the arena, rules live as long as the ruleset.
 */
#ifndef WEIR_POLICY_MATCH_H
#define WEIR_POLICY_MATCH_H

#include "policy/ruleset.h"
#include "policy/verdict.h"

/*
 * False: *v says why (deny).  True: *out is what is left; *v is not yet an allow.
 * `trace` may be NULL.
 */
bool match_admit(const struct ruleset *rs, const struct facts *f, struct arena *a,
    struct admitted *out, struct verdict *v, struct trace *trace) MUST_CHECK;

/*
 * `found` in dial order.  False: *v says why (address_denied, or host_denied by a
 * deny rule with addresses).  True: *out may be dialled.  report mode relaxes none of the
 * guard; where a reporting layer's deny rule is let through, v->would says so.
 */
bool match_address(const struct ruleset *rs, const struct facts *f,
    const struct admitted *in, const struct addr *found, size_t n,
    const struct place *place, struct vetted *out, struct verdict *v,
    struct trace *trace) MUST_CHECK;

/*
 * The last word.  `dialled` is the address in use (NULL: none yet, offline): it
 * must be open under the very rule that decides.  f->protocols has one bit.
 */
void match_judge(const struct ruleset *rs, const struct facts *f, struct arena *a,
    const struct addr *dialled, const struct place *place, struct verdict *v,
    struct trace *trace);

#endif
