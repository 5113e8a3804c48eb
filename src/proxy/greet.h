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

/* The exchange, with its first byte; again is fine. */
void greet_begin(struct conn *c);
/* What has no place in the journal is nothing else: it will have no record. */
enum reason greet_unless_unrecorded(const struct conn *c, enum reason reason);

#endif
