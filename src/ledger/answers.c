/*
 * answers.c - what the store may say, in words
 */
#include <assert.h>

#include "ledger/ledger.h"

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
