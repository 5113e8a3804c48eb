/*
 * sse.h - where one server-sent event ends and the next begins
 *
 * A model's answer comes as `text/event-stream` (WHATWG HTML 9.2), cut anywhere by
 * the network: inside a line, between CR and LF, inside a character.  The reader
 * takes what came, hands out each event's data piece by piece as slices of it, and
 * says which bytes of the stream each event was, so that one event can be left out
 * and the others passed on as they are.
 *
 * Constant memory, however long an event is.  Pure; any thread.
 */
#ifndef WEIR_WIRE_SSE_H
#define WEIR_WIRE_SSE_H

#include "base/str.h"

#define SSE_NAME 64

enum sse_token {
	SSE_MORE,  /* all of the input was taken */
	SSE_DATA,  /* *text is the next piece of this event's data, never empty */
	SSE_EVENT, /* an event with data is whole */
	SSE_BLANK, /* an event without data is over (comments, a lone blank line) */
};

struct sse {
	uint64_t begin; /* where the event that a token speaks of begins in the stream */
	uint64_t at;    /* how many bytes were taken; after EVENT and BLANK, its end */
	struct str
	    name; /* of its `event:` line, empty when none; good until the next call */
	bool name_is_cut; /* longer than SSE_NAME: this is its beginning */

	/* the reader's own */
	char name_text[SSE_NAME], field[6];
	uint8_t field_n, state, kind, bom;
	bool has_data, has_line, after_cr, is_over;
};

void sse_init(struct sse *s);
/*
 * Takes from the front of *in.  A CR is a line's end at once, so that no event waits
 * for a byte that may not come; the LF of a CR LF counts to the event after it.
 */
enum sse_token sse_next(struct sse *s, struct str *in, struct str *text) MUST_CHECK;
/* Nothing of an event has come yet: a stream that ends here was not cut. */
bool sse_is_between(const struct sse *s);

#endif
