/*
 * greet.h - GREET: a client's bytes become an ask
 */
#ifndef WEIR_PROXY_GREET_H
#define WEIR_PROXY_GREET_H

#include "proxy/conn.h"

enum next greet_read(struct conn *c);
/* After WHO: the rest, where a door needed to know that first. */
enum next greet_rest(struct conn *c);
enum next greet_late(struct conn *c);

#endif
