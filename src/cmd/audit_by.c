/*
 * audit_by.c - what weir audit stats counts by
 */
#include "cmd/audit_by.h"

#include <stddef.h>
#include <string.h>

static struct str
key_session(const struct entry *e, struct buf *b)
{
	if (e->sid.n == 0)
		return STR_NONE;
	buf_str(b, e->tenant);
	buf_char(b, '/');
	buf_str(b, e->sid);
	return buf_view(b);
}

/* "2031-04-05T06" */
static struct str
key_hour(const struct entry *e, struct buf *b)
{
	buf_str(b, str_sub(e->ts, 0, 13));
	buf_text(b, ":00Z");
	return buf_view(b);
}

#define MEMBER(name) \
	{ \
#name, offsetof(struct entry, name), NULL \
	}

static const struct audit_by {
	const char *name;
	size_t at; /* a text of the entry, or */
	struct str (*key)(const struct entry *e, struct buf *b);
} rows[] = {
	MEMBER(reason),
	MEMBER(host),
	{ "session", 0, key_session },
	MEMBER(tenant),
	MEMBER(rule),
	MEMBER(decision),
	MEMBER(model),
	{ "hour", 0, key_hour },
};

const struct audit_by *
audit_by_find(const char *name)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		if (strcmp(rows[i].name, name) == 0)
			return &rows[i];
	return NULL;
}

struct str
audit_by_key(const struct audit_by *by, const struct entry *e, struct buf *scratch)
{
	struct str member;

	if (by->key != NULL)
		return str_sub(by->key(e, scratch), 0, AUDIT_BY_MAX);
	memcpy(&member, (const char *)e + by->at, sizeof(member));
	return str_sub(member, 0, AUDIT_BY_MAX);
}
