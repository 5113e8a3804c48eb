/*
 * ledger.h - what was spent, what is promised, and whether there is room for more
 *
 * The invariant: no reservation is granted that would make spent + reserved > cap
 * in any of its scopes.  It is kept by the store, in one atomic step, so it holds
 * across workers, instances, and kill -9.
 *
 * One thread with a loop owns the store.  Calls come from any worker's loop and
 * follow the one shape: x_start(..., done, arg) copies what it is given and returns
 * a handle; done runs once, on the caller's loop, never inside start; after
 * ledger_cancel() it never runs.  What done says is durable: it runs after the
 * store's commit.  The reply and its text are borrowed for that call.
 *
 * In doubt:
 * - the store is away: reserve and session answer LEDGER_AWAY at once (fail closed);
 * - a settle is kept and tried again until it is in the store or the ledger ends;
 *   its done waits for that for at most `patience_ms`, then says LEDGER_AWAY;
 * - a reserve of which nobody knows whether it took place, or that was cancelled, is
 *   given back as soon as the store can be asked (nothing went upstream for it);
 * - a reservation that nobody settles before its lease is over is charged in full,
 *   flagged LEDGER_LOST.  A settle that comes later still says what the call cost:
 *   the row keeps it, and charges what it was more.
 */
#ifndef WEIR_LEDGER_LEDGER_H
#define WEIR_LEDGER_LEDGER_H

#include "ledger/terms.h"

/* ---- the ledger */

struct ledger;

/*
 * Opens the store.  A store that is not fit (unreadable, of another version, damaged,
 * already open for writing elsewhere) is NULL after logging why.  Redis may be away:
 * it is tried again for ever.
 */
struct ledger *ledger_open(const struct ledger_options *o) MUST_CHECK;
/*
 * The thread; after rights are dropped.  Returns when the health of a store that is a
 * file is known, and Redis is being connected to.
 */
void ledger_start(struct ledger *l);
/*
 * Ends the thread after what was asked has been answered.  Nothing may be started after
 * this; what callers' loops still have to say to them, they say.
 */
void ledger_close(struct ledger *l);
/* Any thread: LEDGER_OK, LEDGER_AWAY or LEDGER_ROLLED_BACK, for /readyz and /status. */
enum ledger_answer ledger_health(const struct ledger *l);
/* Any thread: other instances may use the store, too. */
bool ledger_is_shared(const struct ledger *l);
/* Any thread: settles that wait for the store. */
size_t ledger_waiting(const struct ledger *l);

/* ---- asking */

/* NULL: too much is waiting, or the request makes no sense; refuse (ledger_unavailable).
 */
struct ledger_op *ledger_reserve_start(struct ledger *l, struct loop *on,
    const struct ledger_reserve *r, ledger_done *done, void *arg) MUST_CHECK;
/* First use, owner, turn, ancestors, revocation: what a session's every first call asks.
 */
struct ledger_op *ledger_session_start(struct ledger *l, struct loop *on,
    const struct ledger_who *who, ledger_done *done, void *arg) MUST_CHECK;
/* Never NULL.  done may be NULL for all that follow. */
struct ledger_op *ledger_settle_start(struct ledger *l, struct loop *on,
    const struct ledger_settle *s, ledger_done *done, void *arg);
struct ledger_op *ledger_renew_start(struct ledger *l, struct loop *on,
    const struct ledger_renew *r, ledger_done *done, void *arg);
struct ledger_op *ledger_adjust_start(struct ledger *l, struct loop *on,
    const struct ledger_adjust *a, ledger_done *done, void *arg);
struct ledger_op *ledger_forget_start(struct ledger *l, struct loop *on,
    const struct ledger_forget *f, ledger_done *done, void *arg);
/* room[] of each scope: for `GET /weir/v1/session`. */
struct ledger_op *ledger_look_start(struct ledger *l, struct loop *on,
    const struct ledger_look *q, ledger_done *done, void *arg);
/* A revoked session never comes back. */
struct ledger_op *ledger_revoke_start(struct ledger *l, struct loop *on,
    struct str issuer, struct str tenant, struct str sid, ledger_done *done, void *arg);
struct ledger_op *ledger_note_put_start(struct ledger *l, struct loop *on,
    const struct ledger_note *n, ledger_done *done, void *arg);
/* Only kind and name are looked at. */
struct ledger_op *ledger_note_get_start(struct ledger *l, struct loop *on,
    const struct ledger_note *n, ledger_done *done, void *arg);
/* `text` (totals.h, may be empty) is added to what is there; the reply has the sums.  It
 * lasts until the latest `until`. */
struct ledger_op *ledger_note_add_start(struct ledger *l, struct loop *on,
    const struct ledger_note *n, ledger_done *done, void *arg);
struct ledger_op *ledger_note_delete_start(struct ledger *l, struct loop *on,
    const struct ledger_note *n, ledger_done *done, void *arg);

/*
 * done will not run.  A reserve that was granted all the same is given back; anything
 * else happens or not.  On the loop it was started on; op is gone.
 */
void ledger_cancel(struct ledger_op *op);

#endif
