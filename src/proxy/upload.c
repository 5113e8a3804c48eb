/*
 * upload.c - may more be sent there, and how much
 */
#include "proxy/upload.h"

#include "proxy/conn.h"

#define NAME_MOST 1024

/* 0: no limit */
static uint64_t
smaller(uint64_t cap, uint64_t other)
{
	return cap == 0 || (other > 0 && other < cap) ? other : cap;
}

/* False: nothing may be sent at all.  *cap 0: there is no limit. */
static bool
find_cap(const struct exchange *x, uint64_t *cap)
{
	int64_t claim = SESSION_UNLIMITED;

	*cap = smaller(x->verdict.upload, (uint64_t)x->snapshot->settings->limits_upload);
	if (x->who != NULL)
		claim = session_upload(x->who->session);
	if (claim > 0)
		*cap = smaller(*cap, (uint64_t)claim);
	return claim != 0;
}

static struct upload *
find_upload(const struct exchange *x)
{
	int64_t until = UPLOAD_FOREVER;
	struct upload *u;
	struct buf name;

	if (x->who != NULL)
		until = session_deadline(session_root(x->who->session), SESSION_FOREVER);
	buf_init(&name, NAME_MOST);
	conn_account(x, &name);
	u = upload_ref(x->conn->e->uploads, buf_view(&name), host_str(&x->ask.host),
	    until, clock_wall_ms());
	buf_fini(&name);
	return u;
}

static bool
refuse(struct exchange *x, enum reason reason, const char *why)
{
	x->verdict.allow = false;
	x->verdict.reason = reason;
	x->verdict.why = why;
	return false;
}

/* What it says it will send counts before it does. */
static bool
has_room(const struct exchange *x)
{
	uint64_t taken = upload_taken(x->lease.upload), cap = x->lease.cap;
	uint64_t want = 1;

	if (x->head->framing == HTTP_LENGTH && x->head->length > 0)
		want = x->head->length;
	return x->lease.quota.left > 0 || (taken < cap && cap - taken >= want);
}

bool
upload_judge(struct exchange *x)
{
	struct upload *u;
	uint64_t cap;

	if (!find_cap(x, &cap))
		return refuse(x, REASON_UPLOAD_EXHAUSTED,
		    "the session's token lets nothing be sent");
	if (cap == 0) {
		lease_end(&x->lease);
		return true;
	}
	if (x->lease.upload != NULL) {
		lease_limit(&x->lease, cap);
	} else {
		if ((u = find_upload(x)) == NULL)
			return refuse(x, REASON_OVERLOADED,
			    "too many sessions have sent something");
		lease_begin(&x->lease, u, cap);
	}
	return has_room(x) || refuse(x, REASON_UPLOAD_EXHAUSTED,
				  "as much as it may has been sent to this host");
}
