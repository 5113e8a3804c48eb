/*
 * review.c - the production checklist, for `weir check --review`
 */
#include "cmd/review.h"

#include <stdio.h>
#include <string.h>

#include "wire/json.h"

#define OUTPUT_MAX ((size_t)1 << 20)

enum shown { NOT_SHOWN, YES, NO };

static const char *const shown_words[] = {
	[NOT_SHOWN] = "not shown",
	[YES] = "yes",
	[NO] = "no",
};

typedef enum shown look(const struct review *r, const struct settings *s);

static enum shown
is(bool so)
{
	return so ? YES : NO;
}

static enum shown
only_live(const struct review *r, const struct settings *s)
{
	(void)r, (void)s;
	return NOT_SHOWN;
}

static enum shown
is_production(const struct review *r, const struct settings *s)
{
	(void)r;
	return is(s->production);
}

static enum shown
has_boundary(const struct review *r, const struct settings *s)
{
	(void)r;
	return is(
	    s->boundary_kind != BOUNDARY_UNWRITTEN && s->boundary_kind != BOUNDARY_NONE);
}

static enum shown
has_sessions(const struct review *r, const struct settings *s)
{
	(void)r;
	return is(s->sessions_required && s->sessions_default == NULL &&
		  (s->sessions_keys.n > 0 || s->sessions_static.n > 0));
}

static enum shown
is_bound(const struct review *r, const struct settings *s)
{
	(void)r;
	return is(s->sessions_bind != BIND_NONE);
}

static enum shown
has_budgets(const struct review *r, const struct settings *s)
{
	bool is_tenant_finite = false;

	(void)r;
	for (size_t i = 0; i < s->budget_tenants.n; i++)
		is_tenant_finite |= strcmp(s->budget_tenants.p[i].name, "*") == 0;
	return is(s->gateway_providers.n == 0 ||
		  (is_tenant_finite && (s->budget_default.session_usd >= 0 ||
					   s->budget_max.session_usd >= 0)));
}

static enum shown
keeps_ledger(const struct review *r, const struct settings *s)
{
	(void)r;
	return is(strcmp(s->ledger_url, "memory:") != 0);
}

static enum shown
has_audit(const struct review *r, const struct settings *s)
{
	(void)r;
	return is(s->audit_path != NULL && s->audit_on_failure == ON_FAILURE_REFUSE);
}

static enum shown
has_mac(const struct review *r, const struct settings *s)
{
	(void)r;
	return is(s->audit_key.n > 0);
}

static enum shown
has_witness(const struct review *r, const struct settings *s)
{
	(void)r;
	return is(s->audit_anchor != NULL && s->audit_sign.n > 0);
}

static enum shown
has_redact_key(const struct review *r, const struct settings *s)
{
	(void)r;
	return is(s->redact_key.n > 0);
}

static enum shown
enforces(const struct review *r, const struct settings *s)
{
	(void)s;
	return is(r->nreporting == 0);
}

static enum shown
is_tested(const struct review *r, const struct settings *s)
{
	(void)s;
	return is(r->nuntested == 0);
}

static enum shown
has_upload_cap(const struct review *r, const struct settings *s)
{
	(void)r;
	return is(s->limits_upload > 0);
}

static enum shown
has_closed(const struct review *r, const struct settings *s)
{
	(void)r;
	return is(s->addresses_closed.n > 0);
}

static enum shown
has_user(const struct review *r, const struct settings *s)
{
	(void)r;
	return is(s->user != NULL);
}

static enum shown
has_health(const struct review *r, const struct settings *s)
{
	(void)r;
	return is(s->listen_health.n > 0);
}

static enum shown
has_admin(const struct review *r, const struct settings *s)
{
	(void)r;
	return is(s->listen_admin.n > 0);
}

static enum shown
is_tight(const struct review *r, const struct settings *s)
{
	(void)s;
	return is(r->ndangers == 0);
}

/* `how`: the command that shows it, or what to write. */
static const struct {
	const char *line;
	look *look;
	const char *how;
} list[] = {
	{ "it says that it is for production", is_production, "production: true" },
	{ "the wall around the sandboxes is named", has_boundary,
	    "boundary: { kind: ... }" },
	{ "nothing gets around weir", only_live,
	    "weir verify, inside a sandbox (weir(8))" },
	{ "nobody is served without a session", has_sessions,
	    "sessions.required with sessions.keys or sessions.static" },
	{ "a stolen token is good from its source only", is_bound,
	    "sessions.bind: first or armed" },
	{ "a revoked session ends at once", only_live, "weir ctl revoke, and look" },
	{ "each session and each tenant has a finite budget", has_budgets,
	    "budget.default.sessionUsd, and budget.tenants with \"*\"" },
	{ "what was spent outlasts the process", keeps_ledger, "ledger.url" },
	{ "the ledger adds up", only_live, "weir ledger verify -c FILE" },
	{ "the provider's bill is the ledger's", only_live, "weir ledger reconcile" },
	{ "the ledger can be brought back", only_live,
	    "weir ledger backup, and a start from it" },
	{ "nothing passes that cannot be recorded", has_audit,
	    "audit.path, with audit.on_failure: refuse" },
	{ "a forged line of the audit log is found out", has_mac, "audit.key" },
	{ "its end is vouched for in another place", has_witness,
	    "audit.sign and audit.anchor" },
	{ "the audit log is in order", only_live, "weir audit verify -c FILE" },
	{ "a masked secret can be followed over restarts", has_redact_key, "redact.key" },
	{ "every policy is enforced", enforces, "mode: enforce in each" },
	{ "every policy has tests of its own", is_tested, "expect: in each" },
	{ "what leaves for one host is bounded", has_upload_cap, "limits.upload" },
	{ "the cluster's and the machines' own ranges are closed", has_closed,
	    "addresses.closed" },
	{ "it runs as a user of its own", has_user, "user" },
	{ "somebody is told when it is not well", has_health,
	    "listen.health, and an alarm on /readyz and /metrics" },
	{ "an operator can revoke and drain", has_admin, "listen.admin" },
	{ "every switch is at its strict end", is_tight, "weir check --danger -c FILE" },
};

void
review_rules(struct review *r, const struct ruleset *rs)
{
	for (size_t i = 0; i < rs->nlayer; i++) {
		r->nreporting += rs->layer[i]->model->is_report;
		r->nuntested += rs->layer[i]->model->nexpect == 0;
	}
}

static void
put_text(struct buf *to, size_t i, enum shown shown)
{
	buf_fmt(to, "%-9s  %s\n", shown_words[shown], list[i].line);
	if (shown != YES)
		buf_fmt(to, "%-9s  %s\n", "", list[i].how);
}

static void
put_json(struct json_out *j, size_t i, enum shown shown)
{
	json_open(j, '{');
	json_key(j, "line");
	json_text(j, list[i].line);
	json_key(j, "is");
	json_text(j, shown_words[shown]);
	json_key(j, "how");
	json_text(j, list[i].how);
	json_close(j, '}');
}

size_t
review_print(const struct review *r, const struct settings *s, bool is_json)
{
	struct json_out j;
	struct buf b;
	size_t no = 0;

	buf_init(&b, OUTPUT_MAX);
	json_out_init(&j, &b);
	if (is_json)
		json_open(&j, '[');
	for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++) {
		enum shown shown = list[i].look(r, s);

		no += shown == NO;
		if (is_json)
			put_json(&j, i, shown);
		else
			put_text(&b, i, shown);
	}
	if (is_json)
		json_close(&j, ']');
	buf_char(&b, '\n');
	fputs(buf_cstr(&b), stdout);
	buf_fini(&b);
	return no;
}
