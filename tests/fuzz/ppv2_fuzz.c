/*
 * ppv2_fuzz.c - a header is read the same with whatever comes behind it, and byte by byte
 */
#include "wire/ppv2.h"

#include <assert.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool
is_same(const struct ppv2 *a, const struct ppv2 *b)
{
	return a->is_local == b->is_local && a->used == b->used &&
	       a->source.port == b->source.port &&
	       addr_eq(&a->source.addr, &b->source.addr);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct str in = { (const char *)data, size };
	struct ppv2 whole, part;
	enum ppv2_result result = ppv2_read(&whole, in);

	for (size_t n = 0; n <= size; n++) {
		enum ppv2_result early = ppv2_read(&part, str_sub(in, 0, n));
		if (early == PPV2_MORE) {
			assert(part.want > 0 && n + part.want <= PPV2_MAX);
			/* what it asks for is the header's, where there is one */
			assert(result != PPV2_DONE || n + part.want <= whole.used);
			continue;
		}
		assert(early == result);
		assert(result != PPV2_BAD || part.at == whole.at);
		assert(result != PPV2_DONE || is_same(&part, &whole));
	}
	assert(result != PPV2_DONE || (whole.used <= size && whole.used <= PPV2_MAX));
	assert(result != PPV2_BAD || (whole.at < size && whole.error != NULL));
	return 0;
}
