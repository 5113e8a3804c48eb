/*
 * answer.h - a model's answer, read as it passes
 *
 * Bytes come in any pieces, after transfer and content codings are off.  An event
 * stream is read event by event, a JSON body as one document, in constant memory.
 * What the client did not ask for can be held back: then answer_feed() says what may
 * pass, and an event waits until it is whole (64 KiB at most).
 *
 * One thread at a time; owns what it allocates.
 */
#ifndef WEIR_METER_ANSWER_H
#define WEIR_METER_ANSWER_H

#include "meter/call.h"
#include "wire/head.h"
#include "wire/scan.h"
#include "wire/sse.h"

#define ANSWER_HELD_MAX ((size_t)64 << 10)

enum answer_form {
	ANSWER_EMPTY,  /* an error, or a free endpoint: nothing is billed */
	ANSWER_JSON,   /* one document */
	ANSWER_EVENTS, /* text/event-stream */
	ANSWER_LINES,  /* a document a line */
	ANSWER_OTHER,  /* nothing that can be read: usage is missing */
};

struct answer {
	const struct call *call;
	enum answer_form form;
	struct usage usage; /* whole after answer_end() */
	void *state;        /* the family's, zeroed */

	/* of the document that is read; for on_value and on_document */
	struct str event;  /* its `event:` line */
	bool is_done_mark; /* its data is [DONE] */
	bool is_bad;       /* its data is no JSON */
	bool hides;        /* set by on_document: keep this event from the client */
	/* or this member of an object in the document, when drop_n is not 0 */
	uint64_t drop_at, drop_n;
	bool
	    has_ended; /* set by on_document: the family's own end of a stream was seen */
	bool has_failed; /* set by on_document: the stream says that it broke */
	uint64_t told;   /* answer_told(): as much text as the usage is of */
	uint64_t ntold;  /* and how often */

	/* answer.c's */
	struct sse sse;
	struct scan scan;
	struct buf held;
	size_t data_at, data_end; /* of the event's data in `held`, when it is one line */
	char head[8];             /* the data's first bytes */
	size_t nhead;
	bool is_split; /* it is more than one line */
	enum scan_state scanned;
	uint64_t seen_told, seen_text; /* when answer_so_far() last looked */
	uint64_t over_at;              /* text_least when the last word was there */
	bool is_over;
	bool is_passing; /* an event too long to hold back */
	bool has_document;
};

/*
 * `head`: status and fields as the provider sent them; content-type decides the form.
 * The call must outlive the answer.
 */
struct answer *answer_new(const struct call *c, const struct http_head *head);
void answer_free(struct answer *a);
/*
 * pass == NULL: all bytes pass as they are.  Else what the client may see is added to
 * it; call with an empty `in` at the end of the body to get what is still held.
 */
void answer_feed(struct answer *a, struct str in, struct buf *pass);
/* The body is over.  `whole`: as its framing said; else it broke off. */
const struct usage *answer_end(struct answer *a, bool whole);
/*
 * What a stream has said and delivered by now: the running totals as runs, and the text.
 * All of it is the least that was made: what is hidden and not announced as a count is
 * not in it.  False: nothing new of note since the last time, or the stream's last word
 * is there and no text came behind it, so that its own end is near.
 */
bool answer_so_far(struct answer *a, struct usage *u) MUST_CHECK;
/* Between two events, so that a cut there leaves nothing half said. */
bool answer_is_between(const struct answer *a);
/* Ends the stream as the family does when the limit is reached.  False: it has no way. */
bool answer_cut(const struct answer *a, struct buf *to) MUST_CHECK;

/* For families: of a value, as text bytes of the model's output. */
void answer_text(struct answer *a, const struct scan_value *v);
/* For families: the document says usage.  Text behind the last one is in no usage. */
void answer_told(struct answer *a);

#endif
