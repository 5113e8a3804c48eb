/*
 * addr_fuzz.c - what is read as an address reads back the same from its own text
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/addr.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
check_addr(struct str text)
{
	struct addr a, again;
	char out[ADDR_TEXT];

	if (!addr_parse(&a, text))
		return;
	assert(addr_parse(&again, str_of(addr_text(out, &a))));
	assert(addr_eq(&a, &again));
}

static void
check_endpoint(struct str text)
{
	struct endpoint e, again;
	char out[ENDPOINT_TEXT];

	if (!endpoint_parse(&e, text))
		return;
	assert(endpoint_parse(&again, str_of(endpoint_text(out, &e))));
	assert(addr_eq(&e.addr, &again.addr) && e.port == again.port);
}

static void
check_prefix(struct str text)
{
	struct prefix p, again;
	char out[PREFIX_TEXT];

	if (!prefix_parse(&p, text))
		return;
	assert(prefix_parse(&again, str_of(prefix_text(out, &p))));
	assert(prefix_covers(&p, &again) && prefix_covers(&again, &p));
	assert(prefix_has(&p, &p.addr));
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct str text = { (const char *)data, size };

	check_addr(text);
	check_endpoint(text);
	check_prefix(text);
	return 0;
}
