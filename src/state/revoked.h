/*
 * revoked.h - which sessions and tokens were revoked, and until when that matters
 *
 * Remembered whether or not the session is known here.  Times are milliseconds since
 * 1970. Any thread: it has a lock of its own, inside of which nothing else is locked.
 */
#ifndef WEIR_STATE_REVOKED_H
#define WEIR_STATE_REVOKED_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/map.h"

struct revoked {
	pthread_mutex_t lock;
	struct map until; /* by what it is, tenant, name */
	atomic_size_t n;  /* of them, so that nobody locks for nothing */
};

void revoked_init(struct revoked *r);
void revoked_fini(struct revoked *r);

/* The session of that sid, of every issuer; the token of that jti. */
void revoked_session(struct revoked *r, struct str tenant, struct str sid,
    int64_t until_ms, int64_t now_ms);
void revoked_token(struct revoked *r, struct str tenant, struct str jti, int64_t until_ms,
    int64_t now_ms);
/* Was either?  An empty jti is no token's. */
bool revoked_has(struct revoked *r, struct str tenant, struct str sid, struct str jti,
    int64_t now_ms) MUST_CHECK;

#endif
