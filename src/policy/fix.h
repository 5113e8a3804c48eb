/*
 * fix.h - the smallest rule that would admit what was refused, and what else it would
 *
 * Only refusals that an allow rule can mend have one: a deny rule, a malformed
 * request, or an address nobody may reach has none.  Pure.
 */
#ifndef WEIR_POLICY_FIX_H
#define WEIR_POLICY_FIX_H

#include "policy/ruleset.h"
#include "wire/json.h"

#define ALSO_MAX 9

struct fix {
	bool is_there;
	struct str host;
	enum protocol protocol;
	uint16_t port;           /* 0: the protocol's own */
	struct str method, path; /* empty: any */
	const struct prefix *private;
	size_t nprivate;
	bool metadata;

	struct str also[ALSO_MAX]; /* sentences: what else it lets through */
	size_t nalso;
	struct str unlimited; /* one of them: what other rules of the host ask for, and
				 this one does not; empty: nothing */
};

/* The answers that were looked up; found NULL: none were. */
struct fix_answers {
	const struct addr *found;
	size_t n;
};

/* Texts live in the arena, or are the facts'. */
void fix_find(struct fix *out, enum reason refused, const struct facts *f,
    const struct fix_answers *answers, const struct ruleset *rs,
    const struct place *place, struct arena *a);

void fix_json(const struct fix *fix,
    struct json_out *j); /* {"rule":{...},"also_admits":[...]} or null */
/* An entry to paste under `allow:`; nothing when there is none. */
void fix_yaml(const struct fix *fix, struct buf *to);
/*
 * The same in one line without a double quote, so that a log can carry it unescaped;
 * `unlimited` is a comment at its end.
 */
void fix_line(const struct fix *fix, struct buf *to);

#endif
