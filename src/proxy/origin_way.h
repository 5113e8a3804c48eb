/*
 * origin_way.h - the way of a request to an origin
 *
 * GREET -> WHO -> DECIDE -> RESOLVE -> DIAL -> JUDGE -> CARRY -> RECORD: nothing is
 * looked up that no rule admits, and nothing sent before all of it is judged.
 */
#ifndef WEIR_PROXY_ORIGIN_WAY_H
#define WEIR_PROXY_ORIGIN_WAY_H

#include "proxy/conn.h"

extern const struct stage_row origin_way[]; /* by enum stage */

#endif
