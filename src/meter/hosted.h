/*
 * hosted.h - which tools run at the provider, and what becomes of them
 *
 * A tool is the client's own when its family's table of client tools says so;
 * whatever is not known to run at the client counts as hosted.  Pure; any thread.
 */
#ifndef WEIR_METER_HOSTED_H
#define WEIR_METER_HOSTED_H

#include "meter/call.h"

/* What `hostedTools` and the settings let run; zero lets nothing. */
struct hosted_allowed {
	bool all;
	const struct str *name;
	size_t n;
};

/* web_search_20250305 and web_search_preview_2025_03_11 are both web_search. */
struct str hosted_name(struct str type);
/* Is `type` (or its name without a date) in the family's list, which ends with NULL? */
bool hosted_is_client(struct str type, const char *const *client);

/*
 * With `strips`, what is not allowed is taken out of the request.
 * False: the call cannot run without what is not allowed (or does not strip): *which is
 * the first of these.
 */
bool hosted_judge(struct call *c, const struct hosted_allowed *allowed, bool strips,
    const struct hosted **which) MUST_CHECK;
/* For X-Weir-Stripped: the names of what hosted_judge() took out, once each. */
void hosted_stripped(const struct call *c, struct buf *to);

#endif
