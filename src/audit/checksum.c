/*
 * checksum.c - tokens whose last digits say that they are no chance
 */
#include "audit/checksum.h"

#define SUMMED 30
#define DIGITS 6

/* ISO 3309, as in zip files; no table: it is asked for seldom. */
static uint32_t
crc32_of(struct str s)
{
	uint32_t crc = UINT32_MAX;

	for (size_t i = 0; i < s.n; i++) {
		crc ^= (unsigned char)s.p[i];
		for (int bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ ((crc & 1) != 0 ? 0xedb88320U : 0);
	}
	return ~crc;
}

static bool
is_base62(struct str s)
{
	for (size_t i = 0; i < s.n; i++)
		if (!ascii_is_alnum(s.p[i]))
			return false;
	return true;
}

bool
checksum_is_right(struct str text)
{
	static const char base62[] =
	    "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
	size_t prefix;

	if (!str_find(text, '_', &prefix))
		return false;
	struct str body = str_sub(text, prefix + 1, SUMMED + DIGITS);
	if (body.n < SUMMED + DIGITS || !is_base62(body))
		return false;
	uint32_t crc = crc32_of(str_sub(body, 0, SUMMED));
	for (size_t i = body.n; i-- > SUMMED; crc /= 62)
		if (body.p[i] != base62[crc % 62])
			return false;
	return true;
}
