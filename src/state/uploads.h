/*
 * uploads.h - how much each session has sent to each host
 *
 * A rule's `upload` is a cap on the bytes that leave for one host, for as long as the
 * session lives, whatever number of connections they leave by.  Each exchange takes
 * leases on what is left, of 64 KiB at most and smaller when little is left, and gives
 * back what it did not use: so the sum of what was sent is never above the cap, and a
 * byte costs no lock.
 *
 * "Session" is any name: a session's, or a client's that has none.  Hosts of one session
 * beyond a number share one count, so that a wildcard is no way round the cap.  Sharded
 * by session; any thread, but for a lease, which is its worker's.
 */
#ifndef WEIR_STATE_UPLOADS_H
#define WEIR_STATE_UPLOADS_H

#include "base/quota.h"
#include "base/str.h"

struct uploads; /* the table */
struct upload;  /* what one session has sent to one host; counted */

#define UPLOAD_HOSTS_MOST 256    /* of one session; the others share one count */
#define UPLOAD_FOREVER INT64_MAX /* a session without an end */

struct uploads *uploads_new(void);
void uploads_free(struct uploads *all); /* all references have been put back */

/*
 * Made when new.  `until` is when the session is over, and `now` the same clock's (ms):
 * then its count may go.  One without an end is kept until its place is needed and it
 * was not used for a day.  NULL: there are too many sessions.
 */
struct upload *upload_ref(struct uploads *all, struct str session, struct str host,
    int64_t until, int64_t now) MUST_CHECK;
uint64_t upload_taken(const struct upload *u); /* sent, and leased out */

/* What one exchange may send.  Zeroed: no limit. */
struct lease {
	struct quota quota; /* first */
	struct upload *upload;
	uint64_t cap;
};

/* Takes the reference; ended before it is begun again. */
void lease_begin(struct lease *l, struct upload *u, uint64_t cap);
/* Another cap; what was leased beyond it goes back. */
void lease_limit(struct lease *l, uint64_t cap);
void lease_end(struct lease *l); /* fine when it was not begun */

#endif
