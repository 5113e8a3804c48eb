/*
 * original.h - where a connection was going before it was led here
 *
 * REDIRECT rewrites the destination and the kernel remembers what it was; TPROXY leaves
 * it as the socket's own address.  A connection that nobody led here was going here.
 * ip(7) and linux/netfilter_ipv4.h: SO_ORIGINAL_DST; Documentation/networking/tproxy.
 */
#ifndef WEIR_NET_ORIGINAL_H
#define WEIR_NET_ORIGINAL_H

#include "base/addr.h"

/* False: it cannot be told (the peer is gone). */
bool original_destination(int fd, struct endpoint *out) MUST_CHECK;

#endif
