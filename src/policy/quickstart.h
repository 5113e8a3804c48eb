/*
 * quickstart.h - policies/quickstart.yaml, compiled in
 *
 * The policy of a weir without a configuration.  The build makes quickstart.c
 * from the file, so there is one source; it ends with its `allow` list, so that
 * rules can be added behind it.
 */
#ifndef WEIR_POLICY_QUICKSTART_H
#define WEIR_POLICY_QUICKSTART_H

#include <stddef.h>

extern const char quickstart_yaml[];
extern const size_t quickstart_yaml_n;

#endif
