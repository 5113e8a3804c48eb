/*
 * sse_fuzz.c - however a stream is cut, its events and their places are the same
 *
 * First byte: how many bytes come at a time.
 */
#include "wire/sse.h"

#include <assert.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
read_in_pieces(struct str in, size_t piece, struct buf *out)
{
	uint64_t end = 0;
	struct sse s;

	sse_init(&s);
	for (; in.n > 0; in = str_sub(in, piece, in.n)) {
		struct str part = str_sub(in, 0, piece), text;
		enum sse_token t;

		while ((t = sse_next(&s, &part, &text)) != SSE_MORE) {
			assert(s.name.n <= SSE_NAME && s.begin <= s.at);
			if (t == SSE_DATA) {
				assert(text.n > 0);
				buf_str(out, text);
				continue;
			}
			assert(s.begin == end); /* nothing is between two events */
			end = s.at;
			buf_fmt(out, "|%d %.*s %llu|", (int)t, STR_ARG(s.name),
			    (unsigned long long)end);
		}
		assert(part.n == 0);
	}
	buf_char(out, sse_is_between(&s) ? '.' : '+');
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct buf whole, cut;
	struct str in;

	if (size < 1)
		return 0;
	in = (struct str){ (const char *)data + 1, size - 1 };
	buf_init(&whole, 64 << 20);
	buf_init(&cut, 64 << 20);
	read_in_pieces(in, in.n + 1, &whole);
	read_in_pieces(in, (size_t)data[0] + 1, &cut);
	assert(str_eq(buf_view(&whole), buf_view(&cut)));
	buf_fini(&whole);
	buf_fini(&cut);
	return 0;
}
