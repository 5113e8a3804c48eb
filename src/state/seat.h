/*
 * seat.h - who is present at a session, and is told when it must end
 *
 * A connection that asks on a session's behalf has a seat there.  Seats keep the source
 * attached that holds the session, and whatever ends the session, the token or the arm
 * tells those it concerns.  Any thread; a seat's owner is one connection, on whose thread
 * it is taken and left.
 */
#ifndef WEIR_STATE_SEAT_H
#define WEIR_STATE_SEAT_H

#include "base/list.h"
#include "state/session.h"

/*
 * Embedded in a connection.  `told` runs at most once, on the thread that revokes,
 * detaches or disarms, with the session's lock held: it only posts to the connection's
 * loop.  After seat_leave() has returned it does not run any more.
 */
struct seat {
	struct list link;
	struct session *session;
	uint64_t jti; /* by hash; 0: none */
	uint64_t arm; /* the source by whose arm it came, by hash; 0: by none */
	void (*told)(void *arg, enum session_answer why);
	void *arg;
};
/* For the ask that opened `s`.  Anything but SESSION_OK: since then it was ended,
 * disarmed or taken over, or its token revoked; the seat is not taken. */
enum session_answer seat_take(struct seat *seat, struct session *s,
    const struct session_ask *ask, unix_ms now,
    void (*told)(void *arg, enum session_answer why), void *arg) MUST_CHECK;
void seat_leave(struct seat *seat, unix_ms now); /* fine when it is not taken */

/*
 * Ends the seats of that token (by session_jti_hash()) and that arm (by seat_arm()), or
 * of any (0): how many.  Under the lock of the session's shard.
 */
size_t seats_tell(struct session *s, uint64_t jti, uint64_t arm, enum session_answer why);
uint64_t seat_arm(struct str source); /* never 0 */

#endif
