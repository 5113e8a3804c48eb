/*
 * map.h - a hash map from byte strings to pointers
 *
 * Keys are copied; values are the caller's.  Hashing is keyed (SipHash with a
 * key of this process), so a client cannot choose names that collide.  Not
 * thread-safe; a map nobody changes any more may be read from any thread.
 */
#ifndef WEIR_BASE_MAP_H
#define WEIR_BASE_MAP_H

#include "base/str.h"

struct map_slot;

struct map {
	struct map_slot *slot;
	size_t n, cap;
};

void map_init(struct map *m);
void map_fini(struct map *m, void (*free_value)(void *)); /* free_value may be NULL */
void *map_get(const struct map *m, struct str key);       /* NULL: not there */
/* The value is not NULL; returns the old one or NULL. */
void *map_put(struct map *m, struct str key, void *value);
void *map_del(struct map *m, struct str key); /* returns what was there */
/* Walk: *at starts at 0; false at the end.  The map must not change meanwhile. */
bool map_next(const struct map *m, size_t *at, struct str *key, void **value);

uint64_t hash_bytes(struct str s); /* keyed with this process's random key */

#endif
