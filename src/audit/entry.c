/*
 * entry.c - one line of the audit log -> its fields
 */
#include "audit/entry.h"

#include <string.h>

enum form { TEXT, NUMBER, USD };

/* `in`: the object it stands in, NULL for the record itself. */
static const struct {
	const char *in, *key;
	enum form form;
	size_t at;
} fields[] = {
	{ NULL, "v", NUMBER, offsetof(struct entry, v) },
	{ NULL, "ts", TEXT, offsetof(struct entry, ts) },
	{ NULL, "id", TEXT, offsetof(struct entry, id) },
	{ NULL, "parent", TEXT, offsetof(struct entry, parent) },
	{ NULL, "seq", NUMBER, offsetof(struct entry, seq) },
	{ NULL, "kind", TEXT, offsetof(struct entry, kind) },
	{ NULL, "phase", TEXT, offsetof(struct entry, phase) },
	{ NULL, "event", TEXT, offsetof(struct entry, event) },
	{ NULL, "decision", TEXT, offsetof(struct entry, decision) },
	{ NULL, "reason", TEXT, offsetof(struct entry, reason) },
	{ NULL, "rule", TEXT, offsetof(struct entry, rule) },
	{ NULL, "layer", TEXT, offsetof(struct entry, layer) },
	{ NULL, "profile", TEXT, offsetof(struct entry, profile) },
	{ "session", "issuer", TEXT, offsetof(struct entry, issuer) },
	{ "session", "tenant", TEXT, offsetof(struct entry, tenant) },
	{ "session", "sub", TEXT, offsetof(struct entry, sub) },
	{ "session", "sid", TEXT, offsetof(struct entry, sid) },
	{ "session", "turn", TEXT, offsetof(struct entry, turn) },
	{ "session", "jti", TEXT, offsetof(struct entry, jti) },
	{ "client", "addr", TEXT, offsetof(struct entry, client) },
	{ "client", "door", TEXT, offsetof(struct entry, door) },
	{ "target", "host", TEXT, offsetof(struct entry, host) },
	{ "target", "port", NUMBER, offsetof(struct entry, port) },
	{ "target", "protocol", TEXT, offsetof(struct entry, protocol) },
	{ "target", "method", TEXT, offsetof(struct entry, method) },
	{ "target", "path", TEXT, offsetof(struct entry, path) },
	{ "bytes", "up", NUMBER, offsetof(struct entry, up) },
	{ "bytes", "down", NUMBER, offsetof(struct entry, down) },
	{ "ms", "total", NUMBER, offsetof(struct entry, ms) },
	{ NULL, "status", NUMBER, offsetof(struct entry, status) },
	{ NULL, "outcome", TEXT, offsetof(struct entry, outcome) },
	{ NULL, "close", TEXT, offsetof(struct entry, close) },
	{ NULL, "error", TEXT, offsetof(struct entry, error) },
	{ NULL, "model", TEXT, offsetof(struct entry, model) },
	{ "usage", "input", NUMBER, offsetof(struct entry, input) },
	{ "usage", "output", NUMBER, offsetof(struct entry, output) },
	{ "usd", "reserved", USD, offsetof(struct entry, reserved) },
	{ "usd", "charged", USD, offsetof(struct entry, charged) },
};

/* Of a system record, whose members are all text. */
static const struct {
	const char *key;
	enum form form;
	size_t at;
} sums[] = {
	{ "count", NUMBER, offsetof(struct entry, count) },
	{ "tenant", TEXT, offsetof(struct entry, tenant) },
	{ "sid", TEXT, offsetof(struct entry, sid) },
	{ "client", TEXT, offsetof(struct entry, client) },
	{ "door", TEXT, offsetof(struct entry, door) },
};

static int64_t
number(struct str digits)
{
	uint64_t n;

	return str_decimal(digits, &n) && n <= INT64_MAX ? (int64_t)n : ENTRY_NONE;
}

static usd_nano
usd(struct str text)
{
	usd_nano amount;

	return usd_read(text, &amount) ? amount : ENTRY_NONE;
}

static void
set(struct entry *e, size_t at, enum form form, struct str text)
{
	char *field = (char *)e + at;
	int64_t n = form == USD ? usd(text) : number(text);

	if (form == TEXT)
		memcpy(field, &text, sizeof(text));
	else
		memcpy(field, &n, sizeof(n));
}

static struct str
text_of(const struct json_value *v, enum json_token type)
{
	return v != NULL && v->type == type ? v->text : STR_NONE;
}

struct str
entry_text(const struct json_value *object, const char *key)
{
	return text_of(json_get(object, key), JSON_STRING);
}

static void
set_fields(struct entry *e)
{
	for (size_t i = 0; i < sizeof(fields) / sizeof(*fields); i++) {
		const struct json_value *in =
		    fields[i].in == NULL ? e->root : json_get(e->root, fields[i].in);

		set(e, fields[i].at, fields[i].form,
		    text_of(json_get(in, fields[i].key),
			fields[i].form == NUMBER ? JSON_NUMBER : JSON_STRING));
	}
}

const char *
entry_read(struct entry *e, struct str line, struct arena *a)
{
	const char *error = NULL;
	struct json_value *root = json_parse(line, a, &error);

	*e = (struct entry){ .root = root, .count = ENTRY_NONE };
	if (root == NULL)
		return error;
	if (root->type != JSON_OBJECT)
		return "it is no object";
	set_fields(e);
	if (!entry_is(e, "sum"))
		return NULL;
	for (size_t i = 0; i < sizeof(sums) / sizeof(*sums); i++)
		set(e, sums[i].at, sums[i].form, entry_text(root, sums[i].key));
	return NULL;
}

bool
entry_is(const struct entry *e, const char *event)
{
	return str_eq(e->kind, STR("system")) && str_eq(e->event, str_of(event));
}
