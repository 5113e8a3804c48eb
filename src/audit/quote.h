/*
 * quote.h - outside text into a record: redacted, capped, escaped
 *
 * Whatever bytes a peer sent, what is written is a JSON string of valid UTF-8:
 * controls, line separators and what turns the direction of writing become
 * \uXXXX, a byte that is no UTF-8 becomes \u00XX.  Text is cut after it was
 * redacted, on a character's boundary, and ends with an ellipsis then.
 *
 * One thread.  What does not fit into `to` leaves that over.
 */
#ifndef WEIR_AUDIT_QUOTE_H
#define WEIR_AUDIT_QUOTE_H

#include "audit/redact.h"
#include "wire/json.h"

struct quoter {
	struct json_out json;
	const struct redactor *redactor; /* NULL: all texts are weir's own */
	struct buf scratch;
};

void quoter_init(struct quoter *q, const struct redactor *r, struct buf *to);
void quoter_fini(struct quoter *q);
/* A value of at most `cap` bytes before escaping. */
void quote(struct quoter *q, enum redact_as as, struct str text, size_t cap);
/* A member; left out when the text is empty. */
void quote_member(
    struct quoter *q, const char *key, enum redact_as as, struct str text, size_t cap);
void quote_number(struct quoter *q, const char *key, uint64_t n);
void quote_name(struct quoter *q, const char *key,
    const char *own); /* weir's own word; NULL: left out */

#endif
