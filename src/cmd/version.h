/*
 * version.h - which weir this is, and on what it runs
 */
#ifndef WEIR_CMD_VERSION_H
#define WEIR_CMD_VERSION_H

#include "base/str.h"

/* Name and version, features, and each library as compiled and as running. */
void version_print(struct buf *to);

#endif
