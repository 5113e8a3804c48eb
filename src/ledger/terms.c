/*
 * terms.c - what the ledger answers, in words and sums
 */
#include "ledger/terms.h"

#include <assert.h>

static const char *const texts[] = {
#define ANSWER(name, text) [LEDGER_##name] = (text),
#include "ledger/answers.def"
#undef ANSWER
};

const char *
ledger_answer_text(enum ledger_answer a)
{
	assert((size_t)a < LEDGER_ANSWERS);
	return texts[a];
}

usd_nano
ledger_left(const struct ledger_room *r)
{
	__int128 left = (__int128)r->cap - r->spent - r->reserved;

	return left < -LEDGER_MONEY_MAX ? -LEDGER_MONEY_MAX : (usd_nano)left;
}
