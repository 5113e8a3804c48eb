/*
 * call.c - which scopes a call was reserved in, as its row keeps them
 */
#include "ledger/call.h"

#include <stdio.h>

#include "ledger/key.h"

void
call_scope_put(struct buf *to, struct str key, usd_nano cap)
{
	char text[24];

	snprintf(text, sizeof(text), "%lld", (long long)cap);
	key_put(to, key);
	key_put(to, str_of(text));
}

bool
call_scope_next(struct str *rest, struct str *key, usd_nano *cap)
{
	struct str text;
	uint64_t n;

	if (!key_next(rest, key) || !key_next(rest, &text) || !str_decimal(text, &n) ||
	    n > INT64_MAX)
		return false;
	*cap = (usd_nano)n;
	return true;
}
