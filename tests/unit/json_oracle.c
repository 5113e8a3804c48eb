#include "json_oracle.h"

#include <jansson.h>

static json_t *
load(struct str text)
{
	json_error_t error;

	return json_loadb(text.p, text.n,
	    JSON_REJECT_DUPLICATES | JSON_DECODE_ANY | JSON_ALLOW_NUL, &error);
}

bool
oracle_reads(struct str text)
{
	json_t *value = load(text);

	json_decref(value);
	return value != NULL;
}

bool
oracle_same(struct str a, struct str b)
{
	json_t *x = load(a), *y = load(b);
	bool is_same = x != NULL && json_equal(x, y);

	json_decref(x);
	json_decref(y);
	return is_same;
}
