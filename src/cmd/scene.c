/*
 * scene.c - rules, place and names that requests are explained against
 */
#include "cmd/scene.h"

#include "policy/quickstart.h"

bool
scene_load(struct scene *s, const char *path, struct report *rep)
{
	const struct ruleset_source builtin = { "quickstart",
		{ quickstart_yaml, quickstart_yaml_n }, false };
	struct endpoint server[RESOLVER_SERVERS_MAX];
	struct resolver_options dns;
	struct snapshot_inputs in = { .service = server };
	size_t errors = rep->errors;
	struct settings *set =
	    path == NULL ? settings_laptop(rep) : settings_load_file(path, rep);

	*s = (struct scene){ 0 };
	if (set == NULL)
		return false;
	dns = snapshot_dns(set, NULL, 0);
	in.nservice = resolver_servers(&dns, server);
	if (path == NULL) {
		in.builtin = &builtin;
		in.nbuiltin = 1;
	}
	if ((s->live = snapshot_new(set, &in, rep)) == NULL)
		return false;
	if (rep->errors > errors) { /* of the settings as a whole */
		snapshot_unref(s->live);
		return false;
	}
	s->settings = s->live->settings;
	s->rules = s->live->rules;
	s->host = s->live->host;
	s->nhost = s->live->nhost;
	s->place = s->live->place;
	return true;
}

bool
scene_build(struct scene *s, struct settings *set, const struct ruleset_source *source,
    size_t n, struct report *rep)
{
	struct ruleset_terms terms = ruleset_terms_of(set);
	size_t errors = rep->errors;

	*s = (struct scene){ .settings = set };
	s->place = (struct place){
		.closed = set->addresses_closed.p,
		.nclosed = set->addresses_closed.n,
		.nat64 = set->dns_nat64.p,
		.nnat64 = set->dns_nat64.n,
		.is_loopback_own_ok = !set->production,
	};
	s->rules = ruleset_build(source, n, &terms, rep);
	s->host = static_hosts_build(set, rep, &s->nhost);
	if (s->rules != NULL && rep->errors == errors)
		return true;
	scene_fini(s);
	return false;
}

void
scene_fini(struct scene *s)
{
	if (s->live != NULL) {
		snapshot_unref(s->live);
	} else {
		static_hosts_free(s->host, s->nhost);
		ruleset_free(s->rules);
		settings_free(s->settings);
	}
	ruleset_free(s->profile);
	*s = (struct scene){ 0 };
}

/* Those of the grant's profile, inside them its network; NULL: they do not load. */
static const struct ruleset *
rules_for(const struct scene *s, struct grant *grant, struct arena *a)
{
	const struct ruleset *rules = s->profile != NULL ? s->profile : s->rules;

	return grant == NULL ? rules : grants_narrow(rules, &grant, 1, a);
}

bool
scene_take_profile(struct scene *s, const struct grant *grant, struct report *rep)
{
	const struct session_profile *p = profile_find(s->settings, grant->profile);
	struct ruleset_terms terms = ruleset_terms_of(s->settings);

	if (p == NULL || p->policies.n == 0)
		return true;
	s->profile =
	    ruleset_load((const char *const *)p->policies.p, p->policies.n, &terms, rep);
	return s->profile != NULL;
}

void
scene_refuse(struct explained *out, enum reason reason, const char *why, struct arena *a)
{
	*out = (struct explained){ .trace = { .arena = a },
		.verdict = { .reason = reason, .why = why } };
	trace_add(&out->trace, "session", NULL, NULL, "deny", why);
}

const struct ruleset *
scene_explain(struct explained *out, const struct scene *s, struct grant *grant,
    struct explain_ask *ask, struct arena *a)
{
	const struct ruleset *rules = rules_for(s, grant, a);
	struct host host;
	bool is_known = ask->has_answers || ask->dns_error != REASON_NONE;

	ask->upload_limit = s->settings->limits_upload;
	ask->upload_claim = grant == NULL ? CAP_UNSAID : grant->upload_bytes;
	if (!is_known && s->nhost > 0 && explain_host(ask, &host))
		for (size_t i = 0; i < s->nhost; i++)
			if (host_eq(&s->host[i].host, &host)) {
				ask->answer = s->host[i].addr;
				ask->nanswer = s->host[i].naddr;
				ask->has_answers = true;
			}
	if (rules == NULL)
		scene_refuse(out, REASON_OVERLOADED, NULL, a);
	else
		explain(out, rules, &s->place, ask, a);
	return rules;
}
