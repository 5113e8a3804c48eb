/*
 * review.h - the production checklist, for `weir check --review`
 *
 * Each line is something that should be so before strangers' code runs behind this weir:
 * yes or no where the configuration says it, and "not shown" where only the running
 * system can, with the command that shows it.
 */
#ifndef WEIR_CMD_REVIEW_H
#define WEIR_CMD_REVIEW_H

#include "conf/settings.h"
#include "policy/ruleset.h"

struct review {
	size_t nreporting, nuntested; /* policies */
	size_t ndangers;              /* of danger.h */
};

void review_rules(struct review *r, const struct ruleset *rs);
/* Prints it on standard output; how many lines say no. */
size_t review_print(const struct review *r, const struct settings *s, bool is_json);

#endif
