/*
 * gateway_way.h - the way of a request to a provider
 *
 * GREET -> DECIDE -> BODY -> RESERVE -> RESOLVE -> DIAL -> SHAKE -> CARRY -> RECORD: what
 * the request asks for is known, and paid for, before anybody is dialled.  A constant;
 * any thread.
 */
#ifndef WEIR_PROXY_GATEWAY_WAY_H
#define WEIR_PROXY_GATEWAY_WAY_H

#include "proxy/conn.h"

extern const struct stage_row gateway_way[]; /* by enum stage */

#endif
