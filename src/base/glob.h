/*
 * glob.h - names by pattern: `*` is any text, also none; all else is itself
 *
 * Time grows with pattern times text, never worse.  Pure; any thread.
 */
#ifndef WEIR_BASE_GLOB_H
#define WEIR_BASE_GLOB_H

#include "base/str.h"

bool glob_fits(struct str pattern, struct str text);

#endif
