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
 * beyond a number share one count, which counts against each of the others too (it may
 * be theirs): so a wildcard is no way round the cap.  Sharded by session; any thread, but
 * for a lease, which is its worker's.
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

/* Whose count it is.  `until` is when the session is over (ms, the clock's of `now`):
 * then its count may go.  One without an end is kept until its place is needed and it
 * was not used for a day. */
struct upload_owner {
	struct str session;
	int64_t until;
	bool is_kept; /* in a store, too: it counts only what upload_load() began */
};

/* A reference, made when new; lease_begin() takes it, and lease_end() puts it back.
 * NULL: there are too many sessions, or its counts were not loaded. */
struct upload *upload_ref(struct uploads *all, const struct upload_owner *owner,
    struct str host, int64_t now) MUST_CHECK;
uint64_t upload_taken(const struct upload *u); /* sent, and leased out */
/* So much was sent by no lease: it counts all the same, be it beyond any cap. */
void upload_add(struct upload *u, uint64_t n);

/*
 * ---- beyond this process
 *
 * A store keeps what sessions have sent, for those who come later and those who serve
 * them beside this process: what changed here is told to it now and then, and it says
 * what there is in all.  A death, or another instance, can hide what was sent since.
 */
struct upload_sum {
	struct str host; /* UPLOAD_OTHERS: of all hosts beyond the most */
	int64_t bytes;
};
#define UPLOAD_OTHERS "*"
#define UPLOAD_SUMS_MOST (UPLOAD_HOSTS_MOST + 1)

/* What the store said there is in all: `revision` grows with each of its steps. */
struct upload_said {
	size_t n;
	struct upload_sum sum[UPLOAD_SUMS_MOST];
	int64_t revision;
	int64_t at; /* when, by the clock of `until` */
};

#define UPLOAD_NEVER INT64_MIN
/* When the store said last what the session has sent; UPLOAD_NEVER: it was not loaded. */
int64_t upload_loaded_at(struct uploads *all, struct str session);
/* Older than what is known: nothing.  False: there are too many sessions. */
bool upload_load(struct uploads *all, const struct upload_owner *owner,
    const struct upload_said *said);
/*
 * For each loaded session that has sent something since: what to add in the store.
 * tell() says how many of the `n` it took, the first ones; it is called under a lock, and
 * borrows.  Each that it took some of ends with upload_told(), at any time, and is not
 * told anew before.
 */
typedef size_t upload_tell(
    void *arg, const struct upload_owner *owner, const struct upload_sum *more, size_t n);
void uploads_tell(struct uploads *all, upload_tell *tell, void *arg);
/* `more` as it was told.  said NULL: it was not added. */
void upload_told(struct uploads *all, struct str session, const struct upload_sum *more,
    size_t n, const struct upload_said *said);

/* What one exchange may send; its worker's.  Zeroed: no limit. */
struct lease {
	struct quota quota;    /* first */
	struct upload *upload; /* a reference */
	uint64_t cap;
};

/* Takes the reference; ended before it is begun again. */
void lease_begin(struct lease *l, struct upload *u, uint64_t cap);
/* Another cap; what was leased beyond it goes back. */
void lease_limit(struct lease *l, uint64_t cap);
void lease_end(struct lease *l); /* fine when it was not begun */

#endif
