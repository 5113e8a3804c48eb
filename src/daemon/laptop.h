/*
 * laptop.h - the policy of a weir without a configuration file
 *
 * The compiled-in quickstart plus an https rule on 443 and an http rule on 80
 * for each --allow HOST.
 */
#ifndef WEIR_DAEMON_LAPTOP_H
#define WEIR_DAEMON_LAPTOP_H

#include "base/str.h"

void laptop_policy(struct buf *to, const char *const *allow, size_t n);

#endif
