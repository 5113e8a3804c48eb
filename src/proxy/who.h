/*
 * who.h - WHO: may this be heard, and on whose behalf is it asked
 *
 * After GREET, before any rule is looked at.  What came, or the socket or address it
 * came from when an operator armed that, becomes a grant; the grant's session is opened,
 * asking the store when only the store can know; and the exchange is counted for it.
 * What ends the session later (its deadline, a revocation) ends the connection.
 */
#ifndef WEIR_PROXY_WHO_H
#define WEIR_PROXY_WHO_H

#include "proxy/conn.h"

enum next who_stage(struct conn *c);
enum next who_late(struct conn *c); /* its delay is over */

#endif
