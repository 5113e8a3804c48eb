/*
 * scan.h - finds secrets in one piece of text
 *
 * By the key before them (password=..., "apiKey": "...", --token ...), in the
 * userinfo of a URL, in a PEM block, and by their own shape.  One walk from left
 * to right; each byte is looked at a bounded number of times, and a budget holds
 * should a rule ever break that: what is left then is masked whole.
 */
#ifndef WEIR_AUDIT_SCAN_H
#define WEIR_AUDIT_SCAN_H

#include "audit/shape.h"
#include "audit/span.h"

enum scan_as {
	SCAN_TEXT,
	SCAN_URL,  /* values end at & and # only, and are percent-encoded */
	SCAN_JSON, /* inside a JSON string, escapes and all */
};

struct scan {
	const struct shapes *shapes;
	const struct prefilter *filter;
	struct spans *spans; /* what was found goes here */
	size_t work, work_max;
};

void scan_init(struct scan *s, const struct shapes *shapes,
    const struct prefilter *filter, struct spans *spans, size_t input);
void scan_prefilter(
    struct prefilter *f); /* adds what scan_text() looks for beside shapes */

/* `text` is a piece of the whole that begins at `base`; spans count from the whole's
 * begin. */
void scan_text(struct scan *s, struct str text, size_t base, enum scan_as as);
/* The value of a key whose name says `kind`: all of it but an Authorization scheme. */
void scan_value(
    struct scan *s, const char *kind, struct str value, size_t base, enum span_code code);

#endif
