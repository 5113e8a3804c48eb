/*
 * tokens.h - tokens that were verified before, by their digest
 *
 * A signature is checked once, not for every request.  What a token grants is the
 * caller's, counted by the two functions given; it is forgotten when the token
 * expires, when the generation of keys and settings it was verified under is no
 * longer the one asked for, and, least recently used first, when there is no room.
 *
 * Sharded; any thread.
 */
#ifndef WEIR_STATE_TOKENS_H
#define WEIR_STATE_TOKENS_H

#include "base/str.h"

#define TOKENS_DIGEST 32

struct tokens;

struct tokens_ops {
	void (*ref)(void *value);
	void (*unref)(void *value);
};

struct tokens *tokens_new(size_t most, const struct tokens_ops *ops);
void tokens_free(struct tokens *t);

/* `now` in seconds since 1970.  A reference that is the caller's, or NULL. */
void *tokens_get(struct tokens *t, const uint8_t digest[static TOKENS_DIGEST],
    uint64_t generation, int64_t now);
/* Takes a reference of its own. */
void tokens_put(struct tokens *t, const uint8_t digest[static TOKENS_DIGEST],
    uint64_t generation, int64_t expires, void *value);
size_t tokens_count(struct tokens *t); /* tests ask */

#endif
