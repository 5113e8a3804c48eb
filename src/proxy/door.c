/*
 * door.c - what doors have in common
 */
#include "proxy/door.h"

enum heard
door_refused(struct exchange *x, enum reason reason, const char *error)
{
	x->reason = reason;
	x->error = error;
	return HEARD_NOTHING;
}

enum brought
door_brings_nothing(struct auth *out, struct exchange *x)
{
	(void)x;
	*out = (struct auth){ .has_user = false };
	return BROUGHT_NOTHING;
}

bool
door_ends(const struct exchange *x)
{
	(void)x;
	return false;
}
