/*
 * json_oracle.h - what another JSON reader (jansson) says of a text
 *
 * Apart, since its names and those of wire/json.h are the same words.
 */
#ifndef WEIR_TESTS_JSON_ORACLE_H
#define WEIR_TESTS_JSON_ORACLE_H

#include "base/str.h"

bool oracle_reads(struct str text);           /* keys that stand twice are refused */
bool oracle_same(struct str a, struct str b); /* both are read, as the same value */

#endif
