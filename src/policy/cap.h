/*
 * cap.h - how much may be sent, of all that say something about it
 *
 * Rules, limits.upload and the session's token each may have a cap on what leaves for
 * one host; the smallest holds.  For the live path and for explain.  Pure; any thread.
 */
#ifndef WEIR_POLICY_CAP_H
#define WEIR_POLICY_CAP_H

#include "policy/verdict.h"

#define CAP_UNSAID INT64_C(-1)

/* Bytes of a session to one host. */
struct caps {
	uint64_t rule; /* the verdict's; 0: none */
	int64_t limit; /* limits.upload; 0: none */
	int64_t claim; /* of the tokens; below 0: none */
};

enum cap_source { CAP_NONE, CAP_RULE, CAP_LIMIT, CAP_CLAIM };

struct cap {
	uint64_t bytes;       /* never 0 where there is a cap */
	enum cap_source from; /* of two that are equal the first; CAP_NONE: no cap */
};

/* As who has to write it knows it: "rule", "limits.upload", "uploadBytes"; NULL: none. */
const char *cap_source_name(enum cap_source from);

/*
 * The verdict is an allow; true: it is one still, and *out is what holds.  False: it
 * says why nothing may be sent at all.
 */
bool cap_judge(struct cap *out, struct verdict *v, const struct caps *caps) MUST_CHECK;

#endif
