/*
 * hello_fuzz.c - however a hello is cut, its reading is one
 *
 * First byte: how many bytes come at a time.
 */
#include "wire/hello.h"

#include <assert.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static enum hello_result
read_in_pieces(struct str in, size_t piece, struct hello *out, size_t *used)
{
	static unsigned char message[HELLO_MAX];
	enum hello_result result = HELLO_MORE;
	struct hello_reader r;

	memset(message, 0, sizeof(message));
	hello_reader_init(&r, message);
	for (*used = 0; result == HELLO_MORE && *used < in.n;) {
		struct str part = str_sub(in, *used, piece);
		size_t took;

		result = hello_read(&r, part, &took, out);
		assert(took <= part.n && (result != HELLO_MORE || took == part.n));
		*used += took;
	}
	return result;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct str in = { (const char *)data + 1, size - 1 };
	struct hello whole, cut;
	size_t a, b;

	if (size < 2)
		return 0;

	enum hello_result result = read_in_pieces(in, in.n, &whole, &a);
	enum hello_result again = read_in_pieces(in, (size_t)data[0] + 1, &cut, &b);

	assert(again == result && a == b);
	if (result != HELLO_MORE) {
		assert(whole.has_sni == cut.has_sni && whole.has_ech == cut.has_ech);
		assert(whole.error == cut.error &&
		       (result == HELLO_BAD) == (whole.error != NULL));
		assert(!whole.has_sni || (whole.sni.len > 0 && !whole.sni.is_literal));
	}
	for (size_t n = 0; n < in.n && n < 100; n++)
		if (hello_is_retry(str_sub(in, 0, n)) != RETRY_MORE) /* an answer stays */
			assert(hello_is_retry(str_sub(in, 0, n)) == hello_is_retry(in));
	return 0;
}
