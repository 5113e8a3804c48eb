/*
 * stream.h - redacting what comes in pieces and may never end
 *
 * Pieces are cut anew where no secret can be in two: at a line's end, behind a
 * private key's block, behind a key and its value below it, behind a JSON document,
 * behind a header field and its continuation lines.  What is given out does not depend on
 * how the input was split, and nothing that is whole is held back.  Memory is bounded: of
 * a line or document beyond STREAM_UNIT_MAX all is masked, and a private key's block
 * beyond STREAM_PEM_MAX is one mark however long it is.  Time is bounded, too: what costs
 * more than a purse (purse.h) pays is one mark of kind "doubt" with what follows it, up
 * to such a place.
 *
 * The stream is its owner's, on one thread, and holds what is not given out yet; the
 * redactor is borrowed until fini, a piece for the call.
 */
#ifndef WEIR_AUDIT_STREAM_H
#define WEIR_AUDIT_STREAM_H

#include "audit/pem.h"
#include "audit/redact.h"

#define STREAM_UNIT_MAX ((size_t)16 << 20)
#define STREAM_PEM_MAX ((size_t)256 << 10)

struct redact_stream {
	const struct redactor *redactor;
	enum redact_as as;
	struct buf held;    /* not given out yet */
	size_t begin;       /* of the unit that is growing, in held */
	size_t seen;        /* how far its end was looked for */
	size_t looked;      /* how far a newline was looked for */
	size_t tail;        /* behind the last newline */
	struct purse purse; /* its stretch, if any, begins at `begin` */
	bool owes_newline;  /* JSON: a mark is out, and nothing may stand behind it */
	unsigned depth;     /* JSON: open brackets */
	bool is_line;       /* JSON: it is none, and goes up to a newline */
	bool is_in_string, is_escaped; /* JSON */
	bool is_in_pem;                /* text: a block is open ... */
	struct pem pem;
	size_t pem_line;      /* ... that began in the line here */
	size_t pem_end;       /* behind the last block that ended */
	bool is_dropping_pem; /* it is too long: its mark is out, its rest is dropped */
	size_t gone;          /* bytes of the input before what is held */
	redact_told *told;    /* instead of giving out: what was found, and where */
	void *told_arg;
	bool is_skipping; /* a unit grew beyond all bounds: its rest is dropped */
};

void redact_stream_init(
    struct redact_stream *s, const struct redactor *r, enum redact_as as);
/* Nothing is given out from here on, but `told` is what was found, by its place in all of
 * the input. */
void redact_stream_explain(struct redact_stream *s, redact_told *told, void *arg);
void redact_stream_fini(struct redact_stream *s);
/* Appends to `out` what is whole by now. */
void redact_stream_feed(struct redact_stream *s, struct str in, struct buf *out);
/* The input has ended: what is held comes out. */
void redact_stream_end(struct redact_stream *s, struct buf *out);

#endif
