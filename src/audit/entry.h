/*
 * entry.h - one line of the audit log -> its fields
 *
 * Keys that are not known are ignored, as doc/AUDIT-FORMAT.md asks of readers; a key
 * that stands twice makes the line unreadable.  A field that is absent, or of another
 * type than it should be, is empty or ENTRY_NONE.  Pure; any thread.
 */
#ifndef WEIR_AUDIT_ENTRY_H
#define WEIR_AUDIT_ENTRY_H

#include "base/money.h"
#include "wire/json.h"

#define ENTRY_NONE (-1)
#define ENTRY_MEMORY ((size_t)8 << 20) /* what the arena of one line must have */

struct entry {
	const struct json_value *root; /* for whoever wants more of it */
	struct str ts, id, parent, kind, phase, event;
	struct str decision, reason, rule, layer, profile;
	struct str issuer, tenant, sub, sid, turn, jti;
	struct str client, door, host, protocol, method, path;
	struct str outcome, close, error, model;
	int64_t v, seq, port, status;
	int64_t up, down, ms, input, output;
	int64_t count; /* of a sum */
	usd_nano reserved, charged;
};

/* NULL, or why it is no record (static).  All of it lives in the line and the arena. */
const char *entry_read(struct entry *e, struct str line, struct arena *a) MUST_CHECK;
bool entry_is(
    const struct entry *e, const char *event); /* a system record of that event */
/* A member of the object, as text; empty where it is something else. */
struct str entry_text(const struct json_value *object, const char *key);

#endif
