/*
 * ws_frame_fuzz.c - frames are read the same byte by byte, and what is made anew of them
 * says the same
 *
 * The first byte: who sends.
 */
#include "wire/ws_frame.h"

#include <assert.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define OUT_MAX ((size_t)1 << 22)

/* Payloads, each frame's end with its opcode, and frames made anew. */
struct heard {
	struct buf said, again;
	struct buf payload; /* of the frame that is being read */
	const char *error;
};

static void
take(struct heard *h, const struct ws_piece *piece, bool is_final, bool is_masked)
{
	if (is_masked)
		ws_put_masked(&h->payload, piece->bytes, &piece->mask);
	else
		buf_str(&h->payload, piece->bytes);
	assert(!piece->ends_message || piece->ends_frame);
	assert(!piece->is_control || h->payload.n <= WS_CONTROL_MAX);
	if (!piece->ends_frame)
		return;
	buf_str(&h->said, buf_view(&h->payload));
	buf_char(&h->said, (char)piece->opcode);
	ws_put_frame(&h->again, piece->opcode, is_final, buf_view(&h->payload),
	    is_masked ? &piece->mask : NULL);
	buf_reset(&h->payload);
}

static void
hear(struct heard *h, enum ws_side side, struct str in, size_t every)
{
	struct ws_reader r;
	struct ws_piece piece;
	enum ws_result result = WS_MORE;

	buf_init(&h->said, OUT_MAX);
	buf_init(&h->again, OUT_MAX);
	buf_init(&h->payload, OUT_MAX);
	ws_reader_init(&r, side);
	for (size_t at = 0; at < in.n && result != WS_BAD; at += every) {
		struct str some = str_sub(in, at, every);
		while ((result = ws_read(&r, &some, &piece)) == WS_PIECE)
			take(h, &piece, r.is_final, side == WS_CLIENT);
		assert(result == WS_BAD || some.n == 0);
	}
	assert((result == WS_BAD) == (r.error != NULL));
	h->error = r.error;
}

static void
forget(struct heard *h)
{
	buf_fini(&h->said);
	buf_fini(&h->again);
	buf_fini(&h->payload);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct heard whole, part, again;
	enum ws_side side;
	struct str in;

	if (size < 1)
		return 0;
	in = (struct str){ (const char *)data + 1, size - 1 };
	side = data[0] & 1 ? WS_SERVER : WS_CLIENT;
	hear(&whole, side, in, in.n + 1);
	hear(&part, side, in, 1);
	assert(str_eq(buf_view(&whole.said), buf_view(&part.said)));
	assert(whole.error == part.error);
	hear(&again, side, buf_view(&whole.again), whole.again.n + 1);
	assert(again.error == NULL);
	assert(str_eq(buf_view(&whole.said), buf_view(&again.said)));
	forget(&whole);
	forget(&part);
	forget(&again);
	return 0;
}
