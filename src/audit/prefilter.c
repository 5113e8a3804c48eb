/*
 * prefilter.c - where in a text something may begin that is looked for
 */
#include "audit/prefilter.h"

#include <assert.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#define ANY (-1) /* byte */

static void
add_pair(struct prefilter *f, int first, int second, bool is_folded, unsigned groups)
{
	if ((f->always & groups) == groups)
		return;
	if (first == ANY && second == ANY)
		f->always |= (uint16_t)groups;
	for (int a = first == ANY ? 0 : first; a <= (first == ANY ? 255 : first); a++)
		for (int b = second == ANY ? 0 : second;
		     b <= (second == ANY ? 255 : second); b++)
			for (int cases = 0; cases < (is_folded ? 4 : 1); cases++)
				f->groups[prefilter_pair((const char[2]){
				    (cases & 1) != 0 ? ascii_upper((char)a) : (char)a,
				    (cases & 2) != 0 ? ascii_upper((char)b)
						     : (char)b })] |= (uint16_t)groups;
}

/* All that begin with the same two bytes are in one. */
static unsigned
group_of(struct str literal)
{
	static const unsigned short_ones[] = { 0, PREFILTER_ONE, PREFILTER_TWO,
		PREFILTER_THREE };
	unsigned first = (unsigned char)literal.p[0];

	if (literal.n < sizeof(short_ones) / sizeof(*short_ones))
		return short_ones[literal.n];
	unsigned second = (unsigned char)literal.p[1];
	return 1U << (first + 3 * second) % PREFILTER_GROUPS;
}

void
prefilter_add(struct prefilter *f, struct str literal, bool is_folded)
{
	unsigned group = group_of(literal);
	int byte[PREFILTER_READS];

	assert(literal.n > 0);
	for (size_t i = 0; i < PREFILTER_READS; i++)
		byte[i] = i < literal.n ? (unsigned char)literal.p[i] : ANY;
	add_pair(f, byte[0], byte[1], is_folded, group);
	add_pair(f, byte[2], byte[3], is_folded, group << 8);
}

/* ---- sixty-four places at once, of whose last three bytes more are read */

#define READS (PREFILTER_BLOCK + PREFILTER_READS - 1)

#ifdef __SSE2__
static inline __m128i
groups_at(const struct prefilter *f, const char *p)
{
#define GROUPS(i) f->groups[prefilter_pair(p + (i))]
	__m128i eight = _mm_cvtsi32_si128(GROUPS(0));

	eight = _mm_insert_epi16(eight, GROUPS(1), 1);
	eight = _mm_insert_epi16(eight, GROUPS(2), 2);
	eight = _mm_insert_epi16(eight, GROUPS(3), 3);
	eight = _mm_insert_epi16(eight, GROUPS(4), 4);
	eight = _mm_insert_epi16(eight, GROUPS(5), 5);
	eight = _mm_insert_epi16(eight, GROUPS(6), 6);
	return _mm_insert_epi16(eight, GROUPS(7), 7);
#undef GROUPS
}

/* All bits of a place where nothing begins: no group is there, and two bytes behind. */
static inline __m128i
nothing_at(__m128i eight, __m128i next)
{
	__m128i behind = _mm_or_si128(_mm_srli_si128(eight, 4), _mm_slli_si128(next, 12));

	return _mm_cmpeq_epi16(
	    _mm_and_si128(eight, _mm_srli_epi16(behind, 8)), _mm_setzero_si128());
}

static uint64_t
places(const struct prefilter *f, const char *p)
{
	__m128i eight = groups_at(f, p);
	uint64_t bits = 0;

	for (int i = 0; i < PREFILTER_BLOCK; i += 16) {
		__m128i second = groups_at(f, p + i + 8), next;

		if (i + 16 < PREFILTER_BLOCK)
			next = groups_at(f, p + i + 16);
		else /* the two that are looked at: no more can be read */
			next = _mm_insert_epi16(
			    _mm_cvtsi32_si128(f->groups[prefilter_pair(p + i + 16)]),
			    f->groups[prefilter_pair(p + i + 17)], 1);
		int nothing = _mm_movemask_epi8(
		    _mm_packs_epi16(nothing_at(eight, second), nothing_at(second, next)));
		bits |= (uint64_t)(~(unsigned)nothing & 0xffff) << i;
		eight = next;
	}
	return bits;
}
#else
static uint64_t
places(const struct prefilter *f, const char *p)
{
	uint64_t bits = 0;

	for (size_t i = 0; i < PREFILTER_BLOCK; i++)
		bits |= (uint64_t)(prefilter_groups(f, (struct str){ p, READS }, i) != 0)
			<< i;
	return bits;
}
#endif

/* The same for fewer; the last three begin nothing that is longer than they are. */
static uint64_t
last_places(const struct prefilter *f, struct str text)
{
	char padded[READS] = { 0 };
	size_t most = text.n < PREFILTER_BLOCK ? text.n : PREFILTER_BLOCK;
	size_t whole = text.n < PREFILTER_READS ? 0 : text.n - PREFILTER_READS + 1;
	uint64_t bits = 0;

	memcpy(padded, text.p, text.n < READS ? text.n : READS);
	if (whole > 0)
		bits = places(f, padded);
	if (whole < PREFILTER_BLOCK)
		bits &= ((uint64_t)1 << whole) - 1;
	for (size_t i = whole; i < most; i++)
		bits |= (uint64_t)(prefilter_groups(f, text, i) != 0) << i;
	return bits;
}

static uint64_t
block_at(const struct prefilter_walk *w)
{
	if (w->text.n - w->block >= READS)
		return places(w->filter, w->text.p + w->block);
	return last_places(w->filter, str_sub(w->text, w->block, w->text.n - w->block));
}

struct prefilter_walk
prefilter_walk(const struct prefilter *f, struct str text)
{
	return (struct prefilter_walk){
		.filter = f, .text = text, .block = (size_t)-PREFILTER_BLOCK
	};
}

size_t
prefilter_seek(struct prefilter_walk *w, size_t at)
{
	bool is_next = at - w->block < PREFILTER_BLOCK;

	w->block = is_next ? w->block + PREFILTER_BLOCK : at;
	for (; w->block < w->text.n; w->block += PREFILTER_BLOCK)
		if ((w->bits = block_at(w)) != 0)
			return w->block + (size_t)__builtin_ctzll(w->bits);
	w->bits = 0;
	return w->text.n;
}
