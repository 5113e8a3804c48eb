/*
 * operator.h - what operators do to sessions: revoke, detach, arm, disarm
 *
 * Done here by an operator, or learnt from the store, where it was done at another weir.
 * Whatever takes something away ends the seats it concerns before it returns, on whatever
 * thread; what it takes is remembered, so a session that comes later is refused the same.
 * Any thread.  Times are milliseconds since 1970.
 */
#ifndef WEIR_STATE_OPERATOR_H
#define WEIR_STATE_OPERATOR_H

#include "state/session.h"

/* ---- each ends the seats it concerns and returns how many */

/* Of every issuer; sub-agents with it.  Remembered until `until`. */
size_t sessions_revoke(
    struct sessions *all, struct str tenant, struct str sid, unix_ms until, unix_ms now);
size_t sessions_revoke_token(
    struct sessions *all, struct str tenant, struct str jti, unix_ms until, unix_ms now);
/* The source lets go; the next one that comes owns it. */
size_t sessions_detach(struct sessions *all, struct str tenant, struct str sid);

/* ---- arms: a source that speaks for a session without carrying its token */

/* The token's text is wiped when the arm goes, or its time is over and somebody looks.  A
 * new arm for a source ends the old one, and the seats it had, unless it is for the same
 * session. */
void sessions_arm(struct sessions *all, struct str source, struct str token,
    const struct session_ask *of, unix_ms until, unix_ms now);
bool sessions_disarm(struct sessions *all, struct str source);
/* Whoever asks the store whether a source is armed notes this before. */
uint64_t sessions_arm_changes(struct sessions *all, struct str source);
/* What it answered to that: one is armed, or (at its `now`) none is, which ends what the
 * arm had opened unless its time was over before.  False: somebody has changed it since
 * `seen`, so nothing was done; ask again. */
bool sessions_arm_told(struct sessions *all, struct str source, struct str token,
    const struct session_ask *of, unix_ms until, unix_ms now, uint64_t seen) MUST_CHECK;
bool sessions_disarm_told(
    struct sessions *all, struct str source, unix_ms now, uint64_t seen) MUST_CHECK;
/* It is armed, and the last word on that is older. */
bool sessions_arm_is_stale(
    struct sessions *all, struct str source, unix_ms now, int64_t most_ms) MUST_CHECK;
/* Appends the token's text; false: this source is not armed. */
bool sessions_armed(struct sessions *all, struct str source, unix_ms now, struct buf *to);

#endif
