/*
 * ws_frame.c - websocket frames (RFC 6455 5), read in pieces as they come, and written
 */
#include "wire/ws_frame.h"

#include <assert.h>
#include <string.h>

#define FINAL 0x80
#define RESERVED 0x70
#define OPCODE 0x0f
#define MASKED 0x80
#define LENGTH 0x7f
#define LENGTH16 126
#define LENGTH64 127
#define SHORT_MOST 125

void
ws_reader_init(struct ws_reader *r, enum ws_side side)
{
	*r = (struct ws_reader){ .side = side };
}

bool
ws_is_between(const struct ws_reader *r)
{
	return r->nhead == 0 && r->error == NULL;
}

/* ---- a head */

static size_t
extended(unsigned first)
{
	return first == LENGTH16 ? 2 : first == LENGTH64 ? 8 : 0;
}

/* Of the head, as far as its first two bytes tell. */
static size_t
head_size(const struct ws_reader *r)
{
	if (r->nhead < 2)
		return 2;
	return 2 + extended(r->head[1] & LENGTH) +
	       (r->side == WS_CLIENT ? sizeof(r->mask.key) : 0);
}

/* RFC 6455 5.2: in the fewest bytes, of which eight do not begin with a set bit. */
static bool
take_length(struct ws_reader *r)
{
	unsigned first = r->head[1] & LENGTH;
	size_t n = extended(first);
	uint64_t length = n == 0 ? first : 0;

	for (size_t i = 0; i < n; i++)
		length = length << 8 | r->head[2 + i];
	r->length = length;
	return n == 0 || (n == 2 && length > SHORT_MOST) ||
	       (n == 8 && length > UINT16_MAX && length <= INT64_MAX);
}

static bool
is_control(enum ws_opcode opcode)
{
	return opcode >= WS_CLOSE;
}

static bool
is_known(unsigned opcode)
{
	return opcode <= WS_BINARY || (opcode >= WS_CLOSE && opcode <= WS_PONG);
}

/* NULL: the two first bytes may stand there. */
static const char *
fault_of_beginning(const struct ws_reader *r)
{
	unsigned opcode = r->head[0] & OPCODE;
	bool is_masked = (r->head[1] & MASKED) != 0;

	if (r->is_closed)
		return "a frame comes behind a close frame";
	if ((r->head[0] & RESERVED) != 0)
		return "a frame has bits of an extension that was not agreed on";
	if (!is_known(opcode))
		return "a frame has an opcode that is none";
	if (is_masked != (r->side == WS_CLIENT))
		return is_masked ? "a server's frame is masked"
				 : "a client's frame is not masked";
	if (is_control(opcode))
		return (r->head[0] & FINAL) == 0 || (r->head[1] & LENGTH) > SHORT_MOST
			   ? "a control frame is in fragments, or too long"
			   : NULL;
	if ((opcode == WS_CONTINUATION) != r->is_in_message)
		return r->is_in_message ? "a message begins within another"
					: "a fragment continues no message";
	return NULL;
}

static void
take_head(struct ws_reader *r)
{
	r->has_head = true;
	r->at = 0;
	r->opcode = r->head[0] & OPCODE;
	r->is_final = (r->head[0] & FINAL) != 0;
	if (r->side == WS_CLIENT)
		memcpy(r->mask.key, r->head + r->nhead - sizeof(r->mask.key),
		    sizeof(r->mask.key));
	if (!is_control(r->opcode))
		r->is_in_message = !r->is_final;
	r->is_closed = r->opcode == WS_CLOSE;
}

static enum ws_result
bad(struct ws_reader *r, const char *why)
{
	r->error = why;
	return WS_BAD;
}

/* PIECE: it is whole. */
static enum ws_result
read_head(struct ws_reader *r, struct str *in)
{
	const char *why;

	while (r->nhead < head_size(r)) {
		if (in->n == 0)
			return WS_MORE;
		r->head[r->nhead++] = (unsigned char)in->p[0];
		*in = str_sub(*in, 1, in->n);
		if (r->nhead == 2 && (why = fault_of_beginning(r)) != NULL)
			return bad(r, why);
	}
	if (!take_length(r))
		return bad(r, "a frame's length is not in the fewest bytes");
	take_head(r);
	return WS_PIECE;
}

/* ---- a payload */

static struct ws_mask
turned(const struct ws_mask *mask, uint64_t by)
{
	struct ws_mask m;

	for (size_t i = 0; i < sizeof(m.key); i++)
		m.key[i] = mask->key[(i + by) % sizeof(m.key)];
	return m;
}

enum ws_result
ws_read(struct ws_reader *r, struct str *in, struct ws_piece *out)
{
	enum ws_result head = r->has_head ? WS_PIECE : WS_MORE;
	uint64_t left;

	if (r->error != NULL)
		return WS_BAD;
	if (!r->has_head && (head = read_head(r, in)) != WS_PIECE)
		return head;
	left = r->length - r->at;
	if (left > 0 && in->n == 0)
		return WS_MORE;
	*out = (struct ws_piece){ .opcode = r->opcode,
		.is_control = is_control(r->opcode),
		.bytes = str_sub(*in, 0, left < in->n ? (size_t)left : in->n),
		.mask = turned(&r->mask, r->at) };
	*in = str_sub(*in, out->bytes.n, in->n);
	r->at += out->bytes.n;
	out->ends_frame = r->at == r->length;
	out->ends_message = out->ends_frame && r->is_final && !out->is_control;
	if (out->ends_frame) {
		r->nhead = 0;
		r->has_head = false;
	}
	return WS_PIECE;
}

/* ---- written */

void
ws_put_masked(struct buf *to, struct str text, const struct ws_mask *mask)
{
	char *room = buf_room(to, text.n);

	if (room == NULL) {
		to->is_over = true;
		return;
	}
	for (size_t i = 0; i < text.n; i++)
		room[i] =
		    (char)((unsigned char)text.p[i] ^ mask->key[i % sizeof(mask->key)]);
	buf_grew(to, text.n);
}

static void
put_length(struct buf *to, uint64_t n, unsigned masked)
{
	unsigned first = n <= SHORT_MOST   ? (unsigned)n
			 : n <= UINT16_MAX ? LENGTH16
					   : LENGTH64;

	buf_char(to, (char)(masked | first));
	for (size_t i = extended(first); i-- > 0;)
		buf_char(to, (char)(n >> (8 * i)));
}

void
ws_put_frame(struct buf *to, enum ws_opcode opcode, bool is_final, struct str payload,
    const struct ws_mask *mask)
{
	buf_char(to, (char)((is_final ? FINAL : 0) | opcode));
	put_length(to, payload.n, mask != NULL ? MASKED : 0);
	if (mask == NULL) {
		buf_str(to, payload);
		return;
	}
	buf_add(to, mask->key, sizeof(mask->key));
	ws_put_masked(to, payload, mask);
}

void
ws_put_close(struct buf *to, unsigned code, struct str why)
{
	struct buf payload;

	buf_init(&payload, WS_CONTROL_MAX);
	buf_add(&payload, (char[]){ (char)(code >> 8), (char)code }, 2);
	buf_str(&payload, why);
	assert(!payload.is_over);
	ws_put_frame(to, WS_CLOSE, true, buf_view(&payload), NULL);
	buf_fini(&payload);
}
