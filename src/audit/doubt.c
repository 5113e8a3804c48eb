/*
 * doubt.c - why a text was masked that nobody could judge
 */
#include "audit/doubt.h"

#include "base/count.h"

static const char *const names[DOUBT_N] = {
	[DOUBT_ENGINE] = "engine",
	[DOUBT_BUDGET] = "budget",
	[DOUBT_PASSES] = "passes",
	[DOUBT_SIZE] = "size",
};

const char *
doubt_name(enum doubt why)
{
	return names[why];
}

void
doubt_count(enum doubt why)
{
	count_add_at(COUNT_REDACT_FAILCLOSED, why, 1);
}

size_t
doubt_end(struct str text, size_t from, size_t most)
{
	size_t to = from;

	while (to < text.n && to - from < most && (unsigned char)text.p[to] > ' ' &&
	       text.p[to] != '"' && text.p[to] != '\\')
		to++;
	return to;
}
