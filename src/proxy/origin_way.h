/*
 * origin_way.h - the way of a request to an origin
 *
 * (SECURE ->) GREET -> WHO -> HEAR -> DECIDE -> RESOLVE -> LITERAL -> DIAL -> JUDGE ->
 * OPEN -> CARRY -> RECORD: nothing is looked up that no rule admits, and nothing sent
 * before all of it is judged.  A tunnel whose requests are to be seen goes over PROVE,
 * LEAF and ACCEPT to a GREET inside.  A constant; any thread.
 */
#ifndef WEIR_PROXY_ORIGIN_WAY_H
#define WEIR_PROXY_ORIGIN_WAY_H

#include "proxy/conn.h"

extern const struct stage_row origin_way[]; /* by enum stage */

#endif
