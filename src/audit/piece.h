/*
 * piece.h - one piece of text on its way through a scan, and what the scan may cost
 *
 * What is looked at beside the walk itself is counted as work; a line, or a JSON
 * document, may cost a multiple of its length and no more, nor have more than so many
 * marks.  A line that costs more is masked whole, what is left of one with more marks,
 * too; so is each string that is left of a document.
 *
 * A scan and its pieces are the stack's of whoever looks; all that a scan points to is
 * borrowed for as long as it goes on, and the text is never changed.  One thread for each
 * scan; shapes and prefilter are shared and immutable.
 */
#ifndef WEIR_AUDIT_PIECE_H
#define WEIR_AUDIT_PIECE_H

#include "audit/costs.h"
#include "audit/shape.h"
#include "audit/span.h"

#define SCAN_DEPTH 3 /* codes within codes that are undone */

/*
 * A mark costs more than finding what it stands for, so their number is bounded, too: in
 * a line, or a JSON document, of n bytes SCAN_MARKS and one for each SCAN_MARK_BYTES.
 */
#define SCAN_MARKS 256
#define SCAN_MARK_BYTES 64

/* What is left is masked whole: n bytes with so many secrets were made to cost much. */
static inline bool
scan_is_dense(size_t marks, size_t n)
{
	return marks > SCAN_MARKS + n / SCAN_MARK_BYTES;
}

enum scan_as {
	SCAN_TEXT,
	SCAN_URL,  /* values end at & and # only, and are percent-encoded */
	SCAN_JSON, /* inside a JSON string, escapes and all */
};

struct scan {
	const struct shapes *shapes;
	const struct prefilter *filter;
	struct spans *spans;   /* what was found goes here */
	size_t work, work_max; /* of the line, in bytes looked at */
	size_t spent;          /* of all lines before it ... */
	size_t spent_max;      /* ... and what it may be, where they are one document */
	bool is_over;          /* it was more: nothing more is looked at */
	size_t line, line_n;   /* where it begins in the whole, and how long it is */
	struct costs *costs;   /* what long lines cost is noted there ... */
	bool is_paid;          /* ... and what each of them does */
	enum cost_lane lane;
	size_t stride;  /* bytes of the whole for each one of the text: 2 in UTF-16 ... */
	size_t offset;  /* ... and where the text begins in it */
	unsigned depth; /* how many codes were undone around the text */
	bool is_bound;  /* what is looked at is paid from the budget of what it is in */
	struct buf
	    *said; /* for each depth, what the code there says; SCAN_DEPTH of them */
	/*
	 * JSON that begins with `text`: false when it is none.  *used is how far it
	 * was read.  kind: of all values in it, or NULL.
	 */
	bool (*document)(
	    struct scan *s, struct str text, size_t base, const char *kind, size_t *used);
};

struct piece {
	struct scan *scan;
	struct str whole; /* the text */
	struct str text;  /* of it, up to the end of the line that is looked at */
	size_t line;      /* where that line begins */
	size_t marks;     /* how many spans there were before it */
	size_t base;      /* where the text begins in the whole of the input */
	enum scan_as as;
	size_t undone[SPAN_HTML + 1]; /* up to where a code was undone, each */
	size_t read;                  /* up to where JSON was read that is none */
};

/* What is begun at `at` of the whole is n bytes long: so much may it cost, unless it is
 * within something. */
void piece_budget(struct scan *s, size_t at, size_t n);
/* What follows is n bytes long, and may cost no more than one line of that length. */
void piece_bound(struct scan *s, size_t n);
/* The last line is done: what it cost is noted. */
void piece_done(struct scan *s);

static inline bool
piece_is_costly(const struct scan *s)
{
	return s->work > s->work_max;
}

/* Masks [from, to) of the text unless it is a mark; why: what gave it away. */
void piece_mask(const struct piece *p, const char *kind, const char *why, size_t from,
    size_t to, enum span_code code);
/* JSON at `at` whose values are all of `kind`, or NULL; where it ends, or 0: it is none.
 */
size_t piece_document(struct piece *p, size_t at, const char *kind);

#endif
