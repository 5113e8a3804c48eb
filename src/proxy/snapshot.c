/*
 * snapshot.c - all that a reload replaces at once
 */
#include "proxy/snapshot.h"

#include <assert.h>
#include <stdlib.h>

#include "audit/checkpoint.h"
#include "base/map.h"
#include "net/listener.h"
#include "net/roots.h"
#include "policy/compile.h"
#include "policy/hosts.h"

/* Rules by the name of a profile; `rules` is NULL where the top level's hold. */
struct profiles {
	struct map by_name;
};

struct profile {
	struct ruleset *rules;
};

static void
free_profile(void *value)
{
	struct profile *p = value;

	ruleset_free(p->rules);
	free(p);
}

static void
profiles_free(struct profiles *p)
{
	map_fini(&p->by_name, free_profile);
	free(p);
}

static struct profiles *
load_profiles(const struct settings *set, struct report *rep)
{
	struct ruleset_terms terms = ruleset_terms_of(set);
	struct profiles *p = mem_zalloc(sizeof(*p));

	map_init(&p->by_name);
	for (size_t i = 0; i < set->profiles.n; i++) {
		const struct session_profile *row = &set->profiles.p[i];
		struct profile *profile = mem_zalloc(sizeof(*profile));
		if (row->policies.n > 0)
			profile->rules =
			    ruleset_load((const char *const *)row->policies.p,
				row->policies.n, &terms, rep);
		map_put(&p->by_name, str_of(row->name), profile);
	}
	return p;
}

static size_t
add_listeners(struct endpoint *out, const struct texts *list)
{
	struct listen_at at;
	size_t n = 0;

	for (size_t i = 0; i < list->n; i++)
		if (listen_at_parse(&at, str_of(list->p[i])) && !at.is_unix)
			out[n++] = at.endpoint;
	return n;
}

/* What weir must never be talked into dialling: its own doors and what it depends on. */
static void
take_services(struct snapshot *s, const struct snapshot_inputs *in)
{
	const struct settings *set = s->settings;
	size_t max = in->nservice + 2;
	const struct texts *list;
	const char *key;

	for (size_t i = 0; (list = settings_listeners(set, i, &key)) != NULL; i++)
		max += list->n;
	s->service = mem_zalloc(max * sizeof(*s->service));
	for (size_t i = 0; (list = settings_listeners(set, i, &key)) != NULL; i++)
		s->nservice += add_listeners(s->service + s->nservice, list);
	for (size_t i = 0; i < in->nservice; i++)
		s->service[s->nservice++] = in->service[i];
	if (s->parent != NULL && s->parent->host.is_literal) /* the last one */
		s->service[s->nservice++] =
		    (struct endpoint){ s->parent->host.addr, s->parent->port };
}

/* What stands for a name is no place to go to. */
static void
take_closed(struct snapshot *s)
{
	const struct settings *set = s->settings;

	s->closed = mem_zalloc((set->addresses_closed.n + 1) * sizeof(*s->closed));
	for (; s->nclosed < set->addresses_closed.n; s->nclosed++)
		s->closed[s->nclosed] = set->addresses_closed.p[s->nclosed];
	if (set->listen_dns.n > 0 && set->dns_door_mode == DNS_SYNTHETIC)
		s->closed[s->nclosed++] = set->dns_door_pool4;
}

static struct place
place_of(const struct snapshot *s)
{
	return (struct place){
		.service = s->service,
		.nservice = s->nservice,
		.own = s->interfaces.own,
		.nown = s->interfaces.nown,
		.onlink = s->interfaces.onlink,
		.nonlink = s->interfaces.nonlink,
		.closed = s->closed,
		.nclosed = s->nclosed,
		.nat64 = s->settings->dns_nat64.p,
		.nnat64 = s->settings->dns_nat64.n,
		.is_loopback_own_ok = !s->settings->production,
	};
}

/* The operator wrote where it is, so it may be there, and on weir's own host; but it is
 * none of weir's doors. */
static struct place
parent_place_of(const struct snapshot *s)
{
	struct place p = s->place;

	p.is_loopback_own_ok = true;
	if (s->parent != NULL && s->parent->host.is_literal)
		p.nservice--;
	return p;
}

static void
take_limits(struct snapshot *s)
{
	const struct settings *set = s->settings;

	s->request_limit = (struct http_limits){
		.target = (size_t)set->limits_target,
		.head = (size_t)set->limits_head,
		.fields = (size_t)set->limits_fields,
		.field = (size_t)set->limits_field,
	};
	s->response_limit = (struct http_limits){
		.target = (size_t)set->limits_response_head,
		.head = (size_t)set->limits_response_head,
		.fields = (size_t)set->limits_response_fields,
		.field = (size_t)set->limits_response_head,
	};
}

static struct ruleset *
load_rules(const struct settings *s, const struct snapshot_inputs *in, struct report *rep)
{
	struct ruleset_terms terms = ruleset_terms_of(s);

	if (in->nbuiltin > 0)
		return ruleset_build(in->builtin, in->nbuiltin, &terms, rep);
	return ruleset_load(
	    (const char *const *)s->policies.p, s->policies.n, &terms, rep);
}

#define SOON_S (30 * (int64_t)24 * 3600)

/* No certificate outlives it. */
static void
warn_of_end(const struct settings *set, const struct ca *ca, struct report *rep)
{
	struct mark mark = { .file = set->tree == NULL ? NULL : set->tree->file };

	if (ca_expires_s(ca) < clock_wall_s() + SOON_S)
		report_add(rep, SEVERITY_WARNING, mark, STR_NONE, "ca_ends",
		    "weir ca rotate makes the next one",
		    "the CA of tls.intercept is over within 30 days");
}

#define LATE_S (3 * (int64_t)24 * 3600) /* who renews at all has done so by then */

/* tls.listen's, or NULL: there is none, or what is wrong was reported.  Listeners stay as
 * they are until a restart: so does what they show, when no other is named. */
struct leaf *
snapshot_own(const struct settings *set, struct leaf *old, struct report *rep)
{
	struct str cert = { set->tls_listen_cert.bytes, set->tls_listen_cert.n };
	struct str key = { set->tls_listen_key.bytes, set->tls_listen_key.n };
	struct mark mark = { .file = set->tree == NULL ? NULL : set->tree->file };
	struct leaf *own;
	const char *why;

	if (cert.p == NULL || key.p == NULL)
		return old != NULL ? leaf_ref(old) : NULL;
	if ((own = leaf_load(cert, key, &why)) == NULL)
		settings_refuse(set, rep, "tls.listen", "bad_certificate", why);
	else if (leaf_expires_s(own) < clock_wall_s() + LATE_S)
		report_add(rep, SEVERITY_WARNING, mark, STR_NONE, "certificate_ends",
		    "put a new one into its file: that is a reload",
		    "the certificate of tls.listen is over within 3 days");
	return own;
}

/* The certificates made by one that stays are good after a reload, too. */
struct ca *
snapshot_ca(const struct settings *set, struct ca *old, struct report *rep)
{
	struct str cert = { set->tls_intercept_cert.bytes, set->tls_intercept_cert.n };
	struct str key = { set->tls_intercept_key.bytes, set->tls_intercept_key.n };
	struct ca *ca = NULL;
	const char *why;

	if (cert.p == NULL || key.p == NULL)
		return NULL;
	if (old != NULL && ca_is_of(old, cert, key))
		ca = ca_ref(old);
	else if ((ca = ca_load(cert, key, &why)) == NULL)
		settings_refuse(set, rep, "tls.intercept", "bad_ca", why);
	if (ca != NULL)
		warn_of_end(set, ca, rep);
	return ca;
}

static bool
needs_roots(const struct snapshot *s)
{
	return s->routes->n > 0 || s->ca != NULL ||
	       (s->parent != NULL && s->parent->is_tls);
}

/* Providers, what they cost, and by what their certificates are judged. */
static void
load_gateway(struct snapshot *s, struct report *rep)
{
	const struct settings *set = s->settings;

	if (set->gateway_prices != NULL &&
	    prices_load(&s->prices, set->gateway_prices, rep) != 0)
		s->prices = NULL; /* what is wrong was said */
	s->routes = routes_build(set, s->prices, rep);
	if (needs_roots(s))
		s->roots = roots_load(set->tls_roots);
	if ((needs_roots(s) && s->roots == NULL) ||
	    (set->tls_roots != NULL && !roots_are_usable(set->tls_roots)))
		settings_refuse_roots(set, rep);
}

static void
destroy(struct snapshot *s)
{
	interfaces_fini(&s->interfaces);
	if (s->owner != NULL) {
		snapshot_unref(s->owner);
		free(s);
		return;
	}
	ruleset_free(s->rules);
	profiles_free(s->profiles);
	keys_free(s->keys);
	redactor_free(s->redactor);
	routes_free(s->routes);
	parent_free(s->parent);
	vault_free(s->vault);
	prices_free(s->prices);
	roots_unref(s->roots);
	ca_unref(s->ca);
	leaf_unref(s->own);
	static_hosts_free(s->host, s->nhost);
	settings_free(s->settings);
	free(s->service);
	free(s->closed);
	free(s);
}

struct resolver_options
snapshot_dns(const struct settings *s, const struct static_host *host, size_t nhost)
{
	return (struct resolver_options){
		.server = (const char *const *)s->dns_servers.p,
		.nserver = s->dns_servers.n,
		.host = host,
		.nhost = nhost,
		.timeout_ms = s->dns_timeout,
	};
}

static const struct known *
take_held(struct redactor *r, const struct settings *set)
{
	struct known *held = known_of(set);

	redactor_hold(r, held);
	return held;
}

struct snapshot *
snapshot_new(struct settings *set, const struct snapshot_inputs *in, struct report *rep)
{
	struct snapshot *s = mem_zalloc(sizeof(*s));
	size_t errors = rep->errors;

	assert(!set->is_part);
	atomic_init(&s->refs, 1);
	s->generation = in->generation;
	s->settings = set;
	s->rules = load_rules(set, in, rep);
	s->profiles = load_profiles(set, rep);
	s->keys = keys_load(set, rep);
	s->host = static_hosts_build(set, rep, &s->nhost);
	s->redactor = redactor_new(
	    (struct str){ set->redact_key.bytes, set->redact_key.n }, set->redact_id);
	s->held = take_held(s->redactor, set);
	redactor_obey(s->redactor, rules_load(set, rep));
	if (interfaces_read(&s->interfaces) != 0)
		report_add(rep, SEVERITY_ERROR, (struct mark){ 0 }, STR_NONE,
		    "no_interfaces", NULL, "the machine's own addresses cannot be read");
	s->vault = vault_new(set);
	s->ca = snapshot_ca(set, in->ca, rep);
	s->own = snapshot_own(set, in->own, rep);
	s->parent = parent_build(set, rep);
	load_gateway(s, rep);
	if (set->audit_sign.bytes != NULL &&
	    !signer_takes((struct str){ set->audit_sign.bytes, set->audit_sign.n }))
		settings_refuse_sign(set, rep);
	take_services(s, in);
	take_closed(s);
	take_limits(s);
	s->place = place_of(s);
	s->parent_place = parent_place_of(s);
	if (s->rules != NULL && s->keys != NULL && rep->errors == errors)
		return s;
	destroy(s);
	return NULL;
}

struct snapshot *
snapshot_moved(struct snapshot *old)
{
	struct interfaces now;
	struct snapshot *s;

	if (interfaces_read(&now) != 0)
		return NULL; /* what was closed stays closed */
	if (interfaces_eq(&now, &old->interfaces)) {
		interfaces_fini(&now);
		return NULL;
	}
	s = mem_zalloc(sizeof(*s));
	atomic_init(&s->refs, 1);
	s->generation = old->generation;
	s->owner = snapshot_ref(old->owner != NULL ? old->owner : old);
	s->settings = old->settings;
	s->rules = old->rules;
	s->profiles = old->profiles;
	s->keys = old->keys;
	s->redactor = old->redactor;
	s->held = old->held;
	s->routes = old->routes;
	s->parent = old->parent;
	s->vault = old->vault;
	s->prices = old->prices;
	s->roots = old->roots;
	s->ca = old->ca;
	s->own = old->own;
	s->host = old->host;
	s->nhost = old->nhost;
	s->request_limit = old->request_limit;
	s->response_limit = old->response_limit;
	s->service = old->service;
	s->nservice = old->nservice;
	s->closed = old->closed;
	s->nclosed = old->nclosed;
	s->interfaces = now;
	s->place = place_of(s);
	s->parent_place = parent_place_of(s);
	return s;
}

struct snapshot *
snapshot_ref(struct snapshot *s)
{
	atomic_fetch_add_explicit(&s->refs, 1, memory_order_relaxed);
	return s;
}

void
snapshot_unref(struct snapshot *s)
{
	if (s != NULL &&
	    atomic_fetch_sub_explicit(&s->refs, 1, memory_order_acq_rel) == 1)
		destroy(s);
}

const struct ruleset *
snapshot_rules(const struct snapshot *s, const struct grant *g)
{
	const struct profile *p;

	if (g == NULL || g->profile.n == 0)
		return s->rules;
	p = map_get(&s->profiles->by_name, g->profile);
	if (p == NULL)
		return NULL;
	return p->rules != NULL ? p->rules : s->rules;
}

bool
snapshot_has_sessions(const struct snapshot *s)
{
	return s->keys->n > 0 || s->settings->sessions_static.n > 0 ||
	       s->keys->laptop != NULL;
}
