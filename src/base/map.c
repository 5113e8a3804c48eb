#include "base/map.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/siphash.h"

#define CAP_FIRST 8 /* a power of two, as every cap is */

/* Linear probing: a key lies in its home slot or behind it with no gap between. */
struct map_slot {
	uint64_t hash;
	char *key;
	size_t key_n;
	void *value; /* NULL: the slot is free */
};

static uint8_t process_key[SIPHASH_KEY];
static pthread_once_t process_key_once = PTHREAD_ONCE_INIT;

static void
make_process_key(void)
{
	/* a guessable key would let a client choose names that collide */
	if (getrandom(process_key, sizeof(process_key), 0) != sizeof(process_key))
		abort();
}

uint64_t
hash_bytes(struct str s)
{
	pthread_once(&process_key_once, make_process_key);
	return siphash(process_key, s);
}

void
map_init(struct map *m)
{
	*m = (struct map){ 0 };
}

void
map_fini(struct map *m, void (*free_value)(void *))
{
	for (size_t i = 0; i < m->cap; i++) {
		if (m->slot[i].value == NULL)
			continue;
		free(m->slot[i].key);
		if (free_value != NULL)
			free_value(m->slot[i].value);
	}
	free(m->slot);
	map_init(m);
}

static struct str
slot_key(const struct map_slot *slot)
{
	return (struct str){ slot->key, slot->key_n };
}

/* The slot of this key, or the free one where it belongs.  There is always a free one. */
static struct map_slot *
find(const struct map *m, struct str key, uint64_t hash)
{
	size_t i = hash & (m->cap - 1);

	while (m->slot[i].value != NULL) {
		if (m->slot[i].hash == hash && str_eq(slot_key(&m->slot[i]), key))
			break;
		i = (i + 1) & (m->cap - 1);
	}
	return &m->slot[i];
}

void *
map_get(const struct map *m, struct str key)
{
	return m->n == 0 ? NULL : find(m, key, hash_bytes(key))->value;
}

static void
grow(struct map *m)
{
	struct map old = *m;

	m->cap = old.cap == 0 ? CAP_FIRST : old.cap * 2;
	m->slot = mem_zalloc(m->cap * sizeof(*m->slot));
	for (size_t i = 0; i < old.cap; i++)
		if (old.slot[i].value != NULL)
			*find(m, slot_key(&old.slot[i]), old.slot[i].hash) = old.slot[i];
	free(old.slot);
}

void *
map_put(struct map *m, struct str key, void *value)
{
	uint64_t hash = hash_bytes(key);
	struct map_slot *slot;
	void *old;

	assert(value != NULL);
	if ((m->n + 1) * 4 > m->cap * 3)
		grow(m);
	slot = find(m, key, hash);
	old = slot->value;
	if (old == NULL) {
		*slot = (struct map_slot){
			.hash = hash, .key = str_dup(key), .key_n = key.n
		};
		m->n++;
	}
	slot->value = value;
	return old;
}

/* Close the gap, so that no probe ends early and no marker of the dead is left. */
static void
close_gap(struct map *m, size_t gap)
{
	size_t mask = m->cap - 1;

	for (size_t i = (gap + 1) & mask; m->slot[i].value != NULL; i = (i + 1) & mask) {
		size_t home = m->slot[i].hash & mask;

		if (((i - home) & mask) < ((i - gap) & mask))
			continue; /* its home lies behind the gap */
		m->slot[gap] = m->slot[i];
		gap = i;
	}
	m->slot[gap] = (struct map_slot){ 0 };
}

void *
map_del(struct map *m, struct str key)
{
	struct map_slot *slot;
	void *old;

	if (m->n == 0)
		return NULL;
	slot = find(m, key, hash_bytes(key));
	old = slot->value;
	if (old == NULL)
		return NULL;
	free(slot->key);
	m->n--;
	close_gap(m, (size_t)(slot - m->slot));
	return old;
}

bool
map_next(const struct map *m, size_t *at, struct str *key, void **value)
{
	while (*at < m->cap) {
		const struct map_slot *slot = &m->slot[(*at)++];

		if (slot->value == NULL)
			continue;
		*key = slot_key(slot);
		*value = slot->value;
		return true;
	}
	return false;
}
