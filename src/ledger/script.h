/*
 * script.h - the Lua scripts of the Redis ledger, compiled in
 *
 * Each is redis.lua and then its own file; in front of both stand the fields of rows.def,
 * so that there is one table of them.
 */
#ifndef WEIR_LEDGER_SCRIPT_H
#define WEIR_LEDGER_SCRIPT_H

#include "base/str.h"

enum script {
	SCRIPT_RESERVE,
	SCRIPT_SETTLE,
	SCRIPT_RENEW,
	SCRIPT_RELEASE,
	SCRIPT_SWEEP,
	SCRIPT_SMALL,
	SCRIPTS
};

#define SCRIPT_SHA 40 /* hex, no NUL */

void script_print(struct buf *to, enum script which);
/* What Redis calls it: EVALSHA's first argument. */
void script_sha(char out[static SCRIPT_SHA], struct str text);

/* script_text.c, made from the .lua files */
extern const char *const script_prelude;
extern const char *const script_texts[SCRIPTS];

#endif
