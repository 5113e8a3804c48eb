/*
 * upload.c - may more be sent there, and how much
 */
#include "proxy/upload.h"

#include "base/loop.h"
#include "policy/cap.h"

static bool
refuse(struct verdict *v, enum reason reason, const char *why)
{
	v->allow = false;
	v->reason = reason;
	v->why = why;
	return false;
}

/* What it says it will send counts before it does. */
static bool
has_room(const struct lease *l, uint64_t want)
{
	uint64_t taken = upload_taken(l->upload);

	return l->quota.left > 0 ||
	       (taken < l->cap && l->cap - taken >= (want > 0 ? want : 1));
}

/* False: there are too many that send. */
static bool
lease(struct lease *l, uint64_t cap, const struct upload_ask *ask)
{
	struct upload *u;

	if (l->upload != NULL) {
		lease_limit(l, cap);
		return true;
	}
	u = upload_ref(ask->all, &ask->owner, ask->host, clock_wall_ms());
	if (u == NULL)
		return false;
	upload_add(u, ask->uncounted);
	lease_begin(l, u, cap);
	return true;
}

bool
upload_judge(struct lease *l, struct verdict *v, const struct upload_ask *ask)
{
	const struct caps caps = { v->upload, ask->limit, ask->claim };
	struct cap cap;

	if (!cap_judge(&cap, v, &caps))
		return false;
	if (cap.from == CAP_NONE) {
		lease_end(l);
		return true;
	}
	if (!lease(l, cap.bytes, ask))
		return refuse(v, REASON_OVERLOADED,
		    "what was sent before is not known: too many sessions have sent "
		    "something, or the first cap came this moment");
	return has_room(l, ask->length) ||
	       refuse(v, REASON_UPLOAD_EXHAUSTED,
		   "as much as it may has been sent to this host");
}
