/*
 * span.h - which bytes of a text are to be masked
 *
 * Found by several eyes in any order; spans_merge() sorts them and joins those
 * that overlap, so that printing is one walk.
 *
 * One thread; the secrets in them are wiped with them.
 */
#ifndef WEIR_AUDIT_SPAN_H
#define WEIR_AUDIT_SPAN_H

#include "base/str.h"

/* How the secret is written, so that its mark is made over the secret itself. */
enum span_code { SPAN_PLAIN, SPAN_PERCENT, SPAN_JSON, SPAN_HTML, SPAN_WIDE };

#define SPAN_QUOTE_MAX 16

struct span {
	size_t from, to;
	const char *kind; /* static */
	const char *why;  /* static: what gave it away; NULL: nobody said */
	enum span_code code;
	/* A number in JSON: its mark needs quotes, as they are written there. */
	char quote[SPAN_QUOTE_MAX];
	/* What it says, when `code` alone does not tell; owned by the spans. */
	struct str secret;
};

struct spans {
	struct span *span;
	size_t n, cap;
};

void spans_add(struct spans *s, struct span span);    /* empty ones are left out */
void span_says(struct span *span, struct str secret); /* copies it; spans_add() owns it */
/* How far a JSON text was read, to know what is in a string; {0} at first. */
struct span_place {
	size_t at;
	bool is_in_string;
};

/* A number in JSON goes whole, and its mark needs quotes. */
void span_take_number(struct str json, struct span_place *place, struct span *s);
void spans_merge(struct spans *s);
void spans_reset(struct spans *s); /* none, its memory kept */
void spans_fini(struct spans *s);  /* wipes what secrets it holds */

/* Appends what the escape at `at` says; how long that is, or 0: there is none. */
size_t span_take(struct str raw, size_t at, enum span_code code, struct buf *out);
/* Whether it says just what stands there. */
bool span_is_plain(struct str raw, enum span_code code);
/* Appends what `raw` says when it is not written as `code`; returns how many places may
 * have been an escape's. */
size_t span_decode(struct str raw, enum span_code code, struct buf *out);
/* Something that is written as `code` stands at the beginning of `rest`. */
bool span_begins(struct str rest, enum span_code code);
/*
 * What was found in `plain`, which is what `raw` says when decoded, onto `raw`
 * itself, whose first byte is at `base`.  Takes all of `found`.
 */
void spans_map(struct spans *to, struct spans *found, struct str plain, struct str raw,
    size_t base, enum span_code code);
/* The same for a code in which no part can be masked: `whole` is, as what was found. */
void spans_cover(
    struct spans *to, struct spans *found, struct str plain, struct span whole);

#endif
