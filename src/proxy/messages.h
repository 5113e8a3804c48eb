/*
 * messages.h - what must not leave, looked for in the messages of a websocket
 *
 * A client's frames are unmasked, and each message goes through the sieve as a request's
 * body does: what it gives out goes on in frames made anew, as fragments where the
 * message is long (RFC 6455 5.4: who stands between may change them where no extension
 * was agreed on).  Messages are looked at one by one: what is cut over two of them is not
 * found.  An origin's frames pass as they are, and it is only known where one ends.
 *
 * An exchange's; its worker's alone.
 */
#ifndef WEIR_PROXY_MESSAGES_H
#define WEIR_PROXY_MESSAGES_H

#include "proxy/sieve.h"
#include "wire/ws_frame.h"

struct messages {
	struct sieve *sieve; /* the exchange's, between bodies */
	struct ws_reader up, down;
	enum ws_opcode opcode; /* of what goes out next: the message's, or CONTINUATION */
	bool is_in_message;    /* it is known which */
	struct buf control;    /* a control frame's payload, so far */
	struct buf clear;      /* a piece without its mask */
	struct buf out;        /* what may go up */
};

/* Borrows the sieve. */
struct messages *messages_new(struct sieve *sieve);
void messages_free(struct messages *m);

/*
 * More from the client; *out may go to the origin, and is good until the next call.
 * False: nothing more may: sieve->is_caught, or what came is no websocket
 * (m->up.error).
 */
bool messages_up(struct messages *m, struct str in, struct str *out) MUST_CHECK;
/* More from the origin, on its way to the client. */
void messages_down(struct messages *m, struct str in);
/* The close frame that tells the client why: empty where it would be in another one. */
void messages_put_close(const struct messages *m, struct buf *to);

#endif
