/*
 * card.h - numbers of payment cards
 *
 * 13 to 19 digits, in groups or not, that begin as an issuer's do and end with Luhn's
 * digit (ISO/IEC 7812-1).  Of other long numbers one in some hundred looks so: whoever
 * wants them masked says it (redact.cards).  Pure; any thread.
 */
#ifndef WEIR_AUDIT_CARD_H
#define WEIR_AUDIT_CARD_H

#include "audit/hits.h"

extern const char card_kind[];

void card_find(struct str text, struct hits *hits);

#endif
