/*
 * advice.h - a refused exchange explained: for developers and for the laptop
 *
 * Asks `explain` about what was just refused, so the words are those of the
 * offline command.  Not on the path of an allowed exchange.
 */
#ifndef WEIR_PROXY_ADVICE_H
#define WEIR_PROXY_ADVICE_H

#include "proxy/exchange.h"
#include "wire/json.h"

/* Members `layer`, `trace` and `fix` of an object that is open (errors: developer). */
void advice_json(struct json_out *j, const struct exchange *x);
/* The smallest rule that would admit it, one line of YAML; empty when none would. */
void advice_rule(struct buf *out, const struct exchange *x);

#endif
