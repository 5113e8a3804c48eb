/*
 * danger.c - every switch that loosens, for `weir check --danger`
 */
#include "cmd/danger.h"

#include <stdio.h>
#include <string.h>

#include "base/guard.h"
#include "wire/json.h"

#define OUTPUT_MAX ((size_t)64 << 20)

void
danger_begin(struct dangers *d, bool is_json)
{
	*d = (struct dangers){ .is_json = is_json };
	buf_init(&d->out, OUTPUT_MAX);
}

static void
add(struct dangers *d, const char *place, const char *what, const char *why)
{
	struct json_out j;

	if (!d->is_json) {
		buf_fmt(&d->out, "%s: %s\n    %s\n", place, what, why);
	} else {
		buf_text(&d->out, d->n == 0 ? "[" : ",\n ");
		json_out_init(&j, &d->out);
		json_open(&j, '{');
		json_key(&j, "place");
		json_text(&j, place);
		json_key(&j, "switch");
		json_text(&j, what);
		json_key(&j, "why");
		json_text(&j, why);
		json_close(&j, '}');
	}
	d->n++;
}

void
danger_end(struct dangers *d)
{
	if (d->is_json)
		buf_text(&d->out, d->n == 0 ? "[]\n" : "]\n");
	else
		buf_fmt(&d->out, "%zu %s\n", d->n,
		    d->n == 1 ? "switch loosens" : "switches loosen");
	fputs(buf_cstr(&d->out), stdout);
	buf_fini(&d->out);
}

/* ---- the configuration */

static bool
is_laptop(const struct settings *s)
{
	return !s->production;
}

static bool
allows_report(const struct settings *s)
{
	return s->allow_report;
}

static bool
tells_much(const struct settings *s)
{
	return s->errors == ERRORS_DEVELOPER;
}

static bool
has_no_wall(const struct settings *s)
{
	return s->boundary_kind == BOUNDARY_NONE ||
	       s->boundary_kind == BOUNDARY_UNWRITTEN;
}

static bool
lets_strangers_in(const struct settings *s)
{
	return !s->sessions_required;
}

static bool
has_default_session(const struct settings *s)
{
	return s->sessions_default != NULL;
}

static bool
binds_nothing(const struct settings *s)
{
	return s->sessions_bind == BIND_NONE;
}

static bool
has_public(const struct settings *s)
{
	return s->sessions_public == PUBLIC_ALLOW;
}

static bool
keeps_old_turns(const struct settings *s)
{
	return s->sessions_turns == TURNS_CONCURRENT;
}

static bool
drops_records(const struct settings *s)
{
	return s->audit_on_failure == ON_FAILURE_DROP;
}

static bool
has_no_reserve(const struct settings *s)
{
	return s->audit_reserve == 0;
}

static bool
forgets_spend(const struct settings *s)
{
	return strcmp(s->ledger_url, "memory:") == 0;
}

static bool
trusts_parent(const struct settings *s)
{
	return s->upstream_proxy != NULL && !s->upstream_resolve;
}

static bool
has_unmetered(const struct settings *s)
{
	for (size_t i = 0; i < s->gateway_providers.n; i++)
		if (s->gateway_providers.p[i].kind == PROVIDER_NONE)
			return true;
	return false;
}

static bool
has_plain_upstream(const struct settings *s)
{
	for (size_t i = 0; i < s->gateway_providers.n; i++)
		if (str_starts(
			str_of(s->gateway_providers.p[i].upstream), STR("http://")))
			return true;
	return false;
}

static bool
opens_tls(const struct settings *s)
{
	return s->tls_intercept_key.n > 0;
}

static bool
has_balancers(const struct settings *s)
{
	return s->proxy_protocol_from.n > 0;
}

static bool
has_no_connection_cap(const struct settings *s)
{
	return s->limits_client_connections == 0 || s->limits_client_connecting == 0;
}

static bool
has_no_rate(const struct settings *s)
{
	return s->limits_client_rate == 0 || s->limits_refusals == 0;
}

static bool
has_endless_names(const struct settings *s)
{
	return s->limits_new_names == 0;
}

static bool
has_endless_uploads(const struct settings *s)
{
	return s->limits_upload == 0;
}

static const struct {
	const char *key, *what;
	bool (*is_so)(const struct settings *s);
	const char *why;
} switches[] = {
	{ "production", "production: false", is_laptop,
	    "what is fit for a laptop only is allowed: no sessions, report mode, "
	    "loopback "
	    "and plain http origins" },
	{ "allow_report", "allow_report: true", allows_report,
	    "a policy may let through what its lists refuse, and only record it" },
	{ "errors", "errors: developer", tells_much,
	    "refusals tell clients about rules and layers" },
	{ "boundary.kind", "no boundary", has_no_wall,
	    "nothing is said to keep a sandbox from going around weir" },
	{ "proxy_protocol.from", "proxy_protocol.from", has_balancers,
	    "whoever is at such an address can say which client it is" },
	{ "sessions.required", "sessions.required: false", lets_strangers_in,
	    "whoever reaches weir may use it without saying who it is" },
	{ "sessions.default", "sessions.default", has_default_session,
	    "whoever brings no token spends and acts as this session" },
	{ "sessions.bind", "sessions.bind: none", binds_nothing,
	    "a token that was stolen is good from anywhere" },
	{ "sessions.public", "sessions.public: allow", has_public,
	    "tokens for strangers are accepted" },
	{ "sessions.turns", "sessions.turns: concurrent", keeps_old_turns,
	    "the token of a turn that is over goes on being good" },
	{ "audit.on_failure", "audit.on_failure: drop", drops_records,
	    "exchanges pass though they cannot be recorded" },
	{ "audit.reserve", "audit.reserve: 0", has_no_reserve,
	    "one sandbox can fill the audit log's file system, and stop all others" },
	{ "ledger.url", "ledger.url: memory:", forgets_spend,
	    "what was spent is forgotten with the process" },
	{ "upstream.resolve", "upstream.resolve: false", trusts_parent,
	    "where a name leads only the parent proxy judges" },
	{ "tls.intercept", "tls.intercept", opens_tls,
	    "whoever has the CA's key can pose as any host to those who trust it" },
	{ "gateway.providers", "a provider of kind: none", has_unmetered,
	    "its credential is lent out, and nobody counts what that costs" },
	{ "gateway.providers", "a provider over http", has_plain_upstream,
	    "its credential goes over a wire that others can read" },
	{ "limits", "no limits.client_connections or limits.client_connecting",
	    has_no_connection_cap, "one client can take what all others need" },
	{ "limits", "no limits.client_rate or limits.refusals", has_no_rate,
	    "one client can ask, and fill the log, as fast as it likes" },
	{ "limits.new_names", "limits.new_names: 0", has_endless_names,
	    "under a wildcard a client can say anything to a name server" },
	{ "limits.upload", "no limits.upload", has_endless_uploads,
	    "where a rule has no upload, any amount may leave for an allowed host" },
};

void
danger_settings(struct dangers *d, const struct settings *s)
{
	char place[4096];

	for (size_t i = 0; i < sizeof(switches) / sizeof(switches[0]); i++)
		if (switches[i].is_so(s)) {
			settings_place(s, switches[i].key, place, sizeof(place));
			add(d, place, switches[i].what, switches[i].why);
		}
}

/* ---- policies */

static bool
is_broad(const struct rule *r)
{
	return r->is_broad;
}

static bool
is_wild(const struct rule *r)
{
	for (size_t i = 0; i < r->nhost; i++)
		if (pattern_is_wildcard(&r->host[i].pattern))
			return !r->is_broad;
	return false;
}

static bool
opens_metadata(const struct rule *r)
{
	return r->metadata;
}

static bool
opens_private(const struct rule *r)
{
	return r->nprivate > 0;
}

static bool
opens_literal(const struct rule *r)
{
	return r->nhost > 0 && r->host[0].pattern.kind == PATTERN_RANGE;
}

static bool
hides_name(const struct rule *r)
{
	return r->has_ech;
}

static bool
is_opaque(const struct rule *r)
{
	return (r->protocols & PROTOCOL_TCP) != 0;
}

static bool
is_plain(const struct rule *r)
{
	return (r->protocols & PROTOCOL_HTTP) != 0;
}

static const struct {
	const char *what;
	bool (*is_so)(const struct rule *r);
	const char *why;
} rule_switches[] = {
	{ "broad: true", is_broad,
	    "hosts that anybody can make are allowed, or closed addresses under a "
	    "wildcard" },
	{ "a wildcard", is_wild,
	    "the client chooses labels, which the servers of the names below can read" },
	{ "metadata: true", opens_metadata,
	    "the cloud's metadata service, and with it the machine's own credentials" },
	{ "private", opens_private,
	    "the name may lead into ranges that are closed else" },
	{ "addresses", opens_literal, "an address is bound to no name" },
	{ "ech: allow", hides_name,
	    "the client may hide from weir which host it really wants" },
	{ "protocol: tcp", is_opaque, "what goes through is not looked at at all" },
	{ "protocol: http", is_plain, "who is on the way can read and change it" },
};

static void
danger_rule(struct dangers *d, const struct rule *r)
{
	for (size_t i = 0; i < sizeof(rule_switches) / sizeof(rule_switches[0]); i++)
		if (rule_switches[i].is_so(r))
			add(d, rule_place(r), rule_switches[i].what,
			    rule_switches[i].why);
}

void
danger_rules(struct dangers *d, const struct ruleset *rs)
{
	for (size_t i = 0; i < rs->nlayer; i++) {
		const struct model *m = rs->layer[i]->model;

		if (m->is_report)
			add(d, m->name, "mode: report",
			    "what its lists refuse is let through, and only recorded");
		for (size_t k = 0; k < m->nallow; k++)
			danger_rule(d, &m->allow[k]);
	}
}
