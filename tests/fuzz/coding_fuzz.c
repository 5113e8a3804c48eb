/*
 * coding_fuzz.c - no coded text makes more of itself than its caps
 *
 * First byte: the coding; second: how many bytes come at a time.
 */
#include "wire/coding.h"

#include <assert.h>

#define CAP 65536

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	enum coding_result r = CODING_MORE;
	struct decoder *d;
	size_t got = 0;
	struct str in;

	if (size < 2)
		return 0;
	in = (struct str){ (const char *)data + 2, size - 2 };
	d = decoder_new((enum coding)(data[0] % 5), CAP);
	while (in.n > 0 && (r == CODING_MORE || r == CODING_DONE)) {
		struct str part = str_sub(in, 0, (size_t)data[1] + 1), text;

		in = str_sub(in, part.n, in.n);
		while ((r = decoder_next(d, &part, &text)) == CODING_DATA)
			got += text.n;
		assert(part.n == 0 || r == CODING_BAD || r == CODING_OVER);
	}
	assert(got <= CAP);
	decoder_free(d);
	return 0;
}
