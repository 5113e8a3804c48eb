/*
 * rules.h - redact.rules: secrets that only the operator knows the look of
 *
 * A literal that each of them begins with and a pattern, tried where the literal stands,
 * on a bounded window and under a match limit: a rule is refused at load when it could
 * cost more, when it has no literal, or when it is not true of its own examples.  What
 * escapes say is looked at as well; and redact.cards, numbers of cards.  Immutable once
 * loaded; any thread.
 *
 * Codes of findings: rule_name rule_pattern rule_unbounded rule_forbidden rule_literal
 * rule_group rule_example rule_counterexample rule_slow
 */
#ifndef WEIR_AUDIT_RULES_H
#define WEIR_AUDIT_RULES_H

#include "audit/span.h"
#include "conf/settings.h"

struct rules;

/* Never NULL: what is wrong is reported and left out. */
struct rules *rules_load(const struct settings *s, struct report *rep);
void rules_free(struct rules *r);

/* Adds a span for each; what cannot be judged is one of kind "doubt".  r may be NULL. */
void rules_find(
    const struct rules *r, bool is_json, struct str text, struct spans *spans);

#endif
