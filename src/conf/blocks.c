/*
 * blocks.c - types whose value is a list or a map of blocks, each with its own keys
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conf/rows.h"
#include "conf/text.h"

/* What one entry is. */
struct shape {
	struct rows rows;
	size_t size;
	bool is_map;
};

/* Every entry's struct begins like this; a list's has no name. */
struct entry {
	struct mark mark;
	char *name;
};

/* struct session_keys and its like, whatever they point at. */
struct blocks {
	char *p;
	size_t n;
};

static struct blocks
blocks_of(const void *field)
{
	struct blocks b;

	memcpy(&b, field, sizeof(b));
	return b;
}

static void
blocks_drop(const struct shape *shape, struct blocks b)
{
	for (size_t i = 0; i < b.n; i++) {
		void *at = b.p + i * shape->size;
		if (shape->is_map)
			free(((struct entry *)at)->name);
		rows_free(&shape->rows, at);
	}
	free(b.p);
}

static bool
entry_read(
    const struct loading *l, const struct shape *shape, const struct node *n, void *slot)
{
	enum written written[ROWS_MAX] = { NOT_WRITTEN };

	if (!node_is(l->t, n, l->rep, NODE_BLOCK))
		return false;
	bool is_fine = rows_read(l, &shape->rows, n, slot, written);
	rows_default(&shape->rows, slot, written);
	if (is_fine) {
		((struct entry *)slot)->mark = shape->is_map ? n->key_mark : n->mark;
		if (shape->is_map)
			((struct entry *)slot)->name = str_dup(n->key);
	} else {
		rows_free(&shape->rows, slot);
		memset(slot, 0, shape->size);
	}
	return is_fine;
}

static bool
blocks_read(const struct loading *l, const struct row *row, const struct node *n,
    void *field, const struct shape *shape)
{
	struct blocks b = { 0 };
	bool is_fine = true;

	if (!node_is(l->t, n, l->rep, shape->is_map ? NODE_BLOCK : NODE_LIST))
		return false;
	if (n->n > (size_t)row->max) {
		node_error(l->t, n, l->rep, "out_of_range", NULL,
		    "%s has at most %lld entries, not %zu", row->key, (long long)row->max,
		    n->n);
		return false;
	}
	b.p = mem_zalloc(n->n * shape->size + 1);
	for (const struct node *at = n->child; at != NULL; at = at->next) {
		if (entry_read(l, shape, at, b.p + b.n * shape->size))
			b.n++;
		else
			is_fine = false;
	}
	if (is_fine)
		memcpy(field, &b, sizeof(b));
	else
		blocks_drop(shape, b);
	return is_fine;
}

static bool
blocks_same(const void *a, const void *b, const struct shape *shape)
{
	struct blocks x = blocks_of(a), y = blocks_of(b);

	if (x.n != y.n)
		return false;
	for (size_t i = 0; i < x.n; i++) {
		const void *p = x.p + i * shape->size, *q = y.p + i * shape->size;
		if ((shape->is_map && strcmp(((const struct entry *)p)->name,
					  ((const struct entry *)q)->name) != 0) ||
		    !rows_same(&shape->rows, p, q))
			return false;
	}
	return true;
}

static void
blocks_hide(const struct loading *l, const struct node *n, const struct shape *shape)
{
	for (const struct node *at = n->child; at != NULL; at = at->next)
		if (at->type == NODE_BLOCK)
			rows_hide(l, &shape->rows, at);
		else
			tree_hide(l->t, at); /* no block, so nobody knows what it is */
}

static void
blocks_show(const void *field, const struct shape *shape, secret_see *see, void *arg)
{
	struct blocks b = blocks_of(field);

	for (size_t i = 0; i < b.n; i++)
		rows_show(&shape->rows, b.p + i * shape->size, see, arg);
}

/* ---- the tables */

#define ROW(field, key, type, fallback, min, max) \
	{ \
		key, &type_##type, fallback, min, max, true, NULL, offsetof(OF, field), \
		    false \
	}
#define MUST(field, key, type, min, max) \
	{ \
		key, &type_##type, NULL, min, max, true, NULL, offsetof(OF, field), true \
	}

#define OF struct session_key
static const struct row session_key_rows[] = {
	MUST(issuer, "issuer", TEXT, 1, 128),
	ROW(audience, "audience", TEXT, "weir", 1, 128),
	ROW(alg, "alg", WORD, NULL, 1, 16),
	ROW(kid, "kid", TEXT, NULL, 1, 128),
	ROW(secret, "secret", SECRET, NULL, 0, 0),
	ROW(pem, "pem", PUBLIC_KEY, NULL, 0, 0),
	ROW(jwks, "jwks", PUBLIC_KEY, NULL, 0, 0),
	ROW(tenants, "tenants", LIST_text, NULL, 0, 4096),
	ROW(profiles, "profiles", LIST_text, NULL, 0, 64),
};
#undef OF

#define OF struct session_static
static const struct row session_static_rows[] = {
	MUST(user, "user", TEXT, 1, 128),
	MUST(password, "password", SECRET, 0, 0),
	MUST(claims, "claims", JSON, 0, 0),
};
#undef OF

#define OF struct claim_names
static const struct row claim_names_rows[] = {
	ROW(as[CLAIM_SUB], "sub", TEXT, NULL, 1, 128),
	ROW(as[CLAIM_TENANT], "tenant", TEXT, NULL, 1, 128),
	ROW(as[CLAIM_SID], "sid", TEXT, NULL, 1, 128),
	ROW(as[CLAIM_TURN], "turn", TEXT, NULL, 1, 128),
	ROW(as[CLAIM_PAR], "par", TEXT, NULL, 1, 128),
	ROW(as[CLAIM_GEN], "gen", TEXT, NULL, 1, 128),
	ROW(as[CLAIM_PROFILE], "profile", TEXT, NULL, 1, 128),
	ROW(as[CLAIM_BUDGET], "budget", TEXT, NULL, 1, 128),
	ROW(as[CLAIM_LIMITS], "limits", TEXT, NULL, 1, 128),
	ROW(as[CLAIM_NETWORK], "network", TEXT, NULL, 1, 128),
	ROW(as[CLAIM_MODELS], "models", TEXT, NULL, 1, 128),
	ROW(as[CLAIM_HOSTED_TOOLS], "hostedTools", TEXT, NULL, 1, 128),
	ROW(as[CLAIM_PUBLIC], "public", TEXT, NULL, 1, 128),
};
#undef OF

#define OF struct session_profile
static const struct row profile_rows[] = {
	ROW(policies, "policies", LIST_path, NULL, 0, 16),
	ROW(fallback.turn_usd, "budget.default.turnUsd", USD, NULL, 0, 0),
	ROW(fallback.session_usd, "budget.default.sessionUsd", USD, NULL, 0, 0),
	ROW(fallback.vm_seconds, "budget.default.vmSeconds", AMOUNT, NULL, 0, INT32_MAX),
	ROW(max.turn_usd, "budget.max.turnUsd", USD, NULL, 0, 0),
	ROW(max.session_usd, "budget.max.sessionUsd", USD, NULL, 0, 0),
	ROW(max.vm_seconds, "budget.max.vmSeconds", AMOUNT, NULL, 0, INT32_MAX),
};
#undef OF

#define OF struct credential
static const struct row credential_rows[] = {
	MUST(value, "value", SECRET, 0, 0),
	MUST(hosts, "hosts", LIST_text, 1, 256),
	ROW(tenants, "tenants", LIST_text, NULL, 0, 4096),
	ROW(placeholder, "placeholder", LINE, NULL, 4, 256),
};
#undef OF

#define OF struct tenant_budget
static const struct row tenant_budget_rows[] = {
	MUST(usd, "usd", USD, 0, 0),
	ROW(per, "per", ENUM_per, "ever", 0, 0),
};
#undef OF

#define OF struct redact_rule
static const struct row redact_rule_rows[] = {
	MUST(name, "name", WORD, 1, 16),
	MUST(pattern, "pattern", LINE, 1, 1024),
	ROW(literal, "literal", LINE, NULL, 3, 64),
	ROW(group, "group", INT, "0", 0, 32),
	MUST(examples, "examples", LIST_line, 0, 64),
	ROW(counterexamples, "counterexamples", LIST_line, NULL, 0, 64),
};
#undef OF

#define OF struct provider
static const struct row provider_rows[] = {
	MUST(name, "name", WORD, 1, 64),
	MUST(kind, "kind", ENUM_provider_kind, 0, 0),
	MUST(path, "path", TEXT, 1, 256),
	MUST(upstream, "upstream", TEXT, 1, 1024),
	ROW(hosts, "hosts", LIST_text, NULL, 0, 256),
	ROW(paths, "paths", LIST_text, NULL, 0, 256),
	ROW(credential_header, "credential.header", TOKEN, NULL, 1, 64),
	ROW(credential_scheme, "credential.scheme", TOKEN, NULL, 1, 32),
	ROW(credential_value, "credential.value", SECRET, NULL, 0, 0),
	ROW(settle, "settle", ENUM_settle, "table", 0, 0),
};
#undef OF

/* The type of a list (or map) whose entries are struct `entry` by the rows id_rows. */
#define BLOCKS(id, type_id, entry, where, label, map) \
	static const struct shape id##_shape = { \
		{ id##_rows, sizeof(id##_rows) / sizeof(id##_rows[0]), where }, \
		sizeof(struct entry), map \
	}; \
	static bool id##_read(const struct loading *l, const struct row *row, \
	    const struct node *n, void *field) \
	{ \
		return blocks_read(l, row, n, field, &id##_shape); \
	} \
	static bool id##_same(const void *a, const void *b) \
	{ \
		return blocks_same(a, b, &id##_shape); \
	} \
	static void id##_free(void *field) \
	{ \
		blocks_drop(&id##_shape, blocks_of(field)); \
	} \
	static void id##_hide(const struct loading *l, const struct node *n) \
	{ \
		blocks_hide(l, n, &id##_shape); \
	} \
	static void id##_show(const void *field, secret_see *see, void *arg) \
	{ \
		blocks_show(field, &id##_shape, see, arg); \
	} \
	const struct type type_##type_id = { label, "entries", id##_read, id##_same, \
		id##_free, NULL, id##_hide, id##_show }

BLOCKS(
    session_key, LIST_session_key, session_key, "sessions.keys", "list of keys", false);
BLOCKS(session_static, LIST_session_static, session_static, "sessions.static",
    "list of users", false);
BLOCKS(claim_names, MAP_claim_names, claim_names, "sessions.claims",
    "block of issuers and claim names", true);
BLOCKS(profile, MAP_profile, session_profile, "profiles", "block of profiles", true);
BLOCKS(
    credential, MAP_credential, credential, "credentials", "block of credentials", true);
BLOCKS(tenant_budget, MAP_tenant_budget, tenant_budget, "budget.tenants",
    "block of tenants and amounts", true);
BLOCKS(
    redact_rule, LIST_redact_rule, redact_rule, "redact.rules", "list of rules", false);
BLOCKS(
    provider, LIST_provider, provider, "gateway.providers", "list of providers", false);

/* ---- a block that another reader reads, as JSON text */

/* RFC 8259 6; what else is plain is a string. */
static bool
is_json_number(struct str s)
{
	size_t i = str_starts(s, STR("-")) ? 1 : 0, digits = i;

	while (i < s.n && ascii_is_digit(s.p[i]))
		i++;
	if (i == digits || (s.p[digits] == '0' && i > digits + 1))
		return false;
	if (i < s.n && s.p[i] == '.') {
		for (digits = ++i; i < s.n && ascii_is_digit(s.p[i]);)
			i++;
		if (i == digits)
			return false;
	}
	return i == s.n;
}

static void
put_scalar(struct buf *to, const struct node *n)
{
	static const struct str words[] = { { "true", 4 }, { "false", 5 } };
	bool is_plain = !n->is_quoted && is_json_number(n->text);

	for (size_t i = 0; i < 2; i++)
		is_plain |= !n->is_quoted && str_eq(n->text, words[i]);
	if (is_plain)
		buf_str(to, n->text);
	else if (node_is_null(n))
		buf_text(to, "null");
	else
		text_quote(to, n->text.p);
}

static void
put_json(struct buf *to, const struct node *n)
{
	bool is_block = n->type == NODE_BLOCK;

	if (n->type == NODE_SCALAR) {
		put_scalar(to, n);
		return;
	}
	buf_char(to, is_block ? '{' : '[');
	for (const struct node *at = n->child; at != NULL; at = at->next) {
		if (at != n->child)
			buf_char(to, ',');
		if (is_block) {
			char *key = str_dup(at->key);
			text_quote(to, key);
			buf_char(to, ':');
			free(key);
		}
		put_json(to, at);
	}
	buf_char(to, is_block ? '}' : ']');
}

static bool
json_read(
    const struct loading *l, const struct row *row, const struct node *n, void *field)
{
	struct buf b;

	(void)row;
	if (!node_is(l->t, n, l->rep, NODE_BLOCK))
		return false;
	buf_init(&b, TEXT_ANY);
	put_json(&b, n);
	*(char **)field = str_dup(buf_view(&b));
	buf_fini(&b);
	return true;
}

static bool
json_same(const void *a, const void *b)
{
	const char *const *x = a, *const *y = b;

	return *x == NULL || *y == NULL ? *x == *y : strcmp(*x, *y) == 0;
}

static void
json_free(void *field)
{
	char **text = field;

	free(*text);
}

const struct type type_JSON = { "block", NULL, json_read, json_same, json_free, NULL,
	NULL, NULL };
