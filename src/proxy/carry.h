/*
 * carry.h - CARRY: a tunnel or a forward has the streams until it is done
 */
#ifndef WEIR_PROXY_CARRY_H
#define WEIR_PROXY_CARRY_H

#include "proxy/conn.h"

enum next carry_start(struct conn *c);

#endif
