#include "base/siphash.h"

struct state {
	uint64_t v0, v1, v2, v3;
};

static uint64_t
rotl(uint64_t x, unsigned n)
{
	return x << n | x >> (64 - n);
}

static void
rounds(struct state *s, int n)
{
	while (n-- > 0) {
		s->v0 += s->v1;
		s->v2 += s->v3;
		s->v1 = rotl(s->v1, 13) ^ s->v0;
		s->v3 = rotl(s->v3, 16) ^ s->v2;
		s->v0 = rotl(s->v0, 32);
		s->v2 += s->v1;
		s->v0 += s->v3;
		s->v1 = rotl(s->v1, 17) ^ s->v2;
		s->v3 = rotl(s->v3, 21) ^ s->v0;
		s->v2 = rotl(s->v2, 32);
	}
}

/* Up to eight bytes, least significant first. */
static uint64_t
word(const void *bytes, size_t n)
{
	const uint8_t *p = bytes;
	uint64_t w = 0;

	for (size_t i = 0; i < n; i++)
		w |= (uint64_t)p[i] << (8 * i);
	return w;
}

static void
absorb(struct state *s, uint64_t w)
{
	s->v3 ^= w;
	rounds(s, 2);
	s->v0 ^= w;
}

uint64_t
siphash(const uint8_t key[static SIPHASH_KEY], struct str s)
{
	uint64_t k0 = word(key, 8), k1 = word(key + 8, 8);
	struct state state = { k0 ^ 0x736f6d6570736575u, k1 ^ 0x646f72616e646f6du,
		k0 ^ 0x6c7967656e657261u, k1 ^ 0x7465646279746573u };
	size_t at = 0;

	for (; s.n - at >= 8; at += 8)
		absorb(&state, word(s.p + at, 8));
	absorb(&state, (uint64_t)s.n << 56 | (s.n > at ? word(s.p + at, s.n - at) : 0));
	state.v2 ^= 0xff;
	rounds(&state, 4);
	return state.v0 ^ state.v1 ^ state.v2 ^ state.v3;
}
