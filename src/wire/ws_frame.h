/*
 * ws_frame.h - websocket frames (RFC 6455 5), read in pieces as they come, and written
 *
 * No extension is known: bits that one would use make a frame bad, as does whatever else
 * the two ends could read differently.  Reading allocates nothing, and what is read is
 * borrowed from the input; what is written is appended to a buffer.  Any thread.
 */
#ifndef WEIR_WIRE_WS_FRAME_H
#define WEIR_WIRE_WS_FRAME_H

#include "base/str.h"

#define WS_HEAD_MAX 14     /* with an eight byte length, and a mask */
#define WS_CONTROL_MAX 125 /* of a control frame's payload */

enum ws_opcode {
	WS_CONTINUATION = 0,
	WS_TEXT = 1,
	WS_BINARY = 2,
	WS_CLOSE = 8,
	WS_PING = 9,
	WS_PONG = 10,
};

/* Of a close frame (RFC 6455 7.4.1). */
enum { WS_PROTOCOL_ERROR = 1002, WS_POLICY_VIOLATION = 1008 };

/* Who sends: a client masks, a server does not. */
enum ws_side { WS_CLIENT, WS_SERVER };

struct ws_mask {
	unsigned char key[4];
};

struct ws_reader {
	enum ws_side side;
	unsigned char head[WS_HEAD_MAX];
	size_t nhead; /* bytes of the head that are there; 0: between frames */
	bool has_head;
	bool is_final;
	enum ws_opcode opcode; /* of the frame */
	struct ws_mask mask;
	uint64_t at, length; /* of the payload */
	bool is_in_message;  /* fragments are still to come */
	bool is_closed;      /* nothing comes behind a close frame */
	const char *error;   /* of what is bad; static */
};

/* Some payload of one frame. */
struct ws_piece {
	enum ws_opcode opcode;
	bool is_control;
	bool ends_frame, ends_message; /* ends_message: of data only */
	struct str bytes;              /* as it came: masked; may be empty at the end */
	struct ws_mask mask;           /* turned so that it begins with `bytes` */
};

enum ws_result { WS_MORE, WS_PIECE, WS_BAD };

void ws_reader_init(struct ws_reader *r, enum ws_side side);
/*
 * Takes a piece off *in.  MORE: *in is used up.  BAD: r->error says why, and nothing more
 * may be read.
 */
enum ws_result ws_read(
    struct ws_reader *r, struct str *in, struct ws_piece *out) MUST_CHECK;
/* Could another frame begin here? */
bool ws_is_between(const struct ws_reader *r);

/* `text` with the mask put on it, or taken off. */
void ws_put_masked(struct buf *to, struct str text, const struct ws_mask *mask);
/* A whole frame; mask NULL: a server's. */
void ws_put_frame(struct buf *to, enum ws_opcode opcode, bool is_final,
    struct str payload, const struct ws_mask *mask);
/* A server's close frame; `why` is short. */
void ws_put_close(struct buf *to, unsigned code, struct str why);

#endif
