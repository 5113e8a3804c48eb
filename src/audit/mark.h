/*
 * mark.h - what stands where a secret stood: ~redacted.KIND.ID.xxxxxxxxxxxx~
 *
 * ID names the key, the 12 hex digits are 48 bits of HMAC-SHA-256 over the
 * decoded secret, whatever its kind: one secret has the same digits everywhere.
 * Letters, digits and . - _ ~ only: a mark needs no escaping in a URL, in JSON,
 * in a header or in a shell.
 */
#ifndef WEIR_AUDIT_MARK_H
#define WEIR_AUDIT_MARK_H

#include "base/str.h"

#define MARK_ID_MAX 16

struct marker;

/* An empty key means a random one of this run, with id "k0". */
struct marker *marker_new(struct str key, const char *id);
void marker_free(struct marker *m); /* wipes the key */
void marker_print(
    const struct marker *m, const char *kind, struct str secret, struct buf *out);

/*
 * The length of the mark that `text` begins with, or 0.  Only our own kinds
 * count: what merely looks like a mark protects nothing.
 */
size_t mark_length(struct str text);
/*
 * A kind of the operator's: from now on its marks count.  The name as long as the process
 * lives; NULL: it is one of ours, or there are too many.  Any thread.
 */
const char *mark_add_kind(struct str name) MUST_CHECK;
bool mark_is(struct str text); /* one mark and nothing else, in UTF-16, too */
/* Text in UTF-16, whichever way round, from its first character on: a NUL behind each but
 * maybe the last. */
bool mark_is_wide(struct str text);

#endif
