/*
 * body_fuzz.c - however a body is cut, its payload and its end are one
 *
 * First byte: how many bytes come at a time; second: the length, or chunked.
 */
#include "wire/body.h"

#include <assert.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static enum body_result
read_in_pieces(const struct http_head *head, struct str in, size_t piece, struct buf *out)
{
	enum body_result result;
	struct body_reader r;
	size_t at = 0, used;

	body_reader_init(&r, head);
	do {
		struct str part = str_sub(in, at, piece), payload;

		result = body_read(&r, part, &used, &payload);
		assert(used <= part.n);
		assert(result != BODY_MORE || used == part.n);
		assert((result == BODY_DATA) == (payload.n > 0));
		assert(payload.n == 0 || payload.p + payload.n == part.p + used);
		buf_str(out, payload);
		at += used;
	} while (result == BODY_DATA || (result == BODY_MORE && at < in.n));
	assert(r.at == at);
	assert(body_may_end(&r) == (result == BODY_DONE));
	return result;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct http_head head = { .framing = HTTP_CHUNKED };
	struct buf whole, cut;
	struct str in;

	if (size < 2)
		return 0;
	if (data[1] < 128)
		head = (struct http_head){ .framing = HTTP_LENGTH, .length = data[1] };
	in = (struct str){ (const char *)data + 2, size - 2 };
	buf_init(&whole, size);
	buf_init(&cut, size);

	enum body_result a = read_in_pieces(&head, in, in.n + 1, &whole);
	enum body_result b = read_in_pieces(&head, in, (size_t)data[0] + 1, &cut);

	assert(a == b);
	assert(str_eq(buf_view(&whole), buf_view(&cut)));
	buf_fini(&whole);
	buf_fini(&cut);
	return 0;
}
