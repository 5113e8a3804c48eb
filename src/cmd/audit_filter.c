/*
 * audit_filter.c - which records weir audit was asked for
 */
#include "cmd/audit_filter.h"

#include <string.h>

#include "base/glob.h"

/* "SID", or "TENANT/SID"; a sid may have slashes itself. */
static bool
is_session(const char *asked, const struct entry *e)
{
	struct str text = str_of(asked);
	size_t n = e->tenant.n;

	if (e->sid.n == 0)
		return false;
	if (str_eq(text, e->sid))
		return true;
	return text.n > n && text.p[n] == '/' && str_starts(text, e->tenant) &&
	       str_eq(str_sub(text, n + 1, text.n), e->sid);
}

static bool
is_one_of(const char *asked, struct str reason)
{
	struct str rest = str_of(asked), one;

	while (str_split(&rest, ',', &one))
		if (str_eq(one, reason))
			return true;
	return false;
}

static bool
is_word(const char *asked, struct str word)
{
	return asked == NULL || str_eq(str_of(asked), word);
}

bool
audit_filter_is_in_time(const struct audit_asked *o, const struct entry *e)
{
	struct str since = str_of(o->since), until = str_of(o->until);

	if (since.n == 0 && until.n == 0)
		return true;
	if (e->ts.n != AUDIT_TIME - 1)
		return false;
	return (since.n == 0 || memcmp(e->ts.p, since.p, since.n) >= 0) &&
	       (until.n == 0 || memcmp(e->ts.p, until.p, until.n) < 0);
}

bool
audit_filter_is_open(const struct audit_asked *o)
{
	return o->session == NULL && o->host == NULL && o->reason == NULL &&
	       o->decision == NULL && o->kind == NULL && o->phase == NULL &&
	       o->since[0] == '\0' && o->until[0] == '\0';
}

bool
audit_filter_fits(const struct audit_asked *o, const struct entry *e)
{
	return is_word(o->decision, e->decision) && is_word(o->kind, e->kind) &&
	       is_word(o->phase, e->phase) &&
	       (o->session == NULL || is_session(o->session, e)) &&
	       (o->host == NULL || glob_fits(str_of(o->host), e->host)) &&
	       (o->reason == NULL || is_one_of(o->reason, e->reason)) &&
	       audit_filter_is_in_time(o, e);
}
