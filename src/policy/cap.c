/*
 * cap.c - how much may be sent, of all that say something about it
 */
#include "policy/cap.h"

static const char *const names[] = {
	[CAP_NONE] = NULL,
	[CAP_RULE] = "rule",
	[CAP_LIMIT] = "limits.upload",
	[CAP_CLAIM] = "uploadBytes",
};

const char *
cap_source_name(enum cap_source from)
{
	return names[from];
}

/* bytes 0: nothing is said there */
static void
lower(struct cap *least, enum cap_source from, uint64_t bytes)
{
	if (bytes > 0 && (least->from == CAP_NONE || bytes < least->bytes))
		*least = (struct cap){ bytes, from };
}

bool
cap_judge(struct cap *out, struct verdict *v, const struct caps *caps)
{
	*out = (struct cap){ 0 };
	if (caps->claim == 0) {
		v->allow = false;
		v->reason = REASON_UPLOAD_EXHAUSTED;
		v->why = "the session's token lets nothing be sent";
		return false;
	}
	lower(out, CAP_RULE, caps->rule);
	lower(out, CAP_LIMIT, caps->limit > 0 ? (uint64_t)caps->limit : 0);
	lower(out, CAP_CLAIM, caps->claim > 0 ? (uint64_t)caps->claim : 0);
	return true;
}
