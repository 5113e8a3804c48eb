/*
 * spread.c - percentiles in bounded memory
 */
#include "cmd/spread.h"

#define EXACT 32 /* values with a slot each */
#define SUB 16   /* slots of each power of two behind those */
#define BITS 40

static unsigned
slot_of(uint64_t value)
{
	if (value < EXACT)
		return (unsigned)value;
	if (value >> BITS != 0)
		return SPREAD_SLOTS - 1;
	unsigned high = 63 - (unsigned)__builtin_clzll(value);

	return EXACT + (high - 5) * SUB + (unsigned)(value >> (high - 4) & (SUB - 1));
}

/* The greatest value of a slot. */
static uint64_t
top_of(unsigned slot)
{
	if (slot < EXACT)
		return slot;
	unsigned high = (slot - EXACT) / SUB + 5, sub = (slot - EXACT) % SUB;

	return ((uint64_t)(SUB + sub + 1) << (high - 4)) - 1;
}

static void
add(struct spread *s, unsigned slot, uint32_t n)
{
	if (__builtin_add_overflow(s->slot[slot], n, &s->slot[slot]))
		s->slot[slot] = UINT32_MAX;
}

void
spread_add(struct spread *s, uint64_t value)
{
	s->n++;
	s->most = value > s->most ? value : s->most;
	add(s, slot_of(value), 1);
}

void
spread_merge(struct spread *to, const struct spread *from)
{
	to->n += from->n;
	to->most = from->most > to->most ? from->most : to->most;
	for (unsigned i = 0; i < SPREAD_SLOTS; i++)
		add(to, i, from->slot[i]);
}

uint64_t
spread_percentile(const struct spread *s, unsigned percent)
{
	uint64_t rank = (s->n * percent + 99) / 100, seen = 0;

	for (unsigned i = 0; i < SPREAD_SLOTS && s->n > 0; i++) {
		seen += s->slot[i];
		if (seen >= rank)
			return top_of(i) < s->most ? top_of(i) : s->most;
	}
	return s->most;
}
