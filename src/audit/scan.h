/*
 * scan.h - finds secrets in one piece of text
 *
 * By the key before them (password=..., "apiKey": "...", --token ...), in the
 * userinfo of a URL, in a private key's block, by their own shape, and in what is
 * written in a code: percent, JSON's and HTML's escapes, base64, hex, three deep.
 * One walk from left to right; each byte is looked at a bounded number of times,
 * and a budget holds should a rule ever break that.
 * No secret is in two lines but a private key's, and what join.h knows: lines are judged
 * one by one, so that it does not matter which of them come together.
 *
 * Borrows the text for the call, and what scan_init() is given for as long as the scan
 * goes on; the spans are the caller's, and in no order.  On the scan's thread: two scans
 * at once share shapes and prefilter, nothing else.
 */
#ifndef WEIR_AUDIT_SCAN_H
#define WEIR_AUDIT_SCAN_H

#include "audit/piece.h"

/* said: SCAN_DEPTH secret buffers of the caller's, who keeps them for many scans. */
void scan_init(struct scan *s, const struct shapes *shapes,
    const struct prefilter *filter, struct buf *said, struct spans *spans);
/* Adds what scan_text() looks for beside shapes. */
void scan_prefilter(struct prefilter *f);

/* `text` is a piece of the whole that begins at `base`; spans count from the whole's
 * begin. */
void scan_text(struct scan *s, struct str text, size_t base, enum scan_as as);
/* What the base64 or hex digits of [from, to) say, which were cut in lines. */
void scan_digits(struct scan *s, struct str text, size_t from, size_t to);

#endif
