/*
 * charge.h - what a call has cost, by what its answer said or what passed
 *
 * The usage that the provider reports, at the table's prices or at its own word where
 * settle: reported; where nobody said, or absurdly, a ceiling (meter/estimate.h).
 * Anomalies become flags of the record.  Belongs to one worker.
 */
#ifndef WEIR_PROXY_CHARGE_H
#define WEIR_PROXY_CHARGE_H

#include "proxy/spend.h"

/* s->basis says by what. */
usd_nano charge_of(struct spend *s, struct usage *u);
/* s->charged is known: notes for record and session who answered, and how much it was. */
void charge_note(struct spend *s, const struct usage *u);
/*
 * By what was said and delivered so far, which is the least that it can be
 * (estimate_least), the stream has cost more than is held.
 */
bool charge_is_passed(const struct spend *s, struct answer *a) MUST_CHECK;

#endif
