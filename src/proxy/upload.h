/*
 * upload.h - may more be sent there, and how much
 *
 * What an exchange may send is the least of what its rules, limits.upload and the
 * tokens of its session and that one's ancestors say.  It is counted for the family:
 * a session and its sub-agents send together, as they spend together.
 *
 * On the exchange's worker, whose lease it is; the table behind it is any thread's.
 */
#ifndef WEIR_PROXY_UPLOAD_H
#define WEIR_PROXY_UPLOAD_H

#include "policy/verdict.h"
#include "state/session.h"
#include "state/uploads.h"

/* Borrowed for the call. */
struct upload_ask {
	struct uploads *all;
	struct upload_owner owner; /* who sends */
	struct str host;           /* and where to */
	int64_t claim;             /* SESSION_UNLIMITED: none */
	int64_t limit;             /* limits.upload */
	uint64_t length;           /* of the body that is announced; 0: none */
	uint64_t uncounted;        /* what it has sent while no cap held for it */
};

/*
 * The verdict is an allow; true: it is one still, and the lease is what may be sent.
 * False: it says why not.  Again, under other rules, is fine.
 */
bool upload_judge(
    struct lease *l, struct verdict *v, const struct upload_ask *ask) MUST_CHECK;

#endif
