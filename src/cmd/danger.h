/*
 * danger.h - every switch that loosens, for `weir check --danger`
 *
 * A list for whoever answers for a configuration: each thing in it that lets through
 * more, records less or judges less than weir would by itself, with its place and with
 * what that means.  That it is in the list does not make it wrong.
 */
#ifndef WEIR_CMD_DANGER_H
#define WEIR_CMD_DANGER_H

#include "conf/settings.h"
#include "policy/ruleset.h"

struct dangers {
	struct buf out;
	size_t n;
	bool is_json;
};

void danger_begin(struct dangers *d, bool is_json);
void danger_settings(struct dangers *d, const struct settings *s);
void danger_rules(struct dangers *d, const struct ruleset *rs);
/* What was found is printed on standard output. */
void danger_end(struct dangers *d);

#endif
