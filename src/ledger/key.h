/*
 * key.h - the names of rows: each part with its length in front, so none can pose as two
 *
 *	a session    6:issuer4:acme5:ses_1
 *	its scope    s 6:issuer4:acme5:ses_1        a turn's: t … 3:t_3
 *	a tenant's   n 6:issuer4:acme d20786        in a window: with its number
 *	all          a m682                         all public ones: p d20786
 *	a call       request#attempt
 *	a note       j, a, o or u, and its name
 *
 * (Without the spaces.)  Pure; any thread.
 */
#ifndef WEIR_LEDGER_KEY_H
#define WEIR_LEDGER_KEY_H

#include "ledger/terms.h"

#define KEY_PART_MAX 128
#define KEY_TOMB 65 /* hex SHA-256 with its NUL */

void key_put(struct buf *to, struct str part);
bool key_next(struct str *rest, struct str *part); /* false: no (more) part */

/* Without its window.  False: a part that the kind has is empty or too long. */
bool key_scope(struct buf *to, const struct ledger_scope *s) MUST_CHECK;
/* Is it one of a session's scopes, or a tenant's?  Then `parts` is what follows the
 * letter. */
bool key_scope_parts(struct str scope, struct str *parts);

/*
 * Back again: `s` has the kind, the window and the parts, which borrow from the key;
 * *number is the window's.  A session's own is LEDGER_SESSION.  False: it is no key.
 */
bool key_scope_read(struct str key, struct ledger_scope *s, int64_t *number) MUST_CHECK;

/* Which day or month since 1970 it is (UTC); 0 for LEDGER_EVER. */
int64_t window_number(enum ledger_window w, usec now);
void key_window(struct buf *to, enum ledger_window w, int64_t number);

extern const char key_note_letters[]; /* by enum ledger_note_kind */
bool key_is_object(struct str note);

/* Names the deleted without saying who they were. */
void key_tomb(
    char out[static KEY_TOMB], struct str issuer, struct str tenant, struct str sid);

#endif
