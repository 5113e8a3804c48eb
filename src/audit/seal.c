/*
 * seal.c - what a line of the audit log ends with
 */
#include "audit/seal.h"

#define HEX_DIGITS 64

static const struct str prev_key = { ",\"prev\":\"", 9 };
static const struct str mac_key = { ",\"mac\":\"", 8 };

/* Takes `,"KEY":"`, 64 lowercase hex digits and `"` off the end. */
static bool
take_member(struct str *line, struct str key, struct str *digits)
{
	size_t n = key.n + HEX_DIGITS + 1;
	size_t at = line->n - n;

	if (line->n < n || !str_ends(*line, STR("\"")) ||
	    !str_starts(str_sub(*line, at, n), key))
		return false;
	*digits = str_sub(*line, at + key.n, HEX_DIGITS);
	for (size_t i = 0; i < HEX_DIGITS; i++)
		if (!ascii_is_digit(digits->p[i]) &&
		    (digits->p[i] < 'a' || digits->p[i] > 'f'))
			return false;
	line->n = at;
	return true;
}

bool
seal_read(struct seal *s, struct str line)
{
	struct seal found = { .mac = STR_NONE };

	if (!str_starts(line, STR("{")) || !str_ends(line, STR("}")))
		return false;
	line.n--;
	bool has_mac = take_member(&line, mac_key, &found.mac);
	found.body = line;
	if (!take_member(&line, prev_key, &found.prev))
		return false;
	if (!has_mac)
		found.mac = STR_NONE;
	*s = found;
	return true;
}

bool
seal_is_whole(struct str line)
{
	struct seal s;

	return seal_read(&s, line);
}
