/*
 * sent.h - what sessions have sent, in the store that lasts
 *
 * A cap on uploads holds for a session's life, and that may outlast this process or be
 * served by others, too.  Where a cap may hold, a session's counts are loaded before its
 * first exchange here (proxy/counts.h), and what was sent is told to the store each
 * second; so what a death can hide, or other instances cannot see yet, is the bytes of a
 * second, or of as long as the store is away.
 *
 * Any thread that has a loop, on which the store's answers come; main tells.
 */
#ifndef WEIR_PROXY_SENT_H
#define WEIR_PROXY_SENT_H

#include "ledger/ledger.h"
#include "state/session.h"
#include "state/uploads.h"

#define SENT_EVERY_MS 1000

/* Whose account the session's uploads are on: its family's.  Borrows from the session. */
struct upload_owner sent_owner(struct session *s);

/* Is what the store says known, and, where others use it, too, no older than a second? */
bool sent_is_loaded(
    struct uploads *all, const struct ledger *l, const struct upload_owner *owner);
/* Asks the store, on this loop; what it says is for sent_loaded(). */
struct ledger_op *sent_load_start(struct ledger *l, struct loop *on,
    const struct upload_owner *owner, ledger_done *done, void *arg);
/* False: it could not say, and never has. */
bool sent_loaded(struct uploads *all, const struct upload_owner *owner,
    const struct ledger_reply *reply) MUST_CHECK;

/*
 * Tells the store what has changed; its answers come on `loop`, the caller's.  The
 * uploads outlive them.
 */
void sent_tell(struct uploads *all, struct ledger *l, struct loop *loop);

#endif
