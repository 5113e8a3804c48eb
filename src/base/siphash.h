/*
 * siphash.h - SipHash-2-4, the keyed hash under the tables
 *
 * Aumasson and Bernstein, "SipHash: a fast short-input PRF".  Pure; any thread.
 */
#ifndef WEIR_BASE_SIPHASH_H
#define WEIR_BASE_SIPHASH_H

#include "base/str.h"

#define SIPHASH_KEY 16

uint64_t siphash(const uint8_t key[static SIPHASH_KEY], struct str s);

#endif
